from __future__ import annotations

import random

import mmh3
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from neardup.ragged import Texts
from neardup.results import Documents
from neardup.stages import documents
from neardup.stages.documents import fingerprints, grouped


def documents_of(texts: list[str]) -> Documents:
    cut = Texts.of(texts)
    return grouped(fingerprints(cut), np.diff(cut.offsets) == 0)


def rows_of(found: Documents) -> list[list[int]]:
    return [
        found.rows_by_document[found.offsets[document] : found.offsets[document + 1]].tolist()
        for document in range(len(found))
    ]


@given(st.lists(st.text(max_size=80)))
@settings(max_examples=150, deadline=None)
def test_a_fingerprint_is_the_128_bit_hash_of_the_text(texts: list[str]) -> None:
    found = fingerprints(Texts.of(texts))

    assert found.dtype == np.uint64 and found.shape == (len(texts), 2)
    assert list(map(tuple, found.tolist())) == [naive.fingerprint(text) for text in texts]


@pytest.mark.parametrize("budget", [1, 15, 16, 17, 1_000])
def test_a_text_of_any_length_has_the_same_fingerprint_in_one_kernel_call_and_in_many(
    budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = random.Random(budget)
    texts = ["".join(drawn.choices("abé", k=size)) for size in (0, 5_000, 16, 32, 0, 33, 15, 700)]
    calls: list[int] = []
    monkeypatch.setattr(documents, "BUDGET", budget)

    found = fingerprints(Texts.of(texts), calls.append)

    assert list(map(tuple, found.tolist())) == [naive.fingerprint(text) for text in texts]
    assert sum(calls) == len(texts) and len(calls) > 1


@given(st.lists(st.sampled_from(["", "a", "b", "c", "d", "e"])))
@settings(max_examples=200, deadline=None)
def test_rows_of_the_same_text_are_one_document_numbered_by_its_first_row(texts: list[str]) -> None:
    expected = naive.documents(texts)

    found = documents_of(texts)

    assert rows_of(found) == list(expected.values())
    assert found.first_row.tolist() == [rows[0] for rows in expected.values()]
    assert found.document_of_row.tolist() == [list(expected).index(text) for text in texts]
    assert found.empty == (list(expected).index("") if "" in expected else -1)
    assert found.copies.tolist() == [len(rows) for rows in expected.values()]
    assert found.empty_rows == texts.count("") and found.distinct == len(expected) - ("" in expected)


def test_many_rows_are_grouped_as_numpy_would_group_them() -> None:
    drawn = np.random.default_rng(1).integers(0, 20_000, 50_000)
    prints = np.stack([drawn.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15), drawn.astype(np.uint64)], axis=1)

    found = grouped(prints, np.zeros(len(prints), np.bool_))

    _, first, inverse = np.unique(drawn, return_index=True, return_inverse=True)
    assert np.array_equal(found.first_row, np.sort(first))
    assert np.array_equal(found.first_row[found.document_of_row], first[inverse])
    assert np.array_equal(found.rows_by_document, np.argsort(found.document_of_row, kind="stable"))


def test_texts_that_share_only_one_half_of_the_fingerprint_are_different_documents() -> None:
    prints = np.array([[7, 1], [7, 2], [3, 1], [7, 1], [7, 2], [7, 1]], np.uint64)

    found = grouped(prints, np.zeros(6, np.bool_))

    assert rows_of(found) == [[0, 3, 5], [1, 4], [2]]


def test_the_documents_of_no_rows_are_none() -> None:
    found = documents_of([])

    assert len(found) == 0 and found.offsets.tolist() == [0] and found.empty == -1


def test_the_empty_text_has_the_fingerprint_of_no_bytes() -> None:
    assert fingerprints(Texts.of([""])).tolist() == [list(mmh3.mmh3_x64_128_utupledigest(b""))]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1))), st.integers(1, 4))
@settings(max_examples=200, deadline=None)
def test_over_all_chunks_a_row_repeats_the_first_one_of_its_text(texts: list[tuple[int, int]], parts: int) -> None:
    # given: prints of which one half may be shared by different texts, exchanged: sorted by the first half, then row
    prints = np.array([(*halves, row) for row, halves in enumerate(texts)], np.uint64).reshape(-1, 3)
    prints = prints[np.argsort(prints[:, 0], kind="stable")]
    cuts = np.searchsorted(prints[:, 0], np.linspace(0, 3, parts, endpoint=False)[1:])

    found = np.concatenate([documents.repeats_of(part) for part in np.split(prints, cuts)])

    expected = {row: texts.index(text) for row, text in enumerate(texts) if texts.index(text) < row}
    assert dict(found.tolist()) == expected and len(found) == len(expected)


@given(st.lists(st.integers(0, 6)), st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_rows_lie_by_document_and_inside_by_number(numbers: list[int], step: int) -> None:
    number: dict[int, int] = {}
    of_row = np.array([number.setdefault(text, len(number)) for text in numbers], np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "ROWS_A_CALL", step)
        by_document, offsets = documents.rows_of_documents(of_row, len(number))

    assert by_document.tolist() == np.argsort(of_row, kind="stable").tolist()
    assert np.diff(offsets).tolist() == [list(of_row).count(document) for document in range(len(number))]
