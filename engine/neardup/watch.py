"""A few bytes that parent and workers share: has somebody asked to stop, and how far has each come.

    byte 0          not 0: stop
    8 + 8·slot      int64, units finished in the chunk that this worker is at; written by the worker alone
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

from neardup.errors import Cancelled
from neardup.pulse import Pulse

_WORD = struct.Struct("<q")


class Watch:
    """The mapped file; the parent makes it (`create`), a worker opens it."""

    def __init__(self, path: Path, slots: int = 0) -> None:
        flags = os.O_RDWR | (os.O_CREAT | os.O_EXCL if slots else 0)
        handle = os.open(path, flags, 0o600)
        try:
            if slots:
                os.write(handle, bytes(8 * (slots + 1)))
            self._map = mmap.mmap(handle, 0)
        finally:
            os.close(handle)

    @property
    def stop(self) -> bool:
        return self._map[0] != 0

    @stop.setter
    def stop(self, asked: bool) -> None:
        self._map[0] = int(asked)

    def units(self, slot: int) -> int:
        return int(_WORD.unpack_from(self._map, 8 + 8 * slot)[0])

    def set_units(self, slot: int, units: int) -> None:
        _WORD.pack_into(self._map, 8 + 8 * slot, units)

    def pulse(self, slot: int) -> Pulse:
        """The pulse of one worker at one chunk, its count starting at 0."""
        self.set_units(slot, 0)

        def beat(done: int) -> None:
            if self._map[0]:
                raise Cancelled
            if done:
                self.set_units(slot, self.units(slot) + done)

        return beat

    def close(self) -> None:
        self._map.close()
