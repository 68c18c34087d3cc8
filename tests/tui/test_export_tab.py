from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from neardup import Reading
from neardup.sources.corpus import Format, Input
from neardup_tui import clipboard
from neardup_tui.screen import NeardupApp
from neardup_tui.tabs.export import names_for
from tui.driving import loaded, ran, until
from tui.screens import plain, text

MakeApp = Callable[..., NeardupApp]

SENTENCE = "the printer on the second floor prints every page twice and nobody knows why it does so since the update"
ROWS = [SENTENCE, "an unrelated sentence about the weather in the north", SENTENCE, SENTENCE + " x", ""]


@pytest.fixture
def app(real_app: MakeApp, tmp_path: Path) -> NeardupApp:
    with (tmp_path / "tickets.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "body"), *enumerate(ROWS)])
    return real_app("tickets.csv", reading=Reading(text_column="body"))


async def test_the_dry_run_says_what_would_be_kept_and_removed_and_why(app: NeardupApp, tmp_path: Path):
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("6")
        await until(pilot, lambda: "kept 3 of 5" in text(app))
        lines = [" ".join(line.split()) for line in plain(app)]
        assert any("kept 3 of 5, removed 2" in line for line in lines)
        assert any(line.startswith("in no cluster 1 the same text as the kept row 1") for line in lines)
        assert any(line.startswith("kept of the clusters 1 near duplicate, J ≥ 0.80 1") for line in lines)
        assert sorted(path.name for path in tmp_path.iterdir()) == [".run", "tickets.csv"]  # nothing is written


async def test_e_asks_first_and_enter_writes_what_the_dry_run_said(app: NeardupApp, tmp_path: Path):
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("e")
        await until(pilot, lambda: "? Write 3 files" in text(app))
        assert "tickets.clean.csv" in text(app) and not (tmp_path / "tickets.clean.csv").exists()
        assert plain(app)[-1].strip() == "enter write  esc leave it"
        await pilot.press("enter")
        await until(pilot, lambda: "written into " in text(app))
    kept = list(csv.reader((tmp_path / "tickets.clean.csv").open(newline="")))
    assert [row[0] for row in kept] == ["id", "0", "1", "4"]
    removed = list(csv.DictReader((tmp_path / "tickets.removed.csv").open(newline="")))
    assert [(row["row"], row["kept"]) for row in removed] == [("2", "0"), ("3", "0")]
    assert json.loads((tmp_path / "tickets.clean.json").read_text())


async def test_esc_writes_nothing(app: NeardupApp, tmp_path: Path):
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("e")
        await until(pilot, lambda: "? Write" in text(app))
        await pilot.press("escape")
        await pilot.pause()
        assert "? Write" not in text(app)
    assert not list(tmp_path.glob("tickets.clean*"))


async def test_a_file_that_exists_is_told_and_named_in_the_question(app: NeardupApp, tmp_path: Path):
    (tmp_path / "tickets.removed.csv").write_text("precious")
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("6")
        await until(pilot, lambda: "! tickets.removed.csv exists (today" in text(app))
        await pilot.press("e")
        await until(pilot, lambda: "Replaced: tickets.removed.csv" in " ".join(text(app).split()))
        await pilot.press("escape")
    assert (tmp_path / "tickets.removed.csv").read_text() == "precious"


async def test_space_turns_an_output_on_and_off_and_enter_renames_it(app: NeardupApp, tmp_path: Path):
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("6", "j", "space", "j", "enter", "ctrl+u", *"p.jsonl", "enter")
        await until(pilot, lambda: "‹ p.jsonl ›" in text(app))
        assert "JSON lines" in text(app)
        await pilot.press("e")
        await until(pilot, lambda: ": tickets.clean.csv, p.jsonl" in " ".join(text(app).split()))
        await pilot.press("enter")
        await until(pilot, lambda: "written into " in text(app))
    pairs = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [(pair["left"], pair["right"]) for pair in pairs] == [(0, 2), (0, 3), (2, 3)]
    assert not (tmp_path / "tickets.removed.csv").exists()


async def test_an_input_is_never_written_over(app: NeardupApp, tmp_path: Path):
    before = (tmp_path / "tickets.csv").read_bytes()
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("6", "enter", "ctrl+u", *"tickets.csv", "enter")
        await until(pilot, lambda: "is an input" in " ".join(text(app).split()))
        assert "! kept rows" in text(app)  # the field stays open, and speaks of its own name
        await pilot.press("escape")
        await until(pilot, lambda: "‹ tickets.clean.csv ›" in text(app))
    assert (tmp_path / "tickets.csv").read_bytes() == before


@pytest.mark.parametrize(("typed", "why"), [
    ("no/where.csv", "kept rows no/where.csv cannot be written: there is no folder no"),
    ("tickets.removed.csv", "kept rows and removed rows are both tickets.removed.csv"),
    ("-", "standard output is this screen"),
])
async def test_a_name_that_cannot_be_written_is_refused_when_it_is_typed(app: NeardupApp, typed: str, why: str):
    async with app.run_test(size=(120, 40)) as pilot:
        await ran(pilot)
        await pilot.press("6", "enter", "ctrl+u", *typed, "enter")
        await until(pilot, lambda: why in text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "‹ tickets.clean.csv ›" in text(app))


async def test_a_folder_that_went_away_since_is_one_message(app: NeardupApp, tmp_path: Path):
    (tmp_path / "there").mkdir()
    async with app.run_test(size=(120, 40)) as pilot:
        await ran(pilot)
        await pilot.press("6", "enter", "ctrl+u", *"there/x.csv", "enter")
        await until(pilot, lambda: "‹ there/x.csv ›" in text(app))
        (tmp_path / "there").rmdir()
        await pilot.press("e")
        await until(pilot, lambda: "cannot be written" in app.session.notes[-1].text)
        assert "? Write" not in text(app) and "--out" not in app.session.notes[-1].text


async def test_before_a_run_there_is_nothing_to_write(app: NeardupApp):
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("e")
        await until(pilot, lambda: "nothing to write yet: r runs first" in text(app))
        assert "no results yet: r runs" in text(app)


async def test_the_command_does_the_same_again(app: NeardupApp, monkeypatch: pytest.MonkeyPatch):
    sent: list[str] = []

    async def send(line: str, write: object) -> str:
        sent.append(line)
        return "sent to the terminal"

    monkeypatch.setattr(clipboard, "send", send)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("6", *"jjjjj", "l")  # cluster by star
        await until(pilot, lambda: "settings were changed since: r runs again" in text(app))
        assert "--clusters star" not in text(app)  # the results shown, and written by e, are those of transitive
        await pilot.press("Y")
        await until(pilot, lambda: bool(sent))
        assert "--clusters" not in sent.pop()
        await ran(pilot)
        await until(pilot, lambda: "--clusters star" in text(app) and "were changed since" not in text(app))
        await pilot.press("Y")
        await until(pilot, lambda: bool(sent))
    assert shlex.split(sent[0]) == [
        "neardup", "run", "tickets.csv", "--text-column", "body", "--clusters", "star", "--out", "tickets.clean.csv",
        "--removed", "tickets.removed.csv", "--manifest", "tickets.clean.json",
    ]


def test_names_are_offered_after_the_input():
    assert names_for("/srv/a/tickets.csv.gz")["out"] == "tickets.clean.csv.gz"
    assert names_for("words")["out"] == "words.clean"
    assert names_for("x.jsonl")["pairs"] == "x.pairs.csv"


def test_a_folder_gives_a_list_of_paths(tmp_path: Path):
    (tmp_path / "mails").mkdir()
    assert names_for(str(tmp_path / "mails"))["out"] == "mails.list.txt"


@pytest.mark.parametrize(("name", "format", "out"), [
    ("notes.txt", "blank-lines", "notes.clean.txt"),
    ("server.log.gz", "lines", "server.clean.log.gz"),
    ("a.html", "files", "a.list.txt"),
    ("folder", "files", "folder.list.txt"),
    ("folder", "csv", "folder.clean.csv"),
])
def test_the_kept_rows_are_offered_under_the_ending_of_what_was_read(tmp_path: Path, name: str, format: Format,
                                                                     out: str):
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    read = Input(path=str(path / "part.csv" if format == "csv" else path), real="", body="", format=format)
    assert names_for(str(path), read)["out"] == out


@pytest.mark.parametrize("size", [(80, 24), pytest.param((60, 16), marks=pytest.mark.all)])
async def test_a_long_name_is_cut_at_its_front_and_rows_and_sizes_stay_in_line(app: NeardupApp, size: tuple[int, int]):
    async with app.run_test(size=size) as pilot:
        await ran(pilot)
        await pilot.press("6", "enter", "ctrl+u", *("x" * 50 + ".clean.csv"), "enter")
        await until(pilot, lambda: "‹ …xx" in text(app) and "xx.clean.csv ›" in text(app))
        head, kept, removed = (next(line.rstrip("▁▂▃▄▅▆▇█ ") for line in plain(app) if word in line)
                               for word in ("output", "kept rows ", "removed rows "))
        assert head.endswith("rows      size") and kept.endswith(" B") and len(kept) == len(removed) == len(head)
        assert kept[head.index("rows") + 3] == "3"


async def test_on_a_narrow_screen_the_dry_run_is_one_column(app: NeardupApp):
    async with app.run_test(size=(60, 16)) as pilot:
        await ran(pilot)
        await pilot.press("6", "tab")
        await until(pilot, lambda: "least J to the kept row" in text(app))
        lines = plain(app)
        first = next(index for index, line in enumerate(lines) if "in no cluster" in line)
        figures = [line[:58].rstrip() for line in lines[first:first + 7]]
        assert len({len(line) for line in figures}) == 1
        assert lines[first + 7].strip().startswith("into ")


async def test_the_folder_is_named_home_as_a_tilde(app: NeardupApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("6")
        await until(pilot, lambda: " into ~  " in text(app))
        await pilot.press("e")
        await until(pilot, lambda: "? Write 3 files into ~: tickets" in text(app))


async def test_the_command_can_be_scrolled_and_zoomed_and_says_when_it_is_cut(app: NeardupApp):
    async with app.run_test(size=(60, 16)) as pilot:
        await ran(pilot)
        await pilot.press("6", "j", "j", "space", "j", "space", "tab", "tab")
        await until(pilot, lambda: "▸The same again" in text(app))
        await pilot.press("z")
        await until(pilot, lambda: "tickets.clean.json" in text(app) and "more line" not in text(app))
        await pilot.press("z")
        await until(pilot, lambda: "─ … " in text(app) and " more line" in text(app))
        await pilot.press("G")
        await until(pilot, lambda: "tickets.clean.json" in text(app) and "more line" not in text(app))
