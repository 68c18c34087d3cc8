"""Pairs of rows out of pairs of documents: counted by their left row, placed there, put in order.

One call takes pairs of documents; a pair of a document with itself stands for the pairs among its copies. A pair
that is `complete` gives every pair of rows; one that is not gives first with first, or each copy with the first.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from neardup.kernels import bools, helper, int64s, int64s_out, kernel, uint32s


@helper
def extents(offsets: NDArray[np.int64], left: np.int64, right: np.int64, complete: np.bool_) -> tuple[np.int64, ...]:
    """Where the rows to be paired begin and end on each side."""
    left_start, left_stop = offsets[left], offsets[left + 1]
    right_start, right_stop = offsets[right], offsets[right + 1]
    if not complete:
        left_stop = left_start + 1
        if left != right:
            right_stop = right_start + 1
    return left_start, left_stop, right_start, right_stop


@kernel(types.void(uint32s, uint32s, bools, int64s, int64s, int64s_out))
def count(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    complete: NDArray[np.bool_],
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Add to counts[row] the row pairs in which it is the left one."""
    for pair in range(len(left)):
        one, other = np.int64(left[pair]), np.int64(right[pair])
        left_start, left_stop, right_start, right_stop = extents(offsets, one, other, complete[pair])
        for i in range(left_start, left_stop):
            for j in range(i + 1 if one == other else right_start, right_stop):
                counts[min(rows[i], rows[j])] += 1


@kernel(types.void(uint32s, uint32s, int64s, bools, int64s, int64s, int64s_out, int64s_out, int64s_out))
def place(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    number: NDArray[np.int64],
    complete: NDArray[np.bool_],
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    cursor: NDArray[np.int64],
    right_row: NDArray[np.int64],
    pair_number: NDArray[np.int64],
) -> None:
    """Write the same row pairs, each at the cursor of its left row."""
    for pair in range(len(left)):
        one, other = np.int64(left[pair]), np.int64(right[pair])
        left_start, left_stop, right_start, right_stop = extents(offsets, one, other, complete[pair])
        for i in range(left_start, left_stop):
            for j in range(i + 1 if one == other else right_start, right_stop):
                at = cursor[min(rows[i], rows[j])]
                cursor[min(rows[i], rows[j])] = at + 1
                right_row[at] = max(rows[i], rows[j])
                pair_number[at] = number[pair]
