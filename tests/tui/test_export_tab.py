from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from neardup import Reading
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
        assert any("Removed 2" in line for line in lines)
        assert any(line.startswith("in no cluster 1 repeats an earlier row exactly 1") for line in lines)
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
        await until(pilot, lambda: "written: tickets.clean.csv" in text(app))
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
        await until(pilot, lambda: "? Write 3 files: tickets.clean.csv, p.jsonl" in text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "written:" in text(app))
    pairs = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [(pair["left"], pair["right"]) for pair in pairs] == [(0, 2), (0, 3), (2, 3)]
    assert not (tmp_path / "tickets.removed.csv").exists()


async def test_an_input_is_never_written_over(app: NeardupApp, tmp_path: Path):
    before = (tmp_path / "tickets.csv").read_bytes()
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("6", "enter", "ctrl+u", *"tickets.csv", "enter")
        await until(pilot, lambda: "‹ tickets.csv ›" in text(app))
        await pilot.press("e")
        await until(pilot, lambda: "is an input" in app.session.notes[-1].text)
        assert "? Write" not in text(app)
    assert (tmp_path / "tickets.csv").read_bytes() == before


async def test_a_folder_that_is_not_there_is_one_message(app: NeardupApp):
    async with app.run_test(size=(120, 40)) as pilot:
        await ran(pilot)
        await pilot.press("6", "enter", "ctrl+u", *"no/where.csv", "enter", "e")
        await until(pilot, lambda: "cannot be written" in text(app))
        assert "? Write" not in text(app)


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
        await until(pilot, lambda: "--clusters star" in text(app))
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
    assert names_for(str(tmp_path / "mails"))["out"] == "mails.clean.txt"
