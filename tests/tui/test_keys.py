from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Input

from neardup_tui.frame import fitting
from neardup_tui.keys import TAB_NAMES, TABLE, Hint, bindings, clashes, help_lines, hint, rows, spelled
from neardup_tui.screen import NeardupApp

FORBIDDEN = ("left_square_bracket", "[", "O", "ctrl+a", "ctrl+b", "ctrl+i", "ctrl+j", "ctrl+m", "ctrl+q", "ctrl+s")
SHARED = Path(__file__).parents[2].parent / "shared"


def test_no_key_means_two_things_in_one_place():
    assert clashes() == []


@pytest.mark.parametrize("number", range(1, len(TAB_NAMES) + 1))
async def test_no_widget_of_a_tab_binds_a_key_outside_the_table(make_app: Callable[..., NeardupApp], number: int):
    app = make_app("tickets.csv")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(str(number))
        await pilot.pause()
        ours = [widget for widget in (app, app.screen, *app.screen.query("*")) if not isinstance(widget, Input)]
        assert clashes(ours) == []


def test_a_widget_with_a_key_of_its_own_is_found():
    class Own(Widget):
        BINDINGS = [Binding("d", "drop")]  # noqa: RUF012

    assert clashes([Own()]) == ["Own binds d to drop: not in the table"]


def test_keys_that_a_slow_link_or_a_multiplexer_eats_are_never_bound():
    bound = {name for key in TABLE for name in key.keys}
    assert not bound & set(FORBIDDEN)
    assert not [name for name in bound if name.startswith(("alt+", "f1", "f2", "f3"))]


def test_every_key_is_in_the_sketched_table():
    table = SHARED / "SKETCHES.md"
    if not table.exists():
        pytest.skip("the sketches are not beside the project")
    lines = [line for line in table.read_text().splitlines() if line.startswith("| ") and "everywhere" not in line]
    first_cells = " ".join(line.split("|")[1] for line in lines)
    arrows = {"left": "←", "right": "→", "up": "↑", "down": "↓", "pageup": "pgup", "pagedown": "pgdn"}
    names = {name for key in TABLE for name in key.keys if not name.isdigit()}
    written = {name: arrows.get(name, name if name == "backspace" else spelled(name)) for name in names}
    missing = [name for name, shown in written.items() if shown not in first_cells]
    assert missing == []


def test_a_hint_for_a_key_that_does_not_exist_cannot_be_made():
    assert hint("step_row", "pair") == Hint("jk", "pair")
    with pytest.raises(KeyError):
        hint("copy_token")


def test_help_names_every_key_of_the_table():
    for scope in ("everywhere", "list", "setting", "texts"):
        shown = " ".join(keys for keys, _ in help_lines(rows(scope)))
        for key in rows(scope):
            for name in key.keys:
                assert name.isdigit() or name == "shift+tab" or spelled(name) in shown or name in "comma full_stop"


def test_a_widget_leaves_out_the_keys_it_has_no_use_for():
    left = bindings("list", without=("filter", "sort"))
    actions = {binding.action for binding in left if isinstance(binding, Binding)}
    assert "take_row" in actions and "filter" not in actions and "sort" not in actions


words = st.builds(Hint, st.text("abcdefgh", min_size=1, max_size=5), st.text("abcdefgh ", min_size=1, max_size=14))


@given(st.lists(words, max_size=12), st.integers(60, 200))
def test_the_key_line_drops_whole_hints_and_always_ends_with_help(hints: list[Hint], width: int):
    last = Hint("?", "help")

    kept = fitting(hints, last, width)

    assert kept[-1] == last
    assert len("  ".join(map(str, kept))) <= width
    left = iter(hints)
    assert all(one in left for one in kept[:-1])  # in their order


@given(st.lists(words, min_size=1, max_size=12), st.integers(60, 200))
def test_the_first_hint_that_fits_is_never_dropped(hints: list[Hint], width: int):
    assert fitting(hints, Hint("?", "help"), width)[0] == hints[0]
