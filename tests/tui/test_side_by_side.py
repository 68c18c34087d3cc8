from __future__ import annotations

import random
import re
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult

from neardup_tui import keys
from neardup_tui.widgets.cells import safe
from neardup_tui.widgets.side_by_side import Side, SideBySide, differences, laid_out
from tui.screens import text

LEFT = ("Hello, since yesterday's update the printer on the second floor prints every page twice. I removed the job "
        "from the queue, but nothing changed. Could someone have a look before Friday?")
RIGHT = ("Hello, since yesterday's update the printer on the third floor prints every page twice. I removed the job "
         "from the queue but nothing changed. Could someone please have a look before Friday?")

TEXTS = st.text(st.sampled_from("ab c.\n漢"), max_size=40)


def pieces(left: str, right: str) -> list[tuple[str, str]]:
    return [(left[slice(*one.left)], right[slice(*one.right)]) for one in differences(left, right)]


def without(text: str, spans: list[tuple[int, int]]) -> str:
    kept, done = [], 0
    for start, stop in spans:
        kept.append(text[done:start])
        done = stop
    return "".join([*kept, text[done:]])


def test_words_that_differ_are_found_and_an_added_word_has_its_blank():
    assert pieces(LEFT, RIGHT) == [("second", "third"), (",", ""), ("", "please ")]
    assert pieces("all the same", "the same all") == [("all ", ""), ("", "all")]
    assert pieces("漢字です", "漢語です") == [("字", "語")]


@given(TEXTS, TEXTS)
@settings(max_examples=300)
@example("a b", "a\nb")
@example("", "a")
@example("ab ab ab a", "ab ab a")
def test_what_is_left_without_the_differences_is_the_same_in_both(left, right):
    found = differences(left, right)
    same_left, same_right = without(left, [one.left for one in found]), without(right, [one.right for one in found])
    assert re.sub(r"\s+", "", same_left) == re.sub(r"\s+", "", same_right)
    assert all(a.left[1] <= b.left[0] and a.right[1] <= b.right[0] for a, b in pairwise(found))
    if left.split() == right.split():
        assert found == []


def test_long_texts_are_compared_and_wrapped_word_by_word():
    rng = random.Random(1)
    words = [f"w{rng.randrange(3_000)}" for _ in range(20_000)]
    edited = list(words)
    changed = sorted(rng.sample(range(0, 20_000, 2), 50))
    for at in changed:
        edited[at] = "edited"
    assert pieces(" ".join(words), " ".join(edited)) == [(words[at], "edited") for at in changed]


def test_texts_that_repeat_one_word_for_ever_are_compared_too():
    left = " ".join(random.Random(1).choices("ab", k=30_000))
    right = " ".join(random.Random(2).choices("ab", k=30_000))
    assert differences(left, right)


@given(TEXTS, st.lists(st.integers(0, 40), max_size=6), st.integers(2, 12), st.booleans())
@settings(max_examples=300)
def test_wrapping_loses_nothing_but_blanks_and_keeps_to_the_width(text, cuts, width, braces):
    cuts = sorted(min(cut, len(text)) for cut in cuts)
    spans = list(zip(cuts[::2], cuts[1::2], strict=False))
    laid = laid_out(text, spans, width, braces)
    drawn = "".join(words for line in laid.lines for words, _ in line)
    assert all(sum(cell_len(words) for words, _ in line) <= width for line in laid.lines)
    plain = drawn.replace("{", "").replace("}", "")
    assert re.sub(r"\s", "", plain) == re.sub(r"\s", "", safe(text))
    for number, (start, stop) in enumerate(spans):
        marked = "".join(words for line in laid.lines for words, of in line if of == number)
        wanted = safe(text[start:stop])
        assert re.sub(r"[\s{}]", "", marked) == re.sub(r"\s", "", wanted)
        if start < stop and braces:
            assert marked.startswith("{") and marked.endswith("}")
    assert len(laid.at) == len(spans) and all(0 <= line < len(laid.lines) for line in laid.at)


def test_line_ends_of_the_text_break_the_line_and_indents_stay():
    laid = laid_out("one\r\n  two\n\nthree", [], 20)
    assert ["".join(words for words, _ in line) for line in laid.lines] == ["one", "  two", "", "three"]


class Beside(App[None]):
    def __init__(self, left: str = LEFT, right: str = RIGHT, **given) -> None:
        super().__init__()
        self.sides = Side("row 412  kept", left), Side("row 1,977  removed", right)
        self.view = SideBySide(**given)
        self.found: list[int] = []

    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        self.view.compare(*self.sides)
        self.view.focus()

    def on_side_by_side_compared(self, message: SideBySide.Compared) -> None:
        self.found.append(message.count)


