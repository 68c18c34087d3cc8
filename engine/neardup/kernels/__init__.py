"""The fast halves: arrays in, arrays out, single-threaded, without the GIL. They know numpy and numba alone.

    @kernel(types.void(uint8s, int64s, types.int64, uint64s_out))
    def char_ids(data, offsets, k, out): ...

A kernel has ONE explicit signature, so it is compiled, or loaded from the cache, when its module is imported:
never in the middle of a stage, and never for an argument nobody thought of. A helper has none and is compiled into
the kernels that call it; it may live in another module (`murmur3.hash128`), since `compiled.prepare` names the
cache after the content of all of them. NUMBA_BOUNDSCHECK=1 checks every index.

Every integer constant in a kernel is `np.uint64(...)` or another named width: numba makes `uint64 + 1` a negative
signed integer; positions and sizes are int64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import types

Function = TypeVar("Function", bound=Callable[..., Any])


def _array(dtype: types.Type, dimensions: int = 1, *, readonly: bool = False) -> types.Array:
    return types.Array(dtype, dimensions, "C", readonly=readonly)


# What a kernel reads. Arrays that may be written are taken too, and so are read-only memory maps.
bools = _array(types.boolean, readonly=True)
uint8s = _array(types.uint8, readonly=True)
uint32s = _array(types.uint32, readonly=True)
uint64s = _array(types.uint64, readonly=True)
int64s = _array(types.int64, readonly=True)
uint8rows = _array(types.uint8, 2, readonly=True)
uint32rows = _array(types.uint32, 2, readonly=True)
uint64rows = _array(types.uint64, 2, readonly=True)
int64rows = _array(types.int64, 2, readonly=True)

# What a kernel writes.
bools_out = _array(types.boolean)
uint8s_out = _array(types.uint8)
uint32s_out = _array(types.uint32)
uint64s_out = _array(types.uint64)
int64s_out = _array(types.int64)
uint8rows_out = _array(types.uint8, 2)
uint32rows_out = _array(types.uint32, 2)
uint64rows_out = _array(types.uint64, 2)
int64rows_out = _array(types.int64, 2)


def kernel(signature: object) -> Callable[[Function], Function]:
    """Compile a function for exactly these types: `types.void(uint8s, uint64s_out)`, names from this page."""
    return cast(
        Callable[[Function], Function], numba.njit(signature, cache=True, nogil=True, error_model="numpy")
    )


def helper(function: Function) -> Function:
    """Compile a function into the kernels that call it, always inlined: as a call, hash128 took three times as long."""
    return cast(Function, numba.njit(function, nogil=True, error_model="numpy", forceinline=True))
