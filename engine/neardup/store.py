"""Named arrays, one file a part, in the run directory.

A file is written as `*.tmp`, fsynced, checksummed and renamed, so a name without `.tmp` is whole. Readers map finished
files only. (A write through a map of a sparse file on a full disk is SIGBUS, so nothing is written through one.)
"""

from __future__ import annotations

import contextlib
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import mmh3
import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup.errors import OutputError
from neardup.ragged import Ragged


class Part(msgspec.Struct, frozen=True):
    """One finished file: where, how many rows its array has, how many bytes and which checksum."""

    file: str
    rows: int
    bytes: int
    checksum: str


class Stored(msgspec.Struct, frozen=True):
    """An array that lies in parts: row i of it is a row of the part whose range holds i."""

    parts: tuple[Part, ...]

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    @property
    def starts(self) -> NDArray[np.int64]:
        """int64[parts + 1]: the first row of each part, and the number of all rows."""
        return np.concatenate([[0], np.cumsum([part.rows for part in self.parts])]).astype(np.int64)


class StoredRagged(msgspec.Struct, frozen=True):
    """Ragged lists that lie in parts: for each, the values and the offsets (one more row than there are lists)."""

    values: tuple[Part, ...]
    offsets: tuple[Part, ...]

    @property
    def starts(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum([part.rows - 1 for part in self.offsets])]).astype(np.int64)


class LocalStore:
    """Arrays in the files below one private directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, position: int, array: NDArray[Any], *, durable: bool = True) -> Part:
        """Write one part whole or not at all; OutputError where the disk does not take it.

        What no journal will name, as it serves this run only, need not be `durable`: an fsync takes some 7 ms here.
        """
        file = f"{name}-{position:05d}.npy"
        path = self.root / file
        # The number: a worker whose owner was killed may still write when the next run makes the same file.
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        array = np.ascontiguousarray(array)
        try:
            for folder in reversed(path.relative_to(self.root).parents):  # mkdir(parents=True) would ignore the mode
                (self.root / folder).mkdir(mode=0o700, exist_ok=True)
            with open(temporary, "wb", opener=private) as target:
                # Not np.save: its error says how many bytes were written, and not why no more.
                np.lib.format.write_array_header_1_0(target, np.lib.format.header_data_from_array_1_0(array))
                target.write(array.data)
                target.flush()
                if durable:
                    os.fsync(target.fileno())
            os.replace(temporary, path)
        except BaseException as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            if isinstance(error, OSError):
                raise OutputError(
                    f"the run directory {self.root} cannot be written ({error.strerror}): "
                    "make room there, or name another with --run-dir"
                ) from error
            raise
        return Part(file, len(array), array.nbytes, checksum_of(array))

    def write_ragged(self, name: str, position: int, lists: Ragged) -> tuple[Part, Part]:
        values = self.write(f"{name}.values", position, lists.values)
        return values, self.write(f"{name}.offsets", position, lists.offsets)

    def part(self, part: Part) -> NDArray[Any]:
        """The array of one part, mapped read-only."""
        return _mapped(str(self.root / part.file), part.checksum)

    def intact(self, part: Part) -> bool:
        """Whether the file is there and holds what was written."""
        try:
            array = np.load(self.root / part.file, mmap_mode="r" if part.bytes else None, allow_pickle=False)
        except Exception:  # numpy has many ways to say that a file is not one of its own
            return False
        return len(array) == part.rows and checksum_of(array) == part.checksum

    def read(self, stored: Stored) -> NDArray[Any]:
        """All rows, part after part."""
        arrays = [self.part(part) for part in stored.parts]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)

    def take(self, stored: Stored, rows: NDArray[Any]) -> NDArray[Any]:
        """The rows asked for, in that order, gathered part by part."""
        if len(stored.parts) == 1:
            gathered: NDArray[Any] = self.part(stored.parts[0])[rows]
            return gathered
        first = self.part(stored.parts[0])
        taken = np.empty((len(rows), *first.shape[1:]), first.dtype)
        for index, picked, local in _by_part(stored.starts, rows):
            taken[picked] = self.part(stored.parts[index])[local]
        return taken

    def take_ragged(self, stored: StoredRagged, rows: NDArray[Any]) -> Ragged:
        """The lists asked for, in that order."""
        pieces, order = [], []
        for index, picked, local in _by_part(stored.starts, rows):
            part = Ragged(self.part(stored.values[index]), self.part(stored.offsets[index]))
            pieces.append(part.take(local))
            order.append(picked)
        if not pieces:
            return Ragged(np.zeros(0, np.uint64), np.zeros(1, np.int64))
        gathered = _joined(pieces)
        back = np.empty(len(rows), np.int64)
        back[np.concatenate(order)] = np.arange(len(rows))
        return gathered if np.array_equal(back, np.arange(len(rows))) else gathered.take(back)


def checksum_of(array: NDArray[Any]) -> str:
    """128 bits over the type, the shape and the bytes of the array, in hexadecimal; 5 GB a second."""
    hasher = mmh3.mmh3_x64_128()
    hasher.update(f"{array.dtype.descr}{array.shape}".encode())  # one bit makes > of <
    if array.size:
        hasher.update(np.ascontiguousarray(array).view(np.uint8).data)
    return hasher.digest().hex()


def _by_part(starts: NDArray[np.int64], rows: NDArray[Any]) -> list[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
    """For each part that holds some of the rows: its index, their positions in `rows`, their rows inside the part."""
    owner = np.searchsorted(starts, rows, side="right") - 1
    found = []
    for index in np.unique(owner):
        picked = np.flatnonzero(owner == index)
        found.append((int(index), picked, rows[picked].astype(np.int64) - starts[index]))
    return found


def _joined(pieces: list[Ragged]) -> Ragged:
    if len(pieces) == 1:
        return pieces[0]
    sizes = np.concatenate([piece.sizes for piece in pieces])
    return Ragged(
        np.concatenate([piece.values for piece in pieces]), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    )


@lru_cache(maxsize=256)
def _mapped(path: str, checksum: str) -> NDArray[Any]:
    """The checksum is part of the key: another run may have put another array under the same name."""
    if os.path.getsize(path) == 0:
        raise OutputError(f"{path} is empty: the run directory was changed while neardup worked")
    array = np.load(path, mmap_mode="r", allow_pickle=False) if _has_values(path) else np.load(path, allow_pickle=False)
    return np.asarray(array)


def _has_values(path: str) -> bool:
    with open(path, "rb") as file:
        np.lib.format.read_magic(file)
        shape, _, _ = np.lib.format.read_array_header_1_0(file)
    return 0 not in shape


def private(path: str, flags: int) -> int:
    """The opener of every file that may hold something of the documents: only its owner reads it."""
    return os.open(path, flags, 0o600)
