"""Shingle ids → MinHash signatures, family `mersenne`.

    p = 2³¹ − 1,  x = id mod p,  h_i(x) = (a_i·x + b_i) mod p,  signature[i] = min of h_i over the shingles

Two signatures agree in a slot with a probability of the Jaccard similarity J of the two sets (Broder 1997), so the
share of agreeing slots estimates it, with a standard error of √(J(1 − J) / num_perm).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import minhash as kernels
from neardup.pulse import Pulse, unwatched
from neardup.ragged import Ragged
from neardup.settings import Sketching

EMPTY = 2**31 - 1  # every slot of a document without shingles

# Hash values a kernel call: about 4 ms on one core of an AMD EPYC of 2021.
BUDGET = 1 << 24


def constants(sketching: Sketching) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """a and b of every function, uint64[num_perm] each: 1 ≤ a_i < p, 0 ≤ b_i < p.

    With (u, v) the halves of MurmurHash3 x64 128 of the 8 little-endian bytes of i, seeded with the seed:
    a_i = 1 + u mod (p − 1), b_i = v mod p. So a longer signature begins with the shorter one.
    """
    a = np.empty(sketching.num_perm, np.uint64)
    b = np.empty(sketching.num_perm, np.uint64)
    indices = np.arange(sketching.num_perm, dtype="<u8").view(np.uint8)
    kernels.draw(indices, np.uint64(sketching.seed), a, b)
    return a, b


def signatures_of(ids: Ragged, sketching: Sketching, pulse: Pulse = unwatched) -> NDArray[np.uint32]:
    """Sketch each list of shingle ids: uint32[lists, num_perm]; p everywhere where a list is empty.

    Order and repeats in a list make no difference. `pulse` counts lists. Time: ids × num_perm.
    """
    a, b = constants(sketching)
    signatures = np.full((len(ids), sketching.num_perm), EMPTY, np.uint32)
    cursor = np.array([0, ids.offsets[0]])
    while cursor[0] < len(ids):
        pulse(kernels.signatures(ids.values, ids.offsets, a, b, cursor, BUDGET, signatures))
    return signatures
