"""What every tab is: data handed down by the screen, panels in an order, hints for the key line, views and zoom."""

from __future__ import annotations

from itertools import takewhile
from typing import ClassVar

from rich.text import Text
from textual.reactive import var
from textual.widget import Widget

from neardup import Corpus, Result, Settings
from neardup_tui.keys import Hint
from neardup_tui.messages import HintsChanged
from neardup_tui.session import COLUMN_FIRST, Choice, Progress, Unclear
from neardup_tui.widgets.panel import Panel


class Tab(Widget):
    """One tab. The screen sets the reactives; a tab watches them (`watch_result`, …) and never asks for more.

    A tab says what it has by overriding `panels`, `hints`, `about` and, where there are views, `views`.
    """

    number: ClassVar[int]
    title: ClassVar[str]
    views: ClassVar[tuple[str, ...]] = ()

    DEFAULT_CSS = """
    Tab { height: 1fr; }
    Tab .-zoomed-away { display: none; }
    """

    corpus: var[Corpus | None] = var[Corpus | None](None)
    settings: var[Settings] = var(Settings())
    # Results hold arrays, which cannot be compared: every one that comes down is news.
    result: var[Result | None] = var[Result | None](None, always_update=True)
    running: var[Progress | None] = var[Progress | None](None)
    choice: var[Choice] = var(Choice())
    unclear: var[Unclear | None] = var[Unclear | None](None)

    view: var[int] = var(0)
    zoomed: var[Widget | None] = var[Widget | None](None)

    def __init__(self) -> None:
        super().__init__(id=self.title.lower())
        self._remembered: Widget | None = None

    # What a tab overrides

    def panels(self) -> list[Widget]:
        """The parts that take the keys, in the order of the tab key; those not shown now are passed over."""
        return []

    def hints(self) -> list[Hint]:
        """What the keys do here now, most useful first; `r run`, `: commands`, `q quit` and `? help` are added."""
        return []

    def status(self) -> Text | None:
        """What this tab has to say in the status line while there is no message, or None."""
        return None

    def about(self) -> str:
        """Help for the focused part: what it means, in a few sentences."""
        return ""

    def nothing_read(self) -> str:
        """What an empty tab says while there are no documents: a way to get some."""
        if self.unclear is not None:
            return f"{COLUMN_FIRST[0].upper()}{COLUMN_FIRST[1:]}."
        if self.running is not None:
            return "Being read: what is in it shows here once it is run."
        return "No documents yet: press o and type a path, or go to 1 Documents."

    def close(self) -> bool:
        """esc, when the screen has nothing of its own to close: end the zoom, drop a filter; True if one did."""
        if self.zoomed is not None:
            self.zoomed = None
            return True
        return False

    # What the screen calls

    def shown_panels(self) -> list[Widget]:
        return [panel for panel in self.panels() if panel.focusable and self._is_shown(panel)]

    def _is_shown(self, panel: Widget) -> bool:
        """Whether it, and all that it lies in up to this tab, is displayed."""
        inside = takewhile(lambda node: node is not self, panel.ancestors_with_self)
        return all(node.display for node in inside)

    def focused_panel(self) -> Widget | None:
        focused = self.screen.focused
        chain = focused.ancestors_with_self if focused is not None else []
        return next((panel for panel in self.panels() if panel in chain), None)

    def focus_panel(self) -> None:
        """Give the keys to the panel that had them last, or to the first."""
        panels = self.shown_panels()
        if self._remembered in panels:
            self.screen.set_focus(self._remembered)
        elif panels:
            self.screen.set_focus(panels[0])
        else:
            self.screen.set_focus(None)

    def step_panel(self, step: int) -> None:
        panels = self.shown_panels()
        if panels:
            now = self.focused_panel()
            at = panels.index(now) + step if now in panels else 0
            self.screen.set_focus(panels[at % len(panels)])

    def next_view(self) -> None:
        if self.views:
            self.zoomed = None  # what is zoomed may not be in the next view, which would be blank
            self.view = (self.view + 1) % len(self.views)
            self.post_message(HintsChanged())

    def toggle_zoom(self) -> None:
        """Give the focused panel the whole content area, and back."""
        self.zoomed = None if self.zoomed is not None else self.focused_panel()

    def watch_zoomed(self, zoomed: Widget | None) -> None:
        """Hide all that does not hold the zoomed panel; a tab with a better idea overrides this."""
        self.set_class(zoomed is not None, "-zoomed")
        self._show_only(self, zoomed)
        self.post_message(HintsChanged())

    def on_descendant_focus(self) -> None:
        self._remembered = self.focused_panel()
        self.post_message(HintsChanged())

    def _show_only(self, parent: Widget, zoomed: Widget | None) -> None:
        for child in parent.children:
            holds = zoomed is not None and (child is zoomed or child in zoomed.ancestors)
            title = isinstance(parent, Panel) and child is parent.children[0]
            child.set_class(zoomed is not None and not holds and not title, "-zoomed-away")
            if zoomed is None or (holds and child is not zoomed):
                self._show_only(child, zoomed)
