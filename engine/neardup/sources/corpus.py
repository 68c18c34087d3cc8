"""What a scan leaves behind: which inputs there are, how they are read, and the slices workers read on their own.

Small on purpose: a corpus of 10,000,000 rows is a few hundred slices. It never holds text.
"""

from __future__ import annotations

from typing import Literal, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup.errors import SettingsError

Format = Literal["auto", "lines", "blank-lines", "csv", "jsonl", "parquet", "files"]


class Reading(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the user wants the inputs read. `text_column` is a name, or a number counted from 1, or None: found."""

    format: Format = "auto"
    text_column: str | None = None

    def __post_init__(self) -> None:
        if self.format not in get_args(Format):
            raise SettingsError(f"the format is {self.format!r}: --format takes {', '.join(get_args(Format))}")


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """One input as it was scanned.

    `body` is the file whose bytes (rows, for Parquet; files, for a folder) the slices count: the input
    itself, or the plain copy in the spool of one that is compressed or in UTF-16 or -32. `header` is the byte
    range of `body` that begins every export of it: the byte order mark and the CSV header; (0, 0) where there is none.
    Documents that were named one by one are one input: `body` and `real` are the folder that holds all of them
    (`real` the document itself where it is one alone), `files` keep the order given.
    """

    path: str  # as the user gave it
    real: str  # its real path, by which the run directory knows it
    format: Format  # never auto
    body: str
    encoding: str = "utf-8"
    guessed: bool = False  # the encoding was neither declared nor valid UTF-8
    delimiter: str | None = None
    columns: tuple[str, ...] = ()
    text_column: str | None = None
    column: int | None = None  # the text column's position, from 0, where the format has positions
    header: tuple[int, int] = (0, 0)
    files: tuple[str, ...] = ()  # format files: paths below `body`; of a folder sorted by bytes
    rows: int = 0
    size: int = 0  # bytes on disk
    mtime_ns: int = 0
    checksum: str = ""  # MurmurHash3 x64 128 of all bytes of the body (files: of names and contents), taken in the scan


class Slice(msgspec.Struct, frozen=True):
    """Rows first_row … first_row + rows − 1 of the corpus: `start` to `stop` of one input's body, at record borders."""

    input: int
    start: int
    stop: int
    first_row: int
    rows: int


class Corpus(msgspec.Struct, frozen=True, kw_only=True):
    inputs: tuple[Input, ...]
    slices: tuple[Slice, ...]
    rows: int
    warnings: tuple[str, ...] = ()


class Records(msgspec.Struct, frozen=True):
    """Where the records of a slice lie in the body of its input: int64[rows] starts, int64[rows] lengths in bytes.

    A record's bytes include its line end (blank-lines: and the blank lines after it).
    Parquet: start is the row in the file, length 1. Files: start is the position in `Input.files`, length 1.
    """

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]


class Scanned(msgspec.Struct, frozen=True):
    """One input and its slices, rows counted from the input's own first; what must be told about it."""

    input: Input
    slices: tuple[Slice, ...]
    warnings: tuple[str, ...] = ()
