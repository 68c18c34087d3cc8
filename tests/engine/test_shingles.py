from __future__ import annotations

import random
import sys
from itertools import pairwise

import mmh3
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from neardup.errors import Cancelled
from neardup.kernels import murmur3, sets
from neardup.kernels import shingles as kernels
from neardup.ragged import Ragged, Texts
from neardup.settings import Shingling
from neardup.stages import shingles
from neardup.stages.shingles import shingle_ids, shingle_sets, sorted_sets, spelled

WHITE = "".join(chr(point) for point in range(sys.maxunicode + 1) if chr(point).isspace())

a_character = st.one_of(st.sampled_from("ab é€𝒳\t" + WHITE), st.characters(codec="utf-8"))
some_texts = st.lists(st.text(a_character, max_size=60), max_size=8)
a_shingling = st.builds(Shingling, kind=st.sampled_from(["char", "word"]), k=st.integers(1, 20))


def lists(ragged: Ragged) -> list[list[int]]:
    return [one.tolist() for one in (ragged[index] for index in range(len(ragged)))]


def a_long_text(seed: int, characters: str, length: int) -> str:
    return "".join(random.Random(seed).choices(characters, k=length))


@given(some_texts, a_shingling)
@settings(max_examples=120, deadline=None)
def test_the_ids_of_a_text_are_those_of_its_windows_in_text_order(texts: list[str], how: Shingling) -> None:
    found = shingle_ids(Texts.of(texts), how)

    assert found.values.dtype == np.uint64 and found.offsets.dtype == np.int64
    assert lists(found) == [naive.shingle_ids(text, how.kind, how.k) for text in texts]


