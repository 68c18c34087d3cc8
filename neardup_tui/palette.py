"""All commands: every line of the key table that acts now, found by typing a part of its name."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.dom import DOMNode
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input

from neardup_tui.keys import SCOPES, Hint, Key, bare, spelled
from neardup_tui.widgets.panel import Panel

ALSO = {  # other words that people look for, by action
    "export": "save output file", "open": "load read file", "copy_command": "clipboard", "stop": "cancel",
    "undo": "back", "run": "start again", "quit": "exit close", "messages": "errors log", "filter": "search find",
}
LEFT_OUT = ("palette", "back", "interrupt")


class Palette(Widget):
    """One open field and the commands that hold all its words; enter does the marked one, esc none."""

    DEFAULT_CSS = """
    Palette { height: 1fr; }
    Palette Input { border: none; height: 1; padding: 0 1; background: $panel; }
    Palette _Commands { height: 1fr; }
    """

    class Chosen(Message):
        """The command to do, on the part it acts on; None when esc closed the palette."""

        def __init__(self, command: tuple[Key, DOMNode] | None) -> None:
            super().__init__()
            self.command = command

    def __init__(self, commands: list[tuple[Key, DOMNode]]) -> None:
        super().__init__(name="palette")
        self._all = [(row, node) for row, node in commands if row.action not in LEFT_OUT]
        self._commands = _Commands()

    def compose(self) -> ComposeResult:
        with Panel(title="All commands", right=f"{len(self._all)}"):
            yield Input(placeholder="a part of the name", compact=True)
            yield self._commands

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._find("")

    def hints(self) -> list[Hint]:
        return [Hint("enter", "do it"), Hint("↑↓", "choose")]

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._find(event.value)

    def _find(self, words: str) -> None:
        wanted = words.lower().split()
        self._commands.found = tuple(
            (row, node) for row, node in self._all if all(word in _words(row) for word in wanted))
        self._commands.at = 0
        self.query_one(Panel).right = f"{len(self._commands.found)} of {len(self._all)}"

    def on_key(self, event: events.Key) -> None:
        """What the field leaves over: its own keys (backspace, ←, …) go on to it as bindings."""
        found = self._commands.found
        match event.key:
            case "escape":
                self.post_message(self.Chosen(None))
            case "enter":
                if found:
                    self.post_message(self.Chosen(found[self._commands.at]))
            case "down" | "tab":
                self._commands.at = max(0, min(self._commands.at + 1, len(found) - 1))
            case "up" | "shift+tab":
                self._commands.at = max(self._commands.at - 1, 0)
            case _:
                return
        event.stop()


def _words(row: Key) -> str:
    return f"{row.help} {ALSO.get(bare(row.action), '')}".lower()


class _Commands(Widget):
    found: reactive[tuple[tuple[Key, DOMNode], ...]] = reactive[tuple[tuple[Key, DOMNode], ...]](())
    at: reactive[int] = reactive(0)

    def render(self) -> Text:
        height = max(1, self.size.height)
        top = max(0, min(self.at - height // 2, len(self.found) - height))
        text = Text(no_wrap=True)
        for index, (row, _) in enumerate(self.found[top:top + height], start=top):
            here = index == self.at
            where = "" if row.scope == "everywhere" else f"  {SCOPES[row.scope].lower()}"
            keys = " ".join(spelled(name) for name in row.keys)
            text.append(f"{'›' if here else ' '} {row.help:<48}", "bold" if here else "")
            text.append(f"{keys}{where}\n", "dim")
        return text if self.found else Text("  no command has these words", "dim")
