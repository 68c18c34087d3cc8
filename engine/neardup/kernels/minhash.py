"""MinHash, family `mersenne`: h(x) = (a·x + b) mod p over x = id mod p, p = 2³¹ − 1; the least of each function.

Modulo a Mersenne prime is a shift and an addition (Carter and Wegman 1979; Thorup 2015, "High speed hashing"):
v < p·2³¹ gives w = (v & p) + (v >> 31) < 2p, and then w mod p = min(w, w − p) in uint32, where w − p wraps if w < p.

The products are doubled, v = 2a·x + 2b: its high 32 bits are then v >> 31, half of its low 32 bits is v & p. Sixteen
hashes take two multiplications, two additions, two shuffles, a shift, an addition, a subtraction and two minima of
512 bits, as in the program written by hand that `benchmarks/kernels.py` measures beside it. Functions, not ids, lie
side by side: nothing is reduced across a register, and a list of three ids has no tail (4 times faster for 10 ids).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from neardup.kernels import helper, int64s, int64s_out, kernel, uint8s, uint32rows_out, uint64s, uint64s_out
from neardup.kernels.murmur3 import hash128

P = np.uint64(0x7FFFFFFF)
BITS = np.uint64(31)
ONE = np.uint64(1)
TWO = np.uint64(2)
BLOCK = 512  # ids: 2 KB, which stay in the first-level cache while every function passes over them
LANES = 16  # functions side by side: a register of AVX-512, two of AVX2, four of SSE or NEON
HALF = 8

SLOT = ir.IntType(32)
SLOTS = ir.VectorType(SLOT, LANES)
PRODUCTS = ir.VectorType(ir.IntType(64), HALF)


@kernel(types.void(uint8s, types.uint64, uint64s_out, uint64s_out))
def draw(indices: NDArray[np.uint8], seed: np.uint64, a: NDArray[np.uint64], b: NDArray[np.uint64]) -> None:
    """a_i = 1 + u mod (p − 1) and b_i = v mod p, where (u, v) hashes the 8 little-endian bytes of i with the seed."""
    for i in range(len(a)):
        u, v = hash128(indices, 8 * i, 8 * i + 8, seed)
        a[i] = ONE + u % (P - ONE)
        b[i] = v % P


@helper
def residue(x: np.uint64) -> np.uint32:
    """A number ≡ x modulo p, at most p + 1: not less than p always, and it need not be, as a·(p + 1) + b < p·2³¹."""
    folded = (x & P) + ((x >> BITS) & P) + (x >> (BITS + BITS))
    return np.uint32((folded & P) + (folded >> BITS))


@helper
def lanes_of(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """For each LANES functions 2a, then 2b, in the order in which `_lower` takes them; the last one fills up."""
    blocks = (len(a) + LANES - 1) // LANES
    lanes = np.empty(2 * LANES * blocks, np.uint64)
    for function in range(LANES * blocks):
        block, lane = function // LANES, function % LANES
        at = 2 * LANES * block + lane // 4 * 2 + lane % 2 + lane // 2 % 2 * HALF
        source = min(function, len(a) - 1)
        lanes[at] = TWO * a[source]
        lanes[at + LANES] = TWO * b[source]
    return lanes


@intrinsic
def _lower(typing: Any, residues: Any, size: Any, lanes: Any, function: Any, least: Any) -> Any:
    """Vectors of LLVM, which every processor has or gets. numba's own loop over the ids took 1.7 times as long."""
    signature = types.void(residues, types.int64, lanes, types.int64, least)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        xs, functions, row = (
            context.make_array(signature.args[i])(context, builder, args[i]).data for i in (0, 2, 4)
        )

        def vector(value: int, kind: ir.VectorType = SLOTS) -> ir.Constant:
            return ir.Constant(kind, [value] * kind.count)

        def there(array: Any, at: Any, kind: ir.VectorType) -> Any:
            return builder.bitcast(builder.gep(array, [at]), kind.as_pointer())

        def minimum(left: Any, right: Any) -> Any:
            return builder.select(builder.icmp_unsigned("<", left, right), left, right)

        # Masked inside the loop, so that LLVM sees factors of 32 bits: one vpmuludq for each product.
        def factor(value: Any) -> Any:
            return builder.and_(value, vector(0xFFFFFFFF, PRODUCTS))

        def picked(first: Any, second: Any, odd: int) -> Any:
            """Each even, or odd, half of the products, by quarters of a register: a vshufps, and no other shuffle."""
            order = [at + i + odd for at in range(0, LANES, 4) for i in (0, 2, LANES, LANES + 2)]
            return builder.shuffle_vector(first, second, ir.Constant(SLOTS, order))

        start = builder.mul(args[3], ir.Constant(args[3].type, 2))
        a1, a2, b1, b2 = (
            builder.load(there(functions, builder.add(start, ir.Constant(start.type, at)), PRODUCTS), align=8)
            for at in range(0, 2 * LANES, HALF)
        )
        slots = there(row, args[3], SLOTS)
        so_far = cgutils.alloca_once_value(builder, builder.load(slots, align=4))
        with cgutils.for_range(builder, args[1]) as loop:
            x = builder.insert_element(vector(0), builder.load(builder.gep(xs, [loop.index])), ir.Constant(SLOT, 0))
            x = factor(builder.bitcast(builder.shuffle_vector(x, x, vector(0)), PRODUCTS))
            v1 = builder.bitcast(builder.add(builder.mul(factor(a1), x), b1), SLOTS)
            v2 = builder.bitcast(builder.add(builder.mul(factor(a2), x), b2), SLOTS)
            w = builder.add(builder.lshr(picked(v1, v2, 0), vector(1)), picked(v1, v2, 1))
            h = minimum(w, builder.sub(w, vector(int(P))))
            builder.store(minimum(h, builder.load(so_far)), so_far)
        builder.store(builder.load(so_far), slots, align=4)

    return signature, codegen


# Lowers least[function : function + LANES] by h of the first `size` residues; `lanes` as `lanes_of` gives them.
lower = cast(Callable[[NDArray[np.uint32], int, NDArray[np.uint64], int, NDArray[np.uint32]], None], _lower)


@kernel(types.int64(uint64s, int64s, uint64s, uint64s, int64s_out, types.int64, uint32rows_out))
def signatures(
    values: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    a: NDArray[np.uint64],
    b: NDArray[np.uint64],
    cursor: NDArray[np.int64],
    budget: int,
    out: NDArray[np.uint32],
) -> int:
    """Lower `out`, which begins with p everywhere, by the ids from cursor = [list, id] on; how many lists ended.

    Ends after about `budget` values of h; a list of any length takes any number of calls.
    """
    first = index = cursor[0]
    at = cursor[1]
    lanes = lanes_of(a, b)
    residues = np.empty(BLOCK, np.uint32)
    least = np.empty(len(lanes) // 2, np.uint32)  # a row of `out`, and the lanes that fill up
    while index < len(offsets) - 1 and budget > 0:
        stop = offsets[index + 1]
        for function in range(len(a)):
            least[function] = out[index, function]
        while at < stop and budget > 0:
            size = min(stop - at, BLOCK)
            for i in range(size):
                residues[i] = residue(values[at + i])
            for function in range(0, len(least), LANES):
                lower(residues, size, lanes, function, least)
            at += size
            budget -= size * len(a)
        for function in range(len(a)):
            out[index, function] = least[function]
        if at >= stop:
            index += 1
            budget -= len(a)
    cursor[0] = index
    cursor[1] = at
    return index - first
