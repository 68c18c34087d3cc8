"""Reading a slice, or single rows, of a scanned corpus."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from neardup.errors import SourceError
from neardup.ragged import Texts
from neardup.sources.corpus import Corpus, Input, Records, Slice
from neardup.sources.csv import Csv
from neardup.sources.encodings import body_encoding
from neardup.sources.finding import unreadable
from neardup.sources.formats import Bytes, Ints, RecordFormat, runs, strings
from neardup.sources.jsonl import BrokenRecord, Jsonl
from neardup.sources.lines import Blocks, Lines

_KEPT_BORDERS = 8  # slices whose borders a screen goes back to
_GAP = 2**14  # bytes that are read to spare a call: as long as one takes
_BLOCK = 2**20


class Location(NamedTuple):
    """Where a row is: the input as it was given; of lines the number from 1, of files the path below the input."""

    input: str
    line: int | None
    record: str | None


class Reader(Protocol):
    """Of one input. Where the records of a slice are not given, they are found in the same pass over its bytes."""

    def records(self, slice: Slice) -> Records: ...

    def texts(self, slice: Slice, records: Records | None, picked: Ints | None) -> Texts: ...

    def cells(self, slice: Slice, records: Records | None, picked: Ints) -> list[tuple[str, ...]]: ...


def records_of(corpus: Corpus, slice: Slice) -> Records:
    """The borders of all records of a slice; SourceError where the input is not what was scanned."""
    return reader_of(corpus.inputs[slice.input]).records(slice)


def texts_of(
    corpus: Corpus, slice: Slice, records: Records | None = None, picked: NDArray[np.int64] | None = None
) -> Texts:
    """The texts of a slice, or of the positions `picked` in it, in that order; valid UTF-8.

    Without `records` the slice is read once and whole; with them no more than is picked.
    SourceError as in `records_of`, and where a record is broken.
    """
    return reader_of(corpus.inputs[slice.input]).texts(slice, records, picked)


def texts_at(corpus: Corpus, rows: Sequence[int]) -> list[str]:
    """The original texts of any rows, in the order asked for."""
    texts = [""] * len(rows)
    for slice, places in _by_slice(corpus, rows):
        picked = np.array([rows[place] - slice.first_row for place in places], np.int64)
        records = _borders(corpus, slice)
        for place, text in zip(places, strings(texts_of(corpus, slice, records, picked)), strict=True):
            texts[place] = text
    return texts


def locations_at(corpus: Corpus, rows: Sequence[int]) -> list[Location]:
    """Where any rows are, in the order asked for."""
    found = [Location("", None, None)] * len(rows)
    first_rows = np.concatenate([[0], np.cumsum([source.rows for source in corpus.inputs])])
    for slice, places in _by_slice(corpus, rows):
        source = corpus.inputs[slice.input]
        for place in places:
            number = rows[place] - int(first_rows[slice.input])
            line = number + 1 if source.format == "lines" else None
            record = source.files[number] if source.format == "files" else None
            found[place] = Location(source.path, line, record)
    return found


def original_columns(corpus: Corpus) -> tuple[str, ...]:
    """The columns of the inputs: the input's own where all have the same, else every name once, as they come."""
    columns = [columns_of(source) for source in corpus.inputs]
    if all(each == columns[0] for each in columns):
        return columns[0]
    return tuple(dict.fromkeys(name for each in columns for name in each))


def cells_of(
    corpus: Corpus, slice: Slice, records: Records | None, picked: NDArray[np.int64]
) -> list[tuple[str, ...]]:
    """What `original_columns` names, of the positions `picked` in a slice; empty where an input has no such column.

    Lines and blank-lines have one column `text`, files one column `path`. A JSON value that is no string is its JSON.
    """
    source = corpus.inputs[slice.input]
    rows = reader_of(source).cells(slice, records, picked)
    own, wanted = columns_of(source), original_columns(corpus)
    if own == wanted:
        return rows
    places = [own.index(name) if name in own else -1 for name in wanted]
    return [tuple(row[place] if place >= 0 else "" for place in places) for row in rows]


def columns_of(source: Input) -> tuple[str, ...]:
    if source.format == "files":
        return ("path",)
    return source.columns or ("text",)


def changed(source: Input) -> str:
    return f"{source.path}: has changed since it was read: start again"


def reader_of(source: Input) -> Reader:
    if source.format == "parquet":
        from neardup.sources.parquet import ParquetReader

        return ParquetReader(source)
    if source.format == "files":
        from neardup.sources.files import FilesReader

        return FilesReader(source)
    return ByteReader(source, format_of(source))


