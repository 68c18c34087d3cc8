"""The plots, as pure functions: numbers in, a Rich Text out. The one place that knows plotext.

plotext 6 draws frame, ticks, the curve in braille and the line at the threshold, unpainted: its own fills take one
colour a cell and hide the line. Colours are put on afterwards, the areas as background. It has a single figure for
all, so these functions run on one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import plotext
from rich.text import Text

SMALLEST = (16, 5)

FOUND, MISSED = "▒", "░"  # the areas FP and FN where there is no colour
MEASURED = "◆"
_LINE = "┃"
_BLANK = "\u2800"  # a braille cell without a dot
_ASCII = str.maketrans({"┤": "+", "│": "|", "└": "+", "┬": "+", "┴": "+", "┼": "+", "─": "-", _LINE: "|", FOUND: ".",
                        MISSED: "x", MEASURED: "#", **{chr(dots): "*" for dots in range(0x2801, 0x2900)}})  # fmt: skip
_LEFT, _BELOW = 4, 2  # cells of labels and axis beside the canvas


@dataclass(frozen=True, slots=True)
class Colours:
    """Rich styles; `fp` and `fn` are colours of a background."""

    curve: str
    line: str
    frame: str
    label: str
    measured: str
    fp: str
    fn: str


def s_curve(
    width: int,
    height: int,
    threshold: float,
    curve: Callable[[float], float],
    colours: Colours,
    *,
    measured: Sequence[tuple[float, float]] = (),
    ascii: bool = False,
    colour: bool = True,
) -> Text:
    """P(candidate | J) over J from 0 to 1, with a line at the threshold; `height` lines of `width` cells.

    Marked are the area under the curve left of the line, candidates below the threshold (FP), and the one above it
    right of the line, pairs that are missed (FN): by colour of the background, else by the letters FOUND and MISSED.
    `measured` are points (J, share of pairs that became candidates). With `ascii` no character is above U+007E.
    Anything smaller than SMALLEST comes out blank.
    """
    if width < SMALLEST[0] or height < SMALLEST[1]:
        return Text("\n".join([" " * width] * height), no_wrap=True, end="")
    columns, rows = width - _LEFT, height - _BELOW
    cells = [list(line.ljust(width)[:width]) for line in _drawn(width, height, threshold, curve)]
    # Where plotext put the line: it rounds in its own way.
    line = next((row.index(_LINE) for row in cells if _LINE in row), _LEFT + round(threshold * (columns - 1)))
    fp, fn = _areas(columns, rows, line - _LEFT, curve)

    if ascii or not colour:
        for area, letter in ((fp, FOUND), (fn, MISSED)):
            for row, column in area:
                if cells[row][column] == " ":
                    cells[row][column] = letter
    for j, share in measured:
        cells[round((1 - share) * (rows - 1))][_LEFT + round(j * (columns - 1))] = MEASURED

    styles = [[""] * width for _ in range(height)]
    if colour:
        styles = [[_style(row, column, cells[row][column], rows, colours) for column in range(width)]
                  for row in range(height)]  # fmt: skip
        if not ascii:
            for area, background in ((fp, colours.fp), (fn, colours.fn)):
                for row, column in area:
                    styles[row][column] += f" on {background}"
    text = Text(no_wrap=True, end="")
    for row in range(height):
        for style, run in groupby(range(width), key=styles[row].__getitem__):
            part = "".join(cells[row][column] for column in run)
            text.append(part.translate(_ASCII) if ascii else part, style)
        if row < height - 1:
            text.append("\n")
    return text


def _drawn(width: int, height: int, threshold: float, curve: Callable[[float], float]) -> list[str]:
    columns, rows = width - _LEFT, height - _BELOW
    plot: Any = plotext
    plot.terminal.limit(False, False)  # else no plot is larger than the terminal was at the start
    figure = plot.figure
    figure.clear()
    figure.plot_size(width, height)
    figure.axes(True, axis="both", side=0)
    figure.axes(False, axis="both", side=1)
    across = 10 if columns > 60 else 5 if columns > 24 else 2  # labels of three digits, one blank between at least
    up = 10 if rows > 40 else 5 if rows > 5 else 2
    for axis, parts in (("x", across), ("y", up)):
        ticks = [step / parts for step in range(parts + 1)]
        figure.ruler(axis).lim(0, 1)
        figure.ruler(axis).ticks(ticks, [f"{tick:.1f}" for tick in ticks])
    figure.line(threshold, orientation="vertical", style="heavy")
    points = [at / (2 * columns - 1) for at in range(2 * columns)]  # a braille cell has two dots across
    figure.draw(figure.signal(points, [curve(j) for j in points], marker="braille").lines(True))
    return str(plot.uncolorize(figure.build().string())).replace(_BLANK, " ").split("\n")[:height]


def _areas(
    columns: int, rows: int, line: int, curve: Callable[[float], float]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The cells (row, column) whose middle lies in the area FP, and in FN; `line` is the column of the threshold."""
    fp, fn = [], []
    for column in range(columns):
        # In rows: how far the curve is above 0 and below 1. A quarter is one dot: less is not seen to be off the axis.
        above = curve(column / (columns - 1)) * (rows - 1)
        below = (rows - 1) - above
        for row in range(rows):
            if column < line and above >= max(rows - 1 - row, 0.25):
                fp.append((row, _LEFT + column))
            elif column > line and below >= max(row, 0.25):
                fn.append((row, _LEFT + column))
    return fp, fn


def _style(row: int, column: int, character: str, rows: int, colours: Colours) -> str:
    if row >= rows or column < _LEFT:
        return colours.label if character.isdigit() or character == "." else colours.frame
    if character == _LINE:
        return colours.line
    return colours.measured if character == MEASURED else "" if character == " " else colours.curve
