"""Bytes eight at a time, and ranges of bytes copied: helpers for other kernels, over the pointers of `murmur3`.

    marks = equal(load64(data, at), spread(b)) -> uint64   the high bit of bytes that are b; the LOWEST is exact
    at += first(marks)                                     how many bytes come before the lowest one marked
    find(source, at, stop, a8, b8, c8)                     where the first byte is that is one of three, or stop
    copy(target, at, source, start, size)                  memcpy

A mark above the lowest may be false, since a difference borrows from the byte above it (Hacker's Delight, 6.1):
enough for whoever looks for the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from neardup.kernels import helper
from neardup.kernels.murmur3 import BYTES, WORD, Bytes, load64

HIGH_BITS = np.uint64(0x8080808080808080)
_ONES = np.uint64(0x0101010101010101)
_LOWEST = np.uint64(0x80)


@intrinsic
def _trailing_zeros(typing: Any, word: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], cgutils.true_bit)

    return types.int64(types.uint64), codegen


@intrinsic
def _copy(typing: Any, target: Any, at: Any, source: Any, start: Any, size: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        into, position, from_, begin, count = args
        into, from_ = builder.gep(into, [position]), builder.gep(from_, [begin])
        cgutils.raw_memcpy(builder, into, from_, count, 1)
        return context.get_dummy_value()

    return types.void(BYTES, types.int64, BYTES, types.int64, types.int64), codegen


trailing_zeros = cast(Callable[[np.uint64], int], _trailing_zeros)
copy = cast(Callable[[Any, int, Bytes, int, int], None], _copy)


@helper
def spread(byte: np.uint8) -> np.uint64:
    """The same byte eight times."""
    return np.uint64(byte) * _ONES


@helper
def equal(word: np.uint64, byte8: np.uint64) -> np.uint64:
    """Marks the bytes that are equal to those of `byte8`."""
    others = word ^ byte8
    return (others - _ONES) & ~others & HIGH_BITS


@helper
def below(word: np.uint64, byte8: np.uint64) -> np.uint64:
    """Marks the bytes that are less than those of `byte8`, which are ≤ 0x80."""
    return (word - byte8) & ~word & HIGH_BITS


@helper
def first(marks: np.uint64) -> int:
    """How many bytes of the word come before the lowest mark; there is one."""
    return trailing_zeros(marks) >> 3


@helper
def find(source: Bytes, at: int, stop: int, a8: np.uint64, b8: np.uint64, c8: np.uint64) -> int:
    """The same constant twice costs nothing: the compiler sees it."""
    while at + WORD <= stop:
        word = load64(source, at)
        marks = equal(word, a8) | equal(word, b8) | equal(word, c8)
        if marks != np.uint64(0):
            return at + first(marks)
        at += WORD
    while at < stop:
        byte = np.uint64(source[at])
        if (equal(byte, a8) | equal(byte, b8) | equal(byte, c8)) & _LOWEST != np.uint64(0):
            return at
        at += 1
    return at
