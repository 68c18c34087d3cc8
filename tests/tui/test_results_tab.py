from __future__ import annotations

from pathlib import Path

import pytest

from neardup import Settings
from neardup_tui import keys
from neardup_tui.tabs.results import tiles_of
from tui.driving import loaded, ran, until
from tui.results_of import TICKETS, app_over, result_of
from tui.screens import plain, text


def content(app) -> list[str]:
    """The tab between the frame's lines."""
    return [line.rstrip() for line in plain(app)[3:-3]]


async def shown(pilot, words: str) -> None:
    await until(pilot, lambda: words in text(pilot.app))


async def test_results_stand_as_tiles_list_and_two_texts(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("4")
        await shown(pilot, "My invoice")
        await pilot.press("j", "j", "j")
        await shown(pilot, "─ J 0.8263 (")
        assert content(app) == [
            " candidates   pairs ≥ 0.80   recall at t   precision    clusters    removed",
            " 5            5 of rows      99.2 %        80.0 %       4           5",
            " documents    4 of docs      predicted     candidates   of 9 rows   50.0 %",
            "─▸Pairs  Similarity ────────────────────────────────────────── 5 pairs of rows ─",
            "       left     right     J↓   est.   cluster  text of the left row",
            "          0         4  1.000  1.000         0  My invoice for March shows the …",
            "          2         9  0.883  0.883         2  Login fails with 'account locke…",
            "          5         7  0.840  0.844         5  Please cancel order 88121, it w…",
            "›         1         3  0.826  0.828         1  Hello, since yesterday's update…",
            "          3         6  0.826  0.828         1  Hello, since yesterday's update…",
            "─ J 0.8263 (176 of 213 shingles) · est. 0.828 ± 0.033 ────────── 3 differences ─",
            " row 1  kept · 201 characters          │ row 3  removed · 206 characters",
            " Hello, since yesterday's update the   │ Hello, since yesterday's update the",
            " printer on the second floor prints    │ printer on the third floor prints",
            " every page twice. I restarted it and  │ every page twice. I restarted it and",
            " removed the job from the queue, but   │ removed the job from the queue but",
            " nothing changed. Could someone have a │ nothing changed. Could someone please",
            " look before Friday?                   │ have a look before Friday?",
        ]
        assert plain(app)[-1].rstrip() == (
            " jk pair  JK texts  nN difference  v view  / filter  s sort  c cluster  ? help")


async def test_at_120_columns_the_similarities_stand_beside_the_list(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await ran(pilot)
        await pilot.press("4")
        await shown(pilot, "row 0  kept")
        lines = content(app)
        assert lines[4].endswith("text of the left row         candidates by J   █ accepted   ▒ below t")
        assert lines[5].endswith("My invoice for March show…   .95-1.00   0")
        assert lines[7].endswith("Please cancel order 88121…   .85-.90   ███████████ 1")
        assert lines[11].endswith(" .65-.70   ▒▒▒▒▒▒▒▒▒▒▒ 1")
        assert len(lines) == 34 and lines[19].startswith("─ J 1.000 · the same text, normalised ─")


async def test_the_list_is_sorted_by_the_next_column_and_the_other_way_round(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("4")
        await shown(pilot, "J↓")

        def lefts() -> list[str]:
            return [line.lstrip(" ›").split()[0] for line in content(app)[5:10]]

        await until(pilot, lambda: lefts() == ["0", "2", "5", "1", "3"])
        await pilot.press("S")
        await until(pilot, lambda: "J↑" in text(app) and lefts() == ["3", "1", "5", "2", "0"])
        await pilot.press("s", "s")
        await until(pilot, lambda: "left↑" in text(app) and lefts() == ["0", "1", "2", "3", "5"])


async def test_a_filter_is_typed_refused_taken_and_dropped_with_esc(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("4")
        await shown(pilot, "5 pairs of rows")
        await pilot.press("slash", *"j<0.84x", "enter")
        await shown(pilot, "(! is not)")
        await pilot.press("backspace", "enter")
        await shown(pilot, "2 of 5 · filter j<0.84")
        await pilot.press("slash", *" 77", "enter")
        await shown(pilot, "no pair passes the filter: esc takes it away (0.950 may be")
        await until(pilot, lambda: "difference ─" not in text(app) and "differences ─" not in text(app))
        await pilot.press("escape")
        await shown(pilot, "5 pairs of rows")


async def test_the_texts_follow_the_cursor_and_the_mark_goes_to_other_tabs(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("4")
        await shown(pilot, "row 0  kept")
        await pilot.press("j")
        await shown(pilot, "row 9  removed")
        assert "told us to" in text(app)
        await until(pilot, lambda: app.screen.choice.pair is not None)
        assert int(app.session.result.row_pairs.right[app.screen.choice.pair]) == 9


async def test_enter_gives_the_texts_the_whole_content_and_esc_goes_back_to_the_list(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("4")
        await shown(pilot, "row 0  kept")
        await pilot.press("enter")
        await until(pilot, lambda: "candidates" not in text(app))
        assert "row 0  kept" in content(app)[1] or "row 0  kept" in content(app)[0]
        await pilot.press("escape")
        await shown(pilot, "─▸Pairs")


async def test_the_next_view_is_never_blank_also_where_the_texts_were_zoomed(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("4")
        await shown(pilot, "My invoice")
        await pilot.press("enter", "v")
        await shown(pilot, "candidates by J")
        await pilot.press("v")
        await shown(pilot, "5 pairs of rows")


async def test_c_goes_to_the_cluster_of_the_pair_and_back(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("4")
        await shown(pilot, "row 0  kept")
        await pilot.press("j", "j", "c")
        await shown(pilot, "Members of cluster 5")
        await pilot.press("c")
        await shown(pilot, "─▸Pairs")
        await pilot.press("j", "c")
        await shown(pilot, "Members of cluster 1 ")


async def test_the_second_view_shows_the_candidates_by_similarity(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("4", "v")
        await shown(pilot, "▸Similarity")
        bars = [line.split() for line in content(app) if line.startswith("  .")]
        figures = {words[0]: words[-1] for words in bars}
        assert figures[".85-.90"] == "1" and figures[".80-.85"] == "3" and figures[".65-.70"] == "1"
        assert "documents: 4 at or above 0.80, 1 below" in text(app)
        await pilot.press("v")
        await shown(pilot, "▸Pairs")


async def test_each_view_is_headed_with_what_it_counts(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("4", "v")
        await shown(pilot, "5 candidates of documents ─")
        assert "pairs of rows ─" not in text(app)
        await pilot.press("v")
        await shown(pilot, "5 pairs of rows ─")


async def test_a_difference_far_down_is_shown_by_itself_and_n_goes_on_from_the_list(tmp_path: Path):
    body = " ".join(f"word{number}" for number in range(150))
    app, _ = app_over([f"{body} old end {body} one", f"{body} new end {body} two"], tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("4")
        await until(pilot, lambda: "old" in text(app) and "new" in text(app))
        await pilot.press("n", "n")
        await until(pilot, lambda: "one" in text(app) and "two" in text(app) and "▸Pairs" in text(app))


async def test_only_keys_that_act_are_hinted_while_the_list_has_the_whole_screen(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("4")
        await until(pilot, lambda: "JK texts  nN difference" in plain(app)[-1])
        await pilot.press("z")
        await until(pilot, lambda: "JK" not in plain(app)[-1] and "nN" not in plain(app)[-1])


async def test_in_the_smallest_terminal_the_list_has_the_room_and_z_shows_the_texts(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(60, 16)) as pilot:
        await ran(pilot)
        await pilot.press("4")
        await until(pilot, lambda: "JK" not in plain(app)[-1] and "          3         6" in text(app))
        assert sum(line.split()[0].isdigit() for line in content(app)[4:] if line.split()) >= 4
        await pilot.press("z")
        await shown(pilot, "row 0  kept")
        await pilot.press("j", "z")
        await shown(pilot, "─▸Pairs")


async def test_before_a_run_the_tab_says_what_to_do_and_during_one_how_far_it_is(tmp_path: Path):
    app, engine = app_over(TICKETS, tmp_path, held=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("4")
        await shown(pilot, "No results yet: press r to run.")
        assert "99.2 %" in content(app)[1]
        await pilot.press("r")
        await shown(pilot, "◌ 2 signatures")
        assert "● 1 read" in text(app) and "○ 5 clusters" in text(app) and "0 of            10 rows" in text(app)
        engine.go.set()
        await shown(pilot, "5 pairs of rows")
        await pilot.press("G")
        await until(pilot, lambda: "▸Pairs" in text(app) and content(app)[9].startswith("›"))


async def test_old_results_stay_while_settings_change_and_the_next_run_is_on(tmp_path: Path):
    app, engine = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("3", "h", "4")
        await shown(pilot, "5 pairs of rows")
        engine.go.clear()
        await pilot.press("r")
        await shown(pilot, "2/5 signatures")
        assert "5 pairs of rows" in text(app)
        engine.go.set()
        await until(pilot, lambda: not app.session.busy)
        await shown(pilot, "pairs ≥ 0.79")


async def test_a_text_of_a_document_cannot_write_on_the_screen(tmp_path: Path):
    evil = "[b]bold[/b] \x1b[2J\x1b]0;title\x07 \u202e and 漢字 in one sentence that is long enough to be alike"
    app, _ = app_over([evil, evil + " x"], tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("4")
        await shown(pilot, "[b]bold[/b] ␛[2J␛]0;tit")
        assert "\x1b" not in text(app) and "\u202e" not in text(app)


async def test_a_file_that_is_gone_is_a_message_and_the_app_lives_on(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        (tmp_path / "tickets.txt").unlink()
        await pilot.press("4")
        await shown(pilot, "cannot be read now")
        await pilot.press("j", "j", "3")
        await shown(pilot, "threshold t")


async def test_a_run_that_finds_nothing_says_so(tmp_path: Path):
    app, _ = app_over(["one text about nothing", "quite another thing altogether"], tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("4")
        await shown(pilot, "no pair was found")
        await pilot.press("j", "enter", "c", "s", "v", "v", "tab", "n", "J")
        await pilot.pause()
        assert "0 pairs of rows" in text(app)


async def test_the_tab_binds_no_key_outside_the_table(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("4")
        await pilot.pause()
        assert keys.clashes([app.screen.tab, *app.screen.tab.walk_children()]) == []


@pytest.mark.parametrize("verify", ["exact", "none"])
def test_tiles_say_only_what_is_known(verify):
    tiles = {tile.name: tile for tile in tiles_of(result_of(TICKETS, Settings(verify=verify)))}
    assert tiles["candidates"].value == "5"
    if verify == "exact":
        assert tiles["precision"].value == "80.0 %" and tiles["pairs ≥ 0.80"].note == "4 of docs"
    else:
        assert tiles["precision"].value == "-" and tiles["precision"].note == "unverified" and "pairs" in tiles
    assert tiles["recall at t"].note == "predicted"
