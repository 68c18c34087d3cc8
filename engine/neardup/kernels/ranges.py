"""Ranges of bytes put one behind the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from neardup.kernels import int64s, int64s_out, kernel, uint8s, uint8s_out
from neardup.kernels.murmur3 import pointer
from neardup.kernels.words import copy


@kernel(types.void(uint8s, int64s, int64s, uint8s_out, int64s_out))
def copy_ranges(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    out: NDArray[np.uint8],
    offsets: NDArray[np.int64],
) -> None:
    """Put the ranges of `data` one behind the other into `out`; range r is out[offsets[r]:offsets[r + 1]]."""
    source = pointer(data)
    target: Any = pointer(out)
    position = 0
    offsets[0] = position
    for number in range(len(starts)):
        copy(target, position, source, starts[number], lengths[number])
        position += lengths[number]
        offsets[number + 1] = position
