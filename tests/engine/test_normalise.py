from __future__ import annotations

import json
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_text as naive
from neardup.kernels import text as kernels
from neardup.ragged import Texts
from neardup.settings import Normalising
from neardup.stages import normalise
from neardup.stages.normalise import code_points, normalised

CASES = Path(__file__).parents[2].parent / "shared" / "cases"

EVERY_WAY = [
    Normalising(
        drop_invisible=invisible, unicode_form=form, fold_accents=fold, lower_case=lower, drop_punctuation=punctuation,
        join_whitespace=white,
    )
    for form in ("none", "nfc", "nfkc")
    for invisible, fold, lower, punctuation, white in product((True, False), repeat=5)
]  # fmt: skip

# Final sigma, dotted I, iota subscript, long s with dots, jamo, voicing marks, vowel signs that compose or reorder,
# ligatures, spacing accents that decompose into a space, marks alone, white space of every width, all the invisible.
NASTY = [
    *"aZ9.$_ΣσςAİıſKÅé ẛ가각ガｶﾞﬁ´ΐῼǅΆ",
    *"\t\n\r\x0b\x1c\x1f\x85\xa0\u1680\u2003\u2028\u3000\ufdfa\u0378\U0001d6ba\U0001f468\U0010ffff",
    *"\u0301\u0323\u0334\u0345\u0308\u1100\u1161\u11a8\u3099\u09c7\u09be\u0b47\u0b56\u0344\u0f73\u0f71\u05b0\u0e48",
    *"\u0000\u00ad\u200b\u200c\u200d\u2060\ufeff",
]
texts_of_all_kinds = st.lists(
    st.text(st.one_of(st.sampled_from(NASTY), st.characters(max_codepoint=0x7F), st.characters(codec="utf-8")),
            max_size=24),
    max_size=12,
)  # fmt: skip


def done(texts: list[str], how: Normalising) -> list[str]:
    got = normalised(Texts.of(texts), how)
    assert got.data.dtype == np.uint8 and got.offsets.dtype == np.int64 and got.offsets[0] == 0
    return [got.data[a:b].tobytes().decode() for a, b in zip(got.offsets[:-1], got.offsets[1:], strict=True)]


def expected(texts: list[str], how: Normalising) -> list[str]:
    return [naive.normalised(text, how) for text in texts]


@settings(max_examples=150, deadline=None)
@given(texts_of_all_kinds, st.sampled_from(EVERY_WAY))
def test_any_text_is_normalised_as_pythons_own_functions_do_it(texts, how):
    assert done(texts, how) == expected(texts, how)


@pytest.mark.parametrize("how", EVERY_WAY)
def test_every_combination_of_switches_is_honoured(how):
    marks = "\u0301\u0323\u0345\u3099\u200b"
    texts = [a + b for a in NASTY for b in NASTY][EVERY_WAY.index(how) % 11 :: 11]
    texts += ["Größe, 10 €:\u00a0CAFE\u0301 \ufb01n\u00ad. ", "ΑΣ ΣΑ Σ Α.Σ", "  two  spaces \n"]
    texts += ["Hello, World  and more text", "[@Z`{ ~^_|$ +<=>}] AZ az 09 /:;?"]
    texts += [f"ä{one}{other}" for one in marks for other in marks]

    assert done(texts, how) == expected(texts, how)


def assigned(wanted=lambda code: True) -> list[str]:
    return [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if not 0xD800 <= code < 0xE000 and unicodedata.category(chr(code)) not in ("Cn", "Co") and wanted(code)
    ]


def uniform(code: int) -> bool:
    """Ideographs and syllables, thousands of the same kind."""
    return 0x3400 <= code < 0xA000 or 0xAC40 <= code < 0xD7A0 or 0x17000 <= code < 0x1B000 or 0x20000 <= code < 0x2F800


