"""Where records begin and end in bytes, and the bytes of one field of each.

A finder takes a window of a file that begins at a record border, writes the start (in the window) and the length of
each complete record, as many as there is room for, and returns (records, consumed): up to there the window is done.
`final` says that the file ends with the window; else a record that the window may cut is left for the next window.
All records it reports have their line end; only the last one of a file may have none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from neardup.kernels import helper, int64s, int64s_out, kernel, uint8s, uint8s_out
from neardup.kernels.murmur3 import pointer
from neardup.kernels.words import copy, find, spread

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

TAB = np.uint8(0x09)
LF = np.uint8(0x0A)
CR = np.uint8(0x0D)
SPACE = np.uint8(0x20)
QUOTE = np.uint8(0x22)
_LFS, _CRS, _QUOTES = (np.uint64(byte * 0x0101010101010101) for byte in (0x0A, 0x0D, 0x22))

# The states of Python's csv module (Modules/_csv.c), as far as a dialect without escapes has them.
_FIELD_START = np.uint8(0)
_IN_FIELD = np.uint8(1)
_IN_QUOTES = np.uint8(2)
_QUOTE_IN_QUOTES = np.uint8(3)

_found = types.UniTuple(types.int64, 2)  # numba has no types for its types


@kernel(_found(uint8s, types.boolean, int64s_out, int64s_out))
def line_records(data: Bytes, final: bool, starts: Ints, lengths: Ints) -> tuple[int, int]:
    r"""Lines: `\n`, `\r\n` or a lone `\r` ends one."""
    source = pointer(data)
    size, room = len(data), len(starts)
    count, start = 0, 0
    while count < room:
        i = find(source, start, size, _LFS, _CRS, _CRS)
        if i == size:
            break
        i += 1
        if source[i - 1] == CR:
            if i < size:
                i += int(source[i] == LF)
            elif not final:
                break  # its \n may be the next byte
        starts[count] = start
        lengths[count] = i - start
        count += 1
        start = i
    if final and start < size and count < room:
        starts[count] = start
        lengths[count] = size - start
        count += 1
        start = size
    return count, start


@kernel(_found(uint8s, types.boolean, int64s_out, int64s_out))
def newline_records(data: Bytes, final: bool, starts: Ints, lengths: Ints) -> tuple[int, int]:
    r"""JSON lines: only `\n` ends one; lines of JSON's white space are none."""
    source = pointer(data)
    size, room = len(data), len(starts)
    count, start = 0, 0
    while start < size and count < room:
        i = start
        while i < size and (source[i] == SPACE or source[i] == TAB or source[i] == CR):
            i += 1
        blank = i == size or source[i] == LF
        i = find(source, i, size, _LFS, _LFS, _LFS)
        if i < size:
            i += 1
        elif not final:
            break
        if not blank:
            starts[count] = start
            lengths[count] = i - start
            count += 1
        start = i
    return count, start


@helper
def _white_space(data: Bytes, i: int) -> int:
    """The length of the UTF-8 character at i if `str.isspace` holds for it, else 0."""
    first = data[i]
    if first == SPACE or TAB <= first <= CR or np.uint8(0x1C) <= first <= np.uint8(0x1F):
        return 1
    if first < np.uint8(0xC2) or i + 1 >= len(data):
        return 0
    second = data[i + 1]
    if first == np.uint8(0xC2):  # U+0085 U+00A0
        return 2 if second == np.uint8(0x85) or second == np.uint8(0xA0) else 0
    if i + 2 >= len(data):
        return 0
    third = data[i + 2]
    if first == np.uint8(0xE1):  # U+1680
        return 3 if second == np.uint8(0x9A) and third == np.uint8(0x80) else 0
    if first == np.uint8(0xE2) and second == np.uint8(0x80):  # U+2000-200A U+2028 U+2029 U+202F
        is_space = np.uint8(0x80) <= third <= np.uint8(0x8A) or third == np.uint8(0xA8)
        return 3 if is_space or third == np.uint8(0xA9) or third == np.uint8(0xAF) else 0
    if first == np.uint8(0xE2) and second == np.uint8(0x81):  # U+205F
        return 3 if third == np.uint8(0x9F) else 0
    if first == np.uint8(0xE3) and second == np.uint8(0x80):  # U+3000
        return 3 if third == np.uint8(0x80) else 0
    return 0


