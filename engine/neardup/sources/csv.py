"""CSV, read as Python's csv module reads it: a quote opens only at a cell's start, and "" in quotes is one quote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neardup.kernels.records import csv_cells, csv_records
from neardup.ragged import Texts
from neardup.sources.formats import Borders, Bytes, Ints, borders_by, recoded, strings

_DELIMITERS = ",;\t|"
_SAMPLED = 1_000  # records that the choice of the delimiter looks at
_SAMPLE = 2**20  # bytes


@dataclass(frozen=True, slots=True)
class Csv:
    """`column` and `columns` are positions from 0 and how many there are."""

    delimiter: str
    encoding: str
    column: int = 0
    columns: int = 1

    def borders(self, data: Bytes, final: bool) -> Borders:
        mark = np.uint8(ord(self.delimiter))
        return borders_by(lambda window, *rest: csv_records(window, mark, *rest), data, final, columns=3)

    def texts(self, data: Bytes, starts: Ints, lengths: Ints) -> Texts:
        return self.column_of(data, starts, lengths, self.column)

    def column_of(self, data: Bytes, starts: Ints, lengths: Ints, column: int) -> Texts:
        out = np.empty(int(lengths.sum()), np.uint8)
        offsets = np.empty(len(starts) + 1, np.int64)
        csv_cells(data, starts, lengths, np.uint8(ord(self.delimiter)), column, out, offsets)
        return recoded(Texts(out[: offsets[-1]], offsets), self.encoding)

    def cells(self, data: Bytes, starts: Ints, lengths: Ints) -> list[tuple[str, ...]]:
        columns = (strings(self.column_of(data, starts, lengths, column)) for column in range(self.columns))
        return list(zip(*columns, strict=True))


def sniffed(data: Bytes, final: bool) -> str:
    """Of `, ; TAB |` the one that gives the header and most of the sampled records the same number ≥ 2 of cells.

    Where several do, the one that does so for the most records, ties in the order above; where none does, the comma.
    `data` begins behind the byte order mark; `final`: it is the whole file.
    """
    best, most = ",", -1
    for delimiter in _DELIMITERS:
        fields = Csv(delimiter, "utf-8").borders(data[:_SAMPLE], final and len(data) <= _SAMPLE).fields
        assert fields is not None
        header, sample = fields[:1], fields[1 : 1 + _SAMPLED]
        alike = int((sample == header).sum())
        if len(header) and header[0] >= 2 and 2 * alike >= len(sample) and alike > most:
            best, most = delimiter, alike
    return best


class Header(NamedTuple):
    columns: tuple[str, ...]
    end: int  # bytes, blank lines before it included


def header_of(data: Bytes, final: bool, delimiter: str, encoding: str) -> Header:
    """The first record; without columns where the window holds none."""
    borders = Csv(delimiter, encoding).borders(data, final)
    assert borders.fields is not None
    if not len(borders.starts):
        return Header((), 0)
    header = Csv(delimiter, encoding, columns=int(borders.fields[0]))
    end = int(borders.starts[0] + borders.lengths[0])
    return Header(header.cells(data, borders.starts[:1], borders.lengths[:1])[0], end)


def ragged_warning(path: str, rows: Sequence[int], total: int) -> str:
    """`rows` are the first of them, as people count: from 1, below the header."""
    named = ", ".join(f"{row:,}" for row in rows) + (", …" if total > len(rows) else "")
    records = "record has" if total == 1 else "records have"
    return (
        f"{path}: {total:,} {records} more or fewer cells than the header ({named} below it): "
        "missing ones are read as empty, extra ones left out"
    )
