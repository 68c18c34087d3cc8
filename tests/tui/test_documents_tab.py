from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from neardup import Reading
from neardup_tui.dates import ago
from neardup_tui.screen import NeardupApp
from neardup_tui.tabs.start import folder_at, kind_of
from tui.driving import loaded, ran, until
from tui.screens import plain, text

MakeApp = Callable[..., NeardupApp]

ROWS = [
    ("T-1", "mail", "Good morning, the VPN client asks for a new certificate every morning"),
    ("T-2", "web", "Order 88007 was delivered to the wrong address and nobody called back"),
    ("T-3", "mail", "good morning,  the vpn client asks for a new certificate every morning"),
    ("T-4", "web", ""),
]


def write_tickets(folder: Path, name: str = "tickets.csv") -> None:
    with (folder / name).open("w", newline="") as file:
        csv.writer(file).writerows([("id", "channel", "body"), *ROWS])


# Documents that are loaded

async def test_the_rows_of_a_csv_are_listed_as_they_were_read(real_app: MakeApp, tmp_path: Path):
    write_tickets(tmp_path)
    async with real_app("tickets.csv", reading=Reading(text_column="body")).run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await until(pilot, lambda: "Order 88007" in text(app))
        screen = text(app)
        assert "tickets.csv · body · 4 rows" in plain(app)[0]
        assert "› ● body" in screen and "3 columns" in screen and "comma" in screen
        assert "good morning,  the vpn" in screen  # the text itself, not what normalising makes of it


async def test_after_a_run_a_row_names_the_first_with_the_same_text(real_app: MakeApp, tmp_path: Path):
    write_tickets(tmp_path)
    async with real_app("tickets.csv", reading=Reading(text_column="body")).run_test(size=(80, 24)) as pilot:
        app = await ran(pilot)
        await until(pilot, lambda: "good morning" in text(app))
        (line,) = [line for line in plain(app) if "good morning" in line]
        assert line.split()[:3] == ["2", str(len(ROWS[2][2])), "0"]
        figures = {words[0]: words[1] for line in plain(app)[3:8] if (words := line.partition("│")[2].split())}
        assert figures["documents"] == "3" and figures["empty"] == "1"


async def test_enter_takes_another_text_column_and_reads_again(real_app: MakeApp, tmp_path: Path):
    write_tickets(tmp_path)
    async with real_app("tickets.csv", reading=Reading(text_column="body")).run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await pilot.press("k", "enter")
        await until(pilot, lambda: app.session.reading.text_column == "channel" and not app.session.busy)
        await until(pilot, lambda: "› ● channel" in text(app))
        assert "tickets.csv · channel · 4 rows" in plain(app)[0]


async def test_a_column_that_is_not_there_becomes_a_choice(real_app: MakeApp, tmp_path: Path):
    write_tickets(tmp_path)
    async with real_app("tickets.csv", reading=Reading(text_column="message")).run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await until(pilot, lambda: "mean chars" in text(app) and "first 4 rows" in text(app))
        screen = text(app)
        assert "no text column" in plain(app)[0] and "▸Text column: choose one" in screen
        assert "›   body" in screen  # the mark is on the longest texts
        assert "! " in plain(app)[-2] and "'message'" in plain(app)[-2]
        await pilot.press("enter")
        await until(pilot, lambda: app.session.corpus is not None)
        assert "tickets.csv · body · 4 rows" in plain(app)[0]


