from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from neardup.errors import Cancelled
from neardup.kernels import minhash
from neardup.ragged import Ragged
from neardup.settings import Sketching
from neardup.stages import signatures
from neardup.stages.signatures import constants, signatures_of

P = naive.P
# Ids at the borders of the arithmetic: around the multiples of p, and where a fold by 31 bits carries.
an_id = st.one_of(
    st.integers(0, 2**64 - 1),
    st.builds(lambda times, off: max(0, times * P + off), st.integers(0, 2**33), st.integers(-1, 1)),
)
some_lists = st.lists(st.lists(an_id, max_size=20), max_size=5)
a_sketching = st.builds(Sketching, num_perm=st.integers(1, 40), seed=st.integers(0, 2**32 - 1))


def ragged(lists: list[list[int]]) -> Ragged:
    values = np.array([value for one in lists for value in one], np.uint64)
    return Ragged(values, np.cumsum([0, *map(len, lists)]))


@given(some_lists, a_sketching)
@settings(max_examples=120, deadline=None)
def test_a_signature_is_that_of_big_integers(lists: list[list[int]], sketching: Sketching) -> None:
    found = signatures_of(ragged(lists), sketching)

    assert found.dtype == np.uint32 and found.shape == (len(lists), sketching.num_perm)
    assert found.tolist() == [naive.signature(set(one), sketching.num_perm, sketching.seed) for one in lists]


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 - 1])
@pytest.mark.parametrize("num_perm", [1, 128, 65_535])
def test_the_functions_of_a_seed_are_those_of_big_integers(num_perm: int, seed: int) -> None:
    a, b = constants(Sketching(num_perm=num_perm, seed=seed))

    assert a.dtype == b.dtype == np.uint64
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == naive.constants(num_perm, seed)


@pytest.mark.parametrize("x", [0, 1, P - 1, P, P + 1, 2 * P, 2**62 - 1, 2**62, P * P - 1, P * P, 2**63 - 1, 2**64 - 1])
@pytest.mark.parametrize("a", [1, 2, P - 2, P - 1])
@pytest.mark.parametrize("b", [0, 1, P - 1])
def test_the_extreme_functions_are_reduced_completely(x: int, a: int, b: int) -> None:
    found = np.full((1, 1), P, np.uint32)
    functions = np.array([a], np.uint64), np.array([b], np.uint64)

    minhash.signatures(np.array([x], np.uint64), np.array([0, 1]), *functions, np.array([0, 0]), 1, found)

    assert found[0, 0] == min(P, (a * x + b) % P)


def test_an_empty_document_has_p_in_every_slot() -> None:
    assert signatures_of(ragged([[], [5], []]), Sketching())[[0, 2]].tolist() == [[P] * 128] * 2


def test_a_longer_signature_begins_with_the_shorter_one() -> None:
    ids = ragged([[3, 5, 8], [2**63]])

    short, long = (signatures_of(ids, Sketching(num_perm=n)) for n in (16, 300))

    assert np.array_equal(long[:, :16], short)


def test_order_and_repeats_of_the_shingles_make_no_difference() -> None:
    forward, backward = signatures_of(ragged([[1, 2, 3], [3, 2, 2, 1, 3]]), Sketching())

    assert np.array_equal(forward, backward)


def test_a_document_has_the_same_signature_in_one_kernel_call_and_in_many(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    sizes = [0, 5 * minhash.BLOCK + 3, 1, 2 * minhash.BLOCK, 0, 40]
    ids = Ragged(generator.integers(0, 2**64, sum(sizes), np.uint64), np.cumsum([0, *sizes]))
    sketching = Sketching(num_perm=64)
    calls: list[int] = []
    whole = signatures_of(ids, sketching)
    monkeypatch.setattr(signatures, "BUDGET", 1)

    pieces = signatures_of(ids, sketching, calls.append)

    assert np.array_equal(pieces, whole)
    assert sum(calls) == len(sizes) and len(calls) > len(sizes)
    assert whole[1].tolist() == naive.signature(set(ids[1].tolist()), 64, 1)


def test_sketching_stops_between_two_kernel_calls_when_asked_to() -> None:
    def cancelled(done: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        signatures_of(ragged([[1], [2]]), Sketching(), cancelled)


SEEDS = 200
UNION = 120


@pytest.mark.parametrize("overlap", [6, 36, 60, 96, 114])
def test_over_200_seeds_the_estimate_has_the_mean_and_the_spread_of_theory(overlap: int) -> None:
    # given two sets of J = overlap / UNION, of ids as uniform as hashes are
    ids = np.random.default_rng(overlap).integers(0, 2**64, UNION, np.uint64)
    only_left = (UNION - overlap) // 2
    left, right = ids[: only_left + overlap], ids[only_left:]
    pair = Ragged(np.concatenate([left, right]), np.cumsum([0, len(left), len(right)]))
    true = naive.jaccard(set(left.tolist()), set(right.tolist()))
    num_perm = 128

    # when it is estimated once with each seed
    signed = [signatures_of(pair, Sketching(num_perm=num_perm, seed=seed)) for seed in range(SEEDS)]
    estimates = np.array([np.mean(one == other) for one, other in signed])

    # then the mean is J within four standard errors, and the spread √(J(1 − J)/num_perm): the standard deviation of
    # 200 values strays by 5 % (1/√400), four times that is 20 %
    spread = sqrt(true * (1 - true) / num_perm)
    assert true == overlap / UNION
    assert abs(estimates.mean() - true) < 4 * spread / sqrt(SEEDS)
    assert 0.8 * spread < estimates.std(ddof=1) < 1.2 * spread


def test_the_slots_of_a_signature_agree_independently_of_each_other() -> None:
    # given a pair of J = 1/2
    ids = np.random.default_rng(7).integers(0, 2**64, 120, np.uint64)
    pair = Ragged(np.concatenate([ids[:90], ids[30:]]), np.array([0, 90, 180]))

    # when two neighbouring slots are looked at over many seeds
    signed = [signatures_of(pair, Sketching(num_perm=2, seed=seed)) for seed in range(4_000)]
    agree = np.array([one == other for one, other in signed])

    # then both agree in a quarter of them: within four standard errors
    assert abs(np.mean(agree.all(axis=1)) - 0.25) < 4 * sqrt(0.25 * 0.75 / len(agree))
