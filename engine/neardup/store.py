"""Named arrays, one file a part, in the run directory.

A file is written as `*.tmp`, checksummed and renamed, so a name without `.tmp` is whole. Readers map finished files
only. Nothing is forced to disk: an fsync takes some 7 ms, several a chunk, and what a power failure takes of a file
is noticed by its checksum and done again. (A write through a map of a sparse file on a full disk is SIGBUS, so nothing
is written through one.)
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import mmh3
import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup.errors import OutputError
from neardup.ragged import Ragged, taken


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

    def write(self, name: str, position: int, array: NDArray[Any]) -> Part:
        """Write one part whole or not at all; OutputError where the disk does not take it."""
        file = f"{name}-{position:05d}.npy"
        array = np.ascontiguousarray(array)
        with self._whole(file) as target:
            # Not np.save: its error says how many bytes were written, and not why no more.
            np.lib.format.write_array_header_1_0(target, np.lib.format.header_data_from_array_1_0(array))
            target.write(array.data)
        return Part(file, len(array), array.nbytes, checksum_of(array))

    @contextlib.contextmanager
    def _whole(self, file: str) -> Iterator[BinaryIO]:
        """A file that has its name once it is complete, or not at all."""
        path = self.root / file
        # The number: a worker whose owner was killed may still write when the next run makes the same file.
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        try:
            for folder in reversed(path.relative_to(self.root).parents):  # mkdir(parents=True) would ignore the mode
                (self.root / folder).mkdir(mode=0o700, exist_ok=True)
            with open(temporary, "wb", opener=private) as target:
                yield target
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

    def write_ragged(self, name: str, position: int, pieces: Sequence[Ragged]) -> tuple[Part, Part]:
        """The lists of all pieces, one piece after the other: values and offsets."""
        sizes = np.concatenate([np.zeros(1, np.int64), *(piece.sizes for piece in pieces)])
        offsets = np.cumsum(sizes)
        values = self.write_blocks(
            f"{name}.values", int(offsets[-1]), np.dtype(np.uint64), (piece.values for piece in pieces), position
        )
        return values, self.write(f"{name}.offsets", position, offsets)

    def write_blocks(
        self, name: str, rows: int, dtype: np.dtype[Any], blocks: Iterable[NDArray[Any]], position: int = 0
    ) -> Part:
        """Write one part of `rows` rows block by block, so that it is never whole in memory."""
        file = f"{name}-{position:05d}.npy"
        hasher = _hasher(dtype, (rows,))
        with self._whole(file) as target:
            header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (rows,)}
            np.lib.format.write_array_header_1_0(target, header)
            for block in blocks:
                data = np.ascontiguousarray(block, dtype).view(np.uint8).data if len(block) else b""
                hasher.update(data)
                target.write(data)
        return Part(file, rows, rows * dtype.itemsize, hasher.digest().hex())

    def remove(self, part: Part) -> None:
        """Give back the room of a part that nobody reads any more; maps of it stay valid."""
        with contextlib.suppress(OSError):
            (self.root / part.file).unlink()

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

    def take(self, stored: Stored, rows: NDArray[Any]) -> NDArray[Any]:
        """The rows asked for, which ascend."""
        first = self.part(stored.parts[0])
        taken = np.empty((len(rows), *first.shape[1:]), first.dtype)
        for index, start, stop, local in _by_part(stored.starts, rows):
            # mode "raise" would gather into a buffer first
            np.take(self.part(stored.parts[index]), local, axis=0, out=taken[start:stop], mode="clip")
        return taken

    def take_ragged(self, stored: StoredRagged, rows: NDArray[Any]) -> Ragged:
        """The lists asked for, which ascend."""
        parts = [
            (Ragged(self.part(stored.values[index]), self.part(stored.offsets[index])), local)
            for index, _, _, local in _by_part(stored.starts, rows)
        ]
        return taken(parts)


def checksum_of(array: NDArray[Any]) -> str:
    """128 bits over the type, the shape and the bytes of the array, in hexadecimal; 5 GB a second."""
    hasher = _hasher(array.dtype, array.shape)
    if array.size:
        hasher.update(np.ascontiguousarray(array).view(np.uint8).data)
    return str(hasher.digest().hex())


def _hasher(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """A checksum that has the head of the file in it: there one bit makes > of <."""
    return mmh3.mmh3_x64_128(f"{dtype.descr}{shape}".encode())


def _by_part(starts: NDArray[np.int64], rows: NDArray[Any]) -> Iterator[tuple[int, int, int, NDArray[np.int64]]]:
    """For each part that holds some of the ascending rows: its index, which of `rows` those are, and where in it."""
    cuts = np.searchsorted(rows, starts)
    for index in np.flatnonzero(np.diff(cuts)).tolist():
        start, stop = int(cuts[index]), int(cuts[index + 1])
        yield index, start, stop, rows[start:stop].astype(np.int64) - starts[index]


@lru_cache(maxsize=2048)  # a map costs no file handle, and a system allows 65,530
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
