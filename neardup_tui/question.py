"""A question stands in place of the status lines: enter is yes, esc is no, every other key waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widget import Widget

from neardup_tui.keys import Hint

Answer = Callable[[], Awaitable[None] | None]


class Question(Widget, can_focus=True):
    """`text` asks; `yes` and `no` say in a word or two what enter and esc will do."""

    DEFAULT_CSS = """
    Question { height: auto; max-height: 8; width: 1fr; color: $warning; padding: 0 1; }
    """

    class Answered(Message):
        def __init__(self, question: Question, yes: bool) -> None:
            super().__init__()
            self.question = question
            self.yes = yes

    def __init__(self, text: str, on_yes: Answer, *, yes: str = "yes", no: str = "no") -> None:
        super().__init__()
        self._text = text
        self.on_yes = on_yes
        self._words = (yes, no)

    def render(self) -> Text:
        return Text(f"? {self._text}")

    def hints(self) -> list[Hint]:
        return [Hint("enter", self._words[0])]

    @property
    def last_hint(self) -> Hint:
        return Hint("esc", self._words[1])

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if event.key in ("enter", "escape"):
            self.post_message(self.Answered(self, event.key == "enter"))
