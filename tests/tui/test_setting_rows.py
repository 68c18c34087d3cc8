from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from neardup.settings import ten_thousandths
from neardup_tui import keys
from neardup_tui.widgets.panel import Panel
from neardup_tui.widgets.setting_rows import Choice, SettingRows, Stepper, Typed, switch
from tui.screens import text

THRESHOLD = Stepper(name="threshold", label="threshold t", default=8_000, least=1, most=10_000, step=100,
                    shown=lambda value: f"{value / 10_000:.2f}", parse=lambda text: ten_thousandths(text, "threshold"))
KIND = Choice(name="kind", label="shingles of", default="char", options=(("char", "characters"), ("word", "words")))
LENGTH = Stepper(name="k", label="length k", default=5, least=1, most=1_000, note="of 240")
CASE = switch("case", "lower case", True)
COLUMN = Typed(name="column", label="column", default="text", parse=str.strip)


class Rows(App[None]):
    def __init__(self, *settings, **given) -> None:
        super().__init__()
        self.rows = SettingRows(*(settings or (THRESHOLD, KIND, LENGTH, CASE, COLUMN)), **given)
        self.told: list[tuple[str, object]] = []

    def compose(self) -> ComposeResult:
        yield Panel(self.rows, title="Choose")

    def on_mount(self) -> None:
        self.rows.focus()

    def on_setting_rows_changed(self, message: SettingRows.Changed) -> None:
        self.told.append((message.name, message.value))


async def test_settings_stand_in_rows_and_the_mark_before_the_one_with_the_keys():
    app = Rows(fixed={"kind"})
    async with app.run_test(size=(44, 10)) as pilot:
        await pilot.press("j")
        assert text(app).rstrip().split("\n") == [
            "─ Choose ───────────────────────────────────",
            "  threshold t ‹ 0.80 ›",
            "  shingles of   characters",
            "▸ length k    ‹ 5 › of 240",
            "  lower case  ‹ on ›",
            "  column      ‹ text ›",
        ]


CASES = (
    (0, "l", 8_100), (0, "left", 7_900), (0, "L", 9_000), (0, "H", 7_000), (0, "pagedown", 9_000), (0, "g", 1),
    (0, "end", 10_000), (1, "right", "word"), (1, "h", "word"), (1, "G", "word"), (1, "enter", "word"),
    (2, "l", 6), (2, "L", 15), (2, "H", 1), (2, "G", 1_000), (3, "space", False), (3, "l", False), (3, "g", False),
)


async def test_a_key_on_a_setting_changes_its_value_at_once():
    app = Rows()
    defaults = app.rows.values
    async with app.run_test() as pilot:
        for row, key, value in CASES:
            app.rows.show(defaults)
            app.rows.at = row
            app.told.clear()
            await pilot.press(key)
            setting = app.rows.current.name
            assert app.told == [(setting, value)] and app.rows.values[setting] == value, (setting, key)


async def test_backspace_gives_the_default_back_and_says_nothing_when_it_is_there():
    app = Rows()
    async with app.run_test() as pilot:
        await pilot.press("backspace", "L", "backspace")
        await pilot.pause()
        assert app.told == [("threshold", 9_000), ("threshold", 8_000)]


async def test_the_space_bar_leaves_all_but_switches_alone():
    app = Rows()
    async with app.run_test() as pilot:
        await pilot.press("space", "j", "space", "j", "space", "j", "j", "space", "l", "g")
        await pilot.pause()
        assert app.told == []


async def test_enter_opens_a_field_on_the_row_and_enter_takes_what_was_typed():
    app = Rows()
    async with app.run_test(size=(44, 10)) as pilot:
        await pilot.press("enter", *"0.853")
        assert text(app).split("\n")[1] == "▸ threshold t ‹ 0.853"
        await pilot.press("enter")
        await pilot.pause()
        assert app.told == [("threshold", 8_530)] and app.rows.has_focus
        await pilot.press("l")
        await pilot.pause()
        assert app.told[-1] == ("threshold", 8_600)


async def test_esc_gives_the_old_value_back():
    app = Rows()
    async with app.run_test(size=(44, 10)) as pilot:
        await pilot.press("enter", "9", "escape")
        await pilot.pause()
        assert app.told == [] and app.rows.has_focus
        assert text(app).split("\n")[1] == "▸ threshold t ‹ 0.80 ›"


async def test_a_bad_value_is_refused_with_the_reason_and_the_old_one_stays():
    app = Rows()
    async with app.run_test(size=(60, 10)) as pilot:
        await pilot.press("enter", *"1.5", "enter")
        await pilot.pause()
        assert "! threshold 1.5 is outside (0, 1]" in text(app)
        assert app.told == [] and app.rows.values["threshold"] == 8_000
        await pilot.press("escape")
        await pilot.pause()
        assert "outside" not in text(app) and "‹ 0.80 ›" in text(app)


async def test_a_length_that_is_none_is_refused_naming_the_range():
    app = Rows(LENGTH)
    async with app.run_test(size=(100, 10)) as pilot:
        await pilot.press("enter")
        for typed in ("0", "1001", "-3", "five", "", "5.5", "9" * 40, "²"):
            app.rows.refuse("k", "")
            app.focused.value = typed
            await pilot.press("enter")
            await pilot.pause()
            assert "give 1 to 1,000" in text(app), typed
            assert app.rows.values["k"] == 5


async def test_tab_in_the_field_takes_the_value_and_goes_to_the_next_setting():
    app = Rows()
    async with app.run_test() as pilot:
        await pilot.press("enter", *"0.9", "tab")
        await pilot.pause()
        assert app.told == [("threshold", 9_000)] and app.rows.current.name == "kind"


async def test_what_the_owner_shows_is_right_and_a_message_stands_below_its_setting():
    app = Rows()
    async with app.run_test(size=(44, 12)) as pilot:
        await pilot.press("L")
        app.rows.show({"threshold": 8_000}, messages={"threshold": "0.90 [is] too much"}, notes={"k": "! short"},
                      hidden={"case"}, fixed={"threshold"})
        await pilot.pause()
        assert text(app).rstrip().split("\n")[1:] == [
            "  threshold t   0.80",
            "    ! 0.90 [is] too much",
            "▸ shingles of ‹ characters ›",
            "  length k    ‹ 5 › ! short",
            "  column      ‹ text ›",
        ]


async def test_the_rows_are_marked_only_while_they_have_the_keys():
    app = Rows()
    async with app.run_test(size=(44, 10)) as pilot:
        app.set_focus(None)
        await pilot.pause()
        assert "▸" not in text(app)


@given(st.integers(1, 10_000), st.integers(-30, 30).filter(bool))
def test_steps_stay_in_range_and_end_on_round_values(value, steps):
    stepped = THRESHOLD.stepped(value, steps)
    assert 1 <= stepped <= 10_000
    assert stepped % 100 == 0 or stepped == 1
    assert (stepped - value) * steps > 0 or stepped in (1, 10_000)


async def test_settings_bind_no_key_outside_the_table():
    app = Rows()
    async with app.run_test():
        assert keys.clashes([app.rows]) == []
