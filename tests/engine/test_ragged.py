"""Many variable-length things in two arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.ragged import Ragged, Texts


@given(st.lists(st.text(max_size=40), min_size=1, max_size=12), st.data())
def test_texts_are_taken_in_any_order_and_more_than_once(texts: list[str], data: st.DataObject) -> None:
    picked = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=20))
    taken = Texts.of(texts).take(np.array(picked, np.int64))
    assert list(taken) == [texts[index] for index in picked]
    assert taken.data.dtype == np.uint8 and taken.offsets.dtype == np.int64 and taken.offsets[-1] == len(taken.data)


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=9), min_size=1, max_size=12), st.data())
def test_lists_are_taken_in_any_order_and_more_than_once(lists: list[list[int]], data: st.DataObject) -> None:
    picked = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=20))
    packed = Ragged(
        np.array([number for one in lists for number in one], np.uint64),
        np.cumsum([0, *map(len, lists)]).astype(np.int64),
    )
    taken = packed.take(np.array(picked, np.int64))
    assert [taken[place].tolist() for place in range(len(taken))] == [lists[index] for index in picked]
    assert taken.values.dtype == np.uint64 and taken.offsets.dtype == np.int64


def test_all_in_order_are_the_same_and_not_a_copy() -> None:
    texts = Texts.of(["a", "b", ""])
    assert texts.take(np.arange(3)) is texts
    assert list(texts.take(np.array([0, 1]))) == ["a", "b"] and list(texts.take(np.array([0, 2, 1]))) == ["a", "", "b"]
    lists = Ragged(np.arange(3, dtype=np.uint64), np.array([0, 1, 3]))
    assert lists.take(np.arange(2)) is lists


def test_an_index_that_is_not_there_is_refused() -> None:
    with pytest.raises(IndexError):
        Texts.of(["a"]).take(np.array([1]))
