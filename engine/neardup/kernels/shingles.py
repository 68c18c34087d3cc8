"""Cut texts into shingles and hash each one: the first half of MurmurHash3 x64 128, seed 0, of its UTF-8.

Both kernels go on where `cursor` = [text, byte, ids written] stands until about `budget` units of work are done (a
unit is about a third of a nanosecond: a window costs 8 and its bytes), so that a text of any length takes any number
of calls. They return how many texts ended, and set offsets_out[i + 1] for each. Texts are valid UTF-8.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from neardup.kernels import helper, int64s, int64s_out, kernel, uint8s, uint64s_out
from neardup.kernels.murmur3 import BITS, EIGHT, WORD, Bytes, hash64_of_8, hash_bytes, load64, pointer

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
SEED = np.uint64(0)
SPACE = np.uint8(0x20)
PIECE = 4096  # bytes looked through for a byte above 0x7F, so that one accent slows only its neighbourhood
COST = 8


@helper
def hash64(data: Bytes, start: int, stop: int) -> np.uint64:
    return hash_bytes(data, start, stop, SEED)[0]


@helper
def is_ascii(data: Bytes, start: int, stop: int) -> bool:
    union = np.uint8(0)
    for at in range(start, stop):
        union |= data[at]
    return bool(union < np.uint8(0x80))


@helper
def width(lead: np.uint8) -> int:
    """How many bytes the code point has that begins with this one."""
    return 1 + int(lead >= np.uint8(0xC0)) + int(lead >= np.uint8(0xE0)) + int(lead >= np.uint8(0xF0))


@helper
def after(data: Bytes, at: int, stop: int, points: int) -> int:
    """The position behind so many code points, or −1 if there are fewer before `stop`."""
    while points > 0 and at < stop:
        at += width(data[at])
        points -= 1
    return at if points == 0 else -1


@kernel(types.int64(uint8s, int64s, types.int64, int64s_out, types.int64, uint64s_out, int64s_out))
def char_ids(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    k: int,
    cursor: NDArray[np.int64],
    budget: int,
    out: NDArray[np.uint64],
    offsets_out: NDArray[np.int64],
) -> int:
    """Windows of k code points; `out` has room for one id a byte."""
    there = pointer(data)
    size = np.uint64(k)
    mask = ALL >> (BITS - EIGHT * min(size, EIGHT))
    first = text = cursor[0]
    at = cursor[1]
    written = cursor[2]
    while text < len(offsets) - 1 and budget > 0:
        start = offsets[text]
        stop = offsets[text + 1]
        while at < stop and budget > 0:
            piece = min(at + PIECE, stop)
            if k <= WORD and is_ascii(there, at, min(piece + k - 1, stop)):
                windows = min(piece, stop - k + 1, len(data) - WORD + 1) - at
                if windows > 0:
                    for i in range(windows):
                        out[written + i] = hash64_of_8(load64(there, at + i) & mask, size)
                    written += windows
                    budget -= windows * (k + COST)
                    at = at + windows if at + windows <= stop - k else stop
                    continue
            end = after(there, at, stop, k)
            if end < 0:  # fewer than k are left: of a text that has no more, all of it
                end = stop if at == start else -1
            while at < piece and end >= 0:
                out[written] = hash64(there, at, end)
                written += 1
                budget -= end - at + COST
                at += width(data[at])
                end = end + width(data[end]) if end < stop else -1
            if end < 0:
                at = stop
        if at >= stop:
            text += 1
            offsets_out[text] = written
            budget -= COST
    cursor[0] = text
    cursor[1] = at
    cursor[2] = written
    return text - first


@helper
def white(data: Bytes, at: int, stop: int) -> int:
    """How many bytes the white space at this code point has, 0 if it is none; white as `str.split()` has it."""
    byte = data[at]
    if byte <= SPACE:
        return int(
            byte == SPACE
            or (byte >= np.uint8(0x09) and byte <= np.uint8(0x0D))
            or (byte >= np.uint8(0x1C) and byte <= np.uint8(0x1F))
        )
    if byte == np.uint8(0xC2) and at + 1 < stop:  # U+0085, U+00A0
        return 2 * int(data[at + 1] == np.uint8(0x85) or data[at + 1] == np.uint8(0xA0))
    if byte < np.uint8(0xE1) or byte > np.uint8(0xE3) or at + 2 >= stop:
        return 0
    point = (np.uint32(byte) << np.uint32(16)) | (np.uint32(data[at + 1]) << np.uint32(8)) | np.uint32(data[at + 2])
    return 3 * int(
        (point >= np.uint32(0xE28080) and point <= np.uint32(0xE2808A))  # U+2000 … U+200A
        or point == np.uint32(0xE280A8)  # U+2028
        or point == np.uint32(0xE280A9)  # U+2029
        or point == np.uint32(0xE280AF)  # U+202F
        or point == np.uint32(0xE2819F)  # U+205F
        or point == np.uint32(0xE38080)  # U+3000
        or point == np.uint32(0xE19A80)  # U+1680
    )


@helper
def word_start(data: Bytes, at: int, stop: int) -> int:
    while at < stop:
        size = white(data, at, stop)
        if size == 0:
            break
        at += size
    return at


@helper
def word_end(data: Bytes, at: int, stop: int) -> int:
    while at < stop and ((data[at] > SPACE and data[at] < np.uint8(0xC2)) or white(data, at, stop) == 0):
        at += 1
    return at


@helper
def join(
    data: Bytes, starts: NDArray[np.int64], ends: NDArray[np.int64], oldest: int, out: NDArray[np.uint8]
) -> int:
    """Write the words of the ring, the oldest first, joined by one space; how many bytes."""
    size = 0
    for i in range(len(starts)):
        word = oldest + i if oldest + i < len(starts) else oldest + i - len(starts)
        if i > 0:
            out[size] = SPACE
            size += 1
        for at in range(starts[word], ends[word]):
            out[size] = data[at]
            size += 1
    return size


@kernel(types.int64(uint8s, int64s, types.int64, int64s_out, types.int64, uint64s_out, int64s_out))
def word_ids(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    k: int,
    cursor: NDArray[np.int64],
    budget: int,
    out: NDArray[np.uint64],
    offsets_out: NDArray[np.int64],
) -> int:
    """Windows of k words joined by one space; `out` has room for (bytes + texts) // 2 ids."""
    there = pointer(data)
    first = text = cursor[0]
    at = cursor[1]
    written = cursor[2]
    starts = np.empty(k, np.int64)  # a ring: the last k words
    ends = np.empty(k, np.int64)
    scratch = np.empty(256, np.uint8)
    while text < len(offsets) - 1 and budget > 0:
        start = offsets[text]
        stop = offsets[text + 1]
        fresh = at == start
        words = 0
        slot = 0  # of the ring, where the next word goes; once there are k words, where the oldest one is
        plain = 0  # how many gaps in a row, up to the newest word, are one space: such words lie there joined
        scan = word_start(there, at, stop)
        while scan < stop and (budget > 0 or words < k):  # each call comes to a window, so that it gets on
            starts[slot] = scan
            scan = end = word_end(there, scan, stop)
            ends[slot] = end
            budget -= end - starts[slot] + COST
            slot = slot + 1 if slot + 1 < k else 0
            words += 1
            if words >= k:
                source = there
                begin = starts[slot]
                budget -= end - begin
                # A later call begins at the word after the oldest one, and meets the k − 1 words between again.
                at = starts[slot + 1 if slot + 1 < k else 0] if k > 1 else end
                if plain < k - 1:
                    if len(scratch) < end - begin:
                        scratch = np.empty(2 * (end - begin), np.uint8)
                    budget -= 4 * (end - begin)
                    end = join(there, starts, ends, slot, scratch)
                    begin = 0
                    source = pointer(scratch)
                out[written] = hash64(source, begin, end)
                written += 1
            word_stop = scan
            scan = word_start(there, scan, stop)
            plain = plain + 1 if scan == word_stop + 1 and data[word_stop] == SPACE else 0
        if scan >= stop:
            if fresh and words < k and stop > start:
                out[written] = hash64(there, start, stop)
                written += 1
            at = stop
            text += 1
            offsets_out[text] = written
            budget -= COST
    cursor[0] = text
    cursor[1] = at
    cursor[2] = written
    return text - first
