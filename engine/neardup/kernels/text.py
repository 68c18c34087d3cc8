"""Texts rewritten piece by piece from a table of what each piece becomes, and their code points counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from neardup.kernels import helper, int64s, int64s_out, kernel, uint8s, uint8s_out, uint64s
from neardup.kernels.murmur3 import WORD, load64, pointer

# Why `rewrite` returned.
GOING_ON = 0  # the budget is used up, or all is done
UNKNOWN = 1  # the piece cursor[KEY] is in no table yet
CONTEXT = 2  # this text cannot be rewritten piece by piece
FULL = 3  # `out` has no room for another piece

# What `cursor` holds between two calls.
TEXT, POSITION, WRITTEN, KEY = range(4)

# What a table says of a piece, if not where its spelling is: `packed` below.
NOT_LEARNT = 0
DEPENDS = -1  # on its neighbours
DROPPED = -2  # nothing, as if it had never been there

LONGEST = 3  # code points of a piece: three of 21 bits and a leading 1 fill a uint64
CODE_BITS = 21
TABLE_BITS = 17
MOST_BYTES = 127  # of a piece's spelling
ROOM = MOST_BYTES + 1
TEXT_COST = 4  # a text's share of the budget beside its bytes

_ASCII = np.uint64(0x80)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / golden ratio: Fibonacci hashing (Knuth, TAOCP 3, 6.4)
_TABLE_SHIFT = np.uint64(64 - TABLE_BITS)
_TABLE_MASK = np.uint64((1 << TABLE_BITS) - 1)
_CODE_BITS = np.uint64(CODE_BITS)
_ONE = np.uint64(1)
_SIX, _TWELVE, _EIGHTEEN = np.uint64(6), np.uint64(12), np.uint64(18)
_CONTINUATION = np.uint64(0x3F)
_LEAD_OF_2, _LEAD_OF_3, _LEAD_OF_4 = np.uint64(0x1F), np.uint64(0x0F), np.uint64(0x07)
_FROM_3, _FROM_4 = np.uint64(0xE0), np.uint64(0xF0)
_LAST_CODE, _REPLACEMENT = np.uint64(0x10FFFF), np.uint64(0xFFFD)
_NOT_NUL = np.uint64(0x7F)
_SPACE = np.uint8(0x20)
_GONE = np.uint8(0xFF)
_A, _FULL_STOP = 0x41, 0x2E

# The same byte eight times, for the eight bytes of a word at once (Hacker's Delight, 6.1; no sum here carries over).
_HIGH_BITS = np.uint64(0x8080808080808080)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_SPACES = np.uint64(0x2020202020202020)
_UP_FROM_SPACE = np.uint64(0x6060606060606060)  # + byte has the high bit from 0x20 on,
_UP_FROM_A = np.uint64(0x3F3F3F3F3F3F3F3F)  # from "A" on,
_UP_FROM_BEHIND_Z = np.uint64(0x2525252525252525)  # from "[" on
_TO_CASE = np.uint64(2)  # from the high bit to the bit that parts "A" from "a"
_BYTE = np.uint64(8)


@helper
def spaces_in(word: np.uint64) -> np.uint64:
    """The high bit of each byte that is a space; all bytes are ASCII."""
    others = word ^ _SPACES
    return ~(others + _LOW_BITS) & _HIGH_BITS


@helper
def lowered(word: np.uint64) -> np.uint64:
    """Eight ASCII bytes in lower-case."""
    upper = (word + _UP_FROM_A) & ~(word + _UP_FROM_BEHIND_Z) & _HIGH_BITS
    return word | upper >> _TO_CASE


@kernel(
    types.int64(
        uint8s, int64s, uint8s, int64s, uint64s, int64s, uint8s, types.boolean, types.int64,
        int64s_out, uint8s_out, int64s_out,
    )
)  # fmt: skip
def rewrite(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    plain: NDArray[np.uint8],
    singles: NDArray[np.int64],
    keys: NDArray[np.uint64],
    values: NDArray[np.int64],
    spellings: NDArray[np.uint8],
    join: bool,
    budget: int,
    cursor: NDArray[np.int64],
    out: NDArray[np.uint8],
    out_offsets: NDArray[np.int64],
) -> int:
    """Rewrite texts from cursor[TEXT], byte cursor[POSITION] on, into out[cursor[WRITTEN]:]; return why it stopped.

    A piece is a code point and those after it that `continue` it. `plain` uint8[128] has the spelling of an ASCII
    code point that stands alone (255: none); `singles` int64[0x110000] of any that does; `values` of the pieces
    `keys`, a hash table with linear probing. An entry is NOT_LEARNT, DEPENDS, DROPPED or
    offset ≪ 8 | length ≪ 1 | continues, into `spellings`. With `join`, runs of spaces become one and those at both
    ends of a text go. `budget` is in bytes read. After CONTEXT and UNKNOWN the same call goes on from the cursor.
    """
    # Pointers: the signed index of an array is looked at for being negative, each time.
    source, spelt = pointer(data), pointer(spellings)
    target: Any = pointer(out)
    by_words, lower = plain[_FULL_STOP] == _FULL_STOP, plain[_A] != _A
    text, position, written = cursor[TEXT], cursor[POSITION], cursor[WRITTEN]
    while text < len(offsets) - 1 and budget > 0:
        stop = offsets[text + 1]
        end = min(stop, position + budget)
        budget -= end - position + TEXT_COST
        # The byte written last; at the begin of a text a space, so that none is written there. No branch a byte:
        # every one is written, and `written` steps over those that stay.
        last = _SPACE
        if written > out_offsets[text]:
            last = target[written - 1]
        while position < end:
            if written + ROOM > len(out):
                cursor[TEXT], cursor[POSITION], cursor[WRITTEN] = text, position, written
                return FULL
            byte = np.uint64(source[position])
            # What follows decides whether a code point stands alone; behind NUL, which may be dropped, anything can.
            if by_words and byte < _ASCII and position + WORD < stop:
                word = load64(source, position)
                printable = word & _HIGH_BITS == np.uint64(0) and word + _UP_FROM_SPACE & _HIGH_BITS == _HIGH_BITS
                if printable and np.uint64(source[position + WORD]) - _ONE < _NOT_NUL:
                    spaces = spaces_in(word)
                    first_too = np.uint64(last == _SPACE) << np.uint64(7)
                    if not join or spaces & (spaces << _BYTE | first_too) == np.uint64(0):
                        if lower:
                            word = lowered(word)
                        for at in range(WORD):
                            target[written + at] = np.uint8(word >> _BYTE * np.uint64(at))
                        position += WORD
                        written += WORD
                        last = target[written - 1]
                        continue
            if byte < _ASCII and (position + 1 == stop or np.uint64(source[position + 1]) - _ONE < _NOT_NUL):
                spelling = plain[byte]
                position += 1
                stays = spelling != _GONE and not (join and spelling == _SPACE and last == _SPACE)
                target[written] = spelling
                written += np.int64(stays)
                last = spelling if stays else last
                continue

            key, entry, codes, after = _ONE, np.int64(NOT_LEARNT), 0, position
            while after < stop:
                lead = np.uint64(source[after])
                width = 1 if lead < _ASCII else 2 if lead < _FROM_3 else 3 if lead < _FROM_4 else 4
                code = lead
                if after + width > stop:
                    code, width = _REPLACEMENT, stop - after
                elif width == 2:
                    code = (lead & _LEAD_OF_2) << _SIX | np.uint64(source[after + 1]) & _CONTINUATION
                elif width == 3:
                    code = (
                        (lead & _LEAD_OF_3) << _TWELVE
                        | (np.uint64(source[after + 1]) & _CONTINUATION) << _SIX
                        | np.uint64(source[after + 2]) & _CONTINUATION
                    )
                elif width == 4:
                    code = (
                        (lead & _LEAD_OF_4) << _EIGHTEEN
                        | (np.uint64(source[after + 1]) & _CONTINUATION) << _TWELVE
                        | (np.uint64(source[after + 2]) & _CONTINUATION) << _SIX
                        | np.uint64(source[after + 3]) & _CONTINUATION
                    )
                    if code > _LAST_CODE:
                        code = _REPLACEMENT
                single = singles[code]
                if single == NOT_LEARNT:
                    cursor[TEXT], cursor[POSITION], cursor[WRITTEN] = text, position, written
                    cursor[KEY] = np.int64(_ONE << _CODE_BITS | code)
                    return UNKNOWN
                if single == DROPPED:
                    after += width
                    continue
                if codes > 0 and single != DEPENDS and single & 1 == 0:
                    break
                codes += 1
                if single == DEPENDS or codes > LONGEST:
                    cursor[TEXT], cursor[POSITION], cursor[WRITTEN] = text, position, written
                    return CONTEXT
                key = key << _CODE_BITS | code
                entry = single
                after += width
            if codes > 1:
                slot = key * _SPREAD >> _TABLE_SHIFT
                while keys[slot] != key and keys[slot] != np.uint64(0):
                    slot = slot + _ONE & _TABLE_MASK
                entry = values[slot] if keys[slot] == key else np.int64(NOT_LEARNT)
                if entry == NOT_LEARNT or entry == DEPENDS:
                    cursor[TEXT], cursor[POSITION], cursor[WRITTEN] = text, position, written
                    cursor[KEY] = np.int64(key)
                    return UNKNOWN if entry == NOT_LEARNT else CONTEXT
            if codes > 0:
                begin = entry >> 8
                for at in range(begin, begin + (entry >> 1 & MOST_BYTES)):
                    spelling = spelt[at]
                    stays = not (join and spelling == _SPACE and last == _SPACE)
                    target[written] = spelling
                    written += np.int64(stays)
                    last = spelling if stays else last
            position = after
        if position < stop:
            break
        if join and written > out_offsets[text] and last == _SPACE:
            written -= 1
        text += 1
        out_offsets[text] = written
        position = stop
    cursor[TEXT], cursor[POSITION], cursor[WRITTEN] = text, position, written
    return GOING_ON


@kernel(types.void(uint8s, int64s, types.int64, types.int64, int64s_out))
def count_code_points(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], first: int, last: int, counts: NDArray[np.int64]
) -> None:
    """counts[i] = bytes of text i that do not continue a UTF-8 sequence, for first ≤ i < last."""
    source = pointer(data)
    for text in range(first, last):
        count = np.int64(0)
        for at in range(offsets[text], offsets[text + 1]):
            count += np.int64(source[at] & np.uint8(0xC0) != np.uint8(0x80))
        counts[text] = count
