"""What is on a screen of ours, as plain text, and one letter a cell for how it is drawn.

SVG snapshots break with each release of Textual; this compares what a person sees.
"""

from __future__ import annotations

from rich.style import Style
from textual.app import App

PLAIN = "."
LETTERS = (("reverse", "r"), ("bold", "b"), ("underline", "u"), ("dim", "d"))


def plain(app: App[object]) -> list[str]:
    """The lines of the screen, all of its width."""
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]


def text(app: App[object]) -> str:
    return "\n".join(line.rstrip() for line in plain(app))


def styles(app: App[object]) -> list[str]:
    """A letter for each cell: r reverse, b bold, u underlined, d dim, in this order of precedence, else `.`."""
    lines = []
    for strip in app.screen._compositor.render_strips():
        lines.append("".join(_letter(segment.style) * segment.cell_length for segment in strip))
    return lines


def _letter(style: Style | None) -> str:
    if style is None:
        return PLAIN
    return next((letter for name, letter in LETTERS if getattr(style, name)), PLAIN)
