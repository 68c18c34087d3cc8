"""A folder or a list of text, Markdown and HTML files: each file is one document."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import mmh3
import numpy as np

from neardup.errors import ColumnError
from neardup.pulse import Pulse
from neardup.ragged import Texts
from neardup.sources import encodings
from neardup.sources.compression import read_plain
from neardup.sources.corpus import Input, Reading, Records, Scanned, Slice
from neardup.sources.finding import Found, ending_of
from neardup.sources.formats import Ints, joined

_NAMED = 3


class Decoded(NamedTuple):
    text: bytes  # UTF-8
    encoding: str
    guessed: bool
    replaced: int


def decoded(data: bytes, name: str) -> Decoded:
    is_html = ending_of(name) in (".html", ".htm")
    encoding, mark = encodings.mark_of(data)
    guessed = False
    if encoding is None and is_html:
        encoding = encodings.declared_in_html(data)
    if encoding is None:
        guessed = not encodings.is_utf8(data)
        encoding = encodings.guess(_around_the_first_odd_byte(data)) if guessed else "utf-8"
    text, replaced = encodings.to_utf8(data[mark:], encoding)
    if is_html:
        from neardup.sources.html import text_of

        text = encodings.string_to_utf8(text_of(text.decode()))[0]
    return Decoded(text, encoding, guessed, replaced)


def _around_the_first_odd_byte(data: bytes) -> bytes:
    start = max(0, encodings.first_not_utf8(data) - encodings.SAMPLE // 4)
    return data[start : start + encodings.SAMPLE]


def scanned(position: int, found: Found, reading: Reading, slice_bytes: int, pulse: Pulse) -> Scanned:
    """Every file is read once: for the checksum, for its encoding, and to see that it can be."""
    if reading.text_column is not None:
        raise ColumnError(f"{found.path}: files have no column {reading.text_column!r}: leave --text-column out", ())
    checksum = mmh3.mmh3_x64_128()
    slices: list[Slice] = []
    told = _Told()
    first, filled, size, newest = 0, 0, 0, 0
    for number, name in enumerate(found.files):
        path = os.path.join(found.base, name)
        data = read_plain(path)
        status = Path(path).stat()
        size += status.st_size
        newest = max(newest, status.st_mtime_ns)
        checksum.update(f"{name}\0{len(data)}\0".encode())
        checksum.update(data)
        told.add(name, decoded(data, name))
        filled += len(data)
        if filled >= slice_bytes or number + 1 == len(found.files):
            slices.append(
                Slice(input=position, start=first, stop=number + 1, first_row=first, rows=number + 1 - first)
            )
            first, filled = number + 1, 0
        pulse(status.st_size)
    base = os.path.realpath(found.base)
    about = Input(
        path=found.path,
        real=os.path.realpath(found.path) if found.single else base,
        format="files",
        body=base,
        encoding=told.encoding,
        guessed=bool(told.guesses),
        files=found.files,
        rows=len(found.files),
        size=size,
        mtime_ns=newest,
        checksum=checksum.digest().hex(),
    )
    return Scanned(about, tuple(slices), tuple(told.warnings(found.path)))


class _Told:
    """Which encodings there were, and what must be told about them."""

    def __init__(self) -> None:
        self.encodings: set[str] = set()
        self.guesses: dict[str, list[str]] = {}
        self.replaced = 0
        self.in_files: list[str] = []

    def add(self, name: str, document: Decoded) -> None:
        self.encodings.add(document.encoding)
        if document.guessed:
            self.guesses.setdefault(document.encoding, []).append(name)
        if document.replaced:
            self.replaced += document.replaced
            self.in_files.append(name)

    @property
    def encoding(self) -> str:
        return next(iter(self.encodings)) if len(self.encodings) == 1 else "mixed"

    def warnings(self, path: str) -> list[str]:
        warnings = [
            f"{path}: {_named(names)} not UTF-8 and without a declared encoding: read as {encoding}, a guess"
            for encoding, names in sorted(self.guesses.items())
        ]
        if self.replaced:
            what = encodings.read_as_replaced(self.replaced, "text")
            warnings.append(f"{path}: {_named(self.in_files)} with {what}")
        return warnings


def _named(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    return f"{len(names):,} {'file' if len(names) == 1 else 'files'} ({shown})"


def given_path(source: Input, number: int) -> str:
    """A document's path as the user would write it: below the folder as it was given."""
    if source.real != source.body:
        return source.path  # a document that was named itself
    return source.files[number] if source.path == "." else os.path.join(source.path, source.files[number])


class FilesReader:
    def __init__(self, source: Input) -> None:
        self.source = source

    def records(self, slice: Slice) -> Records:
        return Records(np.arange(slice.start, slice.stop, dtype=np.int64), np.ones(slice.rows, np.int64))

    def texts(self, slice: Slice, records: Records | None, picked: Ints | None) -> Texts:
        records = records or self.records(slice)
        chosen = records.starts if picked is None else records.starts[picked]
        names = [self.source.files[number] for number in chosen.tolist()]
        return joined([decoded(read_plain(os.path.join(self.source.body, name)), name).text for name in names])

    def cells(self, slice: Slice, records: Records | None, picked: Ints) -> list[tuple[str, ...]]:
        records = records or self.records(slice)
        return [(given_path(self.source, number),) for number in records.starts[picked].tolist()]
