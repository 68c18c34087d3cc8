"""The accepted pairs as pairs of rows: what people read and what is written.

Two documents of m and n copies give m·n pairs of rows, all listed when m·n ≤ CROSS_LIMIT; else the first row of one
with the first of the other. A document of n copies gives n(n − 1)/2, all listed when n ≤ INSIDE_LIMIT; else each copy
with the first row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import listing as kernels
from neardup.pulse import Pulse, unwatched

CROSS_LIMIT = 1_000_000
INSIDE_LIMIT = 1_000
COPIES = 2**64 - 1  # the number of a pair of rows that are copies of one document: −1 as int64

# 2 ns inside a group of copies, which stays in the cache, up to 20 ns where every pair is of other documents.
# One group asks for CROSS_LIMIT at most.
ROW_PAIRS_A_CALL = 1 << 19


@dataclass(frozen=True, slots=True)
class Groups:
    """Pairs of documents, or of one with itself: the number of the pair or −1, and how many row pairs are listed.

    total   row pairs, listed or not
    """

    left: NDArray[np.uint32]
    right: NDArray[np.uint32]
    number: NDArray[np.int64]
    complete: NDArray[np.bool_]
    listed: NDArray[np.int64]
    total: int


def of_pairs(
    offsets: NDArray[np.int64], left: NDArray[np.uint32], right: NDArray[np.uint32], number: NDArray[np.int64],
    cross_limit: int = CROSS_LIMIT,
) -> Groups:  # fmt: skip
    """Accepted pairs of documents, never of the empty one. `offsets` is that of `Documents`."""
    copies_left, copies_right = (offsets[side.astype(np.int64) + 1] - offsets[side] for side in (left, right))
    every = copies_left * copies_right
    complete = every <= cross_limit
    return Groups(left, right, number, complete, np.where(complete, every, 1), int(every.sum()))


def of_copies(
    offsets: NDArray[np.int64], first: int, stop: int, empty: int, inside_limit: int = INSIDE_LIMIT
) -> Groups:
    """Those of the documents from first to stop that have copies; copies of the empty one are no pairs."""
    n = np.diff(offsets[first : stop + 1])
    if first <= empty < stop:
        n[empty - first] = 1
    document = (first + np.flatnonzero(n > 1)).astype(np.uint32)
    n = n[n > 1]
    every = n * (n - 1) // 2
    complete = n <= inside_limit
    listed = np.where(complete, every, n - 1)
    return Groups(document, document, np.full(len(n), -1), complete, listed, int(every.sum()))


def listed(
    groups: Groups, rows_by_document: NDArray[np.int64], offsets: NDArray[np.int64], pulse: Pulse = unwatched
) -> Iterator[NDArray[np.uint64]]:
    """Blocks uint64[n, 2]: smaller row · 2³² + larger row, and the number of the pair, in no order."""
    for part in _parts(groups.listed):
        out = np.empty((int(groups.listed[part].sum()), 2), np.uint64)
        kernels.list_rows(
            groups.left[part], groups.right[part], groups.number[part], groups.complete[part],
            rows_by_document, offsets, out,
        )  # fmt: skip
        pulse(0)
        yield out


def _parts(costs: NDArray[np.int64]) -> Iterator[slice]:
    """Cut so that the costs of a part, but for its last item, stay below a call's."""
    ends = np.cumsum(costs)
    start = 0
    while start < len(costs):
        done = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, done + ROW_PAIRS_A_CALL)) + 1
        yield slice(start, min(stop, len(costs)))
        start = stop
