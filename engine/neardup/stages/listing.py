"""The accepted pairs as pairs of rows: what people read and what is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import listing as kernels
from neardup.pulse import Pulse, unwatched
from neardup.results import Documents, Pairs, RowPairs

# Documents are paired in blocks so that what is computed beside the result stays within some 50 MB.
BLOCK = 1 << 20
# A row pair costs 2 ns inside a group of copies, which stays in the cache, and up to 60 ns where every pair is another
# document and has to be sorted. One group asks for 1,000,000 at most.
ROW_PAIRS_A_CALL = 1 << 18


@dataclass(frozen=True, slots=True)
class _Groups:
    """Pairs of documents, or of one with itself: the number in `Pairs` or -1, and how many row pairs are listed."""

    left: NDArray[np.uint32]
    right: NDArray[np.uint32]
    number: NDArray[np.int64]
    complete: NDArray[np.bool_]
    listed: NDArray[np.int64]
    total: int


def row_pairs_of(
    documents: Documents,
    pairs: Pairs,
    accepted: NDArray[np.bool_],
    cross_limit: int = 1_000_000,
    inside_limit: int = 1_000,
    pulse: Pulse = unwatched,
) -> RowPairs:
    """List the pairs of rows of the accepted pairs and of the copies of every document that is not empty.

    accepted   bool[pairs]; accepted pairs never hold the empty document

    Two documents of m and n copies give m·n pairs of rows, all listed when m·n ≤ cross_limit; else the first row of
    one with the first of the other. A document of n copies gives n(n − 1)/2, all listed when n ≤ inside_limit; else
    each copy with the first row. `total` counts all. Cost: linear in the pairs listed.
    """
    begins = np.zeros(len(documents.document_of_row) + 1, np.int64)
    counts = begins[1:]
    total = 0
    for groups in _groups(documents, pairs, accepted, cross_limit, inside_limit):
        total += groups.total
        for part in _parts(groups.listed):
            kernels.count(
                groups.left[part], groups.right[part], groups.complete[part],
                documents.rows_by_document, documents.offsets, counts,
            )
            pulse(0)
    np.cumsum(counts, out=counts)
    right, number = np.empty((2, begins[-1]), np.int64)
    cursor = begins[:-1].copy()
    for groups in _groups(documents, pairs, accepted, cross_limit, inside_limit):
        for part in _parts(groups.listed):
            kernels.place(
                groups.left[part], groups.right[part], groups.number[part], groups.complete[part],
                documents.rows_by_document, documents.offsets, cursor, right, number,
            )
            pulse(0)
    left = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
    _sort_inside(left, right, number)
    return RowPairs(left, right, number, total)


def _sort_inside(left: NDArray[np.int64], right: NDArray[np.int64], number: NDArray[np.int64]) -> None:
    """Sort the right rows of each left row; most are sorted as they come, since pairs come by left document."""
    out_of_order = (right[1:] < right[:-1]) & (left[1:] == left[:-1])
    if not out_of_order.any():
        return
    unsorted = np.zeros(int(left[-1]) + 1, np.bool_)
    unsorted[left[1:][out_of_order]] = True
    places = np.flatnonzero(unsorted[left])
    ordered = places[np.lexsort((right[places], left[places]))]
    right[places], number[places] = right[ordered], number[ordered]


def _groups(
    documents: Documents, pairs: Pairs, accepted: NDArray[np.bool_], cross_limit: int, inside_limit: int
) -> Iterator[_Groups]:
    copies = documents.copies
    chosen = np.flatnonzero(accepted)
    for start in range(0, len(chosen), BLOCK):
        number = chosen[start : start + BLOCK]
        left, right = pairs.left[number], pairs.right[number]
        every = copies[left] * copies[right]
        complete = every <= cross_limit
        yield _Groups(left, right, number, complete, np.where(complete, every, 1), int(every.sum()))
    repeated = np.flatnonzero(copies > 1)
    repeated = repeated[repeated != documents.empty]
    for start in range(0, len(repeated), BLOCK):
        document = repeated[start : start + BLOCK].astype(np.uint32)
        n = copies[document]
        every = n * (n - 1) // 2
        complete = n <= inside_limit
        listed = np.where(complete, every, n - 1)
        yield _Groups(document, document, np.full(len(n), -1), complete, listed, int(every.sum()))


def _parts(costs: NDArray[np.int64]) -> Iterator[slice]:
    """Cut so that the costs of a part, but for its last item, stay below a call's."""
    ends = np.cumsum(costs)
    start = 0
    while start < len(costs):
        done = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, done + ROW_PAIRS_A_CALL)) + 1
        yield slice(start, min(stop, len(costs)))
        start = stop
