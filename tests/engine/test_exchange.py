from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from neardup import exchange
from neardup.errors import Cancelled

# Keys of all sizes, with many equal ones and many that differ in one bit only.
keys = st.one_of(st.integers(0, 5), st.integers(0, 2**64 - 1), st.integers(0, 63).map(lambda bit: 1 << bit))


@st.composite
def records(draw: st.DrawFn) -> NDArray[np.uint64]:
    drawn, width = draw(st.lists(keys, max_size=60)), draw(st.integers(1, 3))
    columns = [drawn, range(len(drawn)), range(7, 7 + len(drawn))]
    return np.array(columns[:width], np.uint64).reshape(width, -1).T.copy()


@given(records())
@settings(max_examples=200, deadline=None)
def test_records_are_sorted_by_key_and_equal_keys_stay_as_they_came(some: NDArray[np.uint64]) -> None:
    expected = sorted(some.tolist(), key=lambda record: record[0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "RECORDS_A_CALL", 7)
        patch.setattr(exchange, "BUCKET", 4)
        patch.setattr(exchange, "SORTED_A_CALL", 300)
        assert exchange.sorted_records(some.copy()).tolist() == expected


@given(records(), st.lists(keys, max_size=5))
@settings(max_examples=200, deadline=None)
def test_each_record_goes_to_the_part_whose_range_holds_its_key(some: NDArray[np.uint64], cuts: list[int]) -> None:
    borders = sorted({0, *cuts})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "RECORDS_A_CALL", 7)
        out, starts = exchange.partitioned(some, np.array(borders, np.uint64))

    assert starts[0] == 0 and starts[-1] == len(some)
    for part, (first, stop) in enumerate(pairwise(starts)):
        end = borders[part + 1] if part + 1 < len(borders) else 2**64
        assert out[first:stop].tolist() == [record for record in some.tolist() if borders[part] <= record[0] < end]


def test_many_records_whose_keys_crowd_together_are_sorted_too() -> None:
    # given: nine of ten keys in a range so narrow that they come into one bucket, larger than a call sorts
    drawn = np.random.default_rng(2)
    crowd = drawn.integers(1 << 40, (1 << 40) + 50_000, 200_000, np.uint64)
    some = np.column_stack((np.concatenate((crowd, drawn.integers(0, 2**64, 20_000, np.uint64))), np.arange(220_000)))
    some = np.ascontiguousarray(some[drawn.permutation(len(some))].astype(np.uint64))

    expected = some[np.argsort(some[:, 0], kind="stable")]

    assert np.array_equal(exchange.sorted_records(some), expected)


def test_even_borders_part_all_keys_alike() -> None:
    assert exchange.even_borders(1).tolist() == [0]
    assert exchange.even_borders(4).tolist() == [0, 2**62, 2**63, 3 * 2**62]


@given(st.lists(st.integers(0, 2**20 - 1), max_size=200), st.integers(1, 50))
@settings(max_examples=100, deadline=None)
def test_borders_for_a_spread_make_parts_of_about_the_size_asked_for(drawn: list[int], most: int) -> None:
    some = np.array(drawn, np.uint64)
    spread = exchange.spread_of(some, 14, 64)

    borders = exchange.borders_for(spread, 14, most)

    assert borders[0] == 0 and (np.diff(borders.astype(np.int64)) > 0).all()
    held = np.diff(np.append(np.searchsorted(np.sort(some), borders), len(some)))
    # A part holds more than was asked for only where a single bin does.
    assert all(count <= max(most, spread.max(initial=0)) for count in held)
    assert sum(held) == len(some)


def test_sorting_stops_between_two_calls_when_asked_to() -> None:
    def stop(done: int) -> None:
        raise Cancelled

    some = np.arange(20, dtype=np.uint64).reshape(-1, 2)
    with pytest.raises(Cancelled):
        exchange.sorted_records(some, stop)
    with pytest.raises(Cancelled):
        exchange.partitioned(some, np.zeros(1, np.uint64), stop)