@pytest.mark.parametrize(
    "how", [Normalising(), Normalising(unicode_form="nfkc", fold_accents=True, drop_punctuation=True)]
)
def test_every_assigned_code_point_is_normalised_as_python_does_it(how):
    texts = [f"{c}b" for c in assigned(lambda code: not uniform(code))]

    assert done(texts, how) == expected(texts, how)


@pytest.mark.parametrize("form", ["nfc", "nfkc"])
@pytest.mark.parametrize("mark", ["\u0334", "\u0323", "\u0301", "\u3099"])
def test_marks_compose_and_move_around_any_code_point_as_in_python(mark, form):
    how = Normalising(unicode_form=form)
    telling = assigned(
        lambda code: not uniform(code)
        and (unicodedata.normalize("NFKD", chr(code)) != chr(code) or unicodedata.combining(chr(code)) > 0)
    )
    texts = [f"a{c}{mark}" for c in telling]

    assert done(texts, how) == expected(texts, how)


@pytest.mark.all
@pytest.mark.parametrize("how", [how for how in EVERY_WAY if how.join_whitespace and not how.drop_invisible])
def test_all_of_unicode_is_normalised_as_python_does_it(how):
    for mark in ("", "\u0334", "\u0323", "\u0301", "\u3099"):
        texts = [f"a{c}{mark}" for c in map(chr, range(sys.maxunicode + 1)) if not "\ud800" <= c <= "\udfff"]
        assert done(texts, how) == expected(texts, how)


def test_no_code_point_that_composes_with_the_one_before_is_overlooked():
    pairs = (unicodedata.decomposition(chr(code)).split() for code in range(sys.maxunicode + 1))
    seconds = {int(pair[1], 16) for pair in pairs if len(pair) == 2 and not pair[0].startswith("<")}
    syllables = range(0xAC00, 0xD7A4)
    seconds |= {ord(part) for code in syllables for part in unicodedata.normalize("NFD", chr(code))[1:]}

    assert normalise._second_of_a_composition() == seconds


def test_white_space_is_what_str_split_takes_for_it():
    white = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    texts = [f"{c}a{c}{other}b{c}" for c in white for other in white]

    assert set(done(texts, Normalising(unicode_form="none"))) == {"a b"}


def test_each_invisible_code_point_goes_and_what_it_parted_comes_together():
    assert done([f"e{chr(code)}\u0301" for code in sorted(naive.INVISIBLE)], Normalising()) == ["é"] * 7
    assert done(["e\u200b\u200d\u0301\ufeff", "\u200b", "\ufeffa"], Normalising()) == ["é", "", "a"]


def test_results_do_not_depend_on_how_much_one_call_does(monkeypatch):
    texts = [*("".join(NASTY[at:] + NASTY[:at]) for at in range(len(NASTY))), "", "plain ASCII  text " * 9, "Σ ΑΣ " * 9]
    how = Normalising()
    whole = done(texts, how)
    seen: list[int] = []
    for bytes_a_call in (1, 7, 64):
        monkeypatch.setattr(normalise, "CALL_BYTES", bytes_a_call)
        monkeypatch.setattr(normalise, "PYTHON_BYTES", bytes_a_call)
        seen.clear()

        again = normalised(Texts.of(texts), how, seen.append)

        assert list(again) == whole == expected(texts, how)
        assert sum(seen) == len(texts) and min(seen) >= 0


def test_a_text_that_grows_manyfold_gets_the_room_it_needs():
    texts = ["\ufdfa" * 500, "İ" * 500, "x"]  # NFKC makes eleven times as many bytes of the first

    how = Normalising(unicode_form="nfkc")

    assert done(texts, how) == expected(texts, how)


def test_more_kinds_of_pieces_than_the_table_holds_are_still_normalised(monkeypatch):
    monkeypatch.setattr(normalise, "MOST_PIECES", 3)
    normalise._rewriter.cache_clear()
    texts = [f"{letter}\u0301 and {letter}\u0323\u0308 {letter}\u0300\u0301\u0302\u0303" for letter in "abcdefgh"]

    assert done(texts, Normalising()) == expected(texts, Normalising())
    normalise._rewriter.cache_clear()


