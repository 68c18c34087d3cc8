"""Plain bytes of .gz and .zst files, of all their members; a file that is cut short is refused, never read in part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from neardup.errors import OutputError, SourceError
from neardup.sources.finding import compression_of, unreadable

BLOCK = 2**20


class Plain:
    """A file read from its beginning, decompressed by the ending of its name."""

    def __init__(self, path: str, file: BinaryIO) -> None:
        self.path = path
        self._file = file
        compression = compression_of(path)
        self._stream: BinaryIO = pa.CompressedInputStream(file, compression) if compression else file

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, fewer only at the end; SourceError where the file is cut or broken."""
        parts: list[bytes] = []
        try:
            while size > 0 and (part := self._stream.read(min(size, BLOCK))):
                parts.append(part)
                size -= len(part)
        except (OSError, EOFError, pa.ArrowException) as error:
            raise SourceError(_broken(self.path, error)) from None
        return b"".join(parts)

    @property
    def consumed(self) -> int:
        """Bytes of the file on disk that are read."""
        return self._file.tell()


@contextmanager
def plain(path: str) -> Iterator[Plain]:
    try:
        file = Path(path).open("rb")  # noqa: SIM115  # closed below
    except OSError as error:
        raise SourceError(unreadable(path, error)) from None
    with file:
        yield Plain(path, file)


def read_plain(path: str) -> bytes:
    with plain(path) as stream:
        return stream.read(2**62)


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """A private file (0600) that has its name only once it is complete."""
    unfinished = path.with_name(path.name + ".tmp")
    try:
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            yield file
        unfinished.replace(path)
    except OSError as error:
        raise OutputError(f"{path.parent}: the plain copy of an input cannot be written: {error.strerror}") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _broken(path: str, error: Exception) -> str:
    if "runcated" in str(error) or isinstance(error, EOFError):
        return f"{path}: ends too early: the compressed file is cut; get it again whole"
    if isinstance(error, OSError) and error.errno:
        return unreadable(path, error)
    return f"{path}: is not a whole {compression_of(path) or 'plain'} file: {str(error).splitlines()[0]}"
