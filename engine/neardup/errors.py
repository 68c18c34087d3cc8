"""All that neardup raises on purpose.

    NeardupError            1   something failed while running
    ├── SettingsError       2   a value, or two values together, cannot be right
    │   ├── ColumnError     2   the text column is not there, or not clear
    │   └── OutputExists    2   an output is there already and nothing said to replace it
    ├── SourceError         3   an input is missing, unreadable, broken or holds no row
    ├── OutputError         1   an output could not be written
    ├── WorkerError         1   a worker died again and again over the same rows
    └── RunInUse            1   another neardup holds this run directory
    Cancelled                   not an error: work was stopped because someone asked

The number is the exit code of the command line. A message names the value, the rule and the way out,
in one line, and never holds the text of a document.
"""

from __future__ import annotations

from collections.abc import Sequence


class NeardupError(Exception):
    exit_code = 1


class SettingsError(NeardupError):
    exit_code = 2


class ColumnError(SettingsError):
    """The text column could not be told; `columns` are the names there are, in their order."""

    def __init__(self, message: str, columns: Sequence[str]) -> None:
        super().__init__(message)
        self.columns = tuple(columns)

    def __reduce__(self) -> tuple[type[ColumnError], tuple[str, tuple[str, ...]]]:
        return type(self), (str(self), self.columns)


class OutputExists(SettingsError):
    pass


class SourceError(NeardupError):
    exit_code = 3


class OutputError(NeardupError):
    pass


class WorkerError(NeardupError):
    pass


class RunInUse(NeardupError):
    pass


class Cancelled(Exception):
    """Raised between two kernel calls once the cancel byte is set; passes through every stage."""