def test_a_full_store_of_spellings_is_no_end_either(monkeypatch):
    monkeypatch.setattr(normalise, "SPELLING_BYTES", 16)
    normalise._rewriter.cache_clear()
    texts = [chr(code) * 2 for code in range(0x400, 0x430)]

    assert done(texts, Normalising()) == expected(texts, Normalising())
    normalise._rewriter.cache_clear()


def test_threads_may_normalise_at_the_same_time():
    normalise._rewriter.cache_clear()
    texts = [[chr(code + shift) + "\u0301 Ä" for code in range(0x100, 0x2000)] for shift in range(4)]

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda some: list(normalised(Texts.of(some), Normalising())), texts))

    assert results == [expected(some, Normalising()) for some in texts]


def test_a_view_into_the_middle_of_many_texts_is_normalised_alone():
    texts = ["left out", "First", "Ünd", "left out too"]
    all_of_them = Texts.of(texts)
    middle = Texts(all_of_them.data, all_of_them.offsets[1:4])

    assert list(normalised(middle, Normalising())) == ["first", "ünd"]
    assert code_points(middle).tolist() == [5, 3]


def test_no_texts_and_empty_texts_stay_what_they_are():
    assert done([], Normalising()) == []
    assert done(["", " \n", ""], Normalising()) == ["", "", ""]


@settings(max_examples=50, deadline=None)
@given(texts_of_all_kinds)
def test_the_length_of_a_text_is_its_number_of_code_points(texts):
    assert code_points(Texts.of(texts)).tolist() == [len(text) for text in texts]


def test_bytes_that_are_no_utf8_are_never_read_beyond_their_text():
    data = np.frombuffer(b"ab\xf0\xffcd\xe2\x80\xc3\xf7\xbf\xbf\xbf", np.uint8)
    offsets = np.array([0, 3, 4, 6, 8, 9, 13])

    got = normalised(Texts(data, offsets), Normalising())

    assert len(got) == 6 and got[0].startswith("ab") and got[2] == "cd"


@pytest.mark.parametrize(
    ("case", "run"),
    [("13-composed-and-decomposed", run) for run in ("none", "NFC", "NFKC")]
    + [("14-invisible-characters", run) for run in ("kept", "removed")],
)
def test_known_cases_of_equal_looking_texts_have_their_exact_jaccards(case, run):
    if not CASES.is_dir():
        pytest.skip("the known cases (../shared/cases) are not on this machine")
    known = json.loads((CASES / case / "expected.json").read_text(encoding="utf-8"))
    wanted, settings_ = known["runs"][run], known["runs"][run]["settings"]
    switches = settings_["normalise"]
    how = Normalising(
        drop_invisible=switches["strip_invisible"], unicode_form=(switches["form"] or "none").lower(),
        fold_accents=switches["fold_marks"], lower_case=switches["lower"], join_whitespace=switches["ws"],
    )  # fmt: skip

    sets = [{text[at : at + 5] for at in range(len(text) - 4)} for text in done(known["doc_texts"], how)]

    found = [
        {"i": i, "j": j, "inter": len(sets[i] & sets[j]), "union": len(sets[i] | sets[j])}
        for i in range(len(sets))
        for j in range(i + 1, len(sets))
        if len(sets[i] & sets[j]) / len(sets[i] | sets[j]) >= settings_["threshold"]
    ]
    assert found == [{key: pair[key] for key in ("i", "j", "inter", "union")} for pair in wanted["pairs"]]


def test_pieces_are_packed_as_the_kernel_unpacks_them():
    """Three code points of 21 bits and the leading 1 are 64 bits: none may fall out of the top."""
    assert kernels.LONGEST * kernels.CODE_BITS + 1 == 64
    how = Normalising()
    texts = ["\U0010ffff\u0323\u0301", "\u0301\u0301\u0301", "\U0001e94a\U0001e94a\U0001e94a"]

    assert done(texts, how) == expected(texts, how)
