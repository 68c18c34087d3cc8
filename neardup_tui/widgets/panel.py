"""A panel: one rule with its title, and what lies under it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import RenderResult
from textual.containers import Vertical
from textual.reactive import reactive
from textual.widget import Widget

from neardup_tui.widgets.cells import prefix


class OwnMark:
    """Mixed into widgets that show by themselves where the keys are: `▸` stands once on a screen."""


class Panel(Vertical):
    """`─▸Title ──── right text ─`; the mark stands there while something in the panel has the keys.

    A panel with several views has their names as titles, and `view` is the one that is shown. Titles and the text at
    the right must be safe: a document's text goes through `cells.safe` first.
    """

    DEFAULT_CSS = """
    Panel { height: 1fr; }
    """

    titles: reactive[tuple[str, ...]] = reactive(())
    right: reactive[str] = reactive("")
    view: reactive[int] = reactive(0)
    marked: reactive[bool] = reactive(False)

    def __init__(self, *children: Widget, title: str | Sequence[str] = "", right: str = "", id: str | None = None,
                 classes: str | None = None) -> None:
        self._rule = _Rule()
        super().__init__(self._rule, *children, id=id, classes=classes)
        self.title = title
        self.right = right

    @property
    def title(self) -> str:
        return self.titles[self.view]

    @title.setter
    def title(self, title: str | Sequence[str]) -> None:
        self.titles = (title,) if isinstance(title, str) else tuple(title)

    def on_descendant_focus(self) -> None:
        # Asked of the screen, as the blur of the part that was left may come after the focus of the next.
        focused = self.screen.focused
        chain = focused.ancestors_with_self if focused is not None else []
        self.marked = self in chain and not any(isinstance(node, OwnMark) for node in chain)

    on_descendant_blur = on_descendant_focus

    def _watch_titles(self) -> None:
        self._rule.refresh()

    _watch_right = _watch_view = _watch_marked = _watch_titles


class _Rule(Widget):
    DEFAULT_CSS = """
    _Rule {
        height: 1; width: 1fr;
        & .rule--line { color: $text-disabled; }
        & .rule--title { color: $text; text-style: bold; }
        & .rule--other { color: $text-muted; }
        & .rule--right { color: $text-muted; }
    }
    """
    COMPONENT_CLASSES = {"rule--line", "rule--title", "rule--other", "rule--right"}  # noqa: RUF012

    def render(self) -> RenderResult:
        panel = self.parent
        assert isinstance(panel, Panel)
        line, title, other, right = (
            self.get_component_rich_style(f"rule--{name}") for name in ("line", "title", "other", "right")
        )
        width = self.size.width
        text = Text("─", line, no_wrap=True)
        for index, name in enumerate(panel.titles):
            here = index == panel.view
            text.append("▸" if here and panel.marked else " ", title)
            text.append(name, title if here else other)
            text.append(" ", line)
        # The text at the right gives way, from its front: its end says how many there are.
        room = width - text.cell_len - 4
        words = panel.right if Text(panel.right).cell_len <= room else prefix(panel.right, max(0, room - 1))[0] + "…"
        tail = Text(f" {words} ", right) + Text("─", line) if panel.right and room > 3 else Text()
        text.append("─" * (width - text.cell_len - tail.cell_len), line)
        text.append_text(tail)
        text.truncate(width)
        return text
