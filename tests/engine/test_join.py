"""The exact join against every pair compared in plain Python."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup.ragged import Ragged
from neardup.stages import join
from neardup.stages.join import Design, Joining, Sized, Tile

COUNTERS = 1 << 12  # fewer than a run has: several ids share one
THRESHOLDS = st.integers(1_000, 10_000)
DESIGNS: tuple[Design, ...] = ("partitions", "prefix")


def ragged(sets: list[set[int]]) -> Ragged:
    offsets = np.cumsum([0, *map(len, sets)])
    values = [value for one in sets for value in sorted(one)]
    return Ragged(np.array(values, np.uint64), offsets.astype(np.int64))


def brute_force(sets: list[set[int]], threshold: int) -> set[tuple[int, int]]:
    return {
        (i, j)
        for i, j in combinations(range(len(sets)), 2)
        if sets[i] | sets[j] and 10_000 * len(sets[i] & sets[j]) >= threshold * len(sets[i] | sets[j])
    }


def joined(
    sets: list[set[int]], threshold: int, design: Design, pieces: int = 1, index_bytes: int = join.INDEX_BYTES
) -> list[tuple[int, int]]:
    stored = ragged(sets)
    sized = Sized.of(stored.sizes)
    counters = np.zeros(COUNTERS, np.uint32)
    join.counted(stored, counters)
    joining = Joining(sized, threshold, stored.take, join.classes_of(counters))
    tiles = join.tiles(sized.sizes, threshold, design, pieces, index_bytes)
    return [(int(i), int(j)) for tile in tiles for block in joining.pairs(tile) for i, j in block]


@st.composite
def families(draw: st.DrawFn) -> list[set[int]]:
    """Sets that resemble each other in all degrees: a few founders, the others copies with some ids changed."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    universe = random.integers(0, 2**64, draw(st.sampled_from([20, 200, 2_000])), np.uint64)
    sets: list[set[int]] = [set()]
    for _ in range(draw(st.integers(2, 40))):
        if len(sets) < 3 or random.random() < 0.3:
            sets.append({int(id) for id in random.choice(universe, random.integers(1, min(120, len(universe))))})
        else:
            copy = sorted(sets[random.integers(len(sets))])
            kept = [id for id in copy if random.random() > random.random() ** 3]
            added = random.choice(universe, int(random.integers(0, 8)))
            sets.append({*kept, *(int(id) for id in added)})
    return sets


@settings(max_examples=600, deadline=None)
@given(families(), THRESHOLDS, st.sampled_from(DESIGNS), st.integers(1, 3))
def test_all_pairs_and_each_once(sets: list[set[int]], threshold: int, design: Design, pieces: int) -> None:
    found = joined(sets, threshold, design, pieces)
    wanted = brute_force(sets, threshold)
    assert len(found) == len(set(found))
    assert all(i < j for i, j in found)
    assert wanted <= set(found)
    assert design == "partitions" or wanted == set(found)


@settings(max_examples=600, deadline=None)
@given(st.integers(1, 60), st.integers(0, 60), st.integers(0, 60), st.sampled_from(DESIGNS), st.integers(0, 2**32))
def test_a_pair_exactly_at_the_threshold_is_found(
    common: int, left: int, right: int, design: Design, seed: int
) -> None:
    random = np.random.default_rng(seed)
    ids = [int(id) for id in random.permutation(np.unique(random.integers(0, 2**64, 400, np.uint64)))]
    one, other = {*ids[: common + left]}, {*ids[:common], *ids[common + left : common + left + right]}
    sets = [one, other, set(ids[200:260]), set(ids[230:300])]
    union = common + left + right
    threshold = 10_000 * common // union  # J is at the threshold, or less than a ten-thousandth above
    if threshold >= 1_000:
        assert (0, 1) in joined(sets, threshold, design)
    if 10_000 * common % union == 0 and threshold < 10_000 and design == "prefix":
        assert (0, 1) not in joined(sets, threshold + 1, design)


@pytest.mark.parametrize("design", DESIGNS)
def test_cut_into_many_tiles_the_pairs_are_the_same(design: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    universe = random.integers(0, 2**64, 3_000, np.uint64)
    sets = [{int(id) for id in random.choice(universe, random.integers(1, 90))} for _ in range(150)]
    sets += [{id for id in one if random.random() < 0.95} for one in sets]
    whole = {threshold: brute_force(sets, threshold) for threshold in (6_000, 7_999, 9_000, 10_000)}
    for name, value in {
        "ASKING": 7, "ASKING_IDS": 300, "STEPS_A_CALL": 50,
        "PAIRS_A_CALL": 3,
    }.items():  # fmt: skip
        monkeypatch.setattr(join, name, value)
    for threshold, wanted in whole.items():
        found = joined(sets, threshold, design, pieces=4, index_bytes=1 << 14)
        assert len(found) == len(set(found))
        assert wanted <= set(found)
        assert len(wanted) > 30
        assert design == "partitions" or wanted == set(found)


def test_ids_that_share_a_counter_or_half_their_bits_are_told_apart() -> None:
    """Postings are addressed by some of an id's bits: all of them decide."""
    random = np.random.default_rng(7)
    low, high = random.integers(0, 2**32, (2, 40), np.uint64)
    one = {int(upper) << 32 | int(lower) for upper, lower in zip(high, low, strict=True)}
    same_low = {int(upper) << 32 | int(lower) for upper, lower in zip(high[::-1], low, strict=True)}
    same_high = {int(upper) << 32 | int(lower) for upper, lower in zip(high, np.roll(low, 1), strict=True)}
    sets = [one, same_low, same_high, set(one)]
    for threshold in (1_000, 5_000, 9_000):
        assert joined(sets, threshold, "prefix") == [(0, 3)]
    assert joined(sets, 9_000, "partitions") == [(0, 3)]


def test_no_documents_no_pairs() -> None:
    for design in DESIGNS:
        assert joined([], 8_000, design) == []
        assert joined([set(), set()], 8_000, design) == []
        assert joined([set(), {1}], 8_000, design) == []


def test_the_cheaper_design() -> None:
    assert join.only_design(8_000) == "partitions"
    assert join.only_design(5_999) == "prefix"
    assert join.only_design(7_000) is None
    assert join.cheaper(100, 331) == "partitions"
    assert join.cheaper(100, 329) == "prefix"


def test_counted_probes_are_about_those_of_all_documents() -> None:
    random = np.random.default_rng(11)
    universe = random.integers(0, 2**64, 4_000, np.uint64)
    sets = ragged([{int(id) for id in random.choice(universe, 100)} for _ in range(1_600)])
    sized = Sized.of(sets.sizes)
    counters = np.zeros(COUNTERS, np.uint32)
    join.counted(sets, counters)
    joining = Joining(sized, 7_000, sets.take, join.classes_of(counters))
    (tile,) = join.tiles(sized.sizes, 7_000, "prefix")
    prefix = joining._prefixes(joining._sets(np.arange(len(sized.sizes))), lambda _: None)[0]
    in_all = int((np.unique(prefix, return_counts=True)[1].astype(np.int64) ** 2).sum())
    assert joining.probes(Tile(tile.first, tile.stop, tile.ask, tile.last, 0)) == pytest.approx(in_all, rel=0.1)
