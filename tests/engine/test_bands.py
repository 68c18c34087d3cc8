from __future__ import annotations

from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import naive_pairs
from neardup.errors import Cancelled
from neardup.stages import bands

BANDS, ROWS, SLOTS = 4, 2, 9  # one slot more than the bands need
ALL = 10_000

# Two values a slot: of a few documents many share bands, some share them all.
corpora = st.lists(st.lists(st.integers(0, 1), min_size=SLOTS, max_size=SLOTS), min_size=0, max_size=14).map(
    lambda rows: np.array(rows, np.uint32).reshape(-1, SLOTS)
)
borders = st.lists(st.integers(0, 2**64 - 1), max_size=4)


def sorted_entries(signatures: NDArray[np.uint32], count: int = BANDS, rows: int = ROWS) -> NDArray[np.uint64]:
    return by_key(bands.entries_of(signatures, np.arange(len(signatures), dtype=np.uint32), range(count), rows))


def by_key(entries: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return entries[np.argsort(entries[:, 0], kind="stable")]


def asked_rightly(signatures: NDArray[np.uint32]) -> bands.SignaturesOf:
    def signatures_of(documents: NDArray[np.uint32]) -> NDArray[np.uint32]:
        assert (np.diff(documents.astype(np.int64)) > 0).all()
        return signatures[documents]

    return signatures_of


def parts_of(signatures: NDArray[np.uint32], cuts: list[int]) -> list[bands.Buckets]:
    """The buckets of the parts that an exchange would make by cutting the keys there."""
    entries = sorted_entries(signatures)
    at = np.searchsorted(entries[:, 0], np.sort(np.array(cuts, np.uint64)))
    return [bands.buckets_of(part, asked_rightly(signatures), ROWS) for part in np.split(entries, at)]


def plain(buckets: bands.Buckets) -> list[naive_pairs.Bucket]:
    return [
        (int(band), buckets.documents[first:stop].tolist())
        for band, first, stop in zip(buckets.band, buckets.offsets[:-1], buckets.offsets[1:], strict=True)
    ]


def pairs_of(
    parts: list[bands.Buckets], signatures: NDArray[np.uint32], limit: int, count: int = BANDS, rows: int = ROWS
) -> list[naive_pairs.Pair]:
    unlisted = bands.merged([bands.unlisted_of(part, limit) for part in parts])
    blocks = chain.from_iterable(
        bands.candidates_of(part, limit, unlisted, asked_rightly(signatures), count, rows) for part in parts
    )
    return sorted((int(left), int(right)) for block in blocks for left, right in block)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 6, 7, 8, 13, 32])
def test_a_band_key_is_the_murmur_hash_of_the_little_endian_slots_seeded_with_the_band(rows: int) -> None:
    signatures = np.random.default_rng(rows).integers(0, 2**32, (5, 4 * rows + 3), np.uint32)
    documents = np.array([3, 5, 6, 9, 70_000], np.uint32)

    entries = bands.entries_of(signatures, documents, range(1, 4), rows)

    assert entries.tolist() == [
        [naive_pairs.band_key(signatures[i].tolist(), band, rows), band << 32 | int(documents[i])]
        for i in range(5)
        for band in range(1, 4)
    ]


def test_keys_do_not_depend_on_how_the_signatures_lie_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    signatures = np.random.default_rng(1).integers(0, 2**32, (50, 24), np.uint32)
    documents = np.arange(50, dtype=np.uint32)
    whole = bands.entries_of(signatures, documents, range(4), 6)

    monkeypatch.setattr(bands, "KEYS_A_CALL", 12)
    frozen = np.frombuffer(signatures.tobytes(), np.uint32).reshape(signatures.shape)

    assert bands.entries_of(frozen, documents, range(4), 6).tolist() == whole.tolist()
    assert bands.entries_of(np.asfortranarray(signatures), documents, range(4), 6).tolist() == whole.tolist()


@settings(max_examples=60, deadline=None)
@given(corpora, borders)
def test_buckets_are_the_documents_that_agree_in_a_band(signatures: NDArray[np.uint32], cuts: list[int]) -> None:
    found = [bucket for part in parts_of(signatures, cuts) for bucket in plain(part)]

    assert sorted(found) == sorted(naive_pairs.buckets(signatures.tolist(), BANDS, ROWS))


