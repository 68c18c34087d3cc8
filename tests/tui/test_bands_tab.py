from __future__ import annotations

from pathlib import Path

import pytest

from neardup import ByHand, ByRecall, ByWeights
from neardup.settings import Sketching
from neardup_tui import keys
from neardup_tui.tabs.bands import both
from tui.driving import loaded, until
from tui.results_of import TICKETS, app_over
from tui.screens import plain, text


async def opened(pilot) -> None:
    await loaded(pilot)
    await pilot.press("3")
    await until(pilot, lambda: "threshold t" in text(pilot.app))


def side(app) -> list[str]:
    """What stands right of the curve, at 80 columns."""
    return [line[42:].rstrip() for line in plain(app)[3:-3]]


def said(app) -> str:
    """The same in one line: a message may be wrapped anywhere."""
    return " ".join(" ".join(side(app)).split())


async def test_settings_and_the_best_eight_stand_beside_the_curve(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert [line.rstrip(" █▆▇▅▄▃▂▁│") for line in side(app)] == [  # two more are scrolled to
            "▸ threshold t   ‹ 0.80 ›",
            "  choose b×r by ‹ wished recall ›",
            "  wished recall ‹ 0.990 ›",
            "  bands × rows    16 × 6   96 of 128",
            "  num-perm      ‹ 128 ›",
            "  seed          ‹ 1 ›",
            "  family        ‹ mersenne ›",
            "  verify        ‹ exact J ›",
            "  find by       ‹ LSH bands ›",
            "─ Best b × r ─ ● taken  < below wish ─",
            "      b × r   P(t)      FN     FP",
            "›    16 × 6  0.992  0.0002  0.219 ●",
            "     17 × 6  0.994  0.0001  0.225",
            "     18 × 6  0.996  0.0001  0.230",
            "     12 × 5  0.991  0.0002  0.247",
            "      9 × 4  0.991  0.0002  0.286",
            "      7 × 3  0.993  0.0002  0.347",
            "      5 × 2  0.994  0.0002  0.431",
        ]
        curve = [line[:41].rstrip() for line in plain(app)[3:-3]]
        assert curve[0] == "    P = 1 − (1 − J^6)^16      ┃ t = 0.80" and curve[1].startswith("1.0┤")
        assert curve[-3:] == ["    0.0   0.2    0.4     0.6    0.8   1.0", "    J of a pair · steepest at 0.612",
                              "    FP 0.219 below t     FN 0.0002 missed"]
        assert [line.index("┃") for line in curve if "┃" in line][1:] == [33] * 12
        assert plain(app)[-2].rstrip() == " 16 × 6: a pair at J = 0.80 is found with 99.2 % · steepest at 0.612"


async def test_a_step_changes_curve_table_words_and_settings_at_once(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("L")
        await until(pilot, lambda: "‹ 0.90 ›" in text(app))
        assert app.session.settings.threshold == 9_000
        assert "P = 1 − (1 − J^10)^11" in text(app) and "bands × rows    11 × 10   110 of 128" in text(app)
        assert "11 × 10: a pair at J = 0.90 is found with 99.1 %" in plain(app)[-2]
        assert next(line for line in side(app) if line.startswith("›")).split()[1:4] == ["11", "×", "10"]


async def test_a_held_key_is_one_step_of_undo(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("h", "h", "h")
        await until(pilot, lambda: "‹ 0.77 ›" in text(app))
        await pilot.press("u")
        await until(pilot, lambda: "‹ 0.80 ›" in text(app))
        assert "16 × 6" in text(app)


async def test_by_hand_the_bands_and_rows_are_settings_and_enter_takes_one_of_the_table(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("j", "l")
        await until(pilot, lambda: "‹ by hand ›" in text(app))
        assert app.session.settings.banding == ByHand(16, 6)
        await pilot.press("j", "l")
        await until(pilot, lambda: "‹ 17 ›" in text(app))
        await pilot.press("tab", "g", "j", "j", "j", "enter")
        await until(pilot, lambda: app.session.settings.banding == ByHand(12, 5))
        assert "‹ 12 ›" in text(app) and "60 of 128" in text(app)
        await pilot.press("tab", "k", "h")
        await until(pilot, lambda: app.session.settings.banding == ByRecall(9_900))
        assert "16 × 6" in text(app)


async def test_weights_choose_b_and_r_and_are_stepped_and_typed(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("j", "h")
        await until(pilot, lambda: app.session.settings.banding == ByWeights(1, 1))
        assert "‹ weights ›" in text(app) and "‹ 0.50:0.50 ›" in text(app) and "9 × 13" in text(app)
        await pilot.press("j", "h")
        await until(pilot, lambda: app.session.settings.banding == ByWeights(9, 11))
        await pilot.press("enter", "ctrl+u", *"1:9", "enter")
        await until(pilot, lambda: app.session.settings.banding == ByWeights(1, 9))
        assert "‹ 0.10:0.90 ›" in text(app)
        await pilot.press("enter", "ctrl+u", *"1:2", "enter")
        await until(pilot, lambda: "0.33:0.67" in said(app))
        assert app.session.settings.banding == ByWeights(1, 9)


async def test_the_exact_join_asks_no_bands_and_enter_on_the_table_goes_back_to_them(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press(*"jjjjjjj", "l")
        await until(pilot, lambda: app.session.settings.find == "exact")
        assert "‹ exact join ›" in text(app) and "wished recall" not in said(app) and "verify" not in said(app)
        assert "finds every pair" in plain(app)[-2]
        await pilot.press("tab", "g", "j", "enter")
        await until(pilot, lambda: app.session.settings.banding == ByHand(17, 6))
        assert app.session.settings.find == "lsh"


async def test_more_bands_and_rows_than_hashes_are_refused_and_what_was_typed_stays_in_the_field(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("j", "l", "j", "enter", "ctrl+u", *"40", "enter")
        await until(pilot, lambda: "240 hashes" in said(app))
        assert "raise num-perm below" in said(app) and "--" not in said(app)
        assert app.session.settings.banding == ByHand(16, 6)
        await pilot.press("backspace", "backspace", *"20", "enter")
        await until(pilot, lambda: app.session.settings.banding == ByHand(20, 6))
        assert "hashes" not in said(app)


@pytest.mark.parametrize("typed", ["20x5", "20 5", "20 * 5"])
async def test_bands_and_rows_are_typed_in_one_go(tmp_path: Path, typed: str):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("L", "j", "l", "j", "j", "j", "enter", "ctrl+u", *typed, "enter")
        await until(pilot, lambda: app.session.settings.banding == ByHand(20, 5))
        assert "bands × rows  ‹ 20 × 5 ›" in text(app) and "100 of 128" in text(app)


def test_bands_and_rows_are_read_with_the_sign_they_are_shown_with():
    assert both("20×5") == both(" 20 × 5 ") == both("20X5") == "20 × 5"


@pytest.mark.parametrize(("typed", "why"), [("20", "such as 20x5"), ("20x10", "200 hashes"), ("0x4", "such as 20x5")])
async def test_what_is_not_bands_and_rows_is_refused_where_it_was_typed(tmp_path: Path, typed: str, why: str):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("j", "l", "j", "j", "j", "enter", "ctrl+u", *typed, "enter")
        await until(pilot, lambda: why in said(app))
        assert app.session.settings.banding == ByHand(16, 6)
        await pilot.press("escape")
        await until(pilot, lambda: why not in said(app))


async def test_a_step_beyond_the_hashes_lowers_the_other_number_and_says_so(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("j", "l", "j", "L")
        await until(pilot, lambda: app.session.settings.banding == ByHand(26, 4))
        assert plain(app)[-2].startswith(" rows lowered to 4: b·r can be 128 at most")
        await pilot.press("j", "l")
        await until(pilot, lambda: app.session.settings.banding == ByHand(25, 5))
        assert plain(app)[-2].startswith(" bands lowered to 25")
        await pilot.press("j", "j", "h")
        await until(pilot, lambda: app.session.settings.banding == ByHand(22, 5))
        assert app.session.settings.sketching.num_perm == 112
        await pilot.press("l")
        await until(pilot, lambda: "lowered" not in plain(app)[-2] and "22 × 5: a pair" in plain(app)[-2])


async def test_a_recall_that_cannot_be_is_refused_with_an_example_of_its_own(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("j", "j", "enter", "ctrl+u", "2", "enter")
        await until(pilot, lambda: "such as 0.99" in said(app))


async def test_a_recall_out_of_reach_is_a_message_beside_the_setting_and_the_app_lives_on(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("g")
        await until(pilot, lambda: "out of reach" in said(app))
        assert "no b × r reaches the wish" in text(app)
        await pilot.press("backspace")
        await until(pilot, lambda: "16 × 6" in text(app))
        assert "out of" not in text(app)


async def test_a_threshold_with_five_decimals_is_refused_and_four_are_taken(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("enter", *"0.80001", "enter")
        await until(pilot, lambda: "four decimals" in said(app))
        assert app.session.settings.threshold == 8_000
        await pilot.press("backspace", "enter")
        await until(pilot, lambda: "four decimals" not in said(app))
        await pilot.press("enter", *"0.8123", "enter")
        await until(pilot, lambda: "‹ 0.8123 ›" in text(app))


async def test_every_setting_of_the_tab_reaches_the_settings(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("j", "j", "l", "j", "l", "j", "l", "j", "l", "j", "l")
        await until(pilot, lambda: app.session.settings.verify == "estimate")
        settings = app.session.settings
        assert settings.banding == ByRecall(9_910)
        assert settings.sketching == Sketching(num_perm=144, seed=2, family="fast")


async def test_where_slots_are_not_independent_the_curve_is_called_approximate(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert "P = 1 − (1 − J^6)^16" in text(app)
        await pilot.press(*"jjjjj", "l")
        await until(pilot, lambda: "‹ fast ›" in text(app))
        assert "P ≈ 1 − (1 − J^6)^16" in text(app) and "is found with about 99.2 % · steepest" in plain(app)[-2]
        await pilot.press("4")
        await until(pilot, lambda: "approximate" in text(app))


async def test_at_120_columns_the_chance_at_each_similarity_is_written_out(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await until(pilot, lambda: "Found, by similarity" in text(app))
        found = {line.split("J ")[-1].split()[0]: line.split("J ")[-1].split()[1] for line in plain(app)
                 if "J 0." in line and "━" in line}
        for j, share in found.items():
            assert abs(float(share) - 100 * (1 - (1 - float(j) ** 6) ** 16)) <= 0.01
        assert len(found) == 10


async def test_the_tab_binds_no_key_outside_the_table(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert keys.clashes([app.screen.tab, *app.screen.tab.walk_children()]) == []


async def test_with_very_many_hashes_the_choice_comes_a_moment_later(tmp_path: Path):
    app, _ = app_over(TICKETS, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("j", "j", "j", "G")
        await until(pilot, lambda: "‹ 65,535 ›" in text(app))
        await until(pilot, lambda: "1903 × 27   51,381" in text(app))
        assert app.session.settings.sketching.num_perm == 65_535
