"""The frame around every tab: documents and state, the tab row, status lines, key line. It is given what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from neardup_tui.keys import TAB_NAMES, Hint
from neardup_tui.session import Note, Progress, State
from neardup_tui.widgets.cells import clock, count, fitted, percent

WIDE = 120  # from here on the second status line and wider gaps in the tab row
LEAST = (60, 16)


class Line(Widget):
    """One line of the frame; never takes the keys."""

    DEFAULT_CSS = """
    Line { height: 1; width: 1fr; }
    Line > .line--strong { text-style: bold; }
    Line > .line--dim { color: $dim; }
    Line > .line--rule { color: $rule; }
    Line > .line--key { color: $primary; text-style: bold; }
    Line > .line--note { color: $foreground; }
    Line > .line--good { color: $success; }
    Line > .line--warning { color: $warning; }
    Line > .line--error { color: $error; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "line--strong", "line--dim", "line--rule", "line--key", "line--note", "line--good", "line--warning",
        "line--error",
    }

    def paint(self, *parts: str | tuple[str, str]) -> Text:
        """A line from pieces, each plain or with the name of its style."""
        line = Text(no_wrap=True, end="")
        for part in parts:
            if isinstance(part, str):
                line.append(part)
            else:
                line.append(part[0], self.get_component_rich_style(f"line--{part[1]}", partial=True))
        return line


class Rule(Line):
    def render(self) -> Text:
        return self.paint(("─" * self.size.width, "rule"))


class CorpusLine(Line):
    """Row 1: what is loaded at the left, what the results are at the right. The right side never gives way."""

    about: reactive[tuple[str, ...]] = reactive(())
    state: reactive[State] = reactive(State.NOT_RUN)

    _STYLES: ClassVar[dict[State, str]] = {
        State.CURRENT: "good", State.CHANGED: "warning", State.STOPPED: "error", State.RUNNING: "key",
        State.READING: "key",
    }

    def render(self) -> Text:
        state = self.paint((self.state.value, self._STYLES.get(self.state, "dim")), "  ")
        room = self.size.width - state.cell_len - 1
        about = list(self.about)
        left = self.paint((" neardup", "key"), "  ", " · ".join(about))
        if left.cell_len > room and len(about) > 1:
            # The count of distinct documents goes first, then the name of the file is cut.
            about[-1] = about[-1].partition(",  ")[0]
            fixed = sum(len(part) + 3 for part in about[1:])
            about[0] = fitted(about[0], max(8, room - 10 - fixed)).rstrip()
            left = self.paint((" neardup", "key"), "  ", " · ".join(about))
        left.truncate(room, overflow="ellipsis", pad=True)
        return Text.assemble(left, " ", state)


class TabRow(Line):
    """Rows 2 and 3: the names of the tabs and the rule, heavy under the one that is shown. Not in the focus chain."""

    DEFAULT_CSS = """
    TabRow { height: 2; }
    """

    active: reactive[int] = reactive(1)

    class Clicked(Message):
        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def _places(self) -> list[tuple[int, str]]:
        wide = self.size.width >= WIDE
        at, gap = (1, 4) if wide else (0, 1)
        places = []
        for number, name in enumerate(TAB_NAMES, start=1):
            places.append((at, f"{number} {name}"))
            at += len(name) + 2 + gap
        return places

    def render(self) -> Text:
        width = self.size.width
        names = Text(no_wrap=True, end="")
        rule = self.paint(("─" * width, "rule"))
        for number, (at, name) in enumerate(self._places(), start=1):
            names.append(" " * (at - names.cell_len))
            if number == self.active:
                names.append_text(self.paint((name, "strong")))
                rule = self.paint(
                    ("─" * at, "rule"), ("━" * len(name), "key"), ("─" * (width - at - len(name)), "rule"))
            else:
                names.append_text(self.paint((name, "dim")))
        names.truncate(width, pad=True)
        return Text.assemble(names, "\n", rule)

    def on_click(self, event: events.Click) -> None:
        for number, (at, name) in enumerate(self._places(), start=1):
            if at <= event.x < at + len(name):
                self.post_message(self.Clicked(number))


