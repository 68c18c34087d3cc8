"""How much two signatures agree, and how many shingles two documents share: exactly."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from neardup.kernels import helper, int64s, int64s_out, kernel, uint32rows, uint32s_out, uint64s

# From this ratio of sizes on it is cheaper to look up each id of the small set than to walk along the large one.
GALLOP = 32
THREE = np.uint64(3)
FOUR = np.uint64(4)

Walked = tuple[np.int64, np.int64, np.int64]  # where on each side, and how many equal ids were seen


@kernel(types.void(uint32rows, int64s, int64s, uint32s_out))
def agree(
    signatures: NDArray[np.uint32], left: NDArray[np.int64], right: NDArray[np.int64], out: NDArray[np.uint32]
) -> None:
    """Count the equal slots of each pair of signatures."""
    for pair in range(len(left)):
        one = signatures[left[pair]]
        other = signatures[right[pair]]
        count = np.uint32(0)
        for slot in range(len(one)):
            count += np.uint32(one[slot] == other[slot])
        out[pair] = count


@helper
def merge(values: NDArray[np.uint64], i: np.int64, i_stop: np.int64, j: np.int64, j_stop: np.int64) -> Walked:
    """Walk along both lists until one ends; where that was, and the equal ids seen.

    Four ids by four are compared at once, then the four that end lower are left behind. No branch depends on the ids,
    and the indices, unsigned, need no test for the end of the array. Sets of 200 of nothing in common: 2.2 ns an id,
    4.4 one by one with signed indices, 4.5 with branches.
    """
    count = np.uint64(0)
    at, stop = np.uint64(i), np.uint64(i_stop)
    other, other_stop = np.uint64(j), np.uint64(j_stop)
    while at + FOUR <= stop and other + FOUR <= other_stop:
        for one in range(4):
            for another in range(4):
                count += np.uint64(values[at + np.uint64(one)] == values[other + np.uint64(another)])
        x = values[at + THREE]
        y = values[other + THREE]
        at += FOUR * np.uint64(x <= y)
        other += FOUR * np.uint64(y <= x)
    while at < stop and other < other_stop:
        x = values[at]
        y = values[other]
        count += np.uint64(x == y)
        at += np.uint64(x <= y)
        other += np.uint64(y <= x)
    return np.int64(at), np.int64(other), np.int64(count)


@helper
def gallop(values: NDArray[np.uint64], i: np.int64, i_stop: np.int64, j: np.int64, j_stop: np.int64) -> Walked:
    """Look up each id of the first list in the second by doubling steps (Bentley and Yao 1976)."""
    count = np.int64(0)
    while i < i_stop and j < j_stop:
        x = values[i]
        step = np.int64(1)
        while j + step < j_stop and values[j + step] < x:
            step += step
        low = j + (step >> 1)
        high = j + step if j + step < j_stop else j_stop
        while low < high:
            middle = (low + high) >> 1
            if values[middle] < x:
                low = middle + 1
            else:
                high = middle
        j = low
        count += np.int64(j < j_stop and values[j] == x)
        i += 1
    return i, j, count


@kernel(types.int64(uint64s, int64s, int64s, int64s, types.int64, int64s_out, uint32s_out))
def overlap(
    values: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    budget: np.int64,
    cursor: NDArray[np.int64],
    out: NDArray[np.uint32],
) -> np.int64:
    """Intersect pairs of sorted sets from the cursor on, for about `budget` steps; how many pairs were finished.

    cursor   [pair, position in the smaller set, in the larger, equal ids so far]; begins with zeros
    """
    first: np.int64 = cursor[0]
    pair = first
    while pair < len(left) and budget > 0:
        small, large = left[pair], right[pair]
        if offsets[small + 1] - offsets[small] > offsets[large + 1] - offsets[large]:
            small, large = large, small
        i_end, j_end = offsets[small + 1], offsets[large + 1]
        i_start, j_start = offsets[small] + cursor[1], offsets[large] + cursor[2]
        if (j_end - offsets[large]) // GALLOP < i_end - offsets[small]:
            i, j, count = merge(values, i_start, min(i_end, i_start + budget), j_start, min(j_end, j_start + budget))
            budget -= i - i_start + j - j_start + 16
        else:
            i, j, count = gallop(values, i_start, min(i_end, i_start + (budget >> 5) + 1), j_start, j_end)
            budget -= (i - i_start + 1) << 5
        if i < i_end and j < j_end:
            cursor[1] = i - offsets[small]
            cursor[2] = j - offsets[large]
            cursor[3] += count
        else:
            out[pair] = cursor[3] + count
            cursor[1] = 0
            cursor[2] = 0
            cursor[3] = 0
            pair += 1
    cursor[0] = pair
    return pair - first
