"""MurmurHash3 x64 128 (Austin Appleby, public domain), bit for bit what `mmh3` gives.

For other kernels:

    hash128(data, start, stop, seed) -> (uint64, uint64)   of the bytes data[start:stop]; seed is a uint64 below 2³²
    hash_bytes(pointer(data), start, stop, seed)           the same, where it is called in a tight loop
    absorb, finish                                         the same in pieces, for a text too long for one call
    hash64_of_8(word, size)                                first half, seed 0, of the `size` ≤ 8 low bytes of a word

`data` is a uint8 array, positions are int64. An array of uint32 is hashed through its `.view(np.uint8)`.

Helpers pass a pointer to the bytes instead of the array: numba counts references to an array at every call, and left
that in the inner loop (45 ns for 9 bytes; 11 ns with a pointer). The array must outlive the pointer: numba frees an
array of the kernel's own after its last use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from neardup.kernels import helper, int64s, int64s_out, kernel, uint8s, uint64rows_out, uint64s_out

C1 = np.uint64(0x87C37B91114253D5)
C2 = np.uint64(0x4CF5AD432745937F)
ADD1 = np.uint64(0x52DCE729)
ADD2 = np.uint64(0x38495AB5)
FMIX1 = np.uint64(0xFF51AFD7ED558CCD)
FMIX2 = np.uint64(0xC4CEB9FE1A85EC53)
FIVE = np.uint64(5)
EIGHT = np.uint64(8)
BITS = np.uint64(64)
BLOCK = 16
WORD = 8

Hash = tuple[np.uint64, np.uint64]
Bytes = Sequence[np.uint8]  # for the reader; to numba a pointer:
BYTES = types.CPointer(types.uint8)


@intrinsic
def _pointer(typing: Any, data: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    return BYTES(data), codegen


def _loader(word: types.Type) -> Any:
    @intrinsic
    def load(typing: Any, data: Any, at: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            there = builder.gep(args[0], [args[1]])
            return builder.load(builder.bitcast(there, context.get_value_type(word).as_pointer()), align=1)

        return word(data, types.int64), codegen

    return load


@intrinsic
def _rotl64(typing: Any, x: Any, by: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        shifted = builder.module.declare_intrinsic("llvm.fshl", (word,), ir.FunctionType(word, [word] * 3))
        return builder.call(shifted, [args[0], args[0], args[1]])

    return types.uint64(types.uint64, types.uint64), codegen


pointer = cast(Callable[[NDArray[np.uint8]], Bytes], _pointer)
load32 = cast(Callable[[Bytes, int], np.uint32], _loader(types.uint32))  # little-endian, at any alignment
load64 = cast(Callable[[Bytes, int], np.uint64], _loader(types.uint64))
# Spelled as two shifts of a product, LLVM makes two products of it: k · C and k · (C << by).
rotl64 = cast(Callable[[np.uint64, np.uint64], np.uint64], _rotl64)


@helper
def word64(data: Bytes, start: int, size: int) -> np.uint64:
    """The 1 ≤ size ≤ 8 bytes from `start` as the low bytes of a word. Reads no others: two loads overlap instead."""
    if size >= 4:
        high = np.uint64(size - 4)
        return np.uint64(load32(data, start)) | (np.uint64(load32(data, start + size - 4)) << (EIGHT * high))
    middle = np.uint64(size >> 1)
    last = np.uint64(size - 1)
    return (
        np.uint64(data[start])
        | (np.uint64(data[start + (size >> 1)]) << (EIGHT * middle))
        | (np.uint64(data[start + size - 1]) << (EIGHT * last))
    )


@helper
def fmix64(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> np.uint64(33))) * FMIX1
    z = (z ^ (z >> np.uint64(33))) * FMIX2
    return z ^ (z >> np.uint64(33))


@helper
def mixed1(k1: np.uint64) -> np.uint64:
    return rotl64(k1 * C1, np.uint64(31)) * C2


@helper
def mixed2(k2: np.uint64) -> np.uint64:
    return rotl64(k2 * C2, np.uint64(33)) * C1


@helper
def absorb(h1: np.uint64, h2: np.uint64, data: Bytes, start: int, stop: int) -> Hash:
    """Take in the whole blocks of 16 bytes of data[start:stop]; begin with h1 = h2 = seed."""
    while start + BLOCK <= stop:
        h1 = (rotl64(h1 ^ mixed1(load64(data, start)), np.uint64(27)) + h2) * FIVE + ADD1
        h2 = (rotl64(h2 ^ mixed2(load64(data, start + WORD)), np.uint64(31)) + h1) * FIVE + ADD2
        start += BLOCK
    return h1, h2


@helper
def finish(h1: np.uint64, h2: np.uint64, data: Bytes, start: int, stop: int) -> Hash:
    """Take in what is left of all of data[start:stop] once its whole blocks are in, and mix."""
    size = stop - start
    left = size & (BLOCK - 1)
    if left > WORD:
        h2 ^= mixed2(word64(data, stop - left + WORD, left - WORD))
        h1 ^= mixed1(load64(data, stop - left))
    elif left > 0:
        h1 ^= mixed1(word64(data, stop - left, left))
    h1 ^= np.uint64(size)
    h2 ^= np.uint64(size)
    h1 += h2
    h2 += h1
    h1 = fmix64(h1)
    h2 = fmix64(h2)
    h1 += h2
    h2 += h1
    return h1, h2


@helper
def hash_bytes(data: Bytes, start: int, stop: int, seed: np.uint64) -> Hash:
    h1, h2 = absorb(seed, seed, data, start, stop)
    return finish(h1, h2, data, start, stop)


@helper
def hash128(data: NDArray[np.uint8], start: int, stop: int, seed: np.uint64) -> Hash:
    return hash_bytes(pointer(data), start, stop, seed)


@helper
def hash64_of_8(word: np.uint64, size: np.uint64) -> np.uint64:
    h1 = (mixed1(word) ^ size) + size
    h2 = size + h1
    return fmix64(h1) + fmix64(h2)


@kernel(types.int64(uint8s, int64s, int64s_out, uint64s_out, types.int64, uint64rows_out))
def fingerprint(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    cursor: NDArray[np.int64],
    halves: NDArray[np.uint64],
    budget: int,
    out: NDArray[np.uint64],
) -> int:
    """Hash texts, seed 0, from cursor = [text, byte] on, until about `budget` bytes are done; how many texts ended.

    `halves` holds the two halves of a text that is not finished; zeros at the beginning.
    """
    there = pointer(data)
    first = text = cursor[0]
    at = cursor[1]
    h1 = halves[0]
    h2 = halves[1]
    while text < len(offsets) - 1 and budget > 0:
        start = offsets[text]
        stop = offsets[text + 1]
        piece = min(stop, at + (budget + BLOCK) // BLOCK * BLOCK)
        h1, h2 = absorb(h1, h2, there, at, piece)
        budget -= piece - at + BLOCK
        at = piece
        if at == stop:
            out[text, 0], out[text, 1] = finish(h1, h2, there, start, stop)
            h1 = np.uint64(0)
            h2 = np.uint64(0)
            text += 1
    cursor[0] = text
    cursor[1] = at
    halves[0] = h1
    halves[1] = h2
    return text - first
