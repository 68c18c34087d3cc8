"""How good an answer is: recall and precision against the true pairs."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from truth import Pairs


@dataclass(frozen=True)
class Answer:
    """Recall and precision, and over what they were counted."""

    recall: float
    precision: float
    over: str


def kept_ids(folder: Path) -> NDArray[np.int64]:
    """The ids in the files that text-dedup and datatrove write."""
    ids: list[int] = []
    for arrow in sorted(folder.glob("*.arrow")):
        ids += map(int, pa.ipc.open_stream(arrow.read_bytes()).read_all()["id"].to_pylist())
    for compressed in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(compressed, "rt", encoding="utf-8") as lines:
            ids += (int(json.loads(line).get("id", 0)) for line in lines)  # datatrove leaves out what is false
    return np.array(ids, np.int64)


def count_of(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def over_pairs(found: Pairs, truth: Pairs, rows: int) -> Answer:
    keys = [np.unique(pairs[:, 0] * rows + pairs[:, 1]) for pairs in (found, truth)]
    both = len(np.intersect1d(*keys, assume_unique=True))
    return Answer(both / max(1, len(keys[1])), both / max(1, len(keys[0])), "pairs")


def over_rows(found: NDArray[np.bool_], truth: NDArray[np.bool_], over: str) -> Answer:
    both = int((found & truth).sum())
    return Answer(both / max(1, int(truth.sum())), both / max(1, int(found.sum())), over)


def beside_the_first(pairs: Pairs, rows: int) -> NDArray[np.bool_]:
    """The rows that go when the first row of each connected component stays."""
    first = list(range(rows))

    def root(row: int) -> int:
        while first[row] != row:
            first[row] = first[first[row]]
            row = first[row]
        return row

    for left, right in pairs.tolist():
        one, other = sorted((root(left), root(right)))
        first[other] = one
    return np.array([root(row) != row for row in range(rows)], bool)
