r"""One JSON object a line; `\n` alone ends one.

A kernel reads what is plainly JSON. What it leaves, msgspec reads, and what that refuses (NaN, halves of surrogate
pairs, bytes that are no UTF-8) is tried with `json`: these two are the judges, and the kernel never differs from them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from dataclasses import field as made
from functools import cache
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup.errors import SourceError
from neardup.kernels.json import LEFT, objects, strings
from neardup.kernels.murmur3 import WORD
from neardup.kernels.records import newline_records
from neardup.ragged import Texts
from neardup.sources.encodings import is_utf8, string_to_utf8, to_utf8
from neardup.sources.formats import Borders, Bytes, Ints, borders_by, joined

_REFUSED = (msgspec.MsgspecError, UnicodeError, RecursionError)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LIST, _OBJECT, _STRING, _NULL = b'[{"n'

_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])
_string = msgspec.json.Decoder(str)


class BrokenRecord(SourceError):
    """No JSON object, or its text is a list or an object; `record` is its place among those asked for."""

    def __init__(self, message: str, record: int = -1) -> None:
        super().__init__(message)
        self.record = record

    def __reduce__(self) -> tuple[type[BrokenRecord], tuple[str, int]]:
        return type(self), (str(self), self.record)


class _AsWritten(str):
    """A number, as the characters it is written in: 1.50 is not 1.5."""

    __slots__ = ()


class Walked(NamedTuple):
    """What `kernels.json.objects` says of each record, in arrays [records]."""

    names: NDArray[np.uint64]
    starts: Ints
    stops: Ints
    escaped: NDArray[np.bool_]

    @property
    def left(self) -> Ints:
        return np.flatnonzero(self.names == LEFT)


@dataclass(slots=True)
class Seen:
    """The names of the fields so far, as they came, and the hashes of those orders of names that are among them."""

    names: dict[str, None] = made(default_factory=dict)
    orders: set[int] = made(default_factory=set)


@dataclass(frozen=True, slots=True)
class Jsonl:
    field: str | None
    encoding: str
    columns: tuple[str, ...] = ()

    def borders(self, data: Bytes, final: bool) -> Borders:
        return borders_by(newline_records, data, final)

    def texts(self, data: Bytes, starts: Ints, lengths: Ints) -> Texts:
        walked = self._walked(data, starts, lengths, is_utf8(data.data))
        if len(left := walked.left):
            # They stand behind the data, as they are to be.
            judged = self._judged(data, starts, lengths, left)
            walked.starts[left] = judged.offsets[:-1] + len(data)
            walked.stops[left] = judged.offsets[1:] + len(data)
            data = np.concatenate([data, judged.data])
        out = np.empty(int((walked.stops - walked.starts).sum()) + WORD, np.uint8)
        offsets = np.empty(len(starts) + 1, np.int64)
        strings(data, walked.starts, walked.stops, walked.escaped, out, offsets)
        return Texts(out[: offsets[-1]], offsets)

    def _walked(self, data: Bytes, starts: Ints, lengths: Ints, valid: bool) -> Walked:
        """`valid`: the data is UTF-8; bytes beyond ASCII are left to the judges where it is not, or not to be."""
        count = len(starts)
        walked = Walked(
            np.empty(count, np.uint64), np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.bool_)
        )
        # No name of a field has a bare quote.
        name = np.frombuffer(b'"' if self.field is None else self.field.encode(), np.uint8)
        objects(data, starts, lengths, name, not valid or self.encoding != "utf-8", *walked)
        return walked

    def _judged(self, data: Bytes, starts: Ints, lengths: Ints, places: Ints) -> Texts:
        assert self.field is not None
        decode = _text_decoder(self.field)
        texts: list[bytes] = []
        for place, record in zip(places.tolist(), _records(data, starts[places], lengths[places]), strict=True):
            try:
                texts.append((decode(record).text or "").encode())
            except _REFUSED:
                fields = _loaded(record, self.encoding, place)
                texts.append(string_to_utf8(_text(fields.get(self.field), place))[0])
        return joined(texts)

    def cells(self, data: Bytes, starts: Ints, lengths: Ints) -> list[tuple[str, ...]]:
        """By column: strings as they are, all else as JSON, nothing for null and for what is missing."""
        rows: list[tuple[str, ...]] = []
        for record in _records(data, starts, lengths):
            try:
                raw = _objects.decode(record)
                rows.append(tuple(_raw_cell(raw.get(name)) for name in self.columns))
            except _REFUSED:
                fields = _loaded(record, self.encoding, len(rows))
                rows.append(tuple(_cell(fields.get(name)) for name in self.columns))
        return rows

    def inspect(self, data: Bytes, starts: Ints, lengths: Ints, seen: Seen, *, valid: bool) -> int:
        """Read every record once and add the names of their fields to `seen`, as they come; BrokenRecord.

        `valid`: the data is UTF-8. Returns how many halves of surrogate pairs are in the texts.
        """
        orders = self._walked(data, starts, lengths, valid).names
        halves = 0
        for place in _to_ask(orders).tolist():
            order = int(orders[place])
            if order in seen.orders:
                continue
            start = int(starts[place])
            names, count = self._inspected(data.data[start : start + int(lengths[place])], place)
            seen.names |= dict.fromkeys(name for name in names if name not in seen.names)
            halves += count
            if order != LEFT:
                seen.orders.add(order)
        return halves

    def _inspected(self, record: memoryview, place: int) -> tuple[Iterable[str], int]:
        """The names of the record's fields, and how many halves of surrogate pairs are in its text; BrokenRecord."""
        try:
            raw = _objects.decode(record)
        except _REFUSED:
            fields = _loaded(record, self.encoding, place)
            text = "" if self.field is None else _text(fields.get(self.field), place)
            return (string_to_utf8(name)[0].decode() for name in fields), string_to_utf8(text)[1]
        halves = 0
        if self.field in raw:
            value = memoryview(raw[self.field])
            if value[0] in (_LIST, _OBJECT):
                _text([] if value[0] == _LIST else {}, place)
            if _SURROGATE.search(value):
                halves = string_to_utf8(json.loads(to_utf8(bytes(value), self.encoding)[0]))[1]
        return raw, halves


