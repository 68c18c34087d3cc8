"""Inputs that break what is quick on ordinary ones: time and memory, and counts that arithmetic foretells.

    python benchmarks/ugly.py [--only NAME[,NAME…]] [--small]

--small makes every input a hundred times smaller: to see whether all of it works, not to measure.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import ours
from measure import Failed
from ours import BUILD, SHARED, Run
from tables import at_most, goals, megabytes, seconds, table

SHOWN = [
    "rows", "documents", "candidates", "document_pairs", "pairs", "pairs_listed", "buckets_unlisted",
    "pairs_not_examined", "clusters", "kept",
]  # fmt: skip
TIMEOUT = 1_800
BUCKET_LIMIT = 10_000  # a larger bucket is not listed: its documents are linked to the smallest of them
GROUP_LIMIT = 1_000  # of a larger group of copies each is listed with the first only
Told = dict[str, int]


@dataclass(frozen=True)
class Ugly:
    """An input: what it is, its lines of text, and what the result must say of it."""

    name: str
    what: str
    texts: Callable[[int], Iterator[str]]
    count: int
    expected: Callable[[int], Told]
    options: tuple[str, ...] = ()


def pairs_among(rows: int) -> int:
    return rows * (rows - 1) // 2


def equal(count: int) -> Iterator[str]:
    yield from ["Your parcel is waiting at the depot, please collect it before Friday."] * count
    yield from ["The library closes at noon on the day before a holiday; books go in the box."] * 3
    yield "Rain is expected in the north."
    yield "Whoever finds the blue bicycle may keep the bell."


def equal_counts(count: int) -> Told:
    listed = count - 1 if count > GROUP_LIMIT else pairs_among(count)
    return {
        "rows": count + 5, "documents": 4, "document_pairs": 0, "pairs": pairs_among(count) + 3,
        "pairs_listed": listed + 3, "clusters": 2, "largest_cluster": count, "kept": 4,
    }  # fmt: skip


def boilerplate(count: int) -> Iterator[str]:
    """The same 2,000 characters, and one more that no other document has (so no shingle that a few share)."""
    draw = np.random.default_rng(1)
    text = "".join(draw.choice(list("abcdefghijklmnopqrstuvwxyz    "), 2_000))
    yield text
    yield from (text + chr(0x4E00 + number if number < 20_000 else 0x20000 + number) for number in range(count - 1))


def boilerplate_counts(count: int) -> Told:
    """The first is the plain text, whose signature all the others share but for a slot now and then.

    So it stands in the one bucket of each band, and is what all others there are linked to.
    """
    told = {"rows": count, "documents": count, "clusters": 1, "largest_cluster": count, "kept": 1}
    if count > BUCKET_LIMIT * 1.1:
        told |= {"candidates": count - 1, "document_pairs": count - 1, "pairs": count - 1, "pairs_listed": count - 1}
        told |= {"buckets_unlisted": 16}
    return told


def giant(count: int) -> Iterator[str]:
    """One text of 100 MB of random words, and a thousand small ones."""
    draw = np.random.default_rng(1)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz     ", np.uint8)
    yield letters[draw.integers(0, len(letters), count)].tobytes().decode()
    for number in range(1_000):
        yield f"{number} is followed by {number + 1}, and {number * 7919} by {number * 7919 + 1}"


def giant_counts(count: int) -> Told:
    return {"rows": 1_001, "documents": 1_001, "pairs": 0, "kept": 1_001}


def tiny(count: int) -> Iterator[str]:
    """Three characters each, no two equal."""
    for number in range(count):
        yield "".join(chr(0x4E00 + number // 100**place % 100) for place in range(3))


def tiny_counts(count: int) -> Told:
    return {"rows": count, "documents": count, "pairs": 0, "clusters": 0, "kept": count}


def chain(count: int) -> Iterator[str]:
    """Sixty words; each document has two of its predecessor's replaced, by words never seen before, moving on."""
    words = [f"word{number}" for number in range(60)]
    for number in range(count):
        for place in (2 * number % 60, (2 * number + 1) % 60):
            words[place] = f"n{number}p{place}"
        yield " ".join(words)


def chain_counts(count: int) -> Told:
    return {"rows": count, "documents": count, "clusters": 1, "largest_cluster": count, "kept": 1}


def two_groups(count: int) -> Iterator[str]:
    """So many copies of one text, and as many of another that lacks its last word."""
    text = "The ferry to the northern isles leaves from pier seven each morning at half past six, except on Sundays"
    yield from [text] * count
    yield from [text.rsplit(" ", 1)[0]] * count


def two_groups_counts(count: int) -> Told:
    assert count > GROUP_LIMIT, "of smaller groups all pairs are listed"
    return {
        "rows": 2 * count, "documents": 2, "candidates": 1, "document_pairs": 1, "pairs": pairs_among(2 * count),
        "pairs_listed": 2 * (count - 1) + 1, "clusters": 1, "largest_cluster": 2 * count, "kept": 1,
    }  # fmt: skip