async def test_a_column_name_that_two_columns_bear_is_taken_by_its_number(real_app: MakeApp, tmp_path: Path):
    (tmp_path / "twice.csv").write_text("a,a\nfirst text here,x\nsecond text here,y\n")
    async with real_app("twice.csv", reading=Reading(text_column="a")).run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await until(pilot, lambda: "first 2 rows" in text(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.session.corpus is not None)
        assert app.session.reading.text_column == "1"


async def test_another_format_reads_the_file_again(real_app: MakeApp, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("first line\nsecond line\n\nanother block\n")
    async with real_app("notes.txt").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        assert app.session.corpus is not None and app.session.corpus.rows == 4
        await pilot.press("tab", "l", "enter")  # how it was read: the next format is blank-lines
        await until(pilot, lambda: app.session.reading.format == "blank-lines" and not app.session.busy)
        assert app.session.corpus.rows == 2 and "blank-lines" in text(app)


async def test_a_format_that_is_stepped_to_waits_for_enter_and_an_error_keeps_what_was_loaded(
        real_app: MakeApp, tmp_path: Path):
    write_tickets(tmp_path)
    async with real_app("tickets.csv", reading=Reading(text_column="body")).run_test(size=(80, 24)) as pilot:
        app = await ran(pilot)
        await pilot.press("tab", "tab", "l")
        await pilot.pause()
        assert "JSON lines" in text(app) and "not taken" in text(app)
        assert "enter take it" in text(app) and not app.session.busy
        await pilot.press("enter")
        await until(pilot, lambda: app.session.notes[-1].severity == "error" and not app.session.busy)
        assert app.session.result is not None and "‹ JSON lines ›" in text(app)


async def test_lines_have_their_line_numbers_and_files_their_names(real_app: MakeApp, tmp_path: Path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "one.txt").write_text("the text of the first file")
    (tmp_path / "texts" / "two.md").write_text("the text of the second file")
    async with real_app("texts").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await until(pilot, lambda: "second file" in text(app))
        assert "one.txt" in text(app) and "two.md" in text(app)


async def test_control_characters_and_markup_of_a_document_stay_text(real_app: MakeApp, tmp_path: Path):
    records = [{"text": "[bold]brackets[/] \x1b[2J and \x07 a bell"}, {"text": "plain"}]
    (tmp_path / "odd.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    async with real_app("odd.jsonl").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await until(pilot, lambda: "brackets" in text(app))
        assert "[bold]brackets[/] ␛[2J and ␇ a bell" in text(app)


async def test_the_row_marked_here_is_the_one_that_shingles_shows(real_app: MakeApp, tmp_path: Path):
    write_tickets(tmp_path)
    async with real_app("tickets.csv", reading=Reading(text_column="body")).run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await pilot.press("tab", "j", "enter")
        await until(pilot, lambda: "Row 1 before" in text(app))
        assert "Order 88007" in text(app) and "‹ row 1 ›" in text(app)


# The start screen

async def test_without_a_path_the_files_here_are_offered_and_enter_opens_one(real_app: MakeApp, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("one text\nanother text\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "folder").mkdir()
    async with real_app().run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "notes.txt" in text(pilot.app))
        screen = text(pilot.app)
        assert "▸Open" in screen and "picture.png" not in screen and "2 of 3, those it can open" in screen
        await pilot.press("j", "j", "j", "j")  # over both lists as one: example, ../, folder/, notes.txt
        await pilot.pause()
        assert "enter: open it" in text(pilot.app)
        await pilot.press("enter")
        app = await loaded(pilot)
        await until(pilot, lambda: app.session.corpus is not None)
        assert "notes.txt · 2 rows" in plain(app)[0]


async def test_enter_on_a_folder_shows_what_is_in_it(real_app: MakeApp, tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inside.csv").write_text("text\nx\n")
    async with real_app().run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "folder/" in text(pilot.app))
        await pilot.press("j", "j", "j", "enter")
        await until(pilot, lambda: "inside.csv" in text(pilot.app))


async def test_the_example_is_written_and_opened(real_app: MakeApp, tmp_path: Path):
    async with real_app().run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "a path" in text(pilot.app))
        await pilot.press("j")
        await pilot.pause()
        assert "edited copies" in text(pilot.app) and "mean length" in text(pilot.app)
        await pilot.press("tab", "h", "shift+tab", "enter")  # 900 documents
        app = await loaded(pilot)
        await until(pilot, lambda: app.session.corpus is not None)
        assert app.session.corpus is not None and app.session.corpus.rows == 900


def test_what_can_be_opened_is_told_by_the_name():
    assert kind_of("a.csv.gz") == "CSV" and kind_of("A.JSONL") == "JSON lines" and kind_of("words") is not None
    assert kind_of("a.png") is None and kind_of("a.tar.gz") is None


def test_a_folder_that_may_not_be_read_says_so(tmp_path: Path):
    assert folder_at(str(tmp_path / "gone")).refused


@pytest.mark.parametrize(
    ("days", "said"), [(0, "today 12:00"), (1, "yesterday 12:00"), (40, "21 January 12:00"), (500, "18 October 2024")]
)
def test_times_are_said_as_people_say_them(days: int, said: str):
    from datetime import datetime, timedelta

    now = datetime(2026, 3, 2, 12, 0)
    assert ago((now - timedelta(days=days)).timestamp(), now.timestamp()) == said