def _to_ask(orders: NDArray[np.uint64]) -> Ints:
    """The first record of each order of names, and every one that the kernel has left, as they come."""
    if not len(orders):
        return np.empty(0, np.int64)
    changes = np.append(0, np.flatnonzero(orders[1:] != orders[:-1]) + 1)  # mostly few: an order comes again and again
    firsts = np.unique(orders[changes], return_index=True)[1]
    return np.union1d(changes[firsts], np.flatnonzero(orders == LEFT))


def _records(data: Bytes, starts: Ints, lengths: Ints) -> Iterable[memoryview]:
    whole = data.data
    return (whole[start : start + length] for start, length in zip(starts.tolist(), lengths.tolist(), strict=True))


@cache
def _text_decoder(field: str) -> Callable[[memoryview], Any]:
    row = msgspec.defstruct("Row", [("text", str | None, None)], rename={"text": field})
    return msgspec.json.Decoder(row).decode


def _loaded(record: memoryview, encoding: str, place: int) -> dict[str, Any]:
    """The object by `json`, numbers as they are written."""
    text = to_utf8(bytes(record), encoding)[0].decode()
    try:
        value = json.loads(text, parse_int=_AsWritten, parse_float=_AsWritten, parse_constant=_AsWritten)
    except json.JSONDecodeError as error:
        raise BrokenRecord(f"is not JSON: {error.msg} at character {error.pos + 1:,}", place) from None
    except RecursionError:
        raise BrokenRecord("is JSON nested too deeply", place) from None
    if not isinstance(value, dict):
        raise BrokenRecord("is JSON, but no object", place)
    return value


def _text(value: Any, place: int) -> str:
    if isinstance(value, list | dict):
        kind = "a list" if isinstance(value, list) else "an object"
        raise BrokenRecord(f"has {kind} where the text should be", place)
    return _plain(value)


def _plain(value: Any) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cell(value: Any) -> str:
    return string_to_utf8(_plain(value))[0].decode()


def _raw_cell(raw: msgspec.Raw | None) -> str:
    if raw is None:
        return ""
    first = memoryview(raw)[0]
    if first == _STRING:
        return _string.decode(raw)
    return "" if first == _NULL else bytes(raw).decode()
