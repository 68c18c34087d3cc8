"""Kept records, written as the bytes they were read from."""

from __future__ import annotations

import re
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from neardup.errors import SettingsError, SourceError
from neardup.pulse import Pulse, unwatched
from neardup.sources import encodings, parquet
from neardup.sources.corpus import Corpus, Format, Input, Slice
from neardup.sources.files import given_path
from neardup.sources.formats import Bytes, Ints, gathered, runs
from neardup.sources.reading import ByteReader, format_of

_LINE_END = re.compile(rb"\r\n|\n|\r")


def write_records(corpus: Corpus, kept: NDArray[np.bool_], target: BinaryIO, *, pulse: Pulse = unwatched) -> None:
    """Write the records of the kept rows (bool[rows]) in row order; `pulse` counts rows.

    Lines, blank-lines, CSV, JSONL: their own bytes, in the input's encoding, byte order mark and header of the first
    input once; a last record without a line end gets one when another record follows it.
    Parquet: a Parquet file with the same schema. Files: their paths, one a line.
    SettingsError where the inputs cannot be one output.
    """
    refuse_unlike(corpus)
    form = corpus.inputs[0].format
    if form == "parquet":
        _write_parquet(corpus, kept, target, pulse)
    elif form == "files":
        _write_paths(corpus, kept, target, pulse)
    else:
        _write_bytes(corpus, kept, target, pulse)


def refuse_unlike(corpus: Corpus) -> None:
    """SettingsError, naming both, where two inputs differ in format, header or encoding; known before a run begins."""
    first = corpus.inputs[0]
    for other in corpus.inputs[1:]:
        if other.format != first.format:
            what = f"{first.format} and {other.format}"
        elif first.format == "files":
            continue
        elif other.encoding != first.encoding:
            what = f"{first.encoding} and {other.encoding}"
        elif first.format == "csv" and (other.columns, other.delimiter) != (first.columns, first.delimiter):
            what = "two different headers"
        elif first.format == "parquet" and not _same_schema(first, other):
            what = "two different schemas"
        else:
            continue
        raise SettingsError(
            f"{first.path} and {other.path} are {what}, which cannot be one output: run them apart"
        )


def _same_schema(first: Input, other: Input) -> bool:
    same: bool = parquet.opened(first).schema_arrow.equals(parquet.opened(other).schema_arrow)
    return same


def _kept_of(kept: NDArray[np.bool_], slice: Slice) -> NDArray[np.bool_]:
    return kept[slice.first_row : slice.first_row + slice.rows]


def _write_bytes(corpus: Corpus, kept: NDArray[np.bool_], target: BinaryIO, pulse: Pulse) -> None:
    first = corpus.inputs[0]
    copied = not encodings.keeps_ascii(first.encoding)

    def put(data: bytes | memoryview) -> None:
        target.write(_encoded(bytes(data), first.encoding) if copied else data)

    put(_reader(first).bytes(*first.header).data)
    last, last_input = b"", 0
    for slice in corpus.slices:
        chosen = np.flatnonzero(_kept_of(kept, slice))
        if len(chosen):
            data, starts, lengths = _reader(corpus.inputs[slice.input]).window(slice)
            if last and slice.input != last_input:
                put(_missing(last, first.format, _line_end(corpus)))
            put(_together(data, starts[chosen], lengths[chosen]).data)
            start = int(starts[chosen[-1]])
            last, last_input = data[start : start + int(lengths[chosen[-1]])].tobytes(), slice.input
        pulse(slice.rows)


def _together(data: Bytes, starts: Ints, lengths: Ints) -> Bytes:
    """The records, one behind the other; a view where they lie so."""
    begins, sizes, _ = runs(starts, lengths)
    return data[begins[0] : begins[0] + sizes[0]] if len(begins) == 1 else gathered(data, begins, sizes).data


def _reader(source: Input) -> ByteReader:
    return ByteReader(source, format_of(source))


def _missing(written: bytes, form: Format, end: bytes) -> bytes:
    """What must stand between a record that ends so and a next one: a line end, and between blocks a blank line."""
    ended = written.endswith((b"\n", b"\r"))
    if form != "blank-lines":
        return b"" if ended else end
    tail = written[len(written.rstrip()) :].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return end * max(2 - tail.count(b"\n"), 0 if ended else 1)


def _line_end(corpus: Corpus) -> bytes:
    """How the first input ends its lines: as its header or its first record does."""
    source, slice = corpus.inputs[0], corpus.slices[0]
    line = _reader(source).bytes(*source.header).tobytes()
    if source.format != "csv":
        data, starts, lengths = _reader(source).window(slice)
        line = data[starts[0] : starts[0] + lengths[0]].tobytes()
    found = _LINE_END.search(line if source.format == "blank-lines" else line[-2:])
    return found[0] if found else b"\n"


def _encoded(body: bytes, encoding: str) -> bytes:
    """Back from the copy in the spool; halves of surrogate pairs are halves in it too."""
    return body.decode("utf-8", "surrogatepass").encode(encoding, "surrogatepass")


def _write_paths(corpus: Corpus, kept: NDArray[np.bool_], target: BinaryIO, pulse: Pulse) -> None:
    for slice in corpus.slices:
        source = corpus.inputs[slice.input]
        for number in (slice.start + np.flatnonzero(_kept_of(kept, slice))).tolist():
            target.write(given_path(source, number).encode("utf-8", "surrogateescape") + b"\n")
        pulse(slice.rows)


def _write_parquet(corpus: Corpus, kept: NDArray[np.bool_], target: BinaryIO, pulse: Pulse) -> None:
    first = parquet.opened(corpus.inputs[0])
    with pq.ParquetWriter(target, first.schema_arrow, compression=_compression(first)) as writer:
        row = 0
        for source in corpus.inputs:
            file = parquet.opened(source)
            for group in range(file.num_row_groups):
                try:
                    table = file.read_row_group(group)
                except (OSError, pa.ArrowException) as error:
                    raise SourceError(f"{source.path}: cannot be read: {str(error).splitlines()[0]}") from None
                chosen = table.filter(pa.array(kept[row : row + table.num_rows]))
                if chosen.num_rows:
                    writer.write_table(chosen.cast(first.schema_arrow))
                row += table.num_rows
                pulse(table.num_rows)


def _compression(file: pq.ParquetFile) -> str:
    if not file.num_row_groups or not file.metadata.num_columns:
        return "snappy"
    name: str = file.metadata.row_group(0).column(0).compression
    return "none" if name == "UNCOMPRESSED" else name.lower()
