"""Family `fast`: Fast Similarity Sketching (Dahlgaard, Knudsen, Thorup, FOCS 2017) of n slots.

Round ρ hashes each id to z = fmix64((id xor s₀) + (ρ + 1)·GOLDEN), s₀ = fmix64(seed + GOLDEN). Its slot is the top
32 bits of z scaled to n; from round n on it is slot ρ − n for every id. Its value is the low 32 bits of z. A slot takes
the least value of the first round that reaches it; rounds go on until no slot is empty, 2n at the most.

A slot is kept as ρ·2³² + value: its least is what the definition asks for, in whatever order hashes come, and no list
of open slots is needed. Two or three rounds fill 128 slots from 450 ids: 1,000 hashes, where MinHash takes 57,000.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from neardup.kernels import helper, int64s, int64s_out, kernel, uint32rows_out, uint64s, uint64s_out
from neardup.kernels.murmur3 import fmix64

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
OPEN = np.uint64(0xFFFFFFFFFFFFFFFF)
LOW = np.uint64(0xFFFFFFFF)
GREATEST = np.uint64(0xFFFFFFFE)  # of a value: 2³² − 1 is an empty document's
HALF = np.uint64(32)
BLOCK = 512  # ids hashed in one vector loop, before they are dealt out one by one
COST = 8  # of a piece of a round, in ids


@helper
def deal(
    hashes: NDArray[np.uint64], size: int, added: np.uint64, order: np.uint64, slots: NDArray[np.uint64]
) -> int:
    """Lower the slots to which the first `size` hashes belong in a round before n; how many were empty.

    `hashes` holds id xor s₀ and is used up; `order` is ρ·2³², `added` (ρ + 1)·GOLDEN.
    """
    scale = np.uint64(np.uint32(len(slots)))  # spelled so that the compiler sees a factor of 32 bits
    for i in range(size):
        z = fmix64(hashes[i] + added)
        hashes[i] = ((z >> HALF) * scale & ~LOW) | (z & LOW)
    filled = 0
    for i in range(size):
        slot = hashes[i] >> HALF
        before = slots[slot]
        filled += int(before == OPEN)
        slots[slot] = min(before, order | (hashes[i] & LOW))
    return filled


@helper
def least(hashes: NDArray[np.uint64], size: int, added: np.uint64) -> np.uint64:
    """The least value in a round from n on, where all ids have one slot."""
    value = LOW
    for i in range(size):
        value = min(value, fmix64(hashes[i] + added) & LOW)
    return value


@kernel(types.int64(uint64s, int64s, types.uint64, int64s_out, types.int64, uint64s_out, uint32rows_out))
def signatures(
    values: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    seed: np.uint64,
    cursor: NDArray[np.int64],
    budget: int,
    slots: NDArray[np.uint64],
    out: NDArray[np.uint32],
) -> int:
    """Sketch the lists from cursor = [list, id, round, empty slots] on; how many ended. Rows of empty lists stay.

    `slots`, one for each number of a signature, is OPEN throughout at the beginning: it holds a list that is not
    finished. Ends after about `budget` hashes; a list of any length takes any number of calls.
    """
    first = index = cursor[0]
    at = cursor[1]
    turn = cursor[2]
    empty = cursor[3]
    mix = fmix64(seed + GOLDEN)
    hashes = np.empty(BLOCK, np.uint64)
    while index < len(offsets) - 1 and budget > 0:
        start = offsets[index]
        stop = offsets[index + 1]
        while budget > 0 and start < stop and (empty > 0 or at > start):  # a round is finished for all ids
            size = min(stop - at, BLOCK)
            added = np.uint64(turn + 1) * GOLDEN
            order = np.uint64(turn) << HALF
            for i in range(size):
                hashes[i] = values[at + i] ^ mix
            if turn < len(slots):
                empty -= deal(hashes, size, added, order, slots)
            elif slots[turn - len(slots)] >= order:  # an earlier round has not reached it
                slot = turn - len(slots)
                empty -= int(slots[slot] == OPEN)
                slots[slot] = min(slots[slot], order | least(hashes, size, added))
            budget -= size + COST
            at += size
            if at == stop:
                at = start
                turn += 1
        if start == stop or (empty == 0 and at == start):
            if start < stop:
                for slot in range(len(slots)):
                    out[index, slot] = np.uint32(min(slots[slot] & LOW, GREATEST))
                    slots[slot] = OPEN
            index += 1
            at = stop
            turn = 0
            empty = len(slots)
            budget -= len(slots)
    cursor[0] = index
    cursor[1] = at
    cursor[2] = turn
    cursor[3] = empty
    return index - first
