"""Shingle ids → signatures: `num_perm` numbers a document, of one of two families.

`mersenne`, MinHash (Broder 1997):

    p = 2³¹ − 1,  x = id mod p,  h_i(x) = (a_i·x + b_i) mod p,  signature[i] = min of h_i over the shingles

`fast`, Fast Similarity Sketching (Dahlgaard, Knudsen, Thorup 2017): `kernels.fast` has the definition.

Two signatures agree in a slot with a probability of the Jaccard similarity J of the two sets, so the share of agreeing
slots estimates it. Slots of `mersenne` are independent: the standard error is √(J(1 − J) / num_perm). Those of `fast`
are not: it is .70 of that for sets of up to num_perm ids, and comes near it for sets of many more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import fast, minhash
from neardup.pulse import Pulse, unwatched
from neardup.ragged import Ragged
from neardup.settings import Family, Sketching

# Every slot of a document without shingles; no other document has it in any.
EMPTY: dict[Family, int] = {"mersenne": 2**31 - 1, "fast": 2**32 - 1}

# Hashes a kernel call: about 4 ms on one core of an AMD EPYC of 2021.
MERSENNE_BUDGET = 1 << 24
FAST_BUDGET = 1 << 21


def constants(sketching: Sketching) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """a and b of every function of `mersenne`, uint64[num_perm] each: 1 ≤ a_i < p, 0 ≤ b_i < p.

    With (u, v) the halves of MurmurHash3 x64 128 of the 8 little-endian bytes of i, seeded with the seed:
    a_i = 1 + u mod (p − 1), b_i = v mod p. So a longer signature begins with the shorter one.
    """
    a = np.empty(sketching.num_perm, np.uint64)
    b = np.empty(sketching.num_perm, np.uint64)
    indices = np.arange(sketching.num_perm, dtype="<u8").view(np.uint8)
    minhash.draw(indices, np.uint64(sketching.seed), a, b)
    return a, b


def signatures_of(ids: Ragged, sketching: Sketching, pulse: Pulse = unwatched) -> NDArray[np.uint32]:
    """Sketch each list of shingle ids: uint32[lists, num_perm]; EMPTY of the family where a list is empty.

    Order and repeats in a list make no difference. `pulse` counts lists. Time: `mersenne` ids × num_perm; `fast`
    ids + num_perm · log(num_perm) for a list, or two to three times its ids where it has more than num_perm.
    """
    signatures = np.full((len(ids), sketching.num_perm), EMPTY[sketching.family], np.uint32)
    sketch = _fast if sketching.family == "fast" else _mersenne
    sketch(ids, sketching, pulse, signatures)
    return signatures


def _mersenne(ids: Ragged, sketching: Sketching, pulse: Pulse, out: NDArray[np.uint32]) -> None:
    a, b = constants(sketching)
    cursor = np.array([0, ids.offsets[0]])
    while cursor[0] < len(ids):
        pulse(minhash.signatures(ids.values, ids.offsets, a, b, cursor, MERSENNE_BUDGET, out))


def _fast(ids: Ragged, sketching: Sketching, pulse: Pulse, out: NDArray[np.uint32]) -> None:
    seed = np.uint64(sketching.seed)
    slots = np.full(sketching.num_perm, fast.OPEN)
    cursor = np.array([0, ids.offsets[0], 0, sketching.num_perm])
    while cursor[0] < len(ids):
        pulse(fast.signatures(ids.values, ids.offsets, seed, cursor, FAST_BUDGET, slots, out))
