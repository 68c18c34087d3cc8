"""Parquet: slices are row ranges inside row groups, texts stay in Arrow's buffers."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import mmh3
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.errors import ColumnError, SourceError
from neardup.pulse import Pulse
from neardup.ragged import Texts
from neardup.sources.columns import text_column
from neardup.sources.compression import read_plain
from neardup.sources.corpus import Input, Reading, Records, Scanned, Slice
from neardup.sources.finding import compression_of, unreadable
from neardup.sources.formats import Ints, recoded

_HASHED = 8 * 2**20  # bytes between two pulses


def opened(about: Input) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(about.body)
    except (OSError, pa.ArrowException) as error:
        raise SourceError(not_parquet(about.path, error)) from None


def not_parquet(path: str, error: Exception) -> str:
    if isinstance(error, OSError) and error.errno:
        return unreadable(path, error)
    return f"{path}: is not a whole Parquet file: {str(error).splitlines()[0]}"


def scanned(position: int, about: Input, reading: Reading, slice_bytes: int, pulse: Pulse) -> Scanned:
    file = opened(about)
    schema = file.schema_arrow
    columns = tuple(schema.names)
    column = text_column(columns, reading.text_column, about.path)
    if not _is_text(schema.field(column).type):
        raise ColumnError(
            f"{about.path}: column {columns[column]!r} is {schema.field(column).type}, not a text: "
            "choose one with --text-column",
            columns,
        )
    slices: list[Slice] = []
    row = 0
    for group in range(file.num_row_groups):
        metadata = file.metadata.row_group(group)
        # Even cuts: a row group is decoded whole, so a small last slice would cost as much as a large one.
        parts = min(max(1, -(-metadata.total_byte_size // slice_bytes)), max(1, metadata.num_rows))
        cuts = [row + metadata.num_rows * part // parts for part in range(parts + 1)]
        slices += (
            Slice(input=position, start=start, stop=stop, first_row=start, rows=stop - start)
            for start, stop in pairwise(cuts)
            if stop > start
        )
        row += metadata.num_rows
    done = msgspec.structs.replace(
        about,
        columns=columns,
        text_column=columns[column],
        column=column,
        rows=row,
        checksum=_checksum(about, pulse),
    )
    return Scanned(done, tuple(slices))


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return not (pa.types.is_nested(kind) or pa.types.is_fixed_size_binary(kind))


def _checksum(about: Input, pulse: Pulse) -> str:
    checksum = mmh3.mmh3_x64_128()
    with Path(about.body).open("rb") as file:
        while block := file.read(_HASHED):
            checksum.update(block)
            pulse(len(block))
    return checksum.digest().hex()


class ParquetReader:
    def __init__(self, source: Input) -> None:
        self.source = source

    def records(self, slice: Slice) -> Records:
        return Records(np.arange(slice.start, slice.stop, dtype=np.int64), np.ones(slice.rows, np.int64))

    def texts(self, slice: Slice, records: Records | None, picked: Ints | None) -> Texts:
        records = records or self.records(slice)
        column = self.source.column
        assert column is not None
        rows = records.starts if picked is None else records.starts[picked]
        values = self._values(records, rows, column)
        if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
            texts = values.cast(pa.large_binary()).fill_null(b"")
        else:
            texts = as_strings(values)
        return recoded(_texts(texts), "utf-8")

    def cells(self, slice: Slice, records: Records | None, picked: Ints) -> list[tuple[str, ...]]:
        records = records or self.records(slice)
        rows = records.starts[picked]
        columns = [
            [_cell(value) for value in self._values(records, rows, column).to_pylist()]
            for column in range(len(self.source.columns))
        ]
        return list(zip(*columns, strict=True))

    def _values(self, records: Records, rows: Ints, column: int) -> pa.Array:
        if not len(rows):
            return pa.array([], pa.string())
        values, first = _group_column(self.source, int(records.starts[0]), column)
        if len(rows) == len(records.starts) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
            return values.slice(int(rows[0]) - first, len(rows))
        return values.take(pa.array(rows - first))


def as_strings(values: pa.Array) -> pa.Array:
    """As text: null is empty, a number or a date what Arrow writes for it."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_null(values.type):
        return pa.array([""] * len(values), pa.large_string())
    return pc.fill_null(values.cast(pa.large_string()), "")


def _group_column(source: Input, row: int, column: int) -> tuple[pa.Array, int]:
    return _decoded(source.body, source.mtime_ns, source.path, source.columns, row, column)


@lru_cache(maxsize=1)
def _located(body: str, mtime_ns: int, path: str) -> tuple[pq.ParquetFile, Ints]:
    file = opened(Input(path=path, real=path, format="parquet", body=body))
    sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    return file, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


# Slices of one row group come one after the other, and Arrow decodes a group's column whole.
@lru_cache(maxsize=1)
def _decoded(
    body: str, mtime_ns: int, path: str, columns: tuple[str, ...], row: int, column: int
) -> tuple[pa.Array, int]:
    file, firsts = _located(body, mtime_ns, path)
    group = int(np.searchsorted(firsts, row, "right")) - 1
    try:
        table = file.read_row_group(group, columns=[columns[column]])
    except (OSError, pa.ArrowException, IndexError) as error:
        raise SourceError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from None
    values = table.column(columns[:column].count(columns[column]))  # a name may be there twice
    return pa.concat_arrays(values.chunks) if values.num_chunks != 1 else values.chunk(0), int(firsts[group])


def _texts(values: pa.Array) -> Texts:
    """The buffers of a large string or binary array without nulls, as they are."""
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    bytes_ = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return Texts(bytes_[ends[0] : ends[-1]], ends - ends[0])


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else str(value)


def first_rows(path: str, base: str, rows: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The columns and the first rows, as cells; of a compressed file, after decompressing it in memory."""
    try:
        file = pq.ParquetFile(pa.BufferReader(read_plain(base)) if compression_of(base) else base)
        batch = next(file.iter_batches(batch_size=rows), None)
    except (OSError, pa.ArrowException) as error:
        raise SourceError(not_parquet(path, error)) from None
    names = tuple(file.schema_arrow.names)
    columns = [[_cell(value) for value in column.to_pylist()] for column in (batch.columns if batch else [])]
    return names, list(zip(*columns, strict=True))
