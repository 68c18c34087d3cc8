"""Pairs of rows out of pairs of documents.

One call takes pairs of documents; a pair of a document with itself stands for the pairs among its copies. A pair
that is `complete` gives every pair of rows; one that is not gives first with first, or each copy with the first.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from neardup.kernels import bools, helper, int64s, kernel, uint32s, uint64rows_out


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


@kernel(types.int64(uint32s, uint32s, int64s, bools, int64s, int64s, uint64rows_out))
def list_rows(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    number: NDArray[np.int64],
    complete: NDArray[np.bool_],
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[np.uint64],
) -> int:
    """Write for each pair of rows smaller row · 2³² + larger row, and the number; how many."""
    at = 0
    for pair in range(len(left)):
        one, other = np.int64(left[pair]), np.int64(right[pair])
        left_start, left_stop, right_start, right_stop = extents(offsets, one, other, complete[pair])
        for i in range(left_start, left_stop):
            for j in range(i + 1 if one == other else right_start, right_stop):
                smaller, larger = np.uint64(min(rows[i], rows[j])), np.uint64(max(rows[i], rows[j]))
                out[at, 0] = smaller << np.uint64(32) | larger
                out[at, 1] = np.uint64(number[pair])
                at += 1
    return at
