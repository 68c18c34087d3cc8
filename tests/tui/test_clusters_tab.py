from __future__ import annotations

from pathlib import Path

from neardup_tui import keys
from tui.driving import loaded, ran, until
from tui.results_of import TICKETS, app_over
from tui.screens import plain, text


def content(app) -> list[str]:
    return [line.rstrip() for line in plain(app)[3:-3]]


async def shown(pilot, words: str) -> None:
    await until(pilot, lambda: words in text(pilot.app))


async def test_clusters_stand_above_the_rows_of_the_one_that_is_marked_and_the_text_of_one(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("5")
        await shown(pilot, "beside the kept row 1")
        await pilot.press("tab", "j")
        await shown(pilot, "Row 6 beside")
        assert content(app) == [
            " 4 clusters of 9 rows: 4 kept, 5 removed · 1 chained",
            "─ Clusters ──────────────────────────────────────────────────────────── 1 of 4 ─",
            "    cluster   rows↓  removed  chained  weakest       kept  text of the kept row",
            "›         1       3        2        1    0.687          1  Hello, since yester…",
            "          0       2        1        0    1.000          0  My invoice for Marc…",
            "          2       2        1        0    0.883          2  Login fails with 'a…",
            "          5       2        1        0    0.840          5  Please cancel order…",
            "─▸Members of cluster 1 ──────────────────────────────── 3 rows · weakest 0.687 ─",
            "         row J to kept  why it is here              text",
            "           1      kept  first row of the cluster    Hello, since yesterday's u…",
            "           3     0.826  176 of 213 shingles         Hello, since yesterday's u…",
            "›          6     0.687  chained: 0.826 to 3         Hello, since yesterday's u…",
            "─ Row 6 beside the kept row 1 ─────────────────────── removed · 233 characters ─",
            " Hello, since yesterday's update the printer on the third floor prints every",
            " page twice. I restarted it and removed the job from the queue but nothing",
            " changed. Could someone please have a look before Monday or so, thank you very",
            " much?",
            "",
        ]


async def test_the_largest_come_first_and_s_sorts_by_the_next_figure(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("5")

        def labels() -> list[str]:
            return [line.lstrip(" ›").split()[0] for line in content(app)[3:6]]

        await until(pilot, lambda: labels() == ["1", "0", "2"])
        await pilot.press("s", "s", "s", "g")
        await until(pilot, lambda: "weakest↑" in text(app) and labels() == ["1", "5", "2"])
        await pilot.press("s")
        await until(pilot, lambda: "cluster↑" in text(app) and labels() == ["0", "1", "2"])
        await pilot.press("S", "g")
        await until(pilot, lambda: "cluster↓" in text(app) and labels() == ["5", "2", "1"])


async def test_members_follow_the_marked_cluster_and_copies_are_told(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("5")
        await shown(pilot, "Members of cluster 1 ")
        await pilot.press("j")
        await shown(pilot, "Members of cluster 0 ")
        await shown(pilot, "1.000  the same text")
        await until(pilot, lambda: app.screen.choice.cluster == 0)


async def test_enter_goes_to_the_members_and_then_to_both_texts_and_esc_back(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("5")
        await shown(pilot, "beside the kept row 1")
        await pilot.press("enter")
        await shown(pilot, "─▸Members of cluster 1 ")
        await pilot.press("enter")
        await shown(pilot, "row 1  kept · 201 characters          │ row 3  removed · 206 characters")
        await pilot.press("escape")
        await shown(pilot, "Members of cluster 1 ")
        assert "│ row 3" not in text(app)


async def test_what_a_member_has_other_than_the_kept_row_is_marked(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("5")
        await shown(pilot, "beside the kept row 1")
        await pilot.pause()
        marked = [segment.text for strip in app.screen._compositor.render_strips()[-10:] for segment in strip
                  if segment.style is not None and segment.style.reverse]
        assert [words.strip() for words in marked] == ["third", "please"]


async def test_during_the_first_run_the_tab_says_that_it_is_on(tmp_path: Path):
    app, engine = app_over(TICKETS, tmp_path, held=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("r", "5")
        await shown(pilot, "The run is on: the clusters come here by themselves. 4 Results shows how far")
        assert "press r" not in text(app)
        engine.go.set()
        await shown(pilot, "4 clusters of 9 rows")


async def test_from_100_columns_on_both_texts_stand_side_by_side_but_the_kept_row_alone(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(100, 24)) as pilot:
        await ran(pilot)
        await pilot.press("5")
        await until(pilot, lambda: any("row 1  kept" in line and "row 3  removed" in line for line in plain(app)))
        await pilot.press("tab", "k")
        await shown(pilot, "─ Row 1 ─")
        await until(pilot, lambda: "row 1  kept" not in text(app))
        await pilot.press("enter")
        await pilot.pause()
        assert sum("Hello, since yesterday's" in line for line in plain(app)) == 1
        assert "│" not in text(app)


async def test_zoomed_members_keep_their_list_above_both_texts(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("5", "tab", "z")
        await shown(pilot, "row 1  kept · 201 characters          │ row 3  removed · 206 characters")
        assert content(app)[0].startswith("─▸Members of cluster 1 ") and "─ Row 3 beside" in content(app)[5]
        await pilot.press("z")
        await shown(pilot, "─ Clusters ─")


async def test_s_in_the_members_sorts_nothing_and_esc_goes_back_to_the_clusters(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("5", "tab")
        await until(pilot, lambda: "esc clusters" in plain(app)[-1] and "s sort" not in plain(app)[-1])
        await pilot.press("s", "S", "escape")
        await shown(pilot, "─▸Clusters")
        assert "rows↓" in text(app)


async def test_before_a_run_the_tab_says_what_to_do(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("5")
        await shown(pilot, "No clusters yet: press r to run.")
        await pilot.press("j", "enter", "c", "s")
        await pilot.press("5", "r")
        await shown(pilot, "4 clusters of 9 rows")


async def test_a_run_without_near_duplicates_says_so(tmp_path: Path):
    app, _ = app_over(["one text about nothing", "quite another thing altogether"], tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("5")
        await shown(pilot, "no clusters: no row has a near duplicate")
        await pilot.press("j", "enter", "tab", "n", "J", "c")
        await pilot.pause()


async def test_at_120_columns_nothing_is_cut_that_fits(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await ran(pilot)
        await pilot.press("5")
        await shown(pilot, "beside the kept row 1")
        lines = content(app)
        assert len(lines) == 34
        assert lines[3] == ("›         1       3        2        1    0.687          1  "
                            "Hello, since yesterday's update the printer on the second f…")
        assert lines[16].endswith("176 of 213 shingles         "
                                  "Hello, since yesterday's update the printer on the third floor pri…")


async def test_the_tab_binds_no_key_outside_the_table(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("5")
        await pilot.pause()
        assert keys.clashes([app.screen.tab, *app.screen.tab.walk_children()]) == []
