"""Sort lists of shingle ids and drop what repeats.

Ids are uniform 64-bit hashes, so their top bits say about where each one goes: an ordered hash table (Amble and
Knuth, 1974) indexed by them, with linear probing, holds the distinct ids in ascending order.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from neardup.kernels import int64s, int64s_out, kernel, uint64s, uint64s_out

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
LONGEST = 1 << 16  # ids: the table of a longer list would leave the second-level cache


def table_size(longest: int) -> int:
    """Slots `sort_unique` needs for lists of up to so many ids: at most half full, and room behind the last one."""
    return (2 << (max(longest, 1) - 1).bit_length()) + longest


@kernel(types.int64(uint64s_out, int64s, int64s_out, types.int64, uint64s_out, int64s_out))
def sort_unique(
    values: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    cursor: NDArray[np.int64],
    budget: int,
    table: NDArray[np.uint64],
    offsets_out: NDArray[np.int64],
) -> int:
    """Make sets of the lists from cursor = [list, values written] on, in place, packed to the front of `values`.

    Ends after about `budget` ids, and before a list that is longer than LONGEST. Returns the number of lists done,
    and sets offsets_out[i + 1] for each. `table` is EMPTY throughout, before and after.
    """
    first = index = cursor[0]
    written = cursor[1]
    while index < len(offsets) - 1 and budget > 0:
        start = offsets[index]
        stop = offsets[index + 1]
        if stop - start > LONGEST:
            break
        shift = np.uint64(63)  # the table has 2^(64 − shift) home slots: at least two an id
        slots = 2
        while slots < 2 * (stop - start):
            slots *= 2
            shift -= np.uint64(1)
        distinct = 0
        last = False
        for i in range(start, stop):
            value = values[i]
            if value == EMPTY:
                last = True
                continue
            slot = np.int64(value >> shift)
            there = table[slot]
            while there < value:
                slot += 1
                there = table[slot]
            if there == value:
                continue
            while there != EMPTY:
                table[slot] = value
                value = there
                slot += 1
                there = table[slot]
            table[slot] = value
            distinct += 1
        end = written + distinct
        swept = 0
        while written < end:  # what an empty slot wrote is overwritten by the next one: no branch to mispredict
            value = table[swept]
            values[written] = value
            table[swept] = EMPTY
            written += np.int64(value != EMPTY)
            swept += 1
        if last:
            values[written] = EMPTY
            written += 1
        index += 1
        offsets_out[index] = written
        budget -= stop - start + 8
    cursor[0] = index
    cursor[1] = written
    return index - first


@kernel(types.void(uint64s, uint64s, int64s_out, types.int64, uint64s_out))
def merge_unique(
    left: NDArray[np.uint64],
    right: NDArray[np.uint64],
    cursor: NDArray[np.int64],
    budget: int,
    out: NDArray[np.uint64],
) -> None:
    """The union of two sets, from cursor = [left, right, out] on; at most `budget` more values."""
    i = cursor[0]
    j = cursor[1]
    written = cursor[2]
    limit = written + budget
    while i < len(left) and j < len(right) and written < limit:
        a = left[i]
        b = right[j]
        out[written] = min(a, b)
        i += np.int64(a <= b)
        j += np.int64(b <= a)
        written += 1
    while j == len(right) and i < len(left) and written < limit:
        out[written] = left[i]
        i += 1
        written += 1
    while i == len(left) and j < len(right) and written < limit:
        out[written] = right[j]
        j += 1
        written += 1
    cursor[0] = i
    cursor[1] = j
    cursor[2] = written
