from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_pairs
from neardup.results import Pairs, RowPairs
from neardup.stages import listing


def pairs_of(found: list[tuple[int, int]]) -> Pairs:
    left, right = np.array(found, np.uint32).reshape(-1, 2).T
    nothing = np.zeros(len(found), np.uint32)
    return Pairs(left, right, nothing, nothing, nothing)


def plain(listed: RowPairs) -> list[tuple[tuple[int, int], int]]:
    return [
        ((left, right), pair)
        for left, right, pair in zip(listed.left.tolist(), listed.right.tolist(), listed.pair.tolist(), strict=True)
    ]


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_row_pairs_are_those_of_the_accepted_pairs_and_of_the_copies_within_the_limits(data: st.DataObject) -> None:
    raw = data.draw(st.lists(st.integers(0, 6), max_size=20))
    number: dict[int, int] = {}
    texts = [number.setdefault(text, len(number)) for text in raw]
    empty = number.get(0, -1)
    full = [document for document in range(len(number)) if document != empty]
    found = [(i, j) for i in full for j in full if i < j and data.draw(st.booleans())]
    accepted = np.array([data.draw(st.booleans()) for _ in found], np.bool_)
    cross, inside = data.draw(st.integers(0, 12)), data.draw(st.integers(0, 6))
    expected, total = naive_pairs.row_pairs(
        texts, empty, {i: pair for i, pair in enumerate(found) if accepted[i]}, cross, inside
    )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "BLOCK", data.draw(st.integers(1, 5)))
        patch.setattr(listing, "ROW_PAIRS_A_CALL", data.draw(st.integers(1, 10)))
        listed = listing.row_pairs_of(naive_pairs.documents_of(texts, empty), pairs_of(found), accepted, cross, inside)

    assert plain(listed) == sorted(expected.items())
    assert listed.total == total


def test_a_group_of_a_thousand_copies_is_listed_whole_and_one_of_a_thousand_and_one_by_its_first_row() -> None:
    accepted = np.zeros(0, np.bool_)

    whole = listing.row_pairs_of(naive_pairs.documents_of([0] * 1_000, -1), pairs_of([]), accepted)
    cut = listing.row_pairs_of(naive_pairs.documents_of([0] * 1_001, -1), pairs_of([]), accepted)

    assert len(whole) == whole.total == 499_500
    assert len(cut) == 1_000 and set(cut.left.tolist()) == {0} and cut.total == 500_500


def test_two_groups_are_listed_whole_up_to_a_million_pairs_and_beyond_by_their_first_rows() -> None:
    # given: 1,000 copies of one text and 1,000, then 1,001, of another, the rows of both mixed
    accepted = np.ones(1, np.bool_)

    whole = listing.row_pairs_of(naive_pairs.documents_of([0, 1] * 1_000, -1), pairs_of([(0, 1)]), accepted)
    cut = listing.row_pairs_of(naive_pairs.documents_of([*[0, 1] * 1_000, 1], -1), pairs_of([(0, 1)]), accepted)

    assert len(whole) == whole.total == 1_000_000 + 2 * 499_500
    assert (np.diff(whole.left * 2_000 + whole.right) > 0).all()
    assert cut.total == 1_001_000 + 499_500 + 500_500
    assert len(cut) == 1 + 499_500 + 1_000
    assert plain(cut)[0] == ((0, 1), 0)


def test_counts_stay_full_where_the_pairs_of_copies_are_more_than_32_bits_hold() -> None:
    copies = 100_000
    documents = naive_pairs.documents_of([0, 1] * copies, -1)

    listed = listing.row_pairs_of(documents, pairs_of([(0, 1)]), np.ones(1, np.bool_))

    assert listed.total == copies * copies + copies * (copies - 1)
    assert len(listed) == 1 + 2 * (copies - 1)


def test_copies_of_the_empty_text_are_no_pairs() -> None:
    listed = listing.row_pairs_of(naive_pairs.documents_of([0, 1, 0, 1, 0], 0), pairs_of([]), np.zeros(0, np.bool_))

    assert plain(listed) == [((1, 3), -1)] and listed.total == 1
