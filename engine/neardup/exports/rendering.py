"""Arrow batches as CSV, JSON lines or Parquet, by the ending of a name; compressed where it ends in .gz or .zst.

The same batches give the same bytes: `\\n` line ends, `true` and `false`, six decimals, nothing of the clock.
A batch becomes text as one Arrow buffer, not row by row: 419,158 pairs take 0.35 s.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.exports.names import Form, compression_of
from neardup.exports.wholefile import BLOCK, WholeFile

_TEXT = pa.large_string()


@contextmanager
def compressed(file: WholeFile) -> Iterator[BinaryIO]:
    """A stream into `file`, through gzip or Zstandard as its name says; no time and no name go into the header."""
    below = io.BufferedWriter(file, BLOCK)  # hands the file blocks, however small the writes
    stream: BinaryIO
    if (compression := compression_of(file.path)) == "gz":
        stream = cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=below, mtime=0))
    elif compression == "zst":
        stream = pa.CompressedOutputStream(below, "zstd")
    else:
        stream = below
    yield stream
    stream.close()
    below.close()


def write_table(schema: pa.Schema, batches: Iterable[pa.RecordBatch], form: Form, target: BinaryIO) -> int:
    """Write the batches and count their rows."""
    rows = 0
    if form == "parquet":
        with pq.ParquetWriter(target, schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch)
                rows += batch.num_rows
        return rows
    if form == "csv":
        target.write((",".join(_quoted_name(name) for name in schema.names) + "\n").encode())
    for batch in batches:
        if batch.num_rows:
            target.write(_csv(batch) if form == "csv" else _jsonl(batch))
            rows += batch.num_rows
    return rows


def _joined(parts: list[pa.Array | str]) -> memoryview:
    """The bytes of all rows, one after the other: an array gives each row its own text, a str all the same."""
    scalars = [pa.scalar(part, _TEXT) if isinstance(part, str) else part for part in parts]
    lines = pc.binary_join_element_wise(*scalars, pa.scalar("", _TEXT))
    return memoryview(lines.buffers()[2])


def _csv(batch: pa.RecordBatch) -> memoryview:
    parts: list[pa.Array | str] = []
    for column in batch.columns:
        text = _quoted(column) if pa.types.is_large_string(column.type) else _text(column)
        parts += [pc.fill_null(text, ""), ","]
    return _joined([*parts[:-1], "\n"])


def _jsonl(batch: pa.RecordBatch) -> memoryview:
    parts: list[pa.Array | str] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        text = _json_text(column) if pa.types.is_large_string(column.type) else _text(column)
        parts += [("," if parts else "{") + msgspec.json.encode(name).decode() + ":", pc.fill_null(text, "null")]
    return _joined([*parts, "}\n"])


def _text(column: pa.Array) -> pa.Array:
    if pa.types.is_floating(column.type):
        return _six_decimals(column)
    return column.cast(_TEXT)


def _six_decimals(column: pa.Array) -> pa.Array:
    """Python's own '%.6f', once a distinct value: a Jaccard is a fraction of small numbers, so there are few."""
    values, where = np.unique(column.to_numpy(zero_copy_only=False), return_inverse=True)
    texts = pa.array([None if value != value else f"{value:.6f}" for value in values.tolist()], _TEXT)
    return texts.take(pa.array(where))


def _quoted(column: pa.Array) -> pa.Array:
    """Fields as Python's csv module quotes them: only those with a comma, a quote or a line break."""
    quoted = pc.binary_join_element_wise(
        pa.scalar('"', _TEXT), pc.replace_substring(column, '"', '""'), pa.scalar('"', _TEXT), pa.scalar("", _TEXT)
    )
    return pc.if_else(pc.match_substring_regex(column, '[",\r\n]'), quoted, column)


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if set('",\r\n') & set(name) else name


def _json_text(column: pa.Array) -> pa.Array:
    encoded = [None if cell is None else msgspec.json.encode(cell).decode() for cell in column.to_pylist()]
    return pa.array(encoded, _TEXT)