@settings(max_examples=60, deadline=None)
@given(corpora, st.integers(1, 4), st.integers(0, 3))
def test_keys_that_collide_are_told_apart_by_the_rows_themselves(
    signatures: NDArray[np.uint32], block: int, keys: int
) -> None:
    # given: keys so short that different rows, and different bands, share them; gathered a few documents at a time
    entries = bands.entries_of(signatures, np.arange(len(signatures), dtype=np.uint32), range(BANDS), ROWS)
    entries[:, 0] &= np.uint64(keys)
    entries = by_key(entries)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bands, "BLOCK_BYTES", block * 4 * SLOTS)
        found = plain(bands.buckets_of(entries, asked_rightly(signatures), ROWS))

    assert sorted(found) == sorted(naive_pairs.buckets(signatures.tolist(), BANDS, ROWS))


def test_only_documents_whose_key_is_not_alone_are_asked_for() -> None:
    signatures = np.arange(100 * 8, dtype=np.uint32).reshape(100, 8)
    signatures[71, 2:4] = signatures[20, 2:4]
    asked = set()

    def signatures_of(documents: NDArray[np.uint32]) -> NDArray[np.uint32]:
        asked.update(documents.tolist())
        return signatures[documents]

    found = bands.buckets_of(sorted_entries(signatures), signatures_of, ROWS)

    assert plain(found) == [(1, [20, 71])] and asked == {20, 71}


@settings(max_examples=120, deadline=None)
@given(corpora, borders, st.sampled_from([1, 2, 3, 5, ALL]))
def test_every_candidate_is_emitted_once_however_the_keys_are_cut_into_parts(
    signatures: NDArray[np.uint32], cuts: list[int], limit: int
) -> None:
    expected = sorted(naive_pairs.emitted(signatures.tolist(), BANDS, ROWS, limit))

    assert pairs_of(parts_of(signatures, cuts), signatures, limit) == expected


@settings(max_examples=60, deadline=None)
@given(corpora, st.sampled_from([1, 2, 3, 5, ALL]))
def test_a_candidate_is_emitted_by_the_band_the_rule_names(signatures: NDArray[np.uint32], limit: int) -> None:
    entries = sorted_entries(signatures)
    parts = [
        bands.buckets_of(entries[entries[:, 1] >> np.uint64(32) == band], asked_rightly(signatures), ROWS)
        for band in range(BANDS)
    ]
    unlisted = bands.merged([bands.unlisted_of(part, limit) for part in parts])

    by = {
        tuple(pair): band
        for band, part in enumerate(parts)
        for block in bands.candidates_of(part, limit, unlisted, asked_rightly(signatures), BANDS, ROWS)
        for pair in block.tolist()
    }

    assert by == naive_pairs.emitted(signatures.tolist(), BANDS, ROWS, limit)


