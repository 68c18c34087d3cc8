"""CPU seconds, wall, memory, recall and precision of neardup and of its peers, side by side on the same files.

    python benchmarks/peers.py [--full] [--only NAME[,NAME…]] [--n DOCUMENTS] [--times 3]

Everybody starts from the same JSON lines and ends with who repeats whom; neardup also compares every candidate exactly
and writes the clean file. One process after the other, in turns, so that a noisy minute hits all of them; medians.
Start-up, which is the same command on the first ten rows, is taken off and told apart.

--full   the slow peers also with 100,000 documents, once each
--only   ours or keys of peers: see PEERS
--n      one size for all
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import ours
import pyarrow.parquet as pq
from answers import Answer, beside_the_first, count_of, kept_ids, over_pairs, over_rows
from environments import installed, version_of
from measure import Cost, Failed, cost_of
from ours import BUILD
from tables import at_least, at_most, goals, megabytes, seconds, table
from truth import true_pairs

CHARACTERS = 480
SLOW, FAST = 10_000, 100_000
TIMEOUT = 1_800

@dataclass(frozen=True)
class Peer:
    key: str  # its function in peer_run.py
    package: str
    name: str
    slow: bool
    shingles: str
    note: str


PEERS = [
    Peer("datasketch_sha1", "datasketch", "datasketch, SHA-1", True, "char:5", "its default; candidates, not verified"),
    Peer("datasketch_xxhash", "datasketch", "datasketch, xxhash", True, "char:5", "candidates, not verified"),
    Peer("rensa_lists", "rensa", "rensa, lists", False, "char:5", "lists of str; candidates, not verified"),
    Peer(
        "rensa_flat", "rensa", "rensa, flat", False, "char:5",
        "fed with hashes by a hand-written NumPy shingler, for ASCII; says which rows have a duplicate, gives no pairs",
    ),
    Peer("gaoya", "gaoya", "gaoya", False, "char:5", "threads; drops pairs whose estimate is below 0.8"),
    Peer(
        "fastsketch_lists", "FastSketchLSH", "FastSketchLSH, lists", False, "char:5",
        "lists of str; candidates, not verified",
    ),
    Peer(
        "fastsketch_flat", "FastSketchLSH", "FastSketchLSH, flat", False, "char:5",
        "fed with hashes by the same NumPy shingler; candidates, not verified",
    ),
    Peer(
        "text_dedup", "text-dedup", "text-dedup", True, "word:3",
        "file to file, two processes; has words only; leaves out rows of under five words; compares all pairs of a "
        "cluster exactly; writes Arrow files",
    ),
    Peer(
        "datatrove", "datatrove", "datatrove", True, "word:3",
        "file to file, two processes; has words only, found by spaCy's tokenizer; drops punctuation; "
        "not verified; writes .jsonl.gz",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class Contestant:
    """Who is measured: how to call it on a file, and where it then leaves its answer."""

    key: str
    name: str
    shingles: str
    slow: bool | None  # None: takes every size
    note: str
    cost: Callable[[Path], Cost]
    answer: Callable[[Path], Answer]


@dataclass
class Figures:
    """Of one contestant and one size: what was measured each time, and the start-up."""

    costs: list[Cost] = field(default_factory=list)
    startup: Cost | None = None
    answer: Answer | None = None
    failure: str = ""

    @property
    def done(self) -> bool:
        return not self.failure and bool(self.costs) and self.startup is not None

    def net(self, what: str) -> float:
        """The median without start-up; below zero when the work drowns in the noise of starting."""
        assert self.startup is not None
        median: float = statistics.median(getattr(cost, what) for cost in self.costs)
        return median - getattr(self.startup, what)

    def reading(self) -> float | None:
        """CPU seconds of parsing the JSON lines, where the contestant tells."""
        last = self.costs[-1].output.strip().splitlines()[-1:] if self.costs else []
        try:
            return float(json.loads(last[0])["reading"])
        except (ValueError, KeyError, IndexError, TypeError):
            return None


def contestants() -> Iterator[Contestant]:
    yield from our_own()
    for peer in PEERS:
        yield of_peer(peer)


def of_peer(peer: Peer) -> Contestant:
    out = BUILD / "answer"

    def cost(path: Path) -> Cost:
        python = installed(peer.package)
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        script = Path(__file__).with_name("peer_run.py")
        return cost_of([python, "-P", script, peer.key, path, out], timeout=TIMEOUT)

    def answer(path: Path) -> Answer:
        truth, rows = true_pairs(path, peer.shingles), count_of(path)
        if (out / "pairs.npy").exists():
            return over_pairs(np.load(out / "pairs.npy"), truth, rows)
        if (out / "flagged.npy").exists():
            paired = np.zeros(rows, bool)
            paired[truth.ravel()] = True
            return over_rows(np.load(out / "flagged.npy"), paired, "rows with a duplicate")
        removed = np.ones(rows, bool)
        removed[kept_ids(out / "kept")] = False
        return over_rows(removed, beside_the_first(truth, rows), "rows removed")

    return Contestant(peer.key, peer.name, peer.shingles, peer.slow, peer.note, cost, answer)


def our_own() -> Iterator[Contestant]:
    """neardup: both families, 16 × 8 as the peers have it and its own choice, one core and two workers."""
    families = ["mersenne", "fast"] if ours.supports("--family") else ["mersenne"]
    for family in families:
        for name, banding, workers in [
            ("16 × 8, one core", ("--bands", "16", "--rows", "8"), "0"),
            ("16 × 8, two workers", ("--bands", "16", "--rows", "8"), "2"),
            ("recall 0.99, one core", (), "0"),
        ]:
            chosen = (*(("--family", family) if len(families) > 1 else ()), *banding)
            key = f"ours_{family}_{'16x8' if banding else 'default'}_{workers}"
            note = "every candidate compared exactly; writes the clean file"
            yield Contestant(
                key, f"neardup {family}, {name}", "char:5", None, note, our_cost(*chosen, "--workers", workers),
                our_answer(*chosen),
            )  # fmt: skip


def our_cost(*options: str) -> Callable[[Path], Cost]:
    return lambda path: ours.run(path, *options).cost


def our_answer(*options: str) -> Callable[[Path], Answer]:
    """Its pairs, from a run of their own: writing them is not part of what is timed."""

    def answer(path: Path) -> Answer:
        pairs = BUILD / "pairs.parquet"
        ours.run(path, *options, "--pairs", str(pairs), "--force", out=False)
        found = pq.read_table(pairs, columns=["left", "right"])
        rows = np.stack([found[side].to_numpy().astype(np.int64) for side in ("left", "right")], axis=1)
        return over_pairs(rows, true_pairs(path, "char:5"), count_of(path))

    return answer


def measured(
    who: Sequence[Contestant], path: Path, times: int, only_once: Sequence[Contestant] = ()
) -> dict[str, Figures]:
    """All of them on one file, in turns. The first call of each, which installs or compiles, is not counted."""
    figures: dict[str, Figures] = defaultdict(Figures)
    few, some = ours.first_rows(path, 10), ours.first_rows(path, 1_000)

    def attempt(one: Contestant, what: Callable[[], None]) -> None:
        if not figures[one.key].failure:
            try:
                what()
            except Failed as failed:
                figures[one.key].failure = str(failed)
                print(f"{one.name}: {failed}", file=sys.stderr)

    def start(one: Contestant) -> None:
        one.cost(some)  # with rows that have duplicates: what is compiled, is compiled for those too
        starts = sorted((one.cost(few) for _ in range(1 if one in only_once else times)), key=lambda cost: cost.cpu)
        figures[one.key].startup = starts[len(starts) // 2]

    def once(one: Contestant) -> None:
        cost = one.cost(path)
        figures[one.key].costs.append(cost)
        print(f"{path.name}: {one.name}: {cost.cpu:.2f} CPU s, {cost.wall:.2f} s", file=sys.stderr)

    def judge(one: Contestant) -> None:
        figures[one.key].answer = one.answer(path)

    for one in who:
        attempt(one, lambda one=one: start(one))
    for turn in range(times):
        for one in who:
            if turn == 0 or one not in only_once:
                attempt(one, lambda one=one: once(one))
            if turn == 0:
                attempt(one, lambda one=one: judge(one))
    return figures


def shown(who: Sequence[Contestant], figures: dict[str, Figures], documents: int) -> str:
    rows: list[list[str]] = []
    for one in who:
        its = figures[one.key]
        if not its.done or its.startup is None or its.answer is None:
            rows.append([one.name, *["–"] * 9, its.failure])
            continue
        cpu, reading = its.net("cpu"), its.reading()
        rows.append([
            f"{one.name} (once)" if len(its.costs) == 1 else one.name,
            seconds(cpu), f"{1e6 * cpu / documents:,.1f}", "–" if reading is None else seconds(reading),
            seconds(its.net("wall")), megabytes(max(cost.private for cost in its.costs)),
            megabytes(max(cost.pss for cost in its.costs)), seconds(its.startup.cpu),
            f"{its.answer.recall:.4f}", f"{its.answer.precision:.4f}", its.answer.over,
        ])  # fmt: skip
    header = ["", "CPU s", "µs a document", "of it reading", "wall s", "private MB", "PSS MB", "start-up CPU s"]
    return table([*header, "recall", "precision", "counted over"], rows)


def verdicts(figures: dict[int, dict[str, Figures]]) -> str:
    """The goals. Ratios are of times a document, each from the largest file that was measured."""

    def largest(key: str) -> tuple[int, Figures] | None:
        return max(((size, its[key]) for size, its in figures.items() if key in its and its[key].done), default=None)

    def ratio(over: str, under: str, what: str = "cpu") -> float | None:
        both = [(its[1].net(what) / its[0]) for its in (largest(over), largest(under)) if its]
        return both[0] / both[1] if len(both) == 2 and min(both) > 0 else None

    def cpu(key: str) -> float | None:
        its = largest(key)
        return its[1].net("cpu") if its and its[0] == FAST else None

    def recall(key: str) -> float | None:
        its = largest(key)
        return its[1].answer.recall if its and its[1].answer else None

    mersenne, fast_family = "ours_mersenne_16x8_0", "ours_fast_16x8_0"
    own_choice = {"mersenne": "ours_mersenne_default_0", "fast": "ours_fast_default_0"}
    rows = [
        at_least("rensa's lists / `mersenne`", ratio("rensa_lists", mersenne), 5, " ×"),
        at_least("rensa's lists / `fast`", ratio("rensa_lists", fast_family), 7, " ×"),
        at_least("rensa's flat path / `fast`", ratio("rensa_flat", fast_family), 1.7, " ×"),
        at_least("datasketch with xxhash / `mersenne`", ratio("datasketch_xxhash", mersenne), 20, " ×"),
        at_least("text-dedup / `mersenne`", ratio("text_dedup", mersenne), 60, " ×"),
        at_least("datatrove / `mersenne`", ratio("datatrove", mersenne), 60, " ×"),
        at_most("wall, two workers / one core, `mersenne`", ratio("ours_mersenne_16x8_2", mersenne, "wall"), 0.6),
        at_most("wall, two workers / one core, `fast`", ratio("ours_fast_16x8_2", fast_family, "wall"), 0.6),
        at_least("recall at t = 0.8, `mersenne`, 16 × 8", recall(mersenne), 0.99),
        at_least("recall at t = 0.8, `fast`, 16 × 8", recall(fast_family), 0.99),
        at_least("recall at t = 0.8, `mersenne`, its own choice", recall(own_choice["mersenne"]), 0.99),
        at_least("recall at t = 0.8, `fast`, its own choice", recall(own_choice["fast"]), 0.99),
        at_most(f"CPU for {FAST:,}, `mersenne`, 16 × 8", cpu(mersenne), 2.4, " s"),
        at_most(f"CPU for {FAST:,}, `fast`, 16 × 8", cpu(fast_family), 1.9, " s"),
        at_most(f"CPU for {FAST:,}, `mersenne`, its own choice", cpu(own_choice["mersenne"]), 2.4, " s"),
        at_most(f"CPU for {FAST:,}, `fast`, its own choice", cpu(own_choice["fast"]), 1.9, " s"),
    ]
    return goals(rows)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--full", action="store_true")
    asked.add_argument("--only", default="")
    asked.add_argument("--n", type=int)
    asked.add_argument("--times", type=int, default=3)
    options = asked.parse_args()
    everybody = list(contestants())
    if options.only:
        wanted = options.only.split(",")
        everybody = [one for one in everybody if any(one.key.startswith(name) for name in wanted)]
    slow, fast = options.n or SLOW, options.n or FAST
    print("## neardup and its peers\n")
    print(
        f"`neardup example N --characters {CHARACTERS}`: JSON lines, a fifth of them edited copies. 128 hashes, 16 "
        "bands of 8 rows; shingles of 5 characters of the text in lower case with white space joined, or of 3 words "
        "where a peer has nothing else. CPU is user and system time of all processes; start-up (the same command on "
        "ten rows, imports included) is taken off CPU and wall, and told apart. Recall and precision are against all "
        "pairs with J ≥ 0.8 of the same shingles, found exactly by another program. "
        f"Medians of {options.times}, but for those marked (once).\n"
    )
    if not ours.supports("--family"):
        print("This neardup has no option `--family`: only `mersenne` was measured.\n")
    figures: dict[int, dict[str, Figures]] = {}
    for size in sorted({slow, fast}):
        who = [one for one in everybody if one.slow is None or one.slow == (size == slow) or slow == fast]
        others = [one for one in everybody if options.full and one not in who and size == fast]
        if not who and not others:
            continue
        path = ours.example(size, CHARACTERS)
        figures[size] = measured([*who, *others], path, options.times, only_once=others)
        pairs = len(true_pairs(path, "char:5"))
        print(f"### {size:,} documents, {pairs:,} true pairs\n")
        print(shown([*who, *others], figures[size], size))
    print("### What each of them does\n")
    for one in everybody:
        if one.slow is not None:
            package = next(peer.package for peer in PEERS if peer.key == one.key)
            failure = next((its[one.key].failure for its in figures.values() if one.key in its), "")
            print(f"- {one.name} {f'({failure})' if failure else version_of(package)}: {one.note}")
    print("\n### Goals\n")
    print(
        "Ratios are of CPU seconds a document, 16 × 8, one core, each from the largest file that was measured with.\n"
    )
    print(verdicts(figures))


if __name__ == "__main__":
    main()