@kernel(_found(uint8s, types.boolean, int64s_out, int64s_out))
def block_records(data: Bytes, final: bool, starts: Ints, lengths: Ints) -> tuple[int, int]:
    """Blocks parted by lines of white space; such lines after a block are its, those before the first are nobody's."""
    size, room = len(data), len(starts)
    count, consumed, i = 0, 0, 0
    start, parted = -1, False
    while i < size:
        line = i
        blank, ended = True, False
        while i < size and not ended:
            byte = data[i]
            if byte == LF:
                i += 1
                ended = True
            elif byte == CR:
                i += 1
                if i < size:
                    if data[i] == LF:
                        i += 1
                elif not final:
                    return count, consumed
                ended = True
            elif blank:
                if not final and i + 2 >= size:
                    return count, consumed  # the window may cut this character
                width = _white_space(data, i)
                blank = width > 0
                i += max(width, 1)
            else:
                i += 1
        if blank:
            if not ended and not final:
                return count, consumed
            parted = start >= 0
            continue
        if parted:
            starts[count] = start
            lengths[count] = line - start
            count += 1
            consumed = line
            if count == room:
                return count, consumed
        if start < 0 or parted:
            start = line
        parted = False
    if not final:
        return count, consumed
    if start >= 0:
        starts[count] = start
        lengths[count] = size - start
        count += 1
    return count, size


@kernel(types.void(uint8s, int64s, int64s, int64s_out))
def block_texts(data: Bytes, starts: Ints, lengths: Ints, sizes: Ints) -> None:
    """How many bytes of each block are its text: up to the end of its last line that is not of white space."""
    for record in range(len(starts)):
        start = starts[record]
        stop = start + lengths[record]
        i, end = start, start
        blank = True
        while i < stop:
            byte = data[i]
            if byte == LF or byte == CR:
                blank = True
                i += 1
                continue
            if blank:
                width = _white_space(data, i)
                if width > 0:
                    i += width
                    continue
                blank = False
            i += 1
            while i < stop and data[i] != LF and data[i] != CR:
                i += 1
            end = i
        sizes[record] = end - start


@kernel(_found(uint8s, types.uint8, types.boolean, int64s_out, int64s_out, int64s_out))
def csv_records(
    data: Bytes, delimiter: np.uint8, final: bool, starts: Ints, lengths: Ints, fields: Ints
) -> tuple[int, int]:
    """CSV records and how many fields each has; blank lines are none."""
    source, mark = pointer(data), spread(delimiter)
    size, room = len(data), len(starts)
    count, i = 0, 0
    while True:
        while i < size and (source[i] == LF or source[i] == CR):
            i += 1
        start = i
        if i == size or count == room:
            return count, start
        state = _FIELD_START
        cells = 1
        ended = False
        while i < size and not ended:
            if state == _IN_QUOTES:
                i = find(source, i, size, _QUOTES, _QUOTES, _QUOTES)
                if i < size:
                    i += 1
                    state = _QUOTE_IN_QUOTES
                continue
            byte = source[i]
            i += 1
            if byte == delimiter:
                cells += 1
                state = _FIELD_START
            elif byte == LF:
                ended = True
            elif byte == CR:
                if i < size:
                    i += int(source[i] == LF)
                elif not final:
                    return count, start  # its \n may be the next byte
                ended = True
            elif byte == QUOTE and state != _IN_FIELD:
                state = _IN_QUOTES
            else:
                state = _IN_FIELD
                i = find(source, i, size, mark, _LFS, _CRS)
        if not ended and not final:
            return count, start
        starts[count] = start
        lengths[count] = i - start
        fields[count] = cells
        count += 1


@kernel(types.void(uint8s, int64s, int64s, types.uint8, types.int64, uint8s_out, int64s_out))
def csv_cells(
    data: Bytes, starts: Ints, lengths: Ints, delimiter: np.uint8, column: int, out: Bytes, offsets: Ints
) -> None:
    """The cell of one column (from 0) of each record, quotes undone; nothing where a record is too short.

    `out` has room for all bytes of the records; cell r is out[offsets[r]:offsets[r + 1]].
    """
    source, mark = pointer(data), spread(delimiter)
    target: Any = pointer(out)
    position = 0
    offsets[0] = 0
    for record in range(len(starts)):
        i = starts[record]
        stop = i + lengths[record]
        state = _FIELD_START
        cell = 0
        while i < stop and cell <= column:
            first = i
            if state == _IN_QUOTES:
                last = find(source, i, stop, _QUOTES, _QUOTES, _QUOTES)
                i = last + 1
                state = _QUOTE_IN_QUOTES
            else:
                byte = source[i]
                i += 1
                if byte == delimiter:
                    cell += 1
                    state = _FIELD_START
                    continue
                if byte == LF or byte == CR:
                    break
                if byte == QUOTE and state != _IN_FIELD:
                    last = first + int(state == _QUOTE_IN_QUOTES)  # a doubled quote is one
                    state = _IN_QUOTES
                else:
                    last = i = find(source, i, stop, mark, _LFS, _CRS)
                    state = _IN_FIELD
            if cell == column:
                copy(target, position, source, first, last - first)
                position += last - first
        offsets[record + 1] = position
