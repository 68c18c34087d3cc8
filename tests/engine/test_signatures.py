from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import naive
from neardup.errors import Cancelled
from neardup.kernels import fast, minhash
from neardup.ragged import Ragged
from neardup.settings import Family, Sketching
from neardup.stages import signatures
from neardup.stages.signatures import constants, signatures_of

P = naive.P
# Ids at the borders of the arithmetic: around the multiples of p, and where a fold by 31 bits carries.
an_id = st.one_of(
    st.integers(0, 2**64 - 1),
    st.builds(lambda times, off: max(0, times * P + off), st.integers(0, 2**33), st.integers(-1, 1)),
)
some_lists = st.lists(st.lists(an_id, max_size=20), max_size=5)
a_seed = st.integers(0, 2**32 - 1)
a_sketching = st.builds(Sketching, num_perm=st.integers(1, 40), seed=a_seed)
a_fast_one = st.builds(Sketching, num_perm=st.integers(1, 40), seed=a_seed, family=st.just("fast"))
each_family = pytest.mark.parametrize("family", ["mersenne", "fast"])


def ragged(lists: list[list[int]]) -> Ragged:
    values = np.array([value for one in lists for value in one], np.uint64)
    return Ragged(values, np.cumsum([0, *map(len, lists)]))


@given(some_lists, a_sketching)
@settings(max_examples=120, deadline=None)
def test_a_signature_is_that_of_big_integers(lists: list[list[int]], sketching: Sketching) -> None:
    found = signatures_of(ragged(lists), sketching)

    assert found.dtype == np.uint32 and found.shape == (len(lists), sketching.num_perm)
    assert found.tolist() == [naive.signature(set(one), sketching.num_perm, sketching.seed) for one in lists]


@given(some_lists, a_fast_one)
@settings(max_examples=120, deadline=None)
def test_a_fast_signature_is_that_of_big_integers(lists: list[list[int]], sketching: Sketching) -> None:
    found = signatures_of(ragged(lists), sketching)

    assert found.dtype == np.uint32 and found.shape == (len(lists), sketching.num_perm)
    assert found.tolist() == [naive.fast_signature(set(one), sketching.num_perm, sketching.seed) for one in lists]


@pytest.mark.parametrize("num_perm", [1, 65_535])
def test_a_fast_signature_of_few_ids_goes_through_the_rounds_of_one_slot_each(num_perm: int) -> None:
    sets: list[list[int]] = [[7, 2**63 + 5], []]

    found = signatures_of(ragged(sets), Sketching(num_perm=num_perm, family="fast"))

    assert found.tolist() == [naive.fast_signature(set(one), num_perm, 1) for one in sets]


def test_the_greatest_value_of_a_fast_signature_is_not_taken_for_an_empty_document() -> None:
    # given the id whose hash in the first round, of the one slot, ends in 32 set bits: fmix64 undone
    z = 2**64 - 1
    for factor in (0xC4CEB9FE1A85EC53, 0xFF51AFD7ED558CCD):
        z = (z ^ z >> 33) * pow(factor, -1, naive.WORDS) % naive.WORDS
    z ^= z >> 33
    an_id = (z - naive.GOLDEN) % naive.WORDS ^ naive.fmix64((1 + naive.GOLDEN) % naive.WORDS)

    found = signatures_of(ragged([[an_id], []]), Sketching(num_perm=1, family="fast"))

    assert found.tolist() == [[2**32 - 2], [2**32 - 1]]


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


@pytest.mark.parametrize(("family", "empty"), [("mersenne", P), ("fast", 2**32 - 1)])
def test_an_empty_document_has_one_number_in_every_slot_that_no_other_has(family: Family, empty: int) -> None:
    found = signatures_of(ragged([[], [5], []]), Sketching(family=family))

    assert found[[0, 2]].tolist() == [[empty] * 128] * 2 and empty not in found[1]


def test_a_longer_signature_begins_with_the_shorter_one() -> None:
    ids = ragged([[3, 5, 8], [2**63]])

    short, long = (signatures_of(ids, Sketching(num_perm=n)) for n in (16, 300))

    assert np.array_equal(long[:, :16], short)


@each_family
def test_order_and_repeats_of_the_shingles_make_no_difference(family: Family) -> None:
    forward, backward = signatures_of(ragged([[1, 2, 3], [3, 2, 2, 1, 3]]), Sketching(family=family))

    assert np.array_equal(forward, backward)


TWINS: dict[Family, Callable[[set[int], int, int], list[int]]] = {
    "mersenne": naive.signature, "fast": naive.fast_signature,
}  # fmt: skip


@each_family
def test_a_document_has_the_same_signature_in_one_kernel_call_and_in_many(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(3)
    block = max(minhash.BLOCK, fast.BLOCK)
    sizes = [0, 5 * block + 3, 1, 2 * block, 0, 40]
    ids = Ragged(generator.integers(0, 2**64, sum(sizes), np.uint64), np.cumsum([0, *sizes]))
    sketching = Sketching(num_perm=64, family=family)
    calls: list[int] = []
    whole = signatures_of(ids, sketching)
    monkeypatch.setattr(signatures, "MERSENNE_BUDGET", 1)
    monkeypatch.setattr(signatures, "FAST_BUDGET", 1)

    pieces = signatures_of(ids, sketching, calls.append)

    assert np.array_equal(pieces, whole)
    assert sum(calls) == len(sizes) and len(calls) > len(sizes)
    assert whole[1].tolist() == TWINS[family](set(ids[1].tolist()), 64, 1)


@each_family
def test_sketching_stops_between_two_kernel_calls_when_asked_to(family: Family) -> None:
    def cancelled(done: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        signatures_of(ragged([[1], [2]]), Sketching(family=family), cancelled)


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


TRIALS = 4_000


@pytest.mark.parametrize(("size", "low", "high"), [(16, 0.70, 0.72), (128, 0.72, 0.78), (450, 0.83, 0.94)])
@pytest.mark.parametrize("similarity", [0.5, 0.8])
def test_the_estimate_of_the_fast_family_is_unbiased_and_spreads_less_than_that_of_minhash(
    size: int, low: float, high: float, similarity: float
) -> None:
    # given many independent pairs of sets of one size and one J
    overlap = round(2 * size * similarity / (1 + similarity))
    union = 2 * size - overlap
    ids = np.random.default_rng(size + overlap).integers(0, 2**64, (TRIALS, union), np.uint64)
    pairs = Ragged(np.hstack([ids[:, :size], ids[:, union - size :]]).ravel(), np.arange(2 * TRIALS + 1) * size)
    true = overlap / union

    # when each is estimated by both families
    estimates: dict[Family, NDArray[np.float64]] = {}
    for family in TWINS:
        signed = signatures_of(pairs, Sketching(num_perm=128, family=family))
        estimates[family] = np.mean(signed[::2] == signed[1::2], axis=1)

    # then the means are J within four standard errors, and MinHash's spread is √(J(1 − J)/num_perm). That of `fast` is
    # √½ of it for sets of up to num_perm ids, where a slot is filled by one id, and more for larger sets: a standard
    # deviation of 4,000 values strays by 1.1 % (1/√8,000), four times that is 4.5 %.
    spread = sqrt(true * (1 - true) / 128)
    ratios = {family: one.std(ddof=1) / spread for family, one in estimates.items()}
    for family, one in estimates.items():
        assert abs(one.mean() - true) < 4 * ratios[family] * spread / sqrt(TRIALS)
    assert 0.955 < ratios["mersenne"] < 1.045
    assert 0.955 * low < ratios["fast"] < 1.045 * high
