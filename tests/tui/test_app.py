from __future__ import annotations

import base64
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from neardup import Reading, Settings, SourceError
from neardup_tui import clipboard
from neardup_tui import screen as screens
from neardup_tui.messages import OpenPath, SettingsChanged
from neardup_tui.screen import NeardupApp
from neardup_tui.session import State
from tui.driving import loaded, until
from tui.fakes import FakeEngine
from tui.screens import plain, styles, text

MakeApp = Callable[..., NeardupApp]


async def change(app: NeardupApp, pilot: Pilot[None], settings: Settings, about: str = "") -> None:
    app.screen.post_message(SettingsChanged(settings, about))
    await pilot.pause()


async def test_r_while_a_file_is_read_runs_once_it_is_read(make_app: MakeApp, engine: FakeEngine):
    engine.read.clear()
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = pilot.app
        assert isinstance(app, NeardupApp)
        await until(pilot, lambda: app.session.state is State.READING)
        await pilot.press("r")
        await until(pilot, lambda: "runs once it is read" in text(app))
        engine.read.set()
        await until(pilot, lambda: app.session.result is not None)
        assert len(engine.runs) == 1


async def test_r_while_a_file_is_read_that_is_then_stopped_runs_nothing(make_app: MakeApp, engine: FakeEngine):
    # given: what was loaded before stays, and another file is being read
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        engine.read.clear()
        await app.session.open(["tickets.csv"], Reading())
        await until(pilot, lambda: app.session.state is State.READING)
        await pilot.press("r", "x")
        await until(pilot, lambda: not app.session.busy)
        await pilot.pause()
        assert engine.runs == [] and app.session.corpus is not None


# The frame

@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 16), (200, 50)])
async def test_the_frame_fills_the_screen_and_no_line_is_longer(make_app: MakeApp, size: tuple[int, int]):
    async with make_app("tickets.csv").run_test(size=size) as pilot:
        app = await loaded(pilot)

        lines = plain(app)

        assert len(lines) == size[1] and {len(line) for line in lines} == {size[0]}
        assert lines[0].startswith(" neardup  tickets.csv · body · 2,538 rows")
        assert lines[0].rstrip().endswith("○ not run")
        assert " ".join(lines[1].split()) == "1 Documents 2 Shingles 3 Bands 4 Results 5 Clusters 6 Export"
        assert lines[2].strip("─").strip("━") == "" and lines[-1].rstrip().endswith("? help")


async def test_the_rule_is_heavy_under_the_tab_that_is_shown(make_app: MakeApp):
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        for key, name in (("2", "2 Shingles"), ("6", "6 Export"), (",", "5 Clusters"), (".", "6 Export")):
            await pilot.press(*([key] if key.isdigit() else [{",": "comma", ".": "full_stop"}[key]]))
            await pilot.pause()
            names, rule = plain(app)[1:3]
            at = names.index(name)
            assert rule == "─" * at + "━" * len(name) + "─" * (80 - at - len(name))
            assert set(styles(app)[1][at:at + len(name)]) == {"b"}


async def test_a_long_name_gives_way_and_the_state_never_does(engine: FakeEngine, make_app: MakeApp):
    name = "x" * 200 + ".csv"
    engine.corpora[name] = engine.corpora["tickets.csv"]
    async with make_app(name).run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        first = plain(app)[0]
        assert first.rstrip().endswith("○ not run") and "2,538 rows" in first and "…" in first


async def test_below_60x16_there_is_one_line_and_all_comes_back(make_app: MakeApp):
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        before = text(app)
        await pilot.resize_terminal(52, 14)
        await pilot.pause()
        assert text(app).strip() == "needs 60x16, this is 52x14 · q quits"
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert text(app) == before


# Runs

async def test_a_run_shows_its_stage_and_then_its_results_are_current(engine: FakeEngine, make_app: MakeApp):
    engine.go.clear()
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await pilot.press("r")
        await pilot.pause(0.3)
        await pilot.press("6", "1")  # one can look around meanwhile
        await pilot.pause()
        lines = plain(app)
        assert lines[0].rstrip().endswith("◌ running")
        assert lines[-2].startswith(" run 2/5 signatures ━") and "61 %  1,548 of 2,538 rows" in lines[-2]
        assert lines[-2].rstrip().endswith("x stop")
        engine.go.set()
        await app.session.finished()
        await pilot.pause()
        assert plain(app)[0].rstrip().endswith("● results are current")
        assert "half the documents are short" in [note.text for note in app.session.notes]


async def test_results_stay_when_a_setting_changes_and_undo_makes_them_current_again(make_app: MakeApp):
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await pilot.press("r")
        await app.session.finished()
        old = app.session.result
        await change(app, pilot, replace(Settings(), threshold=7_000))
        assert app.session.state is State.CHANGED and app.session.result is old
        assert "◐ settings changed: r runs again" in plain(app)[0]
        await pilot.press("u")
        assert app.session.state is State.CURRENT and app.session.settings == Settings()
        await pilot.press("U")
        assert app.session.settings.threshold == 7_000