class MessageLine(Line):
    """The last thing that was told, or what the tab has to say."""

    note: reactive[Note | Text | None] = reactive[Note | Text | None](None)

    def render(self) -> Text:
        note = self.note
        if note is None:
            return Text()
        if isinstance(note, Text):
            return Text.assemble(" ", note, no_wrap=True, end="", overflow="ellipsis")
        mark = "" if note.severity == "note" else "! "
        line = self.paint((f" {mark}{note.text}", note.severity))
        if line.cell_len > self.size.width:
            more = self.paint(" ", ("w", "key"), (" all", "dim"))
            line.truncate(self.size.width - more.cell_len, overflow="ellipsis")
            line.append_text(more)
        return line


class RunLine(Line):
    """How far the run is: `run 3/5 bands ━━━━╌╌ 61 %  10 of 16 bands  0:14 left  x stop`."""

    doing: reactive[State | None] = reactive[State | None](None)
    progress: reactive[Progress | None] = reactive[Progress | None](None)
    idle: reactive[str] = reactive("")
    first: reactive[str] = reactive("starting")  # what is done before the first stage

    def render(self) -> Text:
        if self.doing is None:
            return self.paint((f" run   {self.idle}", "dim"))
        verb = "read" if self.doing is State.READING else "run"
        progress = self.progress
        if progress is None:
            return self.paint(f" {verb}  ", (self.first, "dim"), "  ", ("x", "key"), " stop")
        stage = "" if progress.stage == verb else f" {progress.number}/{progress.of} {progress.stage}"
        left = f"{clock(progress.left)} left" if progress.left is not None else ""
        known = progress.total > 0
        figures = f"{count(progress.done)} of {count(progress.total)}" if known else count(progress.done)
        share = percent(progress.share, 0) if known else ""
        tail = [part for part in (f"{figures} {progress.unit}", left, "x stop") if part]
        head = f" {verb}{stage} "
        fixed = len(head) + len(share) + 1 + sum(len(part) + 2 for part in tail)
        if self.size.width - fixed < 12:  # the unit gives way to the bar
            tail[0] = figures
            fixed = len(head) + len(share) + 1 + sum(len(part) + 2 for part in tail)
        cells = max(4, min(24, self.size.width - fixed - 1))
        done = round(cells * progress.share) if known else 0
        line = self.paint(head, ("━" * done, "key"), ("╌" * (cells - done), "rule"), f" {share}")
        for part in tail[:-1]:
            line.append("  " + part)
        line.append_text(self.paint("  ", ("x", "key"), " stop"))
        line.truncate(self.size.width)
        return line


class KeyLine(Line):
    """The keys that act now, most useful first; whole hints are left out when the line is full, the last one never."""

    hints: reactive[tuple[Hint, ...]] = reactive[tuple[Hint, ...]](())
    last: reactive[Hint] = reactive(Hint("?", "help"))

    def render(self) -> Text:
        line = self.paint(" ")
        for hint in fitting(self.hints, self.last, self.size.width - 2):
            if line.cell_len > 1:
                line.append("  ")
            line.append_text(self.paint((hint.key, "key"), " ", (hint.words, "dim")))
        return line


def fitting(hints: Sequence[Hint], last: Hint, width: int) -> list[Hint]:
    """As many whole hints as go into `width` cells with two blanks between them, the last one always among them."""
    room = width - len(last)
    kept: list[Hint] = []
    for hint in hints:
        if len(hint) + 2 <= room:
            kept.append(hint)
            room -= len(hint) + 2
    return [*kept, last]


class TooSmall(Widget):
    """The whole screen below 60x16: one line that fits 40 columns. Nothing is lost, a run goes on."""

    DEFAULT_CSS = """
    TooSmall { layer: above; display: none; width: 100%; height: 100%; background: $background; }
    """

    def render(self) -> Text:
        size = self.app.size
        return Text(f"needs {LEAST[0]}x{LEAST[1]}, this is {size.width}x{size.height} · q quits", no_wrap=True)
