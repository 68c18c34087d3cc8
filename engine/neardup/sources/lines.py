"""One document a line, and documents parted by blank lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.kernels.records import block_records, block_texts, line_records
from neardup.ragged import Texts
from neardup.sources.formats import Borders, Bytes, Ints, borders_by, gathered, recoded, strings

_LF, _CR = 0x0A, 0x0D


@dataclass(frozen=True, slots=True)
class Lines:
    encoding: str

    def borders(self, data: Bytes, final: bool) -> Borders:
        return borders_by(line_records, data, final)

    def texts(self, data: Bytes, starts: Ints, lengths: Ints) -> Texts:
        return recoded(gathered(data, starts, lengths - ends_of(data, starts, lengths)), self.encoding)

    def cells(self, data: Bytes, starts: Ints, lengths: Ints) -> list[tuple[str, ...]]:
        return [(text,) for text in strings(self.texts(data, starts, lengths))]


@dataclass(frozen=True, slots=True)
class Blocks:
    encoding: str

    def borders(self, data: Bytes, final: bool) -> Borders:
        return borders_by(block_records, data, final)

    def texts(self, data: Bytes, starts: Ints, lengths: Ints) -> Texts:
        sizes = np.empty(len(starts), np.int64)
        block_texts(data, starts, lengths, sizes)
        return recoded(gathered(data, starts, sizes), self.encoding)

    def cells(self, data: Bytes, starts: Ints, lengths: Ints) -> list[tuple[str, ...]]:
        return [(text,) for text in strings(self.texts(data, starts, lengths))]


def ends_of(data: Bytes, starts: Ints, lengths: Ints) -> Ints:
    r"""How many bytes of each record are its line end: 0, 1 or 2."""
    last = starts + lengths - 1  # no record is without a byte
    is_lf = data[last] == _LF
    after_cr = is_lf & (lengths > 1) & (data[np.maximum(last - 1, 0)] == _CR)
    sizes: Ints = (is_lf | (data[last] == _CR)).astype(np.int64) + after_cr
    return sizes
