"""Rows → documents: rows with the same normalised text are one document.

Inside a chunk `grouped` does it at once. Over all chunks the prints of each chunk's texts are exchanged by their first
half; `repeats_of` then finds in each part who repeats an earlier row, and `numbered` puts it all together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.documents import place_rows
from neardup.kernels.murmur3 import fingerprint
from neardup.pulse import Pulse, unwatched
from neardup.ragged import Texts
from neardup.results import Documents

# Bytes a kernel call: about 8 ms on one core of an AMD EPYC of 2021.
BUDGET = 1 << 25
ROWS_A_CALL = 1 << 18  # a random access to 10,000,000 counters costs some 20 ns


def fingerprints(texts: Texts, pulse: Pulse = unwatched) -> NDArray[np.uint64]:
    """Both halves of MurmurHash3 x64 128, seed 0, of each text: uint64[texts, 2]. `pulse` counts texts.

    Two different texts among 10⁹ share one with a probability of about 10⁻²¹.
    """
    prints = np.empty((len(texts), 2), np.uint64)
    cursor = np.array([0, texts.offsets[0]])
    halves = np.zeros(2, np.uint64)
    while cursor[0] < len(texts):
        pulse(fingerprint(texts.data, texts.offsets, cursor, halves, BUDGET, prints))
    return prints


def grouped(fingerprints: NDArray[np.uint64], empty: NDArray[np.bool_]) -> Documents:
    """Group the rows of equal fingerprints, uint64[rows, 2]; `empty`, bool[rows], says whose text is empty.

    Documents are numbered by their first row. Time: one sort of the rows, of a chunk or of all.
    """
    rows = len(fingerprints)
    first, second = np.ascontiguousarray(fingerprints[:, 0]), fingerprints[:, 1]
    # The second half takes part only where some first half belongs to different texts: 10⁹ rows see that in 3 of 100
    # cases. The sort that is not stable is vectorised (5,000,000 rows: 0.8 s; the stable one 1.7 s).
    order = np.argsort(first)
    new = _changes(first[order])
    if np.any(_changes(second[order]) & ~new):
        order = np.lexsort((second, first))
        new = _changes(first[order]) | _changes(second[order])
    starts = np.flatnonzero(new)
    sizes = np.diff(starts, append=rows)

    # Inside a group by row: a group's number and a row are one integer, and only the groups of two or more are sorted.
    groups = np.repeat(np.arange(len(starts)), sizes)
    crowded = np.repeat(sizes > 1, sizes)
    order[crowded] = np.sort(groups[crowded] * rows + order[crowded]) % max(rows, 1)

    firsts = order[starts]
    is_first = np.zeros(rows, np.bool_)
    is_first[firsts] = True
    number = (np.cumsum(is_first) - 1)[firsts]  # of each group, in the order of the sort
    document_of_row = np.empty(rows, np.int64)
    document_of_row[order] = np.repeat(number, sizes)

    group = np.empty(len(starts), np.int64)  # of each document
    group[number] = np.arange(len(starts))
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(sizes[group], out=offsets[1:])
    # A document's rows lie together in `order`: they move there from where its group starts.
    moved = np.arange(rows) + np.repeat(starts[group] - offsets[:-1], sizes[group])
    return Documents(
        document_of_row=document_of_row,
        first_row=np.flatnonzero(is_first),
        rows_by_document=order[moved],
        offsets=offsets,
        empty=int(document_of_row[np.argmax(empty)]) if empty.any() else -1,
    )


def prints_of(fingerprints: NDArray[np.uint64], first_rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """What is exchanged of each distinct text of a chunk: uint64[n, 3], both halves and its first row."""
    return np.column_stack((fingerprints, first_rows.astype(np.uint64)))


def repeats_of(prints: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Who repeats an earlier row, of prints sorted by their first half and then by row: int64[n, 2].

    A row, ascending in no order, and the first row of its text.
    """
    same = np.zeros(len(prints), np.bool_)
    same[1:] = prints[1:, 0] == prints[:-1, 0]
    near = same.copy()
    near[:-1] |= same[1:]
    some = prints[near]
    if np.any(some[1:, 1][same[near][1:]] != some[:-1, 1][same[near][1:]]):  # different texts of one first half
        some = some[np.lexsort((some[:, 2], some[:, 1], some[:, 0]))]
    begins = np.ones(len(some), np.bool_)
    begins[1:] = (some[1:, 0] != some[:-1, 0]) | (some[1:, 1] != some[:-1, 1])
    rows = some[:, 2].astype(np.int64)
    starts = np.flatnonzero(begins)
    first = np.repeat(rows[starts], np.diff(starts, append=len(rows)))
    return np.column_stack((rows[~begins], first[~begins]))


def rows_of_documents(
    document_of_row: NDArray[np.int64], documents: int, pulse: Pulse = unwatched
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`rows_by_document` and `offsets` of `Documents`: int64[rows], int64[documents + 1]. Needs 8 bytes a row more."""
    offsets = np.zeros(documents + 1, np.int64)
    offsets[1:] = np.bincount(document_of_row, minlength=documents)
    np.cumsum(offsets, out=offsets)
    if documents == len(document_of_row):
        return np.arange(documents), offsets
    by_document, cursor = np.empty(len(document_of_row), np.int64), offsets[:-1].copy()
    for first in range(0, len(document_of_row), ROWS_A_CALL):
        stop = min(first + ROWS_A_CALL, len(document_of_row))
        place_rows(document_of_row, first, stop, cursor, by_document)
        pulse(0)
    return by_document, offsets


def _changes(values: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Where a value is another than the one before it; the first one is."""
    changes = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes
