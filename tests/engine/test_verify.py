from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup.errors import Cancelled
from neardup.kernels import jaccard as kernels
from neardup.ragged import Ragged
from neardup.stages import verify

ids = st.integers(0, 40) | st.integers(2**64 - 40, 2**64 - 1)
sets = st.lists(st.sets(ids, max_size=30), min_size=1, max_size=6)


def ragged(*some: set[int]) -> Ragged:
    values = np.array([one for members in some for one in sorted(members)], np.uint64)
    return Ragged(values, np.cumsum([0, *(len(members) for members in some)]))


def every_pair(count: int) -> tuple[np.ndarray, np.ndarray]:
    left, right = np.indices((count, count)).reshape(2, -1).astype(np.int64)
    return left, right


@settings(max_examples=100, deadline=None)
@given(sets, st.sampled_from([1, 3, 17, 1 << 20]))
def test_the_overlap_is_how_many_shingles_are_in_both_sets_however_the_work_is_cut(
    some: list[set[int]], steps: int
) -> None:
    left, right = every_pair(len(some))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify, "STEPS_A_CALL", np.int64(steps))
        overlap = verify.overlaps(ragged(*some), left, right)

    assert overlap.dtype == np.uint32
    assert overlap.tolist() == [len(some[i] & some[j]) for i, j in zip(left, right, strict=True)]


@pytest.mark.parametrize("ratio", [kernels.GALLOP - 1, kernels.GALLOP, kernels.GALLOP + 1, 1_000])
@pytest.mark.parametrize("steps", [1, 100, 1 << 20])
def test_a_small_set_is_looked_up_in_a_large_one(ratio: int, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "STEPS_A_CALL", np.int64(steps))
    rng = np.random.default_rng(ratio)
    large = set(rng.integers(0, 50 * ratio, 9 * ratio).tolist())
    for size in (1, 5, 9):
        small = set(rng.choice(sorted(large), size - size // 2).tolist()) | set(rng.integers(0, 99 * ratio, size // 2))
        both = ragged(large, small)

        overlap = verify.overlaps(both, np.array([0, 1]), np.array([1, 0]))

        assert overlap.tolist() == [len(small & large)] * 2


def test_two_large_sets_can_be_stopped_half_way(monkeypatch: pytest.MonkeyPatch) -> None:
    # given: two sets whose comparing takes many calls
    monkeypatch.setattr(verify, "STEPS_A_CALL", np.int64(1_000))
    both = ragged(set(range(0, 100_000, 2)), set(range(0, 100_000, 3)))
    pulses: list[int] = []

    def stop(done: int) -> None:
        pulses.append(done)
        if len(pulses) == 5:
            raise Cancelled

    with pytest.raises(Cancelled):
        verify.overlaps(both, np.array([0]), np.array([1]), stop)
    assert pulses == [0] * 5
    assert verify.overlaps(both, np.array([0]), np.array([1])).tolist() == [len(range(0, 100_000, 6))]


@pytest.mark.parametrize(("num_perm", "high"), [(1, 2), (7, 2), (128, 3), (1_000, 2**32)])
def test_the_agreement_is_how_many_slots_are_equal(num_perm: int, high: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "SLOTS_A_CALL", 3 * num_perm)
    signatures = np.random.default_rng(num_perm).integers(0, high, (8, num_perm), np.uint32)
    left, right = every_pair(8)
    counted: list[int] = []

    agree = verify.agreements(signatures, left, right, counted.append)

    plain = [int((signatures[i] == signatures[j]).sum()) for i, j in zip(left, right, strict=True)]
    assert agree.dtype == np.uint32 and agree.tolist() == plain
    assert sum(counted) == 64 and max(counted) == 3


def test_pairs_at_exactly_the_threshold_are_true() -> None:
    # given: all J = overlap / union with a union up to 200 that have at most four decimals
    exact = [
        (overlap, union)
        for union in range(1, 201)
        for overlap in range(1, union + 1)
        if (10_000 * overlap) % union == 0
    ]
    assert len(exact) > 1_500

    for overlap, union in exact:
        threshold = 10_000 * overlap // union
        at, below = np.array([overlap]), np.array([overlap - 1])
        assert verify.is_true(at, np.array([union]), threshold).all()
        assert not verify.is_true(below, np.array([union]), threshold).any()
        assert verify.estimate_passes(at, union, threshold).all()
        assert not verify.estimate_passes(below, union, threshold).any()


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(1, 10_000))
def test_a_pair_is_true_when_its_jaccard_is_at_least_the_threshold(one: int, other: int, threshold: int) -> None:
    overlap, union = sorted((one, other))
    jaccard = Fraction(overlap, union) if union else Fraction(0)

    found = verify.is_true(np.array([overlap], np.uint32), np.array([union], np.uint32), threshold)

    assert found.tolist() == [jaccard >= Fraction(threshold, 10_000)]


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 65_535), st.data())
def test_an_estimate_passes_when_it_is_at_least_the_threshold(num_perm: int, data: st.DataObject) -> None:
    agree = data.draw(st.integers(0, num_perm))
    threshold = data.draw(st.integers(1, 10_000))

    found = verify.estimate_passes(np.array([agree], np.uint32), num_perm, threshold)

    assert found.tolist() == [Fraction(agree, num_perm) >= Fraction(threshold, 10_000)]