def format_of(source: Input) -> RecordFormat:
    """The record format of an input whose records are bytes."""
    encoding = body_encoding(source.encoding)
    if source.format == "csv":
        assert source.delimiter is not None
        return Csv(source.delimiter, encoding, source.column or 0, len(source.columns))
    if source.format == "jsonl":
        return Jsonl(source.text_column, encoding, source.columns)
    return Blocks(encoding) if source.format == "blank-lines" else Lines(encoding)


class ByteReader:
    """Reads with `pread`, not through a map: a file that was cut since is an error, not the end of the process."""

    def __init__(self, source: Input, form: RecordFormat) -> None:
        self.source = source
        self.form = form

    def records(self, slice: Slice) -> Records:
        _, starts, lengths = self.window(slice)
        return Records(starts + slice.start, lengths)

    def texts(self, slice: Slice, records: Records | None, picked: Ints | None) -> Texts:
        try:
            return self.form.texts(*self._taken(slice, records, picked))
        except BrokenRecord as error:
            number = error.record if picked is None else int(picked[error.record])
            before = int((records or self.records(slice)).starts[number])
            blocks = (self.bytes(first, min(first + _BLOCK, before)) for first in range(0, before, _BLOCK))
            line = 1 + sum(int(np.count_nonzero(block == 0x0A)) for block in blocks)
            raise SourceError(f"{self.source.path}:{line}: {error}") from None

    def cells(self, slice: Slice, records: Records | None, picked: Ints) -> list[tuple[str, ...]]:
        return self.form.cells(*self._taken(slice, records, picked))

    def window(self, slice: Slice) -> tuple[Bytes, Ints, Ints]:
        """The bytes of a slice, and where its records are in them: starts and lengths."""
        data = self.bytes(slice.start, slice.stop)
        borders = self.form.borders(data, True)
        if len(borders.starts) != slice.rows:
            raise SourceError(changed(self.source))
        return data, borders.starts, borders.lengths

    def bytes(self, start: int, stop: int) -> Bytes:
        return self._read(np.array([start]), np.array([stop - start]))

    def _read(self, starts: Ints, sizes: Ints) -> Bytes:
        """These ranges of the body, one behind the other."""
        data = np.empty(int(sizes.sum()), np.uint8)
        try:
            with Path(self.source.body).open("rb", buffering=0) as body:
                done = 0
                for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
                    stop = done + size
                    while done < stop:
                        read = os.preadv(body.fileno(), [data[done:stop].data], start + size - (stop - done))
                        if not read:
                            raise SourceError(changed(self.source))
                        done += read
        except OSError as error:
            raise SourceError(unreadable(self.source.path, error)) from None
        return data

    def _taken(self, slice: Slice, records: Records | None, picked: Ints | None) -> tuple[Bytes, Ints, Ints]:
        """Bytes, and the starts and lengths of the records asked for in them."""
        if records is None:
            data, starts, lengths = self.window(slice)
            return (data, starts, lengths) if picked is None else (data, starts[picked], lengths[picked])
        starts, lengths = records.starts, records.lengths
        if picked is not None:
            starts, lengths = starts[picked], lengths[picked]
        if not len(starts):
            return np.empty(0, np.uint8), starts, lengths
        # Records with little between them are read together.
        order = np.argsort(starts, kind="stable")
        begins, sizes, run = runs(starts[order], lengths[order], _GAP)
        data = self._read(begins, sizes)
        local = np.empty(len(starts), np.int64)
        local[order] = starts[order] - (begins - (np.cumsum(sizes) - sizes))[run]
        return data, local, lengths


def _by_slice(corpus: Corpus, rows: Sequence[int]) -> list[tuple[Slice, list[int]]]:
    """The slices that hold the rows, with the places of their rows in `rows`; IndexError for a row there is not."""
    firsts = [slice.first_row for slice in corpus.slices]
    places: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        if not 0 <= row < corpus.rows:
            raise IndexError(f"row {row} of {corpus.rows}")
        places.setdefault(bisect_right(firsts, row) - 1, []).append(place)
    return [(corpus.slices[number], where) for number, where in places.items()]


def _borders(corpus: Corpus, slice: Slice) -> Records:
    """Kept for the slices last looked at, by body and time: to hash an input is to hash the names of all its files."""
    source = corpus.inputs[slice.input]
    return _borders_kept(_Asked(corpus, slice, (source.body, source.format, source.mtime_ns, source.size, slice)))


class _Asked:
    """A slice of a corpus that is equal to another by its key alone."""

    __slots__ = ("corpus", "key", "slice")

    def __init__(self, corpus: Corpus, slice: Slice, key: tuple[object, ...]) -> None:
        self.corpus, self.slice, self.key = corpus, slice, key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=_KEPT_BORDERS)
def _borders_kept(asked: _Asked) -> Records:
    return records_of(asked.corpus, asked.slice)
