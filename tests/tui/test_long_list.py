from __future__ import annotations

from rich.text import Text
from textual.app import App, ComposeResult

from neardup_tui import keys
from neardup_tui.widgets.long_list import Column, LongList
from neardup_tui.widgets.panel import Panel
from tui.screens import text


class Listing(App[None]):
    def __init__(self, count: int, cells=None, cursor: int = 0) -> None:
        super().__init__()
        self.asked: list[range] = []
        self.told: list[tuple[str, int]] = []
        self.count, self.cells, self.start = count, cells or self.plain, cursor

    def compose(self) -> ComposeResult:
        yield Panel(LongList([Column("row", 12, "right"), Column("text")], empty="nothing here: press r"), title="Rows",
                    right="of many")

    def on_mount(self) -> None:
        self.list.show(self.count, self.cells, cursor=self.start)
        self.list.focus()

    @property
    def list(self) -> LongList:
        return self.query_one(LongList)

    def plain(self, rows: range) -> list[tuple[str, str]]:
        self.asked.append(rows)
        return [(f"{row:,}", f"text of row {row}") for row in rows]

    def on_long_list_highlighted(self, message: LongList.Highlighted) -> None:
        self.told.append(("highlighted", message.index))

    def on_long_list_chosen(self, message: LongList.Chosen) -> None:
        self.told.append(("chosen", message.index))


async def test_ten_million_rows_are_asked_for_only_where_they_are_in_sight():
    app = Listing(10_000_000)
    async with app.run_test(size=(40, 8)) as pilot:
        await pilot.press("G")
        assert text(app).rstrip().split("\n") == [
            "─▸Rows ─────────────────────── of many ─",
            "           row text",
            "     9,999,994 text of row 9999994     │",
            "     9,999,995 text of row 9999995     │",
            "     9,999,996 text of row 9999996     │",
            "     9,999,997 text of row 9999997     │",
            "     9,999,998 text of row 9999998     │",
            "›    9,999,999 text of row 9999999     █",
        ]
        assert app.told[-1] == ("highlighted", 9_999_999)
    assert all(len(rows) <= 7 for rows in app.asked)


async def test_the_cursor_moves_by_row_page_and_to_both_ends_and_never_leaves_the_list():
    app = Listing(100)
    async with app.run_test(size=(40, 12)) as pilot:  # ten rows in sight
        for key, row in [("j", 1), ("down", 2), ("k", 1), ("up", 0), ("k", 0), ("pagedown", 10), ("j", 11),
                         ("pageup", 1), ("G", 99), ("j", 99), ("g", 0), ("end", 99), ("home", 0)]:
            await pilot.press(key)
            assert app.list.cursor == row, key
            assert row in app.list.in_sight
        await pilot.press("j", "enter")
        await pilot.pause()
        assert app.told[-2:] == [("highlighted", 1), ("chosen", 1)]


async def test_every_move_is_told_at_once_and_a_key_at_the_end_tells_nothing():
    app = Listing(3)
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press("j", "j", "j", "j")
        assert app.told == [("highlighted", 0), ("highlighted", 1), ("highlighted", 2)]


async def test_an_empty_list_says_what_to_do_and_takes_no_row():
    app = Listing(0)
    async with app.run_test(size=(40, 5)) as pilot:
        await pilot.press("j", "G", "enter", "l")
        assert text(app).split("\n")[2] == "   nothing here: press r"
        assert app.told == []


async def test_a_cell_may_arrive_later():
    texts: dict[int, str] = {}
    app = Listing(3, lambda rows: [(str(row), texts.get(row)) for row in rows])
    async with app.run_test(size=(40, 6)) as pilot:
        await pilot.pause()
        assert text(app).split("\n")[3] == "             1 …"
        texts[1] = "here it is"
        app.list.arrived()
        await pilot.pause()
        assert text(app).split("\n")[3] == "             1 here it is"


async def test_long_texts_scroll_sideways_and_numbers_stay():
    app = Listing(1, lambda rows: [("7", "abcdefghijklmnopqrstuvwxyz 漢字漢字漢字")])
    async with app.run_test(size=(32, 4)) as pilot:
        assert text(app).split("\n")[2] == "›            7 abcdefghijklmno…"
        await pilot.press("l")
        assert text(app).split("\n")[2] == "›            7 ijklmnopqrstuvw…"
        await pilot.press("l", "right", "left", "l", "l", "l", "l")
        assert text(app).split("\n")[2].startswith("›            7 ")
        await pilot.press("h", "h", "h", "h", "h")
        assert text(app).split("\n")[2] == "›            7 abcdefghijklmno…"


async def test_a_text_cannot_break_the_line_or_reach_the_terminal():
    app = Listing(2, lambda rows: [("7", "[b]x[/b] a\nb \x1b[31m \u202e 漢字"), (Text("9", "bold"), Text("[ok]"))])
    async with app.run_test(size=(50, 5)) as pilot:
        await pilot.pause()
        assert text(app).split("\n")[2] == "›            7 [b]x[/b] a b ␛[31m  漢字"
        assert text(app).split("\n")[3] == "             9 [ok]"


async def test_other_rows_can_be_shown_and_the_cursor_put_on_one():
    app = Listing(100, cursor=50)
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        assert app.list.cursor == 50 and 50 in app.list.in_sight
        app.list.show(5, app.plain, cursor=99)
        await pilot.pause()
        assert app.list.cursor == 4 and list(app.list.in_sight) == [0, 1, 2, 3, 4]
        assert app.told[-1] == ("highlighted", 4)


async def test_a_click_marks_a_row_and_a_double_click_takes_it():
    app = Listing(100)
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.click(LongList, offset=(5, 3))
        assert app.list.cursor == 2
        await pilot.click(LongList, offset=(5, 4), times=2)
        assert app.told[-1] == ("chosen", 3)


async def test_a_list_binds_no_key_outside_the_table():
    app = Listing(1)
    async with app.run_test():
        assert keys.clashes([app.list]) == []
