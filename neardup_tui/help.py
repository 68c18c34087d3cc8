"""A page to read over the content: help for the focused part, and the messages since start."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from neardup_tui.keys import SCOPES, Hint, Key, Scope, bindings, help_lines, hint
from neardup_tui.session import Note
from neardup_tui.widgets.panel import Panel


class Page(VerticalScroll, can_focus=True, inherit_bindings=False):
    """Scrolls with the keys of the texts; esc is the screen's."""

    DEFAULT_CSS = """
    Page { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    """
    BINDINGS = bindings("texts", without=("zoom", "step_difference", "cluster"))

    def action_scroll_lines(self, step: int) -> None:
        self.scroll_relative(y=step, animate=False)

    def action_scroll_page(self, step: int) -> None:
        self.scroll_relative(y=step * max(1, self.size.height - 1), animate=False)

    def action_scroll_top(self) -> None:
        self.scroll_home(animate=False)

    def action_scroll_bottom(self) -> None:
        self.scroll_end(animate=False)


class Reader(Widget):
    """A titled page that covers the content; tabs, state and a run stay in sight."""

    DEFAULT_CSS = """
    Reader { height: 1fr; }
    """

    def __init__(self, name: str, title: str, content: Text | Group, *, at_end: bool = False) -> None:
        super().__init__(name=name)
        self._title = title
        self._content = content
        self._at_end = at_end

    def compose(self) -> ComposeResult:
        with Panel(title=self._title):
            yield Page(Static(self._content, expand=True))

    def on_mount(self) -> None:
        page = self.query_one(Page)
        page.focus()
        self.watch(page, "scroll_y", self._tell)
        self.watch(page, "virtual_size", self._tell)
        if self._at_end:
            self.call_after_refresh(page.action_scroll_bottom)

    def _tell(self) -> None:
        page = self.query_one(Page)
        top, height, all_lines = round(page.scroll_y), page.size.height, page.virtual_size.height
        seen = f"lines {top + 1}-{min(all_lines, top + height)} of {all_lines}"
        self.query_one(Panel).right = seen if all_lines > height else ""

    def hints(self) -> list[Hint]:
        return [hint("back"), hint("scroll_lines", "scroll"), hint("palette"), hint("quit")]


def help_page(title: str, about: str, table: Sequence[Key], width: int) -> Reader:
    """Help for the focused part: what it means, its keys, then the keys that hold everywhere."""
    here = [row for row in table if row.scope != "everywhere"]
    everywhere = [row for row in table if row.scope == "everywhere"]
    scopes: list[Scope] = list(dict.fromkeys(row.scope for row in here))
    left: list[Text | Table] = []
    for scope in scopes:
        left += [*_block(SCOPES[scope].replace("On a", "On this"), [row for row in here if row.scope == scope]), Text()]
    right = _block(SCOPES["everywhere"], everywhere)
    content: list[Text | Table] = [Text(about), Text()] if about else []
    if width >= 72 and left:
        grid = Table.grid(padding=(0, 2), expand=True)
        grid.add_column(ratio=1)
        grid.add_column(ratio=1)
        grid.add_row(Group(*left), Group(*right))
        content.append(grid)
    else:
        content += [*left, *right]
    return Reader("help", title, Group(*content))


def _block(title: str, table: Iterable[Key]) -> list[Text | Table]:
    lines = Table.grid(padding=(0, 2, 0, 0))
    lines.add_column(no_wrap=True)
    lines.add_column(style="dim")
    for keys, meaning in help_lines(dict.fromkeys(table)):
        lines.add_row(keys, meaning)
    return [Text(title, "bold"), lines]


def messages_page(notes: Sequence[Note]) -> Reader:
    """All that was told since start, the last at the end, where the page opens."""
    lines = Text()
    for note in notes:
        at = time.strftime("%H:%M:%S", time.localtime(note.at))
        mark = "  " if note.severity == "note" else "! "
        lines.append(f"{at}  ", "dim")
        lines.append(f"{mark}{note.text}\n", "" if note.severity == "note" else "bold")
    lines.rstrip()
    return Reader("messages", f"Messages since start: {len(notes)}", lines, at_end=True)
