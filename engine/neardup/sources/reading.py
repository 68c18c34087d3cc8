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
from neardup.sources.formats import Bytes, Ints, RecordFormat, strings
from neardup.sources.jsonl import BrokenRecord, Jsonl
from neardup.sources.lines import Blocks, Lines

_KEPT_BORDERS = 8  # slices whose borders a screen goes back to


class Location(NamedTuple):
    """Where a row is: the input as it was given; of lines the number from 1, of files the path below the input."""

    input: str
    line: int | None
    record: str | None


class Reader(Protocol):
    def records(self, start: int, stop: int) -> Records: ...

    def texts(self, records: Records, picked: Ints | None) -> Texts: ...

    def cells(self, records: Records, picked: Ints) -> list[tuple[str, ...]]: ...


def records_of(corpus: Corpus, slice: Slice) -> Records:
    """The borders of all records of a slice; SourceError where the input is not what was scanned."""
    source = corpus.inputs[slice.input]
    records = reader_of(source).records(slice.start, slice.stop)
    if len(records.starts) != slice.rows:
        raise SourceError(changed(source))
    return records


def texts_of(
    corpus: Corpus, slice: Slice, records: Records | None = None, picked: NDArray[np.int64] | None = None
) -> Texts:
    """The texts of a slice, or of the positions `picked` in it, in that order; valid UTF-8."""
    source = corpus.inputs[slice.input]
    if records is None:
        records = records_of(corpus, slice)
    return reader_of(source).texts(records, picked)


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
    rows = reader_of(source).cells(records or records_of(corpus, slice), picked)
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

    def records(self, start: int, stop: int) -> Records:
        borders = self.form.borders(self.bytes(start, stop), True)
        return Records(borders.starts + start, borders.lengths)

    def texts(self, records: Records, picked: Ints | None) -> Texts:
        try:
            return self.form.texts(*self._taken(records, picked))
        except BrokenRecord as error:
            number = error.record if picked is None else int(picked[error.record])
            before = self.bytes(0, int(records.starts[number]))
            line = int(np.count_nonzero(before == 0x0A)) + 1
            raise SourceError(f"{self.source.path}:{line}: {error}") from None

    def cells(self, records: Records, picked: Ints) -> list[tuple[str, ...]]:
        return self.form.cells(*self._taken(records, picked))

    def bytes(self, start: int, stop: int) -> Bytes:
        try:
            with Path(self.source.body).open("rb", buffering=0) as body:
                data = bytearray(stop - start)
                view, done = memoryview(data), 0
                while done < len(data) and (read := os.preadv(body.fileno(), [view[done:]], start + done)):
                    done += read
        except OSError as error:
            raise SourceError(unreadable(self.source.path, error)) from None
        if done < len(data):
            raise SourceError(changed(self.source))
        return np.frombuffer(data, np.uint8)

    def _taken(self, records: Records, picked: Ints | None) -> tuple[Bytes, Ints, Ints]:
        """Bytes, and the starts and lengths of the records in them: the whole slice, or only the records picked."""
        starts, lengths = records.starts, records.lengths
        if not len(starts) or (picked is not None and not len(picked)):
            return np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64)
        if picked is None or len(picked) > len(starts) // 2:
            first = int(starts[0])
            data = self.bytes(first, int(starts[-1] + lengths[-1]))
            chosen = slice(None) if picked is None else picked
            return data, starts[chosen] - first, lengths[chosen]
        sizes = lengths[picked]
        ranges = zip(starts[picked].tolist(), sizes.tolist(), strict=True)
        data = np.concatenate([self.bytes(start, start + size) for start, size in ranges])
        return data, np.cumsum(sizes) - sizes, sizes


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