async def test_two_texts_stand_beside_each_other_with_braces_where_there_is_no_colour():
    app = Beside()
    async with app.run_test(size=(80, 8)) as pilot:
        app.view.braces = True
        await pilot.pause()
        assert text(app).rstrip().split("\n") == [
            " row 412  kept                         │ row 1,977  removed",
            " Hello, since yesterday's update the   │ Hello, since yesterday's update the",
            " printer on the {second} floor prints  │ printer on the {third} floor prints",
            " every page twice. I removed the job   │ every page twice. I removed the job",
            " from the queue{,} but nothing         │ from the queue but nothing changed.",
            " changed. Could someone have a look    │ Could someone {please }have a look",
            " before Friday?                        │ before Friday?",
            "                                       │",
        ]
        assert app.found == [3]


async def test_differences_are_reverse_and_nothing_else_is():
    app = Beside()
    async with app.run_test(size=(80, 8)) as pilot:
        await pilot.pause()
        marked = [segment.text for strip in app.screen._compositor.render_strips() for segment in strip
                  if segment.style is not None and segment.style.reverse]
        assert [words.strip() for words in marked] == ["second", "third", ",", "please"]


async def test_the_right_text_can_stand_alone():
    app = Beside(alone=True, heads=False)
    async with app.run_test(size=(80, 8)) as pilot:
        app.view.braces = True
        await pilot.pause()
        first = text(app).split("\n")[0]
        assert first == " Hello, since yesterday's update the printer on the {third} floor prints every"
        assert "second" not in text(app) and "│" not in text(app)


async def test_in_a_narrow_place_one_text_stands_below_the_other():
    app = Beside()
    async with app.run_test(size=(40, 20)) as pilot:
        await pilot.pause()
        assert text(app).split("\n")[0] == " row 412  kept" and text(app).split("\n")[10] == " row 1,977  removed"


async def test_n_goes_from_difference_to_difference_on_both_sides_and_round_at_the_end():
    middle = "\n".join(f"line {number}" for number in range(60))
    app = Beside(f"first {middle}\nold end\n{middle}", f"{middle}\nnew and longer\n end\n{middle}")
    async with app.run_test(size=(80, 10)) as pilot:
        await pilot.press("n", "n")
        rows = text(app).split("\n")
        here = next(row for row in rows if "old end" in row)
        assert "new and longer" in here
        await pilot.press("n")
        assert " first line 0" in text(app)
        await pilot.press("N")
        assert "old end" in text(app)


async def test_the_first_difference_is_in_sight_from_the_start():
    body = "\n".join(f"line {number}" for number in range(60))
    app = Beside(f"{body}\nold end", f"{body}\nnew end")
    async with app.run_test(size=(80, 10)) as pilot:
        await pilot.pause()
        assert "old end" in text(app) and "new end" in text(app)
        app.view.compare(Side("", f"first {body}"), Side("", body))
        await pilot.pause()
        assert text(app).split("\n")[1].startswith(" first line 0 ")


async def test_both_texts_scroll_together_and_stop_at_their_ends():
    body = "\n".join(f"line {number}" for number in range(30))
    app = Beside(body, body + "\nmore")
    async with app.run_test(size=(80, 6)) as pilot:  # five lines of text
        await pilot.press("g", "j", "j")
        assert text(app).split("\n")[1] == " line 2                                │ line 2"
        await pilot.press("G")
        assert text(app).split("\n")[5] == " line 29                               │ more"
        await pilot.press("pageup")
        await pilot.press("g", "k")
        assert text(app).split("\n")[1] == " line 0                                │ line 0"


async def test_long_texts_are_compared_without_holding_the_screen():
    words = [f"w{number}" for number in range(15_000)]
    app = Beside(" ".join(words), " ".join(["new", *words[:-1], "end"]))
    async with app.run_test(size=(80, 10)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.found == [2] and "new w0 w1" in text(app)


async def test_a_text_cannot_reach_the_terminal():
    app = Beside("a \x1b[31m [b]x[/b] \u202e 漢字", "a \x1b[31m [b]y[/b] 漢字")
    async with app.run_test(size=(80, 6)) as pilot:
        await pilot.pause()
        assert text(app).split("\n")[1].startswith(" a ␛[31m [b]x[/b]")


async def test_the_texts_bind_no_key_outside_the_table():
    app = Beside()
    async with app.run_test():
        assert keys.clashes([app.view]) == []
