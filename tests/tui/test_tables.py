from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from neardup import Pairs, Settings
from neardup_tui.tables import ClusterTable, PairTable, by_similarity, pair_filter
from tui.results_of import TICKETS, result_of, shingles


def alike(a: int, b: int) -> Fraction:
    one, other = shingles(TICKETS[a]), shingles(TICKETS[b])
    return Fraction(len(one & other), len(one | other))


@pytest.fixture(scope="module")
def pairs() -> PairTable:
    return PairTable(result_of(TICKETS, Settings(threshold=5_000)))


def rows_of(table: PairTable, order) -> list[tuple[int, int]]:
    pairs = table.result.row_pairs
    return [(int(pairs.left[at]), int(pairs.right[at])) for at in order]


def test_pairs_have_the_exact_jaccard_and_copies_have_one(pairs):
    for (a, b), j in zip(rows_of(pairs, range(len(pairs))), pairs.jaccard.tolist(), strict=True):
        assert j == float(alike(a, b))
    assert (0, 4) in rows_of(pairs, range(len(pairs)))


def test_pairs_are_listed_by_any_column_and_the_other_way_round(pairs):
    by_j = rows_of(pairs, pairs.listed("J", True, None))
    assert by_j == sorted(by_j, key=lambda pair: (-alike(*pair), pair))
    assert rows_of(pairs, pairs.listed("left", False, None)) == sorted(by_j)
    up = rows_of(pairs, pairs.listed("J", False, None))
    assert up == sorted(by_j, key=lambda pair: (alike(*pair), pair))


def test_pairs_that_were_not_verified_have_no_jaccard_and_come_last():
    table = PairTable(result_of((*TICKETS, TICKETS[0]), Settings(verify="none")))
    for descending in (True, False):
        listed = table.jaccard[table.listed("J", descending, None)]
        assert np.isnan(listed).any() and not np.isnan(listed[: (~np.isnan(listed)).sum()]).any()


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("j>=0.9", lambda a, b: alike(a, b) >= Fraction("0.9")),
        ("J < .9", lambda a, b: alike(a, b) < Fraction("0.9")),
        ("!j<0.9", lambda a, b: alike(a, b) >= Fraction("0.9")),
        ("j=1", lambda a, b: alike(a, b) == 1),
        ("3", lambda a, b: 3 in (a, b)),
        ("!row=3", lambda a, b: 3 not in (a, b)),
        ("left=1 right!=3", lambda a, b: a == 1 and b != 3),
        ("cluster=1 j>0.7", lambda a, b: a in (1, 3) and alike(a, b) > Fraction("0.7")),
    ],
)
def test_a_filter_leaves_the_pairs_for_which_all_of_it_holds(pairs, text, holds):
    everything = rows_of(pairs, range(len(pairs)))
    assert rows_of(pairs, pairs.listed("left", False, pair_filter(text))) == [p for p in everything if holds(*p)]


@pytest.mark.parametrize("text", ["xy", "j>=", "j~0.9", "color=3", "j>=0.9 or est<1", "!", "[b]"])
def test_a_filter_that_cannot_be_read_is_refused_with_the_way_to_write_one(text):
    with pytest.raises(ValueError, match=r"no filter: write j>=0\.9.*! is not"):
        pair_filter(text)


def test_no_filter_is_no_filter():
    assert pair_filter("  ") is None


def test_candidates_are_counted_in_bands_of_similarity():
    result = result_of(TICKETS, Settings(threshold=8_000), least=0.01)
    bands = by_similarity(result)
    exact = [Fraction(int(o), int(u)) for o, u in zip(result.pairs.overlap, result.pairs.union, strict=True)]
    assert len(bands) == 11 and bands[0].high == 1 and bands[-1].low == 0
    for band in bands:
        low, high = Fraction(str(band.low)), Fraction(str(band.high))
        inside = [j for j in exact if low <= j < high or j == high == 1]
        assert band.accepted == sum(j >= Fraction("0.8") for j in inside)
        assert band.accepted + band.others == len(inside)


def test_a_pair_exactly_at_the_edge_of_a_band_belongs_to_the_upper_one():
    pairs = Pairs(*np.array([[0, 0, 0], [1, 2, 3], [0, 0, 0], [8, 19, 1], [10, 20, 1]], np.uint32))
    result = replace(result_of(TICKETS), pairs=pairs, accepted=np.ones(3, np.bool_))
    assert {band.low: band.accepted for band in by_similarity(result) if band.accepted} == {0.8: 1, 0.95: 2}


def test_clusters_are_what_their_rows_are():
    result = result_of(TICKETS)
    table = ClusterTable(result)
    assert table.label.tolist() == [0, 1, 2, 5]
    assert [table.members(at).tolist() for at in range(4)] == [[0, 4], [1, 3, 6], [2, 9], [5, 7]]
    assert table.rows.tolist() == [2, 3, 2, 2] and table.removed.tolist() == [1, 2, 1, 1]
    assert table.kept.tolist() == [0, 1, 2, 5] and table.keeps.tolist() == [1, 1, 1, 1]
    assert table.weakest.tolist() == [1.0, float(min(alike(1, 3), alike(1, 6))), float(alike(2, 9)), float(alike(5, 7))]
    assert table.at(2) == 2 and table.at(3) is None and table.at(99) is None


def test_a_chained_row_is_linked_to_the_row_it_is_most_like():
    result = result_of(TICKETS)
    table = ClusterTable(result)
    assert alike(1, 6) < Fraction("0.8") <= alike(3, 6)
    assert table.chained.tolist() == [0, 1, 0, 0]
    assert table.link(6) == (3, float(alike(3, 6)))
    assert table.link(8) is None


def test_clusters_are_listed_by_size_and_other_figures():
    table = ClusterTable(result_of(TICKETS))
    assert table.label[table.listed("rows", True)].tolist() == [1, 0, 2, 5]
    assert table.label[table.listed("weakest", False)].tolist()[0] == 1
    assert table.label[table.listed("cluster", False)].tolist() == [0, 1, 2, 5]


def test_results_without_pairs_have_empty_tables():
    result = result_of(("one text about nothing", "quite another thing altogether"))
    pairs, clusters = PairTable(result), ClusterTable(result)
    assert len(pairs) == len(clusters) == 0
    assert len(pairs.listed("J", True, pair_filter("j>0.5"))) == len(clusters.listed("rows", True)) == 0
    assert all(band.accepted == band.others == 0 for band in by_similarity(result))
