"""Figures in a row, each with its name above it and what it means below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from neardup_tui.widgets.cells import fitted


@dataclass(frozen=True, slots=True)
class Tile:
    """`value` "-": not known yet."""

    name: str
    value: str
    note: str = ""


class Tiles(Widget):
    """Three lines; the tiles share the width, each beginning at the same place whatever its figure."""

    DEFAULT_CSS = """
    Tiles {
        height: 3; width: 1fr;
        & .tile--name, & .tile--note { color: $text-muted; }
        & .tile--value { color: $text; text-style: bold; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"tile--name", "tile--value", "tile--note"}

    tiles: reactive[Sequence[Tile]] = reactive(())

    def render(self) -> Text:
        text = Text(no_wrap=True, end="")
        if not self.tiles:
            return text
        widths = self._widths()
        for part in ("name", "value", "note"):
            style = self.get_component_rich_style(f"tile--{part}")
            text.append("\n" if part != "name" else "")
            for tile, width in zip(self.tiles, widths, strict=True):
                text.append(" ")
                text.append(fitted(str(getattr(tile, part)), width - 2), style)
                text.append(" ")
        return text

    def _widths(self) -> list[int]:
        """As much as each needs, and the rest in equal parts; where there is not enough, the widest give way."""
        needs = [max(cell_len(tile.name), cell_len(tile.value), cell_len(tile.note)) + 2 for tile in self.tiles]
        room = self.size.width - sum(needs)
        for _ in range(-room):
            needs[needs.index(max(needs))] -= 1
        room = max(0, room)
        return [need + room // len(needs) for need in needs]
