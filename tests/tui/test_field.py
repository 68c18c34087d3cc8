from __future__ import annotations

import pytest
from textual import events
from textual.app import App, ComposeResult

from neardup_tui.messages import EditEnded, EditStarted
from neardup_tui.widgets.field import MOST_PASTED, Field, PathField, complete_path, in_columns
from tui.screens import text


def even(value: str) -> None:
    if int(value) % 2:
        raise ValueError(f"{value} is odd: give an even number")


class Editing(App[None]):
    def __init__(self, make) -> None:
        super().__init__()
        self.make = make
        self.told: list[tuple[object, ...]] = []

    def compose(self) -> ComposeResult:
        self.widget = self.make()
        yield self.widget

    def on_field_accepted(self, message: Field.Accepted) -> None:
        self.told.append(("accepted", message.value, message.onward))

    def on_field_given_back(self) -> None:
        self.told.append(("given back",))

    def on_field_refused(self, message: Field.Refused) -> None:
        self.told.append(("refused", message.why))

    def on_edit_started(self, message: EditStarted) -> None:
        self.told.append(("edit",))

    def on_edit_ended(self, message: EditEnded) -> None:
        self.told.append(("move",))


async def test_every_printable_key_types_while_the_field_is_open():
    app = Editing(Field)
    async with app.run_test() as pilot:
        await pilot.press("q", "r", "/", "?", ":", "1", "space", "J", "enter")
        await pilot.pause()
        assert app.told == [("edit",), ("accepted", "qr/?:1 J", False), ("move",)]


async def test_enter_accepts_tab_accepts_and_goes_on_and_esc_gives_back():
    ends = [("enter", ("accepted", "8", False)), ("tab", ("accepted", "8", True)), ("escape", ("given back",))]
    for key, told in ends:
        app = Editing(lambda: Field("4"))
        async with app.run_test() as pilot:
            await pilot.press("backspace", "8", key)
            await pilot.pause()
            assert app.told == [("edit",), told, ("move",)]


async def test_a_bad_value_is_refused_and_the_field_stays_open():
    app = Editing(lambda: Field("", check=even))
    async with app.run_test() as pilot:
        await pilot.press("7", "enter")
        await pilot.pause()
        assert app.told == [("edit",), ("refused", "7 is odd: give an even number")]
        await pilot.press("2", "enter")
        await pilot.pause()
        assert app.told[2:] == [("accepted", "72", False), ("move",)]


async def test_a_paste_is_one_line_without_control_characters_and_has_a_largest_size():
    app = Editing(Field)
    async with app.run_test() as pilot:
        app.widget.post_message(events.Paste("a\x1b[31mb\nsecond line"))
        app.widget.post_message(events.Paste("x" * (MOST_PASTED + 1)))
        await pilot.pause()
        assert app.widget.value == "a[31mb"
        assert app.told[-1][0] == "refused" and "save them to a file" in app.told[-1][1]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("tickets.csv", "tickets-2025.csv.gz", "words.txt", ".hidden", "we ird", "bad\x1bname"):
        (tmp_path / name).write_text("x")
    (tmp_path / "faq" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "becomes", "matches"),
    [
        ("tic", "tickets", ("tickets-2025.csv.gz", "tickets.csv")),
        ("words", "words.txt", ("words.txt",)),
        ("f", "faq/", ("faq/",)),
        ("faq/", "faq/deep/", ("deep/",)),
        ("~/wo", "~/words.txt", ("words.txt",)),
        (".h", ".hidden", (".hidden",)),
        ("we", "we ird", ("we ird",)),
        ("b", "b", ()),
        ("nothing/here", "nothing/here", ()),
        ("~nobody-by-this-name/x", "~nobody-by-this-name/x", ()),
        ("a\0b/c", "a\0b/c", ()),
        ("", "", ("faq/", "tickets-2025.csv.gz", "tickets.csv", "we ird", "words.txt")),
    ],
)
def test_a_path_is_completed_as_far_as_its_matches_agree(folder, typed, becomes, matches):
    completion = complete_path(typed)
    assert (completion.text, completion.matches) == (becomes, matches)


def test_an_absolute_path_is_completed_too(folder):
    assert complete_path(f"{folder}/fa").text == f"{folder}/faq/"
    assert complete_path("/et").text == "/etc/"


async def test_tab_completes_a_path_shows_what_it_can_be_and_accepts_a_whole_one(folder):
    app = Editing(PathField)
    async with app.run_test(size=(60, 10)) as pilot:
        await pilot.press("t", "tab")
        await pilot.pause()
        assert text(app).split("\n")[:2] == ["tickets", " tickets-2025.csv.gz  tickets.csv"]
        await pilot.press(".", "tab")
        await pilot.pause()
        assert text(app).split("\n")[0] == "tickets.csv" and "2025" not in text(app)
        await pilot.press("tab")
        await pilot.pause()
        assert app.told[-2:] == [("accepted", "tickets.csv", True), ("move",)]


async def test_a_path_that_is_refused_says_why_below(folder):
    def check(path: str) -> None:
        raise ValueError(f"{path} is not there: give the path of a file")

    app = Editing(lambda: PathField("[x]", check=check))
    async with app.run_test(size=(60, 10)) as pilot:
        await pilot.press("enter")
        await pilot.pause()
        assert text(app).split("\n")[1] == " ! [x] is not there: give the path of a file"


def test_many_names_stand_in_columns_and_what_does_not_fit_is_counted():
    names = tuple(f"n{number:02}" for number in range(30))
    assert in_columns(names[:5], 12, 3).plain.splitlines() == ["n00  n03", "n01  n04", "n02"]
    drawn = in_columns(names, 20, 3).plain
    assert len(drawn.splitlines()) <= 3 and "more" in drawn
    assert in_columns((), 20, 3).plain == ""
