r"""JSON objects walked without being built: the names of their fields, and the string that one of them is.

`objects` takes what is plainly right, by RFC 8259 to the letter, and leaves all else to whoever asks: what is no object
or no JSON, halves of surrogate pairs, what is nested deeper than DEEPEST, and a text that is neither a string nor null.
So what it takes reads the same by any reader of JSON.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from neardup.kernels import bools, bools_out, helper, int64s, int64s_out, kernel, uint8s, uint8s_out, uint64s_out
from neardup.kernels.murmur3 import WORD, Bytes, hash_bytes, load64, pointer
from neardup.kernels.words import HIGH_BITS, below, copy, equal, first

LEFT = np.uint64(0)  # instead of a hash of names: this record was not taken
DEEPEST = 63  # lists and objects in one another, a bit each

_NO_NAMES = np.uint64(1)
_ONE = np.uint64(1)
_SPACE, _QUOTE, _BACKSLASH, _COMMA, _COLON = (np.uint8(ord(one)) for one in ' "\\,:')
_LIST, _LIST_END, _OBJECT, _OBJECT_END = (np.uint8(ord(one)) for one in "[]{}")
_ZERO, _MINUS, _PLUS, _POINT = (np.uint8(ord(one)) for one in "0-+.")
_T, _F, _N, _U, _E, _A = (np.uint8(ord(one)) for one in "tfnuea")
_TAB, _LF, _CR = np.uint8(9), np.uint8(10), np.uint8(13)
_LOWER = np.uint8(0x20)  # makes an ASCII letter lower-case
_TEN, _SIX = np.uint8(10), np.uint8(6)
_BAD = -1
_BACKSLASHES, _TWOS, _BEHIND_SPACES = (np.uint64(byte * 0x0101010101010101) for byte in (0x5C, 0x02, 0x21))
_HALF, _LOW_HALF, _BEHIND_HALVES = 0xD800, 0xDC00, 0xE000

# What a backslash and this letter stand for; 0: nothing.
_ESCAPED = np.zeros(256, np.uint8)
for _letter, _meant in zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True):
    _ESCAPED[ord(_letter)] = ord(_meant)


@helper
def _past_space(source: Bytes, at: int, stop: int) -> int:
    while at < stop and (source[at] == _SPACE or source[at] == _LF or source[at] == _CR or source[at] == _TAB):
        at += 1
    return at


@helper
def _past_digits(source: Bytes, at: int, stop: int) -> int:
    while at < stop and source[at] - _ZERO < _TEN:
        at += 1
    return at


@helper
def _hex4(source: Bytes, at: int) -> np.int64:
    """The number that four hexadecimal digits are, or less than 0."""
    code = np.int64(0)
    for place in range(4):
        byte = source[at + place]
        digit = np.uint8(byte - _ZERO)
        if digit >= _TEN:
            digit = np.uint8((byte | _LOWER) - _A)
            if digit >= _SIX:
                return np.int64(_BAD)
            digit += _TEN
        code = code << 4 | np.int64(digit)
    return code


@helper
def _past_escape(source: Bytes, at: int, stop: int) -> int:
    r"""Behind the escape at `at`, a pair of \uXXXX where it is half of one; _BAD where it is none or a lone half."""
    if at + 1 >= stop:
        return _BAD
    if source[at + 1] != _U:
        return at + 2 if _ESCAPED[source[at + 1]] != np.uint8(0) else _BAD
    if at + 6 > stop:
        return _BAD
    code = _hex4(source, at + 2)
    if code < _HALF or code >= _BEHIND_HALVES:
        return at + 6 if code >= 0 else _BAD
    if code >= _LOW_HALF or at + 12 > stop or source[at + 6] != _BACKSLASH or source[at + 7] != _U:
        return _BAD
    low = _hex4(source, at + 8)
    return at + 12 if low >= _LOW_HALF and low < _BEHIND_HALVES else _BAD


@helper
def _string_end(source: Bytes, at: int, stop: int, end: int, odd: np.uint64) -> tuple[int, bool]:
    """Where the quote is that ends the string whose inside begins at `at`, and whether it has escapes; _BAD: nowhere.

    `stop` is the end of the record, `end` that of the readable bytes, `odd` the bits that make a byte a foreign one.
    """
    escaped = False
    while True:
        while at + WORD <= end:
            word = load64(source, at)
            # 0x22 ^ 2 = 0x20, and what was below stays there: a quote and control characters in one test (D. Lemire).
            marks = below(word ^ _TWOS, _BEHIND_SPACES) | equal(word, _BACKSLASHES) | word & odd
            if marks != np.uint64(0):
                at += first(marks)
                break
            at += WORD
        while at < stop:
            byte = source[at]
            if byte == _QUOTE or byte == _BACKSLASH or byte < _SPACE or np.uint64(byte) & odd != np.uint64(0):
                break
            at += 1
        if at >= stop:
            return _BAD, escaped
        if source[at] == _QUOTE:
            return at, escaped
        while at < stop and source[at] == _BACKSLASH:
            escaped = True
            at = _past_escape(source, at, stop)
            if at < 0:
                return _BAD, escaped
        if at < stop and (source[at] < _SPACE or np.uint64(source[at]) & odd != np.uint64(0)):
            return _BAD, escaped


@helper
def _scalar_end(source: Bytes, at: int, stop: int) -> int:
    """Behind the number, true, false or null at `at`; _BAD where there is none."""
    byte = source[at]
    if byte == _T:  # true
        good = at + 4 <= stop and source[at + 1] == np.uint8(0x72) and source[at + 2] == _U and source[at + 3] == _E
        return at + 4 if good else _BAD
    if byte == _N:  # null
        good = at + 4 <= stop and source[at + 1] == _U and source[at + 2] == np.uint8(0x6C)
        return at + 4 if good and source[at + 3] == np.uint8(0x6C) else _BAD
    if byte == _F:  # false
        good = at + 5 <= stop and source[at + 1] == _A and source[at + 2] == np.uint8(0x6C)
        return at + 5 if good and source[at + 3] == np.uint8(0x73) and source[at + 4] == _E else _BAD
    if byte == _MINUS:
        at += 1
    digits = _past_digits(source, at, stop)
    if digits == at or (source[at] == _ZERO and digits > at + 1):
        return _BAD
    at = digits
    if at < stop and source[at] == _POINT:
        digits = _past_digits(source, at + 1, stop)
        if digits == at + 1:
            return _BAD
        at = digits
    if at < stop and source[at] | _LOWER == _E:
        at += 1
        if at < stop and (source[at] == _PLUS or source[at] == _MINUS):
            at += 1
        digits = _past_digits(source, at, stop)
        if digits == at:
            return _BAD
        at = digits
    return at


@helper
def _unescaped(source: Bytes, at: int, target: Any, written: int) -> tuple[int, int]:
    """Write what the escape at `at`, a right one, stands for, 4 bytes at most; behind both."""
    if source[at + 1] != _U:
        target[written] = _ESCAPED[source[at + 1]]
        return at + 2, written + 1
    code = _hex4(source, at + 2)
    at += 6
    if code >= _HALF and code < _BEHIND_HALVES:
        code = 0x10000 + ((code - _HALF) << 10) + _hex4(source, at + 2) - _LOW_HALF
        at += 6
    if code < 0x80:
        target[written] = np.uint8(code)
        return at, written + 1
    if code < 0x800:
        target[written] = np.uint8(0xC0 | code >> 6)
        written += 1
    elif code < 0x10000:
        target[written] = np.uint8(0xE0 | code >> 12)
        target[written + 1] = np.uint8(0x80 | code >> 6 & 0x3F)
        written += 2
    else:
        target[written] = np.uint8(0xF0 | code >> 18)
        target[written + 1] = np.uint8(0x80 | code >> 12 & 0x3F)
        target[written + 2] = np.uint8(0x80 | code >> 6 & 0x3F)
        written += 3
    target[written] = np.uint8(0x80 | code & 0x3F)
    return at, written + 1


@helper
def _is(source: Bytes, at: int, stop: int, name: Bytes, size: int, room: Any) -> bool:
    """Whether the inside of a string is `name`; `room` is for 4 bytes."""
    known = 0
    while at < stop:
        width = 1
        if source[at] == _BACKSLASH:
            at, width = _unescaped(source, at, room, 0)
        else:
            room[0] = source[at]
            at += 1
        if known + width > size:
            return False
        for place in range(width):
            if room[place] != name[known + place]:
                return False
        known += width
    return known == size


@kernel(
    types.void(
        uint8s, int64s, int64s, uint8s, types.boolean, uint64s_out, int64s_out, int64s_out, bools_out, uint8s_out
    )
)  # fmt: skip
def objects(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    name: NDArray[np.uint8],
    ascii_only: bool,
    names: NDArray[np.uint64],
    text_starts: NDArray[np.int64],
    text_stops: NDArray[np.int64],
    escaped: NDArray[np.bool_],
    room: NDArray[np.uint8],
) -> None:
    """Of each record: a hash of the names of its fields, or LEFT; where in `data` the inside of the string `name` is.

    `data` is UTF-8, or else `ascii_only` leaves every record with another byte. Of two fields of one name the last
    counts; a text that is missing or null is empty. `escaped` tells whether `strings` has something to undo.
    Names that are spelt alike, in the same order, have one hash; others share one by an accident of 2⁻⁶³ a pair
    (chained MurmurHash3). `room` is for 4 bytes.
    """
    source, wanted = pointer(data), pointer(name)
    letter: Any = pointer(room)
    end = len(data)
    odd = HIGH_BITS if ascii_only else np.uint64(0)
    for record in range(len(starts)):
        names[record] = LEFT
        text_starts[record] = text_stops[record] = 0
        escaped[record] = False
        text_start = text_stop = 0
        text_escaped = False
        stop = starts[record] + lengths[record]
        at = _past_space(source, starts[record], stop)
        if at == stop or source[at] != _OBJECT:
            continue
        at += 1
        seen = _NO_NAMES
        depth = 0
        kinds = np.uint64(1)  # a bit a level, the lowest for the innermost: 1 an object, 0 a list
        begins = True  # right behind an opening bracket, where a closing one may stand
        is_text = False
        good = False
        going = True
        while going:
            # A field, an element, or the end of what is empty.
            going = False
            at = _past_space(source, at, stop)
            if at == stop:
                break
            in_object = kinds & _ONE != np.uint64(0)
            if not (begins and source[at] == (_OBJECT_END if in_object else _LIST_END)):
                if in_object:
                    if source[at] != _QUOTE:
                        break
                    begin = at + 1
                    at, with_escapes = _string_end(source, begin, stop, end, odd)
                    if at < 0:
                        break
                    if depth == 0:
                        seen = hash_bytes(source, begin, at, seen)[0]
                        is_text = (with_escapes or at - begin == len(name)) and _is(
                            source, begin, at, wanted, len(name), letter
                        )
                    at = _past_space(source, at + 1, stop)
                    if at == stop or source[at] != _COLON:
                        break
                    at = _past_space(source, at + 1, stop)
                    if at == stop:
                        break
                byte = source[at]  # where it is the text it is not nested, since no nested text is taken
                if byte == _QUOTE:
                    begin = at + 1
                    at, with_escapes = _string_end(source, begin, stop, end, odd)
                    if at < 0:
                        break
                    if is_text:
                        text_start, text_stop, text_escaped = begin, at, with_escapes
                    at += 1
                elif is_text and byte != _N:
                    break
                elif byte == _OBJECT or byte == _LIST:
                    if depth == DEEPEST:
                        break
                    depth += 1
                    kinds = kinds << _ONE | np.uint64(byte == _OBJECT)
                    begins = going = True
                    at += 1
                    continue
                else:
                    at = _scalar_end(source, at, stop)
                    if at < 0:
                        break
                    if is_text:
                        text_start, text_stop, text_escaped = 0, 0, False
            # A comma and the next one, or the ends of one level after the other.
            begins = False
            while True:
                at = _past_space(source, at, stop)
                if at == stop:
                    break
                byte = source[at]
                at += 1
                if byte == _COMMA:
                    going = True
                    break
                if byte != (_OBJECT_END if kinds & _ONE != np.uint64(0) else _LIST_END):
                    break
                if depth == 0:
                    good = _past_space(source, at, stop) == stop
                    break
                depth -= 1
                kinds >>= _ONE
        if good:
            names[record] = seen | _ONE
            text_starts[record] = text_start
            text_stops[record] = text_stop
            escaped[record] = text_escaped


@kernel(types.void(uint8s, int64s, int64s, bools, uint8s_out, int64s_out))
def strings(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    escaped: NDArray[np.bool_],
    out: NDArray[np.uint8],
    offsets: NDArray[np.int64],
) -> None:
    """The strings whose insides `objects` has found, one behind the other: string r is out[offsets[r]:offsets[r + 1]].

    `out` has room for all insides as they are, and a word more.
    """
    source = pointer(data)
    target: Any = pointer(out)
    written = 0
    offsets[0] = written
    for number in range(len(starts)):
        at, stop = starts[number], stops[number]
        if not escaped[number]:
            copy(target, written, source, at, stop - at)
            offsets[number + 1] = written = written + stop - at
            continue
        while at < stop:
            plain = at
            while at + WORD <= stop:
                marks = equal(load64(source, at), _BACKSLASHES)
                if marks != np.uint64(0):
                    at += first(marks)
                    break
                at += WORD
            while at < stop and source[at] != _BACKSLASH:
                at += 1
            if at > plain:
                copy(target, written, source, plain, at - plain)
                written += at - plain
            while at < stop and source[at] == _BACKSLASH:
                at, written = _unescaped(source, at, target, written)
        offsets[number + 1] = written