async def test_quick_steps_of_one_setting_are_one_step_back(make_app: MakeApp):
    async with make_app("tickets.csv").run_test() as pilot:
        app = await loaded(pilot)
        for threshold in (7_900, 7_800, 7_700):
            await change(app, pilot, replace(Settings(), threshold=threshold), "threshold")
        await change(app, pilot, replace(app.session.settings, clusters="star"), "clusters")
        await pilot.press("u")
        assert app.session.settings == replace(Settings(), threshold=7_700)
        await pilot.press("u")
        assert app.session.settings == Settings()
        await pilot.press("u")
        assert app.session.settings == Settings()


async def test_x_stops_a_young_run_at_once_and_r_can_run_again(engine: FakeEngine, make_app: MakeApp):
    engine.go.clear()
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await pilot.press("r")
        await pilot.pause(0.1)
        await pilot.press("x")
        await pilot.pause()
        assert plain(app)[0].rstrip().endswith("✗ stopped")
        assert "stopped in 2/5 signatures" in plain(app)[-2]
        engine.go.set()
        await pilot.press("r")
        await app.session.finished()
        assert app.session.state is State.CURRENT and len(engine.runs) == 2


async def test_stopping_an_old_run_asks_and_esc_lets_it_go_on(
    engine: FakeEngine, make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(screens, "ASKS_AFTER", -1.0)
    engine.go.clear()
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await pilot.press("r")
        await pilot.pause(0.1)
        await pilot.press("x")
        await pilot.pause()
        assert "Stop the run?" in text(app) and plain(app)[-1].strip() == "enter stop  esc go on"
        await pilot.press("2")  # any other key waits
        await pilot.press("escape")
        await pilot.pause()
        assert app.session.running and "━━━" in plain(app)[2][:12]
        await pilot.press("x")
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert app.session.state is State.STOPPED


async def test_an_error_becomes_a_message_and_the_app_lives_on(engine: FakeEngine, make_app: MakeApp):
    engine.error = SourceError("tickets.csv:12: broken quote")
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await pilot.press("r")
        await app.session.finished()
        await pilot.pause()
        assert plain(app)[-2].startswith(" ! tickets.csv:12: broken quote")
        await pilot.press("w")
        await pilot.pause()
        assert "! tickets.csv:12: broken quote" in text(app) and "Messages since start" in text(app)


async def test_an_error_nobody_foresaw_is_told_without_what_it_says(engine: FakeEngine, make_app: MakeApp):
    engine.error = ValueError("text of a document")
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await pilot.press("r")
        await app.session.finished()
        await pilot.pause()
        assert "internal error: ValueError at " in text(app) and "text of a document" not in text(app)


async def test_a_path_that_is_not_there_is_a_message(make_app: MakeApp):
    async with make_app("gone.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        assert "! gone.csv does not exist" in plain(app)[-2]
        assert "no documents yet" in plain(app)[0]


async def test_an_engine_that_cannot_start_is_a_message_and_the_start_screen():
    class Broken(FakeEngine):
        async def __aenter__(self) -> FakeEngine:
            raise SourceError("the cache cannot be written")

    app = NeardupApp(("tickets.csv",), engine=lambda: Broken())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "! the cache cannot be written" in plain(app)[-2])
        assert "▸Open" in text(app) and "Reading" not in text(app)


async def test_opening_another_file_waits_until_the_run_is_over(engine: FakeEngine, make_app: MakeApp):
    engine.go.clear()
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await pilot.press("r")
        await pilot.pause(0.1)
        app.screen.post_message(OpenPath(("other.csv",)))
        await until(pilot, lambda: "not now: x stops what is on" in app.session.notes[-1].text)
        assert app.session.running and not app.session.opening and "tickets.csv" in plain(app)[0]


async def test_current_results_are_not_run_again(engine: FakeEngine, make_app: MakeApp):
    async with make_app("tickets.csv").run_test() as pilot:
        app = await loaded(pilot)
        await pilot.press("r")
        await app.session.finished()
        await pilot.press("r")
        await app.session.finished()
        assert len(engine.runs) == 1


# What covers the tabs

async def test_help_is_for_the_focused_part_and_esc_goes_back_to_it(make_app: MakeApp):
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await pilot.press("2", "j")
        focused, before = app.focused, text(app)
        await pilot.press("question_mark")
        await pilot.pause()
        assert "Help: 2 Shingles" in text(app) and "On this setting" in text(app) and "Everywhere" in text(app)
        assert plain(app)[0].startswith(" neardup  tickets.csv")  # tabs and state stay in sight
        await pilot.press("escape")
        await pilot.pause()
        assert app.focused is focused and text(app) == before


async def test_the_palette_finds_a_command_by_its_words_and_does_it(make_app: MakeApp):
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await pilot.press("colon", *"tab exp")
        await pilot.pause()
        assert "› tab 6 Export" in text(app) and "1 of" in text(app)
        await pilot.press("enter")
        await pilot.pause()
        assert "Dry run" in text(app)


async def test_the_palette_lists_stop_only_while_something_is_on(engine: FakeEngine, make_app: MakeApp):
    engine.go.clear()
    async with make_app("tickets.csv").run_test(size=(80, 40)) as pilot:
        app = await loaded(pilot)
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert "run with these settings" in text(app) and "stop what is on" not in text(app)
        await pilot.press("escape", "r")
        await pilot.pause(0.1)
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert "stop what is on" in text(app)


async def test_undo_tells_what_it_changed_and_when_there_is_nothing(make_app: MakeApp):
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await change(app, pilot, replace(Settings(), threshold=7_000))
        await pilot.press("u")
        await pilot.pause()
        assert "undone: threshold 0.7 → 0.8" in text(app)
        await pilot.press("u")
        await pilot.pause()
        assert "nothing to undo" in text(app)


async def test_a_command_of_the_palette_acts_on_the_part_that_had_the_keys(make_app: MakeApp):
    async with make_app("tickets.csv").run_test(size=(80, 40)) as pilot:
        app = await loaded(pilot)
        await pilot.press("2", "j", "j")  # the length k
        await pilot.press("colon", *"one step up", "enter")
        await pilot.pause()
        assert app.session.settings.shingling.k == 6


async def test_letters_type_in_an_open_field_and_do_nothing_else(engine: FakeEngine, make_app: MakeApp):
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await pilot.press("o", *"q2rx?")
        await pilot.pause()
        assert "q2rx?" in text(app) and not engine.runs
        assert plain(app)[-1].rstrip().endswith("esc back")
        await pilot.press("escape")
        await pilot.pause()
        assert "q2rx?" not in text(app) and plain(app)[-1].rstrip().endswith("? help")


async def test_a_typed_path_that_is_not_there_is_refused_in_the_field(make_app: MakeApp):
    async with make_app().run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("o", *"/nowhere/a.csv", "enter")
        await pilot.pause()
        assert "! /nowhere/a.csv is not there" in text(pilot.app)


async def test_z_gives_the_focused_panel_the_whole_content_and_esc_takes_it_back(make_app: MakeApp):
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await pilot.press("2", "tab", "tab", "tab")
        await pilot.pause()
        before = text(app)
        await pilot.press("z")
        await pilot.pause()
        assert "length k" not in text(app) and "▸Shingles" in plain(app)[3]
        await pilot.press("escape")
        await pilot.pause()
        assert text(app) == before


async def test_each_tab_remembers_the_panel_that_had_the_keys(make_app: MakeApp):
    async with make_app("tickets.csv").run_test(size=(80, 24)) as pilot:
        app = await loaded(pilot)
        await pilot.press("2", "tab", "tab", "tab")
        focused = app.focused
        await pilot.press("6")
        assert app.focused is not focused
        await pilot.press("2")
        await pilot.pause()
        assert app.focused is focused


async def test_the_clipboard_is_reached_by_the_way_that_works_here(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.delenv("STY", raising=False)
    written: list[str] = []
    await clipboard.send("näh", written.append)
    monkeypatch.setenv("STY", "1234.screen")
    await clipboard.send("näh", written.append)
    plain_code = "\x1b]52;c;" + base64.b64encode("näh".encode()).decode() + "\x07"
    assert written == [plain_code, f"\x1bP{plain_code}\x1b\\"]


# Leaving

async def test_q_leaves_at_once_when_nothing_is_on(engine: FakeEngine, make_app: MakeApp):
    app = make_app("tickets.csv")
    async with app.run_test() as pilot:
        await loaded(pilot)
        await pilot.press("q")
        await pilot.pause()
    assert app.return_code == 0 and engine.stopped


async def test_q_asks_while_a_run_is_on(engine: FakeEngine, make_app: MakeApp):
    engine.go.clear()
    app = make_app("tickets.csv")
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("r")
        await pilot.pause(0.1)
        await pilot.press("q")
        await pilot.pause()
        assert "stop it and quit?" in text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert app.session.running
        await pilot.press("q")
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
    assert engine.stopped and not app.session.busy


async def test_ctrl_c_tells_how_to_leave_and_leaves_when_pressed_again(make_app: MakeApp):
    app = make_app("tickets.csv")
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert "q quits, x stops" in plain(app)[-2]
        await pilot.press("ctrl+c")
        await pilot.pause()
    assert app.return_code == 130


async def test_esc_never_leaves_and_never_stops_a_run(engine: FakeEngine, make_app: MakeApp):
    engine.go.clear()
    async with make_app("tickets.csv").run_test() as pilot:
        app = await loaded(pilot)
        await pilot.press("r")
        await pilot.pause(0.1)
        await pilot.press(*["escape"] * 5)
        assert app.session.running and app.is_running
