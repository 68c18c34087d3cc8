"""The cost of a document as they become many: time, memory, disk, and what each stage takes.

    python benchmarks/scale.py [--full] [--n DOCUMENTS[,DOCUMENTS…] --characters 80]

10⁴, 10⁵ and 10⁶ documents of 80 characters, with --full 10⁷ as well, and 10⁶ of 480. Each on one core, where seconds of
a stage are CPU seconds, and on two workers.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import dataclass

import ours
from measure import Failed
from ours import Run
from tables import at_most, goals, megabytes, seconds, table

UP_TO_THE_BANDS = ("read", "signatures", "bands")
FEW = 10
REPEATED = 5  # short runs drown in the noise of starting


@dataclass(frozen=True)
class Line:
    """One size on so many workers, and what the same costs for ten rows."""

    documents: int
    characters: int
    workers: int
    runs: list[Run]
    starts: list[Run]

    def net(self, what: str) -> float:
        return _median_cost(self.runs, what) - _median_cost(self.starts, what)

    def peak(self, what: str) -> int:
        return int(max(getattr(run.cost, what) for run in self.runs))

    def stage(self, name: str) -> float:
        return _median_stage(self.runs, name) - _median_stage(self.starts, name)

    @property
    def stages(self) -> list[str]:
        return list(self.runs[0].told["seconds"])

    def up_to_the_bands(self) -> float:
        """CPU seconds a document: the share that these stages have of the seconds of all. Tells on one core only."""
        some = sum(self.stage(name) for name in self.stages if name in UP_TO_THE_BANDS)
        return self.net("cpu") * some / sum(self.stage(name) for name in self.stages) / self.documents


def _median_cost(runs: list[Run], what: str) -> float:
    return statistics.median(getattr(run.cost, what) for run in runs)


def _median_stage(runs: list[Run], name: str) -> float:
    return statistics.median(run.told["seconds"].get(name, 0.0) for run in runs)


def measured(documents: int, characters: int, workers: int) -> Line:
    path = ours.example(documents, characters)
    few = ours.example(FEW, characters)
    options = ("--workers", str(workers))
    starts = [ours.run(few, *options) for _ in range(REPEATED)]
    times = REPEATED if documents <= 10_000 else 3 if documents <= 100_000 else 1
    runs = [ours.run(path, *options) for _ in range(times)]
    line = Line(documents, characters, workers, runs, starts)
    print(f"{documents:,} × {characters}, {workers} workers: {runs[0].cost.wall:.1f} s", file=sys.stderr)
    return line


def shown(lines: list[Line]) -> str:
    header = ["documents", "characters", "on", "wall s", "CPU s", "µs CPU a document", "… up to the bands"]
    rows = [
        [
            f"{line.documents:,}", str(line.characters), "2 workers" if line.workers else "one core",
            seconds(line.net("wall")), seconds(line.net("cpu")), f"{1e6 * line.net('cpu') / line.documents:.1f}",
            "" if line.workers else f"{1e6 * line.up_to_the_bands():.1f}",
            megabytes(line.peak("private")), megabytes(line.peak("pss")), megabytes(line.peak("disk")),
            f"{line.runs[0].told['candidates']:,}", f"{line.runs[0].told['document_pairs']:,}",
        ]
        for line in lines
    ]  # fmt: skip
    return table([*header, "private MB", "PSS MB", "disk MB", "candidates", "pairs"], rows, left=0)


def by_stage(lines: list[Line]) -> str:
    stages = list(dict.fromkeys(name for line in lines for name in line.stages))
    rows = [
        [
            f"{line.documents:,}", str(line.characters), "2 workers" if line.workers else "one core",
            *(seconds(line.stage(name)) for name in stages),
        ]
        for line in lines
    ]  # fmt: skip
    return table(["documents", "characters", "on", *stages], rows, left=0)


def verdicts(lines: list[Line]) -> str:
    # Below 10⁵ documents the cost is less than what start-up varies by.
    told = [line for line in lines if line.characters == 80 and not line.workers and line.documents >= 100_000]
    short = [line.up_to_the_bands() for line in told]
    flat = max(short) / min(short) if len(short) > 1 and min(short) > 0 else None

    def memory(documents: int, characters: int) -> float | None:
        peaks = [line.peak("private") for line in lines if (line.documents, line.characters) == (documents, characters)]
        return max(peaks) / 1e9 if peaks else None

    return goals([
        at_most("CPU a document up to the bands, dearest size / cheapest from 10⁵, 80 characters", flat, 1.2),
        at_most("private memory, 1,000,000 documents of 480 characters", memory(1_000_000, 480), 3, " GB"),
        at_most("private memory, 10,000,000 documents of 80 characters", memory(10_000_000, 80), 6, " GB"),
    ])  # fmt: skip


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--full", action="store_true")
    asked.add_argument("--n", default="")
    asked.add_argument("--characters", type=int, default=80)
    options = asked.parse_args()
    sizes = [(10_000, 80), (100_000, 80), (1_000_000, 80), (1_000_000, 480)]
    if options.full:
        sizes.insert(3, (10_000_000, 80))
    if options.n:
        sizes = [(int(documents), options.characters) for documents in options.n.split(",")]
    lines: list[Line] = []
    failures: list[str] = []
    ours.run(ours.example(1_000, 80))  # kernels are compiled by now
    for documents, characters in sizes:
        for workers in (0, 2):
            try:
                lines.append(measured(documents, characters, workers))
            except Failed as failed:
                failures.append(f"- {documents:,} documents of {characters} characters, {workers} workers: {failed}")
    print("## How the cost grows\n")
    print(
        "`neardup run --out`, its own choice of bands, on generated examples. Start-up, which is the same with "
        f"{FEW} rows, is taken off times (medians). Memory and disk are the highest sampled, over all processes and in "
        "the run directory. How many candidates there are is the corpus's own: they cost what comes after the bands.\n"
    )
    if lines:
        print(shown(lines))
        print("Seconds of each stage:\n")
        print(by_stage(lines))
        print("### Goals\n")
        print(verdicts(lines))
    print("\n".join(failures))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
