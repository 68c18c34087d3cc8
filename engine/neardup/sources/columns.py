"""Which column holds the text."""

from __future__ import annotations

from collections.abc import Sequence

from neardup.errors import ColumnError

_SHOWN = 30  # names in one message
_NAME = 40  # characters of a name


def _listed(columns: Sequence[str]) -> str:
    names = [name if len(name) <= _NAME else name[: _NAME - 1] + "…" for name in columns[:_SHOWN]]
    more = len(columns) - len(names)
    return " ".join(", ".join(repr(name) for name in names).split()) + (f" and {more:,} more" if more else "")


def _places(columns: Sequence[str], name: str) -> list[int]:
    return [place for place, column in enumerate(columns) if column == name]


def text_column(columns: Sequence[str], wanted: str | None, path: str) -> int:
    """The position, from 0, of the column that is wanted: a name, or a number from 1 where no column is called so.

    None wants `text`, or the only column. ColumnError, with the columns there are, where it is not there or not clear.
    """
    name = "text" if wanted is None else wanted
    places = _places(columns, name)
    if len(places) == 1:
        return places[0]
    if places:
        numbers = " and ".join(str(place + 1) for place in places)
        raise ColumnError(
            f"{path}: columns {numbers} share the name {name!r}: choose by number, --text-column {places[0] + 1}",
            columns,
        )
    if wanted is None:
        if len(columns) == 1:
            return 0
        raise ColumnError(
            f"{path}: which column holds the text? Choose one with --text-column: {_listed(columns)}", columns
        )
    if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= len(columns):
        return int(wanted) - 1
    numbers = f", or by number 1 to {len(columns)}" if wanted.isdigit() else ""
    raise ColumnError(f"{path}: there is no column {wanted!r}: the columns are {_listed(columns)}{numbers}", columns)
