from __future__ import annotations

import re
from functools import partial

import pytest
from rich.text import Text

from neardup import areas, candidate_probability
from neardup_tui.plots import FOUND, MEASURED, MISSED, SMALLEST, Colours, s_curve

COLOURS = Colours(
    curve="red", line="green", frame="blue", label="white", measured="yellow", fp="#111111", fn="#222222"
)
SIZES = [(30, 8), (48, 19), (73, 29), (200, 60)]
LEFT, BELOW = 4, 2


def curve_of(bands: int, rows: int) -> partial[float]:
    return partial(candidate_probability, bands=bands, rows=rows)


def drawn(width: int = 48, height: int = 19, t: float = 0.8, bands: int = 16, rows: int = 6, **how: object) -> Text:
    return s_curve(width, height, t, curve_of(bands, rows), COLOURS, **how)  # type: ignore[arg-type]


def lines(text: Text) -> list[str]:
    return text.plain.split("\n")


def backgrounds(text: Text) -> list[list[str]]:
    """The colour behind each cell, or an empty string."""
    behind = [""] * len(text.plain)
    for span in text.spans:
        colour = re.search(r"on (\S+)", str(span.style))
        behind[span.start : span.end] = [colour[1] if colour else ""] * (span.end - span.start)
    width = len(lines(text)[0]) + 1
    return [behind[at : at + width - 1] for at in range(0, len(behind), width)]


def is_curve(character: str) -> bool:
    return "\u2801" <= character <= "\u28ff"


@pytest.mark.parametrize("how", [{}, {"colour": False}, {"ascii": True}, {"ascii": True, "colour": False}])
@pytest.mark.parametrize(("width", "height"), [SMALLEST, (20, 6), *SIZES])
def test_a_plot_has_exactly_the_size_that_was_asked_for_even_beyond_the_terminals(width, height, how):
    plot = lines(drawn(width, height, **how))

    assert [len(line) for line in plot] == [width] * height


@pytest.mark.parametrize("size", [(SMALLEST[0] - 1, 20), (20, SMALLEST[1] - 1), (1, 1)])
def test_where_there_is_no_room_for_a_plot_the_space_is_left_blank(size):
    plot = lines(drawn(*size))

    assert [len(line) for line in plot] == [size[0]] * size[1] and not "".join(plot).strip()


@pytest.mark.parametrize(("bands", "rows"), [(16, 6), (128, 1), (1, 128), (9, 13)])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_curve_goes_through_its_values(width, height, bands, rows):
    plot = lines(drawn(width, height, 0.01, bands, rows))
    columns, high = width - LEFT, height - BELOW
    curve = curve_of(bands, rows)

    for column in range(1, columns):
        at = {row for row in range(high) if is_curve(plot[row][LEFT + column])}
        # A cell holds the curve from half a cell before its middle to half a cell behind it.
        span = [curve(min(1.0, max(0.0, (column + shift) / (columns - 1)))) for shift in (-1, -0.5, 0, 0.5, 1)]
        rows_there = [round((1 - p) * (high - 1)) for p in span]
        assert at and at <= set(range(min(rows_there) - 1, max(rows_there) + 2))


@pytest.mark.parametrize("t", [0.0001, 0.3, 0.5, 0.8, 0.9, 0.95, 1.0])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_line_stands_at_the_threshold_from_top_to_bottom(width, height, t):
    plot = lines(drawn(width, height, t))

    places = {(row, line.index("┃")) for row, line in enumerate(plot) if "┃" in line}
    columns = {column for _, column in places}
    assert len(columns) == 1 and abs(columns.pop() - LEFT - t * (width - LEFT - 1)) <= 0.51
    assert len(places) >= height - BELOW - 3  # the curve covers a cell or two, three where it is steep


@pytest.mark.parametrize(("t", "bands", "rows"), [(0.8, 16, 6), (0.7, 6, 6), (0.5, 1, 4), (0.9, 11, 10), (1.0, 1, 128)])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_coloured_areas_are_as_large_as_the_integrals(width, height, t, bands, rows):
    behind = backgrounds(drawn(width, height, t, bands, rows))
    columns, high = width - LEFT, height - BELOW
    fp, fn = areas(bands, rows, round(10_000 * t), bands * rows)

    cells = [colour for row in behind for colour in row]
    slack = 1 / columns + 1 / high
    assert cells.count(COLOURS.fp) / columns / high == pytest.approx(fp, abs=slack)
    assert cells.count(COLOURS.fn) / columns / high == pytest.approx(fn, abs=slack)


def test_candidates_below_the_threshold_lie_left_of_the_line_and_missed_pairs_right_of_it():
    plot = drawn(48, 19, 0.7, 6, 6)
    line = next(row.index("┃") for row in lines(plot) if "┃" in row)

    for row, colours in enumerate(backgrounds(plot)):
        for column, colour in enumerate(colours):
            if colour:
                # FP hangs below the curve, FN stands above it: on towards the axis the colour does not change.
                onward = [other[column] for other in backgrounds(plot)[: row + 1 or None]]
                assert column != line and (colour == COLOURS.fp) == (column < line)
                assert colour == COLOURS.fp or set(onward) == {COLOURS.fn}
    assert all(not colour for row in backgrounds(plot) for colour in row[:LEFT])
    assert all(not colour for row in backgrounds(plot)[-BELOW:] for colour in row)


def test_without_colour_letters_fill_the_areas_and_cover_neither_curve_nor_line():
    plain, coloured = drawn(t=0.7, bands=6, colour=False), drawn(t=0.7, bands=6)

    assert not plain.spans
    for with_letters, bare, behind in zip(lines(plain), lines(coloured), backgrounds(coloured), strict=True):
        for letter, cell, colour in zip(with_letters, bare, behind, strict=True):
            if cell == " ":
                assert letter == {COLOURS.fp: FOUND, COLOURS.fn: MISSED, "": " "}[colour]
            else:
                assert letter == cell


@pytest.mark.parametrize("colour", [True, False])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_in_ascii_mode_no_other_character_is_drawn(width, height, colour):
    plot = drawn(width, height, 0.7, 6, 6, ascii=True, colour=colour, measured=[(0.5, 0.5)])

    assert plot.plain.isascii() and {"*", ".", "x", "|", "+", "-", "#"} <= set(plot.plain)
    assert bool(plot.spans) == colour


@pytest.mark.parametrize(("width", "height"), [SMALLEST, *SIZES, *((width, 19) for width in range(17, 94, 4))])
def test_both_axes_are_labelled_from_0_to_1_without_touching_labels(width, height):
    plot = lines(drawn(width, height))

    across = plot[-1].split()
    up = [line[:3] for line in plot[:-BELOW] if line[:3].strip()]
    assert across[0] == "0.0" and across[-1] == "1.0" and across == sorted(set(across))
    assert up[0] == "1.0" and up[-1] == "0.0" and up == sorted(set(up), reverse=True)
    assert all(re.fullmatch(r"[01]\.\d", label) for label in [*across, *up]) and len(across) >= 3


def test_measured_points_stand_where_they_were_measured():
    plot = lines(drawn(44 + LEFT, 17 + BELOW, measured=[(0.0, 1.0), (1.0, 0.0), (0.5, 0.25)]))

    marks = {(row, at - LEFT) for row, line in enumerate(plot) for at, cell in enumerate(line) if cell == MEASURED}
    assert marks == {(0, 0), (16, 43), (12, 22)}


def test_a_plot_does_not_depend_on_the_one_before():
    before = drawn()
    drawn(100, 40, 0.3, 3, 1)

    assert drawn() == before and drawn().spans == before.spans
