from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup.errors import OutputError
from neardup.ragged import Ragged, Texts
from neardup.store import LocalStore, Part, Stored, StoredRagged, checksum_of


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    return LocalStore(tmp_path_factory.mktemp("store"))


@given(sizes=st.lists(st.integers(0, 5), min_size=1, max_size=5), data=st.data())
@settings(max_examples=50, deadline=None)
def test_rows_are_taken_across_parts(
    store: LocalStore, sizes: list[int], data: st.DataObject
) -> None:
    whole = np.arange(3 * sum(sizes), dtype=np.uint32).reshape(-1, 3)
    cuts = np.cumsum([0, *sizes])
    parts = [store.write("rows", i, whole[cuts[i] : cuts[i + 1]]) for i in range(len(sizes))]
    stored = Stored(tuple(parts))
    drawn = data.draw(st.lists(st.integers(0, max(0, sum(sizes) - 1)), max_size=9 if sum(sizes) else 0))
    picked = np.array(sorted(drawn), int)
    assert stored.rows == len(whole)
    assert store.take(stored, picked).tolist() == whole[picked].tolist()


SETS = st.lists(st.integers(0, 2**64 - 1), max_size=4)


@given(lists=st.lists(st.lists(SETS, max_size=4), min_size=1, max_size=4), data=st.data())
@settings(max_examples=50, deadline=None)
def test_lists_are_taken_across_parts(
    store: LocalStore, lists: list[list[list[int]]], data: st.DataObject
) -> None:
    parts = [
        store.write_ragged(
            "lists", i,
            [
                Ragged(
                    np.array([value for one in piece for value in one], np.uint64),
                    np.cumsum([0, *map(len, piece)]).astype(np.int64),
                )
                for piece in (part[: len(part) // 2], part[len(part) // 2 :])
            ],
        )
        for i, part in enumerate(lists)
    ]  # fmt: skip
    stored = StoredRagged(tuple(values for values, _ in parts), tuple(offsets for _, offsets in parts))
    flat = [one for part in lists for one in part]
    picked = sorted(data.draw(st.lists(st.integers(0, max(0, len(flat) - 1)), max_size=9 if flat else 0)))
    taken = store.take_ragged(stored, np.array(picked, np.int64))
    assert [taken[i].tolist() for i in range(len(taken))] == [flat[i] for i in picked]


def test_a_part_that_is_damaged_cut_or_gone_is_not_intact(store: LocalStore) -> None:
    part = store.write("one", 0, np.arange(100))
    path = store.root / part.file
    good = path.read_bytes()
    assert store.intact(part)
    for bad in (good[:-1] + b"\x99", good[:-8], good[:20], b""):
        path.write_bytes(bad)
        assert not store.intact(part)
    path.unlink()
    assert not store.intact(part)


def test_a_part_written_in_blocks_is_the_same_part(store: LocalStore) -> None:
    whole = np.arange(10, dtype=np.int64)
    part = store.write_blocks("blocks", 10, whole.dtype, [whole[:4], whole[4:4], whole[4:]])
    assert store.part(part).tolist() == whole.tolist()
    assert store.intact(part) and part.checksum == store.write("whole", 0, whole).checksum


def test_an_empty_array_is_a_part_like_any_other(store: LocalStore) -> None:
    part = store.write("empty", 0, np.zeros((0, 4), np.uint32))
    assert store.intact(part)
    assert store.part(part).shape == (0, 4)


def test_a_disk_that_does_not_take_it_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "sketches").write_text("a file where a folder should be")
    with pytest.raises(OutputError, match="--run-dir"):
        LocalStore(tmp_path).write("sketches/one", 0, np.arange(3))
    assert [path.name for path in tmp_path.iterdir()] == ["sketches"]


def test_files_are_private(store: LocalStore) -> None:
    part = store.write("private", 0, np.arange(3))
    assert (store.root / part.file).stat().st_mode & 0o777 == 0o600


def test_the_checksum_is_of_the_bytes() -> None:
    one, same, other = np.arange(5), np.arange(10)[:5], np.arange(5)[::-1]
    assert checksum_of(one) == checksum_of(same)
    assert checksum_of(one) != checksum_of(other)
    assert len(Part("f", 1, 1, checksum_of(one)).checksum) == 32


@given(st.lists(st.text(max_size=5), max_size=8), st.data())
@settings(max_examples=50, deadline=None)
def test_texts_come_back_as_they_were(texts: list[str], data: st.DataObject) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    packed = Texts.of(texts)
    assert list(packed) == texts
    picked = data.draw(st.lists(st.integers(0, max(0, len(texts) - 1)), max_size=6 if texts else 0))
    assert list(packed.take(np.array(picked, np.int64))) == [texts[i] for i in picked]
