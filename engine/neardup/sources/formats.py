"""What a format of records in bytes can do; the formats are in `lines`, `csv` and `jsonl`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.ranges import copy_ranges
from neardup.ragged import Texts
from neardup.sources.encodings import is_utf8, to_utf8

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Borders:
    """The complete records of a window: int64 starts and lengths in it; up to `consumed` nothing is left to find.

    fields   how many cells each record has, where the format counts them
    """

    starts: Ints
    lengths: Ints
    consumed: int
    fields: Ints | None = None


class RecordFormat(Protocol):
    def borders(self, data: Bytes, final: bool) -> Borders:
        """The records of a window that begins at a border; `final`: the file ends with it."""

    def texts(self, data: Bytes, starts: Ints, lengths: Ints) -> Texts:
        """The texts of these records of `data`, valid UTF-8; SourceError where a record is broken."""

    def cells(self, data: Bytes, starts: Ints, lengths: Ints) -> list[tuple[str, ...]]:
        """All columns of these records."""


def borders_by(find: Callable[..., tuple[int, int]], data: Bytes, final: bool, *, columns: int = 2) -> Borders:
    """Call a finder of `kernels.records` until the window holds no more complete records.

    `find(data, final, starts, lengths[, fields])` is given `columns` arrays to fill.
    """
    room = max(64, len(data) // 64)
    parts: list[list[Ints]] = []
    consumed = 0
    while True:
        arrays = [np.empty(room, np.int64) for _ in range(columns)]
        count, used = find(data[consumed:], final, *arrays)
        arrays[0] += consumed
        parts.append([array[:count] for array in arrays])
        consumed += used
        if count < room:
            break
    starts, lengths, *fields = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Borders(starts, lengths, consumed, fields[0] if fields else None)


def runs(starts: Ints, lengths: Ints, gap: int = 0) -> tuple[Ints, Ints, Ints]:
    """Ranges in ascending order, joined where no more than `gap` bytes lie between two: starts and lengths of the
    runs, and the number of the run that each range is in.
    """
    stops = starts + lengths
    opens = np.ones(len(starts), np.bool_)
    opens[1:] = starts[1:] - stops[:-1] > gap
    firsts = np.flatnonzero(opens)
    begins = starts[firsts]
    return begins, stops[np.append(firsts[1:], len(starts)) - 1] - begins, np.cumsum(opens) - 1


def gathered(data: Bytes, starts: Ints, lengths: Ints) -> Texts:
    """These ranges of `data`, one behind the other, as they are."""
    out = np.empty(int(lengths.sum()), np.uint8)
    offsets = np.empty(len(starts) + 1, np.int64)
    copy_ranges(data, starts, lengths, out, offsets)
    return Texts(out, offsets)


def recoded(texts: Texts, encoding: str) -> Texts:
    """Bytes in `encoding` as valid UTF-8, what cannot be read as U+FFFD."""
    if encoding == "utf-8" and is_utf8(texts.data.data, texts.offsets):
        return texts
    return joined([to_utf8(piece, encoding)[0] for piece in pieces(texts)])


def joined(encoded: Sequence[bytes]) -> Texts:
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    return Texts(np.frombuffer(b"".join(encoded), np.uint8), offsets)


def pieces(texts: Texts) -> list[bytes]:
    data = texts.data.tobytes()
    return [data[start:stop] for start, stop in pairwise(texts.offsets.tolist())]


def strings(texts: Texts) -> list[str]:
    return [piece.decode() for piece in pieces(texts)]
