"""Where files lie, as people say it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len

from neardup_tui.widgets.cells import CUT, safe


def place(path: str | Path) -> str:
    """The whole path, the home folder as ~."""
    path = Path(path).absolute()
    home = Path.home()
    return safe(f"~/{path.relative_to(home)}".removesuffix("/.") if path.is_relative_to(home) else str(path))


def placed(paths: Sequence[str]) -> tuple[str, str]:
    """` into ~/helpdesk` and the names; files of several folders have no such words, and their names are whole."""
    folders = {Path(path).absolute().parent for path in paths}
    if len(folders) != 1:
        return "", ", ".join(map(place, paths))
    return f" into {place(folders.pop())}", safe(", ".join(Path(path).name for path in paths))


def squeezed(path: str, width: int) -> str:
    """A safe path in at most `width` cells, cut at the left: its end tells what it is."""
    if cell_len(path) <= width:
        return path
    while path and cell_len(path) >= width:
        path = path[1:]
    return CUT + path
