from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_pairs
from neardup.results import Documents
from neardup.stages import listing

Listed = list[tuple[tuple[int, int], int]]


def listed(
    documents: Documents, found: list[tuple[int, int]], accepted: list[int], pieces: int = 1, **limits: int
) -> tuple[Listed, int, int]:
    """Pairs of rows with their pair's number, sorted; how many there are in all; how many were said to be listed."""
    number = np.array(accepted, np.int64)
    left, right = np.ascontiguousarray(np.array(found, np.uint32).reshape(-1, 2)[number].T)
    groups = [
        listing.of_pairs(documents.offsets, left, right, number, limits.get("cross", listing.CROSS_LIMIT)),
        *(
            listing.of_copies(
                documents.offsets, int(some[0]), int(some[-1]) + 1, documents.empty,
                limits.get("inside", listing.INSIDE_LIMIT),
            )
            for some in np.array_split(np.arange(len(documents)), pieces) if len(some)
        ),
    ]  # fmt: skip
    blocks = [
        block for one in groups for block in listing.listed(one, documents.rows_by_document, documents.offsets)
    ]
    records = np.concatenate([np.zeros((0, 2), np.uint64), *blocks])
    keys, numbers = records[:, 0].tolist(), records[:, 1].view(np.int64).tolist()
    plain = sorted(((key >> 32, key & 0xFFFFFFFF), pair) for key, pair in zip(keys, numbers, strict=True))
    return plain, sum(one.total for one in groups), sum(int(one.listed.sum()) for one in groups)


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_row_pairs_are_those_of_the_accepted_pairs_and_of_the_copies_within_the_limits(data: st.DataObject) -> None:
    raw = data.draw(st.lists(st.integers(0, 6), max_size=20))
    number: dict[int, int] = {}
    texts = [number.setdefault(text, len(number)) for text in raw]
    empty = number.get(0, -1)
    full = [document for document in range(len(number)) if document != empty]
    found = [(i, j) for i in full for j in full if i < j and data.draw(st.booleans())]
    accepted = [number for number in range(len(found)) if data.draw(st.booleans())]
    cross, inside = data.draw(st.integers(0, 12)), data.draw(st.integers(0, 6))
    expected, total = naive_pairs.row_pairs(
        texts, empty, {number: found[number] for number in accepted}, cross, inside
    )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "ROW_PAIRS_A_CALL", data.draw(st.integers(1, 10)))
        pieces = data.draw(st.integers(1, 5))
        rows, every, said = listed(
            naive_pairs.documents_of(texts, empty), found, accepted, pieces, cross=cross, inside=inside
        )

    assert rows == sorted(expected.items())
    assert every == total and said == len(rows)


def test_a_group_of_a_thousand_copies_is_listed_whole_and_one_of_a_thousand_and_one_by_its_first_row() -> None:
    whole, every, _ = listed(naive_pairs.documents_of([0] * 1_000, -1), [], [])
    cut, of_cut, _ = listed(naive_pairs.documents_of([0] * 1_001, -1), [], [])

    assert len(whole) == every == 499_500
    assert len(cut) == 1_000 and {left for (left, _), _ in cut} == {0} and of_cut == 500_500


@pytest.mark.all
def test_two_groups_are_listed_whole_up_to_a_million_pairs_and_beyond_by_their_first_rows() -> None:
    # given: 1,000 copies of one text and 1,000, then 1,001, of another, the rows of both mixed
    whole, every, _ = listed(naive_pairs.documents_of([0, 1] * 1_000, -1), [(0, 1)], [0])
    cut, of_cut, _ = listed(naive_pairs.documents_of([*[0, 1] * 1_000, 1], -1), [(0, 1)], [0])

    assert len({pair for pair, _ in whole}) == len(whole) == every == 1_000_000 + 2 * 499_500
    assert of_cut == 1_001_000 + 499_500 + 500_500
    assert len(cut) == 1 + 499_500 + 1_000
    assert cut[0] == ((0, 1), 0)


def test_counts_stay_full_where_the_pairs_of_copies_are_more_than_32_bits_hold() -> None:
    copies = 100_000
    documents = naive_pairs.documents_of([0, 1] * copies, -1)

    rows, every, _ = listed(documents, [(0, 1)], [0])

    assert every == copies * copies + copies * (copies - 1)
    assert len(rows) == 1 + 2 * (copies - 1)


def test_copies_of_the_empty_text_are_no_pairs() -> None:
    assert listed(naive_pairs.documents_of([0, 1, 0, 1, 0], 0), [], []) == ([((1, 3), -1)], 1, 1)
