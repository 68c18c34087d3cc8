"""Tables and goals in Markdown that is also readable as it stands."""

from __future__ import annotations

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A Markdown table; the first `left` columns are flush left, the others right."""
    widths = [max(3, *(len(row[column]) for row in [header, *rows])) for column in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "| " + " | ".join(padded) + " |"

    rule = [
        "-" * width if column < left else "-" * (width - 1) + ":" for column, width in enumerate(widths)
    ]
    return "\n".join([line(header), line(rule), *map(line, rows)]) + "\n"


def seconds(value: float) -> str:
    """Three digits that count: 0.0123, 0.123, 1.23, 12.3, 123; what was lost in noise is about 0."""
    if value <= 0:
        return "≈ 0"
    if value < 1:
        return f"{value:.4f}" if value < 0.1 else f"{value:.3f}"
    return f"{value:,.{max(0, 3 - len(str(int(value))))}f}"


def megabytes(value: int) -> str:
    return f"{value / 1e6:,.0f}"


def at_most(what: str, measured: float | None, limit: float, unit: str = "") -> list[str]:
    return _goal(what, measured, f"≤ {limit:g}{unit}", measured is not None and measured <= limit, unit)


def at_least(what: str, measured: float | None, limit: float, unit: str = "") -> list[str]:
    return _goal(what, measured, f"≥ {limit:g}{unit}", measured is not None and measured >= limit, unit)


def goals(rows: Sequence[list[str]]) -> str:
    return table(["goal", "is", "measured", "verdict"], rows)


def _goal(what: str, measured: float | None, limit: str, holds: bool, unit: str) -> list[str]:
    """A row of `goals`; None was not measured."""
    if measured is None:
        return [what, limit, "–", "not measured"]
    return [what, limit, f"{measured:.3g}{unit}", "holds" if holds else "**does not hold**"]
