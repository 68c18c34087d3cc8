"""Records that change places: uint64[n, width], the first column the key, the others whatever goes with it."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from neardup.kernels import helper, int64s, int64s_out, kernel, uint32s, uint64rows, uint64rows_out, uint64s

SMALL_DIGITS = 256
SMALL_MASK = np.uint64(SMALL_DIGITS - 1)
LARGEST = 1 << 16  # records of a bucket: 1 MB of entries
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@helper
def move(source: NDArray[np.uint64], i: int, target: NDArray[np.uint64], at: int) -> None:
    """Put one record there; a width that is known takes half the time."""
    if source.shape[1] == 2:
        target[at, 0] = source[i, 0]
        target[at, 1] = source[i, 1]
    else:
        for column in range(source.shape[1]):
            target[at, column] = source[i, column]


@helper
def part_of(key: np.uint64, borders: NDArray[np.uint64], table: NDArray[np.uint32], shift: np.uint64) -> np.int64:
    """The part whose range holds the key; table[key >> shift] is where to look first, its last entry for all beyond."""
    part = np.int64(table[np.int64(min(key >> shift, np.uint64(len(table) - 1)))])
    while part + 1 < len(borders) and key >= borders[part + 1]:
        part += 1
    return part


@kernel(types.void(uint64rows, uint64s, uint32s, types.uint64, types.int64, types.int64, int64s_out))
def count_parts(
    records: NDArray[np.uint64],
    borders: NDArray[np.uint64],
    table: NDArray[np.uint32],
    shift: np.uint64,
    first: int,
    stop: int,
    counts: NDArray[np.int64],
) -> None:
    """Add to counts[p] the records whose key is in [borders[p], borders[p + 1])."""
    for i in range(first, stop):
        counts[part_of(records[i, 0], borders, table, shift)] += 1


@kernel(
    types.void(uint64rows, uint64s, uint32s, types.uint64, types.int64, types.int64, int64s_out, uint64rows_out)
)
def move_to_parts(
    records: NDArray[np.uint64],
    borders: NDArray[np.uint64],
    table: NDArray[np.uint32],
    shift: np.uint64,
    first: int,
    stop: int,
    cursor: NDArray[np.int64],
    out: NDArray[np.uint64],
) -> None:
    """Move each record to the cursor of its part, in the order they come."""
    for i in range(first, stop):
        part = part_of(records[i, 0], borders, table, shift)
        at = cursor[part]
        cursor[part] = at + 1
        move(records, i, out, at)


@kernel(types.UniTuple(types.uint64, 2)(uint64rows, types.int64, types.int64, types.uint64, types.uint64))
def seen_bits(
    records: NDArray[np.uint64], first: int, stop: int, union: np.uint64, common: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """The bits set in some key and those set in every key, of these records and of those before."""
    for i in range(first, stop):
        union |= records[i, 0]
        common &= records[i, 0]
    return union, common


@kernel(types.void(uint64rows, types.uint64, types.uint64, types.int64, types.int64, int64s_out))
def count_digits(
    records: NDArray[np.uint64], shift: np.uint64, mask: np.uint64, first: int, stop: int, counts: NDArray[np.int64]
) -> None:
    """Add to counts[d] the records whose key has the digit d from bit `shift` on."""
    for i in range(first, stop):
        counts[(records[i, 0] >> shift) & mask] += 1


@kernel(types.void(uint64rows, types.uint64, types.uint64, types.int64, types.int64, int64s_out, uint64rows_out))
def move_by_digit(
    records: NDArray[np.uint64], shift: np.uint64, mask: np.uint64, first: int, stop: int, cursor: NDArray[np.int64],
    out: NDArray[np.uint64],
) -> None:  # fmt: skip
    """Move each record to the cursor of its digit, in the order they come."""
    for i in range(first, stop):
        digit = (records[i, 0] >> shift) & mask
        at = cursor[digit]
        cursor[digit] = at + 1
        move(records, i, out, at)


@helper
def pass_by_byte(
    source: NDArray[np.uint64], target: NDArray[np.uint64], first: int, stop: int, shift: np.uint64,
    cursor: NDArray[np.int64],
) -> None:  # fmt: skip
    """Move the records from first to stop to where the byte from bit `shift` on puts them; stable."""
    for i in range(SMALL_DIGITS):
        cursor[i] = 0
    for i in range(first, stop):
        cursor[(source[i, 0] >> shift) & SMALL_MASK] += 1
    at = first
    for i in range(SMALL_DIGITS):
        count = cursor[i]
        cursor[i] = at
        at += count
    for i in range(first, stop):
        value = (source[i, 0] >> shift) & SMALL_MASK
        at = cursor[value]
        cursor[value] = at + 1
        move(source, i, target, at)


@helper
def insert(records: NDArray[np.uint64], first: int, stop: int, spare: NDArray[np.uint64]) -> bool:
    """Insertion sort of what is nearly sorted; stable. False, and as it is then, after 4 moves a record."""
    moves = 4 * (stop - first)
    for i in range(first + 1, stop):
        key = records[i, 0]
        if records[i - 1, 0] <= key:
            continue
        move(records, i, spare, 0)
        at = i
        while at > first and records[at - 1, 0] > key:
            move(records, at - 1, records, at)
            at -= 1
        move(spare, 0, records, at)
        moves -= i - at
        if moves < 0:
            return False
    return True


@kernel(types.int64(uint64rows_out, uint64rows_out, int64s, types.int64, types.int64))
def sort_buckets(
    records: NDArray[np.uint64], scratch: NDArray[np.uint64], starts: NDArray[np.int64], bucket: int, budget: int
) -> int:
    """Sort each of the buckets from `bucket` on, starts[i] to starts[i + 1], by its keys; stable. The next bucket.

    A radix sort by the highest bytes in which keys differ, as many as tell so many records apart where keys are hashes,
    and insertion of the few they leave; by all bytes where that is not few. Ends after about `budget` records, and
    before a bucket of more than LARGEST.
    """
    cursor = np.empty(SMALL_DIGITS, np.int64)
    spare = np.empty((1, records.shape[1]), np.uint64)
    while bucket + 1 < len(starts) and budget > 0:
        first, stop = starts[bucket], starts[bucket + 1]
        if stop - first > LARGEST:
            break
        union, common = np.uint64(0), ALL
        for i in range(first, stop):
            union |= records[i, 0]
            common &= records[i, 0]
        differing = union & ~common
        top = 7
        while top > 0 and (differing >> np.uint64(8 * top)) == np.uint64(0):
            top -= 1
        lowest = max(0, top - 2) if stop - first > 16 else 8  # 16 to 24 bits for up to 2¹⁶ records
        done = differing == np.uint64(0)
        while not done:
            moved = False
            for byte in range(lowest, top + 1):
                shift = np.uint64(8 * byte)
                if (differing >> shift) & SMALL_MASK != np.uint64(0):
                    source, target = (scratch, records) if moved else (records, scratch)
                    pass_by_byte(source, target, first, stop, shift, cursor)
                    moved = not moved
            if moved:
                for i in range(first, stop):
                    move(scratch, i, records, i)
            done = lowest == 0 or insert(records, first, stop, spare)
            lowest = 0
        budget -= stop - first + SMALL_DIGITS
        bucket += 1
    return bucket


@kernel(types.int64(uint64rows, types.int64, types.int64, int64s_out))
def not_alone(records: NDArray[np.uint64], first: int, stop: int, out: NDArray[np.int64]) -> int:
    """Positions from first to stop whose key a neighbour has too, of records sorted by key; how many."""
    count = 0
    for i in range(first, stop):
        key = records[i, 0]
        shared = (i > 0 and records[i - 1, 0] == key) or (i + 1 < len(records) and records[i + 1, 0] == key)
        out[count] = i
        count += int(shared)
    return count