def descriptions(count: int) -> Iterator[str]:
    """63,436 package descriptions: real, and much alike. Nothing where the corpus is not there."""
    path = SHARED / "corpora" / "c07_debian_descriptions" / "debian_descriptions.jsonl.gz"
    if path.exists():
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
            for _, line in zip(range(count), lines, strict=False):
                yield json.loads(line)["description"]


def descriptions_counts(count: int) -> Told:
    """Counted by another program, which finds 419,158 pairs of rows: of them 32 × 4 may lack one in a thousand."""
    return {"rows": count, "empty": 1, "pairs at least": 418_739, "pairs at most": 419_158} if count == 63_436 else {}


ALL = [
    Ugly("equal", "100,000 equal documents and 5 others", equal, 100_000, equal_counts),
    Ugly("boilerplate", "50,000 documents that share 2,000 characters and differ in one", boilerplate, 50_000,
         boilerplate_counts, ("--bands", "16", "--rows", "8")),
    Ugly("giant", "one document of 100 MB beside 1,000 small ones", giant, 100_000_000, giant_counts),
    Ugly("tiny", "1,000,000 different documents of 3 characters", tiny, 1_000_000, tiny_counts),
    Ugly("chain", "a chain of 100,000 documents, each like the one before", chain, 100_000, chain_counts),
    Ugly("two groups", "2,000,000 copies of one text, 2,000,000 of another near it", two_groups, 2_000_000,
         two_groups_counts),
    Ugly("c07", "63,436 real package descriptions, 419,158 pairs at 0.8; 32 × 4", descriptions, 63_436,
         descriptions_counts, ("--bands", "32", "--rows", "4", "--unicode", "none", "--keep-invisible")),
]  # fmt: skip


def written(one: Ugly, count: int) -> Path | None:
    """The input as JSON lines; None where there is nothing to write."""
    path = BUILD / "ugly.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for text in one.texts(count):
            file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    return path if path.stat().st_size else None


def wrong(told: dict[str, int], expected: Told) -> list[str]:
    """What the result says otherwise than arithmetic does. In all of them every row is kept or removed."""
    found = []
    for name, number in {**expected, "kept and removed": told["rows"]}.items():
        key, _, least_or_most = name.partition(" at ")
        value = told["kept"] + told["removed"] if key == "kept and removed" else told[key]
        right = {"least": value >= number, "most": value <= number}.get(least_or_most, value == number)
        if not right:
            found.append(f"{name} is {value:,}, and must be {number:,}")
    return found


def verdicts(runs: dict[str, Run]) -> str:
    cost = runs["equal"].cost if "equal" in runs else None
    return goals([
        at_most("100,000 equal documents: wall", cost and cost.wall, 60, " s"),
        at_most("100,000 equal documents: private memory", cost and cost.private / 2**30, 1, " GiB"),
    ])  # fmt: skip


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--only", default="")
    asked.add_argument("--small", action="store_true")
    options = asked.parse_args()
    runs: dict[str, Run] = {}
    notes: list[str] = []
    failed = False
    ours.run(ours.example(1_000, 80))  # kernels are compiled by now
    chosen = [one for one in ALL if not options.only or one.name in options.only.split(",")]
    for one in chosen:
        count = max(one.count // 100, 1_100) if options.small else one.count
        path = written(one, count)
        if path is None:
            notes.append(f"- {one.name}: the corpus is not here")
            continue
        try:
            runs[one.name] = ours.run(path, *one.options, "--workers", "2", timeout=TIMEOUT)
        except Failed as failure:
            failed = True
            notes.append(f"- {one.name}: {failure}")
            continue
        finally:
            path.unlink()
        mistakes = wrong(runs[one.name].told, one.expected(count))
        failed |= bool(mistakes)
        notes += [f"- {one.name}: **{mistake}**" for mistake in mistakes]
        print(f"{one.name}: {runs[one.name].cost.wall:.1f} s {'; '.join(mistakes)}", file=sys.stderr)
    print("## Ugly inputs\n")
    if options.small:
        print("A hundred times smaller than they are described.\n")
    print("Two workers; start-up is in the times. What is counted was compared with what arithmetic says it must be.\n")
    print("\n".join(f"- {one.name}: {one.what}" for one in chosen) + "\n")
    measured = [
        [name, seconds(run.cost.wall), seconds(run.cost.cpu), megabytes(run.cost.private), megabytes(run.cost.pss),
         megabytes(run.cost.disk)]
        for name, run in runs.items()
    ]  # fmt: skip
    print(table(["input", "wall s", "CPU s", "private MB", "PSS MB", "disk MB"], measured))
    print(table(["input", *SHOWN], [[name, *(f"{run.told[key]:,}" for key in SHOWN)] for name, run in runs.items()]))
    print("### Goals\n")
    print(verdicts(runs))
    print("\n".join(notes))
    shutil.rmtree(BUILD / "run", ignore_errors=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
