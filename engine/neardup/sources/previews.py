"""A look at the first rows of an input, so that somebody can choose the column that holds the text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from neardup.sources import encodings
from neardup.sources.compression import plain, read_plain
from neardup.sources.corpus import Format, Reading
from neardup.sources.csv import Csv, header_of, sniffed
from neardup.sources.files import decoded
from neardup.sources.finding import Found, delimiter_of, find
from neardup.sources.formats import Bytes, RecordFormat
from neardup.sources.jsonl import Jsonl, Seen
from neardup.sources.lines import Blocks, Lines
from neardup.sources.parquet import first_rows

_HEAD = 2**20  # bytes looked at; more where not even one record is complete in them


class ColumnPreview(msgspec.Struct, frozen=True):
    """Of the rows looked at: how many have something in the column, how many different values there are."""

    name: str
    filled: int
    distinct: int
    mean_chars: float  # code points of the filled ones
    first: str  # the first that is filled


class Preview(msgspec.Struct, frozen=True):
    """`path` is the input looked at: the first of those that were given, or that a folder holds."""

    path: str
    format: Format
    encoding: str
    guessed: bool
    delimiter: str | None
    rows: int
    columns: tuple[ColumnPreview, ...]


def preview(paths: Sequence[str | Path], reading: Reading, rows: int = 200) -> Preview:
    """Look at the first `rows` rows of the first input; needs no text column. SourceError as in `scan`."""
    found = find(paths, reading)[0][0]
    if found.format == "files":
        return _of_files(found, rows)
    if found.format == "parquet":
        return _of_parquet(found, rows)
    size = _HEAD
    while True:
        data, whole = _head(found.base, size)
        seen = _of_head(found, data, whole, rows)
        if seen.rows or whole:
            return seen
        size *= 4


def _head(path: str, size: int) -> tuple[bytes, bool]:
    """The first bytes, decompressed, and whether they are all."""
    with plain(path) as stream:
        data = stream.read(size)
        return data, not stream.read(1)


def _of_head(found: Found, data: bytes, whole: bool, rows: int) -> Preview:
    encoding, mark = encodings.mark_of(data)
    guessed = False
    if encoding is None:
        odd = encodings.first_not_utf8(data)
        guessed = odd < len(data) - (0 if whole else 3)  # the end of the head may cut a character
        encoding = encodings.guess(data[max(0, odd - 1024) :][: encodings.SAMPLE]) if guessed else "utf-8"
    if not encodings.keeps_ascii(encoding):
        data, mark = data[mark:].decode(encoding, "replace").encode(), 0
    body = np.frombuffer(data, np.uint8)[mark:]
    form, names, first = _read_as(found, body, whole, encodings.body_encoding(encoding))
    borders = form.borders(body, whole)
    shown = slice(first, first + rows)
    cells = form.cells(body, borders.starts[shown], borders.lengths[shown])
    delimiter = form.delimiter if isinstance(form, Csv) else None
    return Preview(found.path, found.format, encoding, guessed, delimiter, len(cells), _columns(names, cells))


def _read_as(found: Found, body: Bytes, whole: bool, encoding: str) -> tuple[RecordFormat, Sequence[str], int]:
    """The format, the names of its columns, and how many records the header is."""
    if found.format == "csv":
        delimiter = delimiter_of(found.path) or sniffed(body, final=whole)
        names = header_of(body, whole, delimiter, encoding).columns
        return Csv(delimiter, encoding, columns=len(names)), names, 1
    if found.format == "jsonl":
        form, seen = Jsonl(None, encoding), Seen()
        borders = form.borders(body, whole)
        form.inspect(body, borders.starts, borders.lengths, seen, valid=encodings.is_utf8(body.data))
        names = tuple(seen.names)
        return Jsonl(None, encoding, names), names, 0
    return (Blocks(encoding) if found.format == "blank-lines" else Lines(encoding)), ("text",), 0


def _of_files(found: Found, rows: int) -> Preview:
    encodings_seen: dict[str, bool] = {}
    cells = []
    for name in found.files[:rows]:
        document = decoded(read_plain(os.path.join(found.base, name)), name)
        encodings_seen[document.encoding] = encodings_seen.get(document.encoding, False) or document.guessed
        cells.append((document.text.decode(),))
    encoding = next(iter(encodings_seen)) if len(encodings_seen) == 1 else "mixed"
    guessed = any(encodings_seen.values())
    return Preview(found.path, "files", encoding, guessed, None, len(cells), _columns(("text",), cells))


def _of_parquet(found: Found, rows: int) -> Preview:
    names, cells = first_rows(found.path, found.base, rows)
    return Preview(found.path, "parquet", "utf-8", False, None, len(cells), _columns(names, cells))


def _columns(names: Sequence[str], cells: Sequence[Sequence[str]]) -> tuple[ColumnPreview, ...]:
    previews = []
    for place, name in enumerate(names):
        filled = [row[place] for row in cells if row[place].strip()]
        mean = sum(map(len, filled)) / len(filled) if filled else 0.0
        previews.append(ColumnPreview(name, len(filled), len({*filled}), mean, filled[0] if filled else ""))
    return tuple(previews)
