"""Messages go up: each is named after what happened. The screen, which owns the state, answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message
from textual.widget import Widget

from neardup import Reading, Settings
from neardup_tui.session import Severity

if TYPE_CHECKING:
    from neardup.exports import Outputs


class SettingsChanged(Message):
    """These settings are wished; `about` names the one that changed, so that a held key is one undo step."""

    def __init__(self, settings: Settings, about: str = "") -> None:
        super().__init__()
        self.settings = settings
        self.about = about


class RowHighlighted(Message):
    """A row of the corpus was marked: the document that 2 Shingles shows."""

    def __init__(self, row: int) -> None:
        super().__init__()
        self.row = row


class PairHighlighted(Message):
    """A row pair was marked: its index in `result.row_pairs`."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index


class ClusterHighlighted(Message):
    """A cluster was marked: its label, the smallest row."""

    def __init__(self, label: int) -> None:
        super().__init__()
        self.label = label


class TabWanted(Message):
    """Show this tab, 1 to 6."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class OpenPath(Message):
    """These paths (or an example: `example:1000`) are to be read, and how."""

    def __init__(self, paths: tuple[str, ...], reading: Reading | None = None) -> None:
        super().__init__()
        self.paths = paths
        self.reading = reading or Reading()


class PathWanted(Message):
    """The user wants to type a path."""


class RunWanted(Message):
    """The user wants a run with the settings as they are."""


class ExportWanted(Message):
    """The user wants these outputs written; the dry run is on the screen, and `question` is asked first."""

    def __init__(self, outputs: Outputs, question: str) -> None:
        super().__init__()
        self.outputs = outputs
        self.question = question


class Told(Message):
    """A line for the status line and the list of messages."""

    def __init__(self, text: str, severity: Severity = "note") -> None:
        super().__init__()
        self.text = text
        self.severity = severity


class HintsChanged(Message):
    """What keys do here has changed: the key line is to be drawn again."""


class EditStarted(Message):
    """A field was opened: every printable key types until it is closed."""

    def __init__(self, field: Widget) -> None:
        super().__init__()
        self.field = field


class EditEnded(Message):
    """The field was closed, accepted or not."""
