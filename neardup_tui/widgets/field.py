"""The one edit field: while it is open every printable key types; enter accepts, esc gives back the old value."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, Static

from neardup.errors import NeardupError
from neardup_tui.messages import EditEnded, EditStarted
from neardup_tui.widgets.cells import count, safe

# A paste arrives as one event: 1 MB takes 3.5 s and then 0.2 s a key (measured).
MOST_PASTED = 256 * 1024
_MOST_LISTED = 10_000

Check = Callable[[str], object]
"""Raises NeardupError or ValueError with a sentence for the user when the text cannot be right."""


class Field(Input):
    """Posts Accepted with a text that passed `check`, or GivenBack; until then it stays open. Tab accepts and goes on.

    Tells what is wrong with Refused; whoever opened the field shows it beside the field.
    """

    DEFAULT_CSS = """
    Field { background: $primary 25%; }
    Field:focus { background-tint: $foreground 0%; }
    """
    BINDINGS = [  # noqa: RUF012
        Binding("escape", "give_back", show=False),
        Binding("tab", "go_on", show=False),
        Binding("shift+tab", "accept", show=False),
    ]

    class Accepted(Message):
        """`onward`: by tab, so the next field or panel is wanted."""

        def __init__(self, field: Field, value: str, onward: bool) -> None:
            super().__init__()
            self.field = field
            self.value = value
            self.onward = onward

    class GivenBack(Message):
        def __init__(self, field: Field) -> None:
            super().__init__()
            self.field = field

    class Refused(Message):
        def __init__(self, field: Field, why: str) -> None:
            super().__init__()
            self.field = field
            self.why = why

    def __init__(self, value: str = "", *, check: Check | None = None, placeholder: str = "",
                 id: str | None = None) -> None:
        super().__init__(value, placeholder, compact=True, id=id)
        self.cursor_blink = False  # a blinking cursor sends bytes over an idle line
        self._check = check

    def on_mount(self) -> None:
        self.post_message(EditStarted(self))

    def action_submit_field(self, onward: bool = False) -> None:
        try:
            if self._check is not None:
                self._check(self.value)
        except (NeardupError, ValueError) as error:
            self.post_message(self.Refused(self, str(error)))
            return
        self.post_message(self.Accepted(self, self.value, onward))
        self.post_message(EditEnded())

    async def action_submit(self) -> None:
        self.action_submit_field()

    def action_accept(self) -> None:
        self.action_submit_field()

    async def action_go_on(self) -> None:
        self.action_submit_field(onward=True)

    def action_give_back(self) -> None:
        self.post_message(self.GivenBack(self))
        self.post_message(EditEnded())

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if len(event.text) > MOST_PASTED:
            self.post_message(self.Refused(self, f"{count(len(event.text))} characters are too many to paste here: "
                                                 "save them to a file and open its path"))
            return
        line = next(iter(event.text.splitlines()), "")
        self.replace("".join(filter(str.isprintable, line)), *self.selection)


@dataclass(frozen=True, slots=True)
class Completion:
    """`text` is as far as all `matches` agree; a folder ends with a slash."""

    text: str
    matches: tuple[str, ...]


def complete_path(text: str) -> Completion:
    """What a path that has been typed so far can become; `~` is the home folder, hidden files only after a dot."""
    folder, slash, begun = text.rpartition("/")
    try:
        with os.scandir(Path(folder + slash).expanduser()) as entries:
            names = sorted(
                entry.name + "/" * entry.is_dir()
                for entry in islice(entries, _MOST_LISTED)
                if entry.name.startswith(begun) and entry.name.isprintable()
                and (begun.startswith(".") or not entry.name.startswith("."))
            )
    except (OSError, RuntimeError, ValueError):  # not a folder, not ours to read, no such home, a null byte
        names = []
    agreed = os.path.commonprefix(names)  # noqa: RUF071  # letter by letter is what is wanted
    return Completion(folder + slash + (agreed or begun), tuple(names))


class PathField(Vertical):
    """A field for a path, with what it can become below: tab completes, and accepts what is complete."""

    DEFAULT_CSS = """
    PathField {
        height: auto;
        & > Static { height: auto; max-height: 6; padding: 0 1; color: $text-muted; }
    }
    """

    def __init__(self, value: str = "", *, check: Check | None = None, placeholder: str = "",
                 id: str | None = None) -> None:
        super().__init__(id=id)
        self.field = _Completing(value, check=check, placeholder=placeholder)
        self._below = Static(markup=False)

    def compose(self) -> ComposeResult:
        yield self.field
        yield self._below

    def on_mount(self) -> None:
        self.field.focus()

    def on_field_refused(self, message: Field.Refused) -> None:
        self._below.update(Text(f"! {message.why}"))

    def on_input_changed(self) -> None:
        self._below.update("")

    def show_matches(self, matches: tuple[str, ...]) -> None:
        self._below.update(in_columns(matches, max(20, self.size.width - 2), lines=6))


class _Completing(Field):
    async def action_go_on(self) -> None:
        typed = self.value
        # A folder on a slow disk must not hold the screen.
        found = await asyncio.to_thread(complete_path, typed)
        if self.value != typed or not self.is_attached:
            return
        if not found.matches or found.matches == (typed.rpartition("/")[2],):
            self.action_submit_field(onward=True)
            return
        with self.prevent(Input.Changed):
            self.value = found.text
        self.cursor_position = len(found.text)
        if isinstance(self.parent, PathField):
            self.parent.show_matches(found.matches if len(found.matches) > 1 else ())


def in_columns(names: tuple[str, ...], width: int, lines: int) -> Text:
    """Names as `ls` shows them: down, then across; what does not fit is counted."""
    drawn = [safe(name) for name in names]
    column = min(width, max(map(cell_len, drawn), default=0) + 2)
    across = max(1, width // column) if column else 1
    room = across * lines
    if len(drawn) > room:
        drawn = [*drawn[: room - 1], f"… {count(len(drawn) - room + 1)} more"]
    down = -(-len(drawn) // across)
    rows = ("".join(name + " " * (column - cell_len(name)) for name in drawn[at::down]) for at in range(down))
    return Text("\n".join(row.rstrip() for row in rows), no_wrap=True, overflow="ellipsis")
