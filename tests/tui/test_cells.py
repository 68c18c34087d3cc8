from __future__ import annotations

import unicodedata

import pytest
import wcwidth
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from neardup_tui.widgets import cells

AWKWARD = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\x1b\x07\x9b\r\n\t\u202e\u2066\u200b\u200d\ufe0f\u0301\u0489漢字👨👩👧🏽🇩🇪한\u1161\u3000[]/…"),
    ),
    max_size=60,
)


@given(AWKWARD, st.integers(0, 40), st.sampled_from(["left", "right"]))
@settings(max_examples=400)
@example("👨\u200d👩\u200d👧 family", 7, "left")
@example("漢漢漢", 4, "left")
@example("漢漢漢", 5, "right")
@example("e" + "\u0301" * 500, 1, "left")
def test_a_text_takes_exactly_the_cells_it_was_given(text, width, align):
    fitted = cells.shown(text, width, align)
    assert cell_len(fitted) == width == sum(map(cell_len, fitted))


@given(AWKWARD)
@settings(max_examples=400)
def test_nothing_of_a_document_acts_on_the_terminal(text):
    shown = cells.safe(text)
    for character in shown:
        assert unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp")
    assert cells.safe(shown) == shown


@given(st.text(st.characters(categories=("Lu", "Ll", "Nd", "Po"), max_codepoint=0x2FF), max_size=30))
def test_ordinary_letters_are_shown_as_they_are(text):
    assert cells.safe(text) == text


def test_control_characters_are_shown_as_pictures_and_white_space_as_a_blank():
    assert cells.safe("a\x1b[31mb\x00\x7f") == "a␛[31mb␀␡"
    assert cells.safe("one\r\n\ttwo\u3000three\u2028four") == "one   two three four"
    assert cells.safe("\u202eevil\u202c so\u00adft zero\u200bwidth") == "evil soft zerowidth"
    assert cells.safe("\ud800 \x9b \ue000") == "\ufffd \ufffd \ufffd"


def test_brackets_are_no_markup():
    assert cells.shown("[bold]x[/]", 12) == "[bold]x[/]  "


def test_a_cut_text_ends_in_an_ellipsis_and_a_wide_letter_is_never_halved():
    assert cells.shown("abcdef", 4) == "abc…"
    assert cells.shown("漢字漢字", 4) == "漢… "
    assert cells.shown("abcd", 4) == "abcd"


def test_combining_marks_stay_with_their_letter_and_are_few():
    assert cells.shown("e\u0301e\u0301", 2) == "e\u0301e\u0301"
    assert cells.safe("\u0301a" + "\u0301" * 9) == "a" + "\u0301" * 4


@pytest.mark.parametrize("text", ["Grüße", "日本語", "한국어", "naïve e\u0301", "😀 ok", "ไทย", "עברית"])
def test_the_count_of_cells_agrees_with_wcwidth(text):
    assert wcwidth.wcswidth(cells.shown(text, 20)) == 20


@pytest.mark.parametrize(
    ("share", "text"),
    [(1, "100 %"), (0, "0 %"), (0.998, "99.8 %"), (0.99996, "99.9 %"), (0.00001, "0.1 %"), (0.5, "50.0 %")],
)
def test_a_percentage_says_all_only_when_it_is_all(share, text):
    assert cells.percent(share) == text


def test_a_jaccard_below_one_is_never_shown_as_one():
    assert cells.decimal(0.99999) == "0.999"
    assert cells.decimal(1.0) == "1.000"
    assert cells.decimal(0.8366) == "0.837"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (764_000, "764 kB"), (1_299_456, "1.3 MB"), (58_000_000, "58.0 MB")],
)
def test_bytes_are_read_at_a_glance(number, text):
    assert cells.size(number) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.04, "0.0 s"), (1.94, "1.9 s"), (59.97, "1:00"), (61, "1:01"), (3700, "1:01:40")]
)
def test_durations_are_read_at_a_glance(value, text):
    assert cells.seconds(value) == text
