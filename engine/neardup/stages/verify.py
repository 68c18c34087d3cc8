"""Verification: the estimate of a pair from its signatures, and its exact Jaccard from its shingle sets.

A Jaccard stays a pair of integers, overlap and union, and is compared with the threshold by multiplying out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import jaccard as kernels
from neardup.pulse import Pulse, unwatched
from neardup.ragged import Ragged
from neardup.settings import ONE

SLOTS_A_CALL = 1 << 21  # a pair of signatures of 128 slots that are not in the cache costs some 0.2 µs
STEPS_A_CALL = np.int64(1 << 20)  # of 2 to 5 ns; a merge may take twice as many


def agreements(
    signatures: NDArray[np.uint32], left: NDArray[np.int64], right: NDArray[np.int64], pulse: Pulse = unwatched
) -> NDArray[np.uint32]:
    """How many slots agree: uint32[pairs]. Pairs are positions in signatures, uint32[n, num_perm]."""
    agree = np.empty(len(left), np.uint32)
    step = max(1, SLOTS_A_CALL // max(1, signatures.shape[1]))
    for start in range(0, len(left), step):
        part = slice(start, start + step)
        kernels.agree(signatures, left[part], right[part], agree[part])
        pulse(len(agree[part]))
    return agree


def overlaps(
    sets: Ragged, left: NDArray[np.int64], right: NDArray[np.int64], pulse: Pulse = unwatched
) -> NDArray[np.uint32]:
    """How many shingles are in both sets: uint32[pairs]. Pairs are positions in sets, each sorted and unique.

    The union is sets.sizes[left] + sets.sizes[right] − overlap. Cost: the sum of the two sizes, or, of very unequal
    ones, the smaller one times the logarithm of their ratio. Two sets of any size can be stopped half-way.
    """
    overlap = np.empty(len(left), np.uint32)
    cursor = np.zeros(4, np.int64)
    while cursor[0] < len(left):
        pulse(int(kernels.overlap(sets.values, sets.offsets, left, right, STEPS_A_CALL, cursor, overlap)))
    return overlap


def is_true(overlap: NDArray[np.integer], union: NDArray[np.integer], threshold: int) -> NDArray[np.bool_]:
    """bool[pairs]: J ≥ t, that is 10000·overlap ≥ T·union in int64; never where the union is 0.

    threshold   T in ten-thousandths, 1 to 10,000; overlap and union below 2⁴⁹
    """
    return (union > 0) & (ONE * overlap.astype(np.int64) >= threshold * union.astype(np.int64))


def estimate_passes(agree: NDArray[np.integer], num_perm: int, threshold: int) -> NDArray[np.bool_]:
    """bool[pairs]: the estimate, agree / num_perm, is at least the threshold in ten-thousandths, in int64."""
    return ONE * agree.astype(np.int64) >= threshold * num_perm
