"""A list of any length, drawn a line at a time from what a callable gives for the rows in sight.

Textual's DataTable measures every row (100,000 keep the event loop busy for 20 s: measured). Here a row that is not in
sight costs nothing, so 10,000,000 are as quick as ten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from neardup_tui.keys import bindings
from neardup_tui.widgets.cells import Align, fitted, prefix, safe

Cell = str | Text | None
"""A str may be a document's text: it is made safe here. A Text is drawn as it is. None has not arrived yet."""

Cells = Callable[[range], Sequence[Sequence[Cell]]]
"""The cells of these rows, given at once: what takes time is None, and `LongList.arrived` has it asked for again."""

_SIDE_STEP = 8
# No line is scrolled further sideways than this many characters of a long text.
_READ = 4_000


@dataclass(frozen=True, slots=True)
class Column:
    """`width` in cells; None takes what the others leave: at most one column does, and it scrolls sideways."""

    title: str
    width: int | None = None
    align: Align = "left"


class LongList(ScrollView, can_focus=True):
    """Rows fed by index, a cursor `›`, a header, a scroll bar. Posts Highlighted at once, Chosen on enter.

    The keys of the scope "list" that need more than the list (filter, sort, cluster, texts) are bound by the tab.
    """

    DEFAULT_CSS = """
    LongList {
        height: 1fr; overflow-x: hidden; overflow-y: scroll; scrollbar-size: 0 0;
        & .long-list--header, & .long-list--empty, & .long-list--bar { color: $text-muted; }
        & .long-list--cursor { text-style: bold; }
        &:focus .long-list--cursor { background: $primary 25%; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "long-list--header", "long-list--empty", "long-list--bar", "long-list--cursor",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("list", without=("scroll_texts", "filter", "sort", "reverse", "cluster"))
    ]

    cursor: reactive[int] = reactive(0, repaint=False, init=False)
    sideways: reactive[int] = reactive(0)

    class Highlighted(Message):
        """The cursor stands on this row: sent at every move, and when other rows are shown."""

        def __init__(self, long_list: LongList, index: int) -> None:
            super().__init__()
            self.long_list = long_list
            self.index = index

        @property
        def control(self) -> LongList:
            return self.long_list

    class Chosen(Message):
        """Enter, or a double click, on this row."""

        def __init__(self, long_list: LongList, index: int) -> None:
            super().__init__()
            self.long_list = long_list
            self.index = index

        @property
        def control(self) -> LongList:
            return self.long_list

    def __init__(self, columns: Sequence[Column], *, empty: str = "", id: str | None = None,
                 classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._columns = tuple(columns)
        self._empty = empty
        self._count = 0
        self._cells: Cells = lambda rows: ()
        self._in_hand: dict[int, Sequence[Cell]] = {}

    # What it shows

    @property
    def count(self) -> int:
        return self._count

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._columns

    @columns.setter
    def columns(self, columns: Sequence[Column]) -> None:
        self._columns = tuple(columns)
        self.arrived()

    @property
    def in_sight(self) -> range:
        """The rows that can be seen."""
        top = self.scroll_offset.y
        return range(top, min(self._count, top + self._page))

    def show(self, count: int, cells: Cells, *, cursor: int = 0, empty: str | None = None) -> None:
        """Show `count` rows with the cursor on row `cursor`; the sentence `empty` stands there when there are none."""
        self._count, self._cells = count, cells
        self._empty = self._empty if empty is None else empty
        self.set_reactive(LongList.sideways, 0)
        self.set_reactive(LongList.cursor, self.validate_cursor(cursor))
        self._fit()
        self.arrived()
        if count:
            self.post_message(self.Highlighted(self, self.cursor))

    def arrived(self) -> None:
        """Cells that were None are there now, or others have changed: the rows in sight are asked for again."""
        self._in_hand.clear()
        self.refresh()

    # Moving

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, self._count - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        self._reveal()
        for row in (old, new):
            self.refresh(Region(0, self._head + row - self.scroll_offset.y, self.size.width, 1))
        self.post_message(self.Highlighted(self, new))

    def validate_sideways(self, sideways: int) -> int:
        return max(0, min(sideways, self._longest() - _SIDE_STEP))

    def action_step_row(self, step: int) -> None:
        self.cursor += step

    def action_step_page(self, step: int) -> None:
        self.cursor += step * self._page

    def action_first_row(self) -> None:
        self.cursor = 0

    def action_last_row(self) -> None:
        self.cursor = self._count - 1

    def action_scroll_sideways(self, step: int) -> None:
        self.sideways += step * _SIDE_STEP

    def action_take_row(self) -> None:
        if self._count:
            self.post_message(self.Chosen(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        row = event.y - self._head + self.scroll_offset.y
        if event.y >= self._head and row < self._count:
            self.cursor = row
            if event.chain == 2:
                self.action_take_row()

    def on_resize(self) -> None:
        self._in_hand.clear()
        self._fit()

    def _fit(self) -> None:
        self.virtual_size = Size(self.size.width, self._count + self._head)
        self._reveal()

    def _reveal(self) -> None:
        if not self.size.height:
            return
        top, page = self.scroll_offset.y, self._page
        top = min(max(top, self.cursor - page + 1), self.cursor, max(0, self._count - page))
        self.scroll_to(y=top, animate=False, force=True, immediate=True)

    # Drawing

    @property
    def _head(self) -> int:
        return int(any(column.title for column in self._columns))

    @property
    def _page(self) -> int:
        return max(1, self.size.height - self._head)

    def render_line(self, y: int) -> Strip:
        row = self.scroll_offset.y + y - self._head
        if y < self._head:
            strip = self._line(" ", [column.title for column in self._columns], "header")
        elif row < self._count:
            here = row == self.cursor
            strip = self._line("›" if here else " ", self._row(row), "cursor" if here else "", self.sideways)
        else:
            words = self._empty if self._count == 0 and y == self._head else ""
            strip = Strip([Segment(fitted("   " + words, self.size.width - 1), self._style("empty"))])
        return Strip([*strip, self._bar(y)], self.size.width)

    def _row(self, row: int) -> Sequence[Cell]:
        if row not in self._in_hand:
            rows = self.in_sight
            self._in_hand = dict(zip(rows, self._cells(rows), strict=True))
        return self._in_hand.get(row, ())

    def _line(self, mark: str, cells: Sequence[Cell], part: str, sideways: int = 0) -> Strip:
        line = Text(mark, no_wrap=True, end="")
        for column, width, cell in zip(self._columns, self._widths(), cells, strict=False):
            line.append(" ")
            line.append_text(_drawn(cell, width, column.align, sideways if column.width is None else 0))
        style = self._style(part)
        return Strip(line.render(self.app.console)).apply_style(style).adjust_cell_length(self.size.width - 1, style)

    def _widths(self) -> list[int]:
        """The mark, a blank before each column, and the scroll bar are not theirs."""
        given = sum(column.width or 0 for column in self._columns) + len(self._columns) + 2
        rest = max(0, self.size.width - given)
        return [rest if column.width is None else column.width for column in self._columns]

    def _longest(self) -> int:
        """Characters of the longest text in sight in the column that scrolls sideways."""
        at = next((at for at, column in enumerate(self._columns) if column.width is None), None)
        if at is None:
            return 0
        rows = [self._row(row) for row in self.in_sight]
        return max((min(len(row[at] or ""), _READ) for row in rows), default=0)

    def _bar(self, y: int) -> Segment:
        at, style = y - self._head, self._style("bar")
        if at < 0 or self._count <= self._page:
            return Segment(" ", style)
        size = max(1, round(self._page * self._page / self._count))
        last = self._count - self._page
        start = round((self._page - size) * self.scroll_offset.y / last)
        return Segment("█" if start <= at < start + size else "│", style)

    def _style(self, part: str) -> Style:
        return self.get_component_rich_style(f"long-list--{part}") if part else self.rich_style


def _drawn(cell: Cell, width: int, align: Align, at: int) -> Text:
    """The cell in exactly `width` cells, from `at` cells on."""
    if cell is None:
        return Text(fitted("…", width, align), "dim")
    if isinstance(cell, str):
        text = safe(cell[: _READ + width])
        return Text(fitted(text[len(prefix(text, at)[0]) :] if at else text, width, align))
    drawn = cell[len(prefix(cell.plain, at)[0]) :] if at else cell.copy()
    drawn.align(align, width)
    drawn.truncate(width, overflow="ellipsis")
    return drawn