@pytest.mark.parametrize("characters", ["ab ", "abcé \n", "日本語 ", "ab c𝒳 \u2003"])
@pytest.mark.parametrize("budget", [1, 10_000])
@pytest.mark.parametrize("how", [Shingling(kind=kind, k=k) for kind in ("char", "word") for k in (1, 5, 8, 9, 1000)])
def test_a_long_text_has_the_same_ids_in_one_kernel_call_and_in_many(
    characters: str, budget: int, how: Shingling, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Longer than the stretch that is looked through for ASCII, and with one accent near its end.
    texts = ["", "x", a_long_text(1, characters, 9_000) + "é" + a_long_text(2, characters, 200), "short"]
    calls: list[int] = []
    monkeypatch.setattr(shingles, "SHINGLE_BUDGET", budget)

    found = shingle_ids(Texts.of(texts), how, calls.append)

    assert lists(found) == [naive.shingle_ids(text, how.kind, how.k) for text in texts]
    assert sum(calls) == len(texts) and len(calls) > 1


def test_one_accent_is_seen_wherever_it_stands_beside_the_border_of_two_pieces() -> None:
    texts = ["a" * at + "é" + "a" * 50 for at in range(kernels.PIECE - 8, kernels.PIECE + 8)]

    found = shingle_ids(Texts.of(texts), Shingling())

    assert lists(found) == [naive.shingle_ids(text, "char", 5) for text in texts]


@pytest.mark.parametrize("kind", ["char", "word"])
def test_a_text_shorter_than_k_is_one_shingle_and_an_empty_one_none(kind: str) -> None:
    found = shingle_ids(Texts.of(["", " a\tb ", "a", "日"]), Shingling(kind=kind, k=50))

    expected = [[], [" a\tb "], ["a"], ["日"]]
    assert lists(found) == [[naive.shingle_id(shingle) for shingle in one] for one in expected]


def test_words_are_parted_by_what_python_calls_white_space_and_joined_by_one_space() -> None:
    texts = [f"one{white}two{white * 2}three" for white in WHITE]

    found = shingle_ids(Texts.of(texts), Shingling(kind="word", k=3))

    assert lists(found) == [[naive.shingle_id("one two three")]] * len(WHITE)


@pytest.mark.parametrize("point", [0x1C - 1, 0x21, 0x84, 0x86, 0x180E, 0x200B, 0x2027, 0x2030, 0x3001, 0xFEFF])
def test_a_character_that_only_looks_like_white_space_parts_no_words(point: int) -> None:
    found = shingle_ids(Texts.of([f"one{chr(point)}two"]), Shingling(kind="word", k=1))

    assert lists(found) == [[naive.shingle_id(f"one{chr(point)}two")]]


def test_some_texts_of_many_are_cut_as_if_they_were_alone() -> None:
    texts = Texts.of(["first text", "second one", "the third"])
    middle = Texts(texts.data, texts.offsets[1:])

    assert lists(shingle_ids(middle, Shingling())) == lists(shingle_ids(texts, Shingling()))[1:]


@given(some_texts, a_shingling)
@settings(max_examples=120, deadline=None)
def test_a_shingle_set_is_ascending_and_has_each_id_once(texts: list[str], how: Shingling) -> None:
    found = shingle_sets(Texts.of(texts), how)

    assert lists(found) == [sorted(set(naive.shingle_ids(text, how.kind, how.k))) for text in texts]


TOP = 2**64 - 1


@given(st.lists(st.lists(st.one_of(st.integers(0, 9), st.integers(TOP - 9, TOP), st.integers(0, TOP)))))
@settings(max_examples=120, deadline=None)
def test_any_ids_are_sorted_also_the_greatest_and_those_with_the_same_top_bits(ids: list[list[int]]) -> None:
    offsets = np.cumsum([0, *map(len, ids)])
    values = np.array([value for one in ids for value in one], np.uint64)

    assert lists(sorted_sets(Ragged(values, offsets))) == [sorted(set(one)) for one in ids]


@pytest.mark.parametrize("distinct", [1, 1_000, 2**63])
def test_a_list_of_any_length_becomes_a_set(distinct: int) -> None:
    generator = np.random.default_rng(distinct)
    sizes = [3, 5 * sets.LONGEST + 7, 0, sets.LONGEST, sets.LONGEST + 1, 2]
    values = generator.integers(0, distinct, sum(sizes), np.uint64)
    if distinct > 1_000:
        values *= np.uint64(2)
    ids = Ragged(values, np.cumsum([0, *sizes]))
    expected = [np.unique(ids[index]).tolist() for index in range(len(ids))]
    counted: list[int] = []

    found = sorted_sets(ids, counted.append)

    assert lists(found) == expected
    assert sum(counted) == len(sizes)


@given(st.text(a_character, max_size=40), a_shingling)
@settings(max_examples=120, deadline=None)
def test_the_shingles_shown_are_the_shingles_hashed(text: str, how: Shingling) -> None:
    shown = spelled(text, how)

    assert [one.text for one in shown] == naive.shingles(text, how.kind, how.k)
    assert [one.id for one in shown] == [naive.shingle_id(one.text) for one in shown]
    assert all(before.at < after.at for before, after in pairwise(shown))
    assert all(text[one.at :].startswith(one.text.split(" ")[0]) for one in shown)


def test_cutting_stops_between_two_kernel_calls_when_asked_to() -> None:
    def cancelled(done: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        shingle_sets(Texts.of(["some text"]), Shingling(), cancelled)


@given(st.binary(max_size=70), st.integers(0, 2**32 - 1))
@settings(max_examples=120, deadline=None)
def test_the_hash_is_murmur3_for_every_length_and_seed(data: bytes, seed: int) -> None:
    padded = np.frombuffer(b"\xff" + data + b"\xff" * 9, np.uint8)

    found = murmur3.hash128(padded, 1, 1 + len(data), np.uint64(seed))

    assert found == mmh3.mmh3_x64_128_utupledigest(data, seed)
    assert all(type(half) is int and half >= 0 for half in found)  # numba gives Python an unsigned one


@pytest.mark.parametrize("kernel", [kernels.char_ids, kernels.word_ids, sets.sort_unique, sets.merge_unique])
def test_a_kernel_is_compiled_for_one_signature_before_it_is_called(kernel: object) -> None:
    assert len(kernel.signatures) == 1  # type: ignore[attr-defined]
