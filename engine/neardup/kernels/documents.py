"""Rows in the order of their documents."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from neardup.kernels import int64s, int64s_out, kernel


@kernel(types.void(int64s, types.int64, types.int64, int64s_out, int64s_out))
def place_rows(
    document_of_row: NDArray[np.int64], first: int, stop: int, cursor: NDArray[np.int64], out: NDArray[np.int64]
) -> None:
    """Put the rows from first to stop where the cursor of their document stands, which begins as its offset."""
    for row in range(first, stop):
        document = document_of_row[row]
        at = cursor[document]
        cursor[document] = at + 1
        out[at] = row
