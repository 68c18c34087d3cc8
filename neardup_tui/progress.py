"""The line that tells how far a headless run is: on stderr, only on a terminal, gone at the end.

     3/5 verify ━━━━━━━━━━━━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌  61 %  612,400 of 1,000,000 pairs  0:14 left
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from neardup import Event, Planned, StageStarted

WORTH_TELLING = 20  # seconds a run is expected to take
BETWEEN = 0.1  # seconds between two drawings: ten a second are smooth, and 1 kB/s over SSH
CLEAR = "\r\x1b[K"


def tell(text: str, stream: TextIO | None = None) -> None:
    """One line for a person; a stderr that is gone must not stop the work."""
    with suppress(OSError, ValueError):
        print(text, file=stream or sys.stderr, flush=True)


class Progress:
    """Hears the events of a run. Draws where it may, and tells each warning once, quiet or not."""

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self._draws = not quiet and self._stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        encoding = (getattr(self._stream, "encoding", None) or "ascii").lower().replace("-", "")
        self._full, self._rest = ("━", "╌") if encoding == "utf8" else ("#", "-")
        self._stage: StageStarted | None = None
        self._drawn = 0.0
        self._told: set[str] = set()

    def __call__(self, event: Event) -> None:
        from neardup import Advanced, Planned, Preparing, StageStarted, Warned

        if isinstance(event, Warned):
            self.warn(event.text)
        elif isinstance(event, StageStarted):
            self._stage, self._drawn = event, 0.0
            self._draw(0, event.total, 0.0)
        elif isinstance(event, Preparing):
            self._put(f" {event.text}")
        elif isinstance(event, Planned) and event.seconds >= WORTH_TELLING and not self._quiet:
            self.clear()
            tell(f"neardup: {expected(event)}", self._stream)
        elif isinstance(event, Advanced):
            self._draw(event.done, event.total, event.seconds)

    def warn(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self.clear()
            tell(f"neardup: warning: {text}", self._stream)

    def clear(self) -> None:
        self._put("")

    def stopped(self, kept: bool) -> None:
        """Say where the work was stopped, and what follows from it."""
        self.clear()
        if not self._quiet:
            at = f" in {self._stage.number}/{self._stage.of} {self._stage.stage}" if self._stage is not None else ""
            goes_on = "; what is finished is kept: the same command goes on from there" if kept else ""
            tell(f"neardup: stopped{at}{goes_on}", self._stream)

    def _draw(self, done: int, total: int, seconds: float) -> None:
        if self._draws and time.monotonic() - self._drawn >= BETWEEN:
            self._drawn = time.monotonic()
            self._put(self.line(done, total, seconds, self._columns))

    def _put(self, line: str) -> None:
        if self._draws:
            with suppress(OSError, ValueError):
                self._stream.write(CLEAR + line[: self._columns])
                self._stream.flush()

    @property
    def _columns(self) -> int:
        """One less than there are: a letter in the last column makes some terminals go to the next line."""
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns
        except OSError:
            columns = 0
        return (columns or 80) - 1

    def line(self, done: int, total: int, seconds: float, columns: int) -> str:
        """The line, in at most `columns` cells: the bar takes what the words leave, and goes first."""
        stage = self._stage
        if stage is None:
            return ""
        head = f" {stage.number}/{stage.of} {stage.stage}"
        if not total:
            return head[:columns]
        share = min(1.0, done / total)
        words = f"{int(100 * share):3d} %  {done:,} of {total:,} {stage.unit}{left(share, seconds)}"
        room = min(32, columns - len(head) - len(words) - 2)
        if room < 4:
            return f"{head} {words}"[:columns]
        full = int(share * room)
        return f"{head} {self._full * full}{self._rest * (room - full)} {words}"


def left(share: float, seconds: float) -> str:
    """`  0:14 left`, once a second has shown how fast it goes."""
    if seconds < 1 or not 0 < share < 1:
        return ""
    minutes, rest = divmod(round(seconds * (1 - share) / share), 60)
    hours, minutes = divmod(minutes, 60)
    return f"  {hours}:{minutes:02d}:{rest:02d} left" if hours else f"  {minutes}:{rest:02d} left"


def expected(event: Planned) -> str:
    """`about 3 min, 1.2 GB of memory, up to 5.1 GB of disk in /var/cache/…`"""
    from neardup.sizes import size

    seconds = round(event.seconds, -1)
    time_ = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    if seconds >= 7200:
        time_ = f"{seconds / 3600:.1f} h"
    return f"about {time_}, {size(event.memory)} of memory and {size(event.disk)} of disk in {event.where}"