@pytest.mark.parametrize("limit", [1, 5, 9, ALL])
@pytest.mark.parametrize(("gathered", "block", "budget"), [(1, 1, 1), (3, 7, 20), (4, 1_000, 3), (9, 2, 1_000)])
def test_a_bucket_too_large_for_memory_gives_the_same_pairs_in_pieces(
    gathered: int, block: int, budget: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given: 24 documents in buckets of 3 to 12
    signatures = np.random.default_rng(4).integers(0, 2, (24, SLOTS), np.uint32)
    expected = sorted(naive_pairs.emitted(signatures.tolist(), BANDS, ROWS, limit))
    parts = parts_of(signatures, [])
    assert parts[0].sizes.max() > 9

    monkeypatch.setattr(bands, "BLOCK_BYTES", gathered * 4 * SLOTS)
    monkeypatch.setattr(bands, "PAIRS_A_BLOCK", block)
    monkeypatch.setattr(bands, "BANDS_A_CALL", budget)

    assert pairs_of(parts, signatures, limit) == expected


def test_without_a_limit_candidates_are_exactly_the_pairs_that_share_a_band() -> None:
    signatures = np.random.default_rng(3).integers(0, 4, (300, 24), np.uint32)
    banded = signatures.reshape(300, 8, 3)
    share = (banded[:, None] == banded[None]).all(axis=3).any(axis=2)
    expected = list(zip(*(axis.tolist() for axis in np.nonzero(np.triu(share, 1))), strict=True))

    buckets = bands.buckets_of(sorted_entries(signatures, 8, 3), asked_rightly(signatures), 3)

    assert len(expected) > 1_000
    assert pairs_of([buckets], signatures, ALL, 8, 3) == expected


def test_unlisted_buckets_are_counted_with_the_pairs_they_leave_unexamined() -> None:
    sizes = [2, 5, 6, 9]
    buckets = bands.Buckets(
        np.arange(22, dtype=np.uint32), np.cumsum([0, *sizes]), np.zeros(4, np.uint32)
    )

    assert bands.not_examined(buckets, 5) == (2, 5 * 4 // 2 + 8 * 7 // 2)
    assert bands.not_examined(buckets, 9) == (0, 0)


def test_a_bucket_of_three_thousand_documents_comes_in_blocks_and_each_pair_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # given: 3,000 documents that share the last band, and every tenth of them the first as well
    monkeypatch.setattr(bands, "PAIRS_A_BLOCK", 1 << 18)
    count = 3_000
    signatures = np.arange(count * SLOTS, dtype=np.uint32).reshape(count, SLOTS)
    signatures[:, 6:8] = 7
    signatures[::10, :2] = 7
    (part,) = parts_of(signatures, [])
    unlisted = bands.unlisted_of(part, ALL)

    blocks = list(bands.candidates_of(part, ALL, unlisted, asked_rightly(signatures), BANDS, ROWS))

    assert max(len(block) for block in blocks) == 1 << 18
    seen = np.zeros((count, count), np.int64)
    for block in blocks:
        np.add.at(seen, (block[:, 0], block[:, 1]), 1)
    assert (seen == np.triu(np.ones_like(seen), 1)).all()


def test_two_documents_become_candidates_as_often_as_the_s_curve_says() -> None:
    # given: 4,000 pairs whose slots agree independently with probability s, as those of MinHash do
    rng = np.random.default_rng(20)
    count, rows, similarity = 16, 6, 0.62
    left = rng.integers(0, 2**31, (4_000, 128), np.uint32)
    right = np.where(rng.random(left.shape) < similarity, left, rng.integers(0, 2**31, left.shape, np.uint32))
    signatures = np.stack([left, right], axis=1).reshape(-1, 128)

    buckets = bands.buckets_of(sorted_entries(signatures, count, rows), asked_rightly(signatures), rows)
    found = len(pairs_of([buckets], signatures, ALL, count, rows))

    expected = 1 - (1 - similarity**rows) ** count
    spread = (expected * (1 - expected) / 4_000) ** 0.5
    assert abs(found / 4_000 - expected) < 4 * spread


def test_banding_stops_between_two_calls_when_asked_to() -> None:
    signatures = np.zeros((500, SLOTS), np.uint32)

    def stop(done: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        bands.entries_of(signatures, np.arange(500, dtype=np.uint32), range(BANDS), ROWS, stop)
    with pytest.raises(Cancelled):
        bands.buckets_of(sorted_entries(signatures), asked_rightly(signatures), ROWS, stop)
    (part,) = parts_of(signatures, [])
    unlisted = bands.unlisted_of(part, ALL)
    with pytest.raises(Cancelled):
        list(bands.candidates_of(part, ALL, unlisted, lambda d: signatures[d], BANDS, ROWS, stop))


def test_the_pulse_counts_entries_and_then_members_of_buckets() -> None:
    signatures = np.random.default_rng(5).integers(0, 3, (200, SLOTS), np.uint32)
    counted: Counter[str] = Counter()

    def counting(name: str) -> bands.Pulse:
        return lambda done: counted.update({name: done})

    documents = np.arange(200, dtype=np.uint32)
    entries = bands.entries_of(signatures, documents, range(BANDS), ROWS, counting("entries"))
    entries = by_key(entries)
    buckets = bands.buckets_of(entries, asked_rightly(signatures), ROWS, counting("sorted"))
    for limit in (3, ALL):
        unlisted = bands.unlisted_of(buckets, limit)
        counts = counting(f"to {limit}")
        list(bands.candidates_of(buckets, limit, unlisted, asked_rightly(signatures), BANDS, ROWS, counts))

    members = len(buckets.documents)
    assert counted == {"entries": 800, "sorted": 800, "to 3": members, f"to {ALL}": members}
