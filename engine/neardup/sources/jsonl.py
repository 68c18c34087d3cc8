r"""One JSON object a line; `\n` alone ends one.

msgspec reads them; what it refuses (NaN, halves of surrogate pairs, bytes that are no UTF-8) is tried with `json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from neardup.errors import SourceError
from neardup.kernels.records import newline_records
from neardup.ragged import Texts
from neardup.sources.encodings import string_to_utf8, to_utf8
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


@dataclass(frozen=True, slots=True)
class Jsonl:
    field: str | None
    encoding: str
    columns: tuple[str, ...] = ()

    def borders(self, data: Bytes, final: bool) -> Borders:
        return borders_by(newline_records, data, final)

    def texts(self, data: Bytes, starts: Ints, lengths: Ints) -> Texts:
        assert self.field is not None
        decode = _text_decoder(self.field)
        texts: list[bytes] = []
        for record in _records(data, starts, lengths):
            try:
                texts.append((decode(record).text or "").encode())
            except _REFUSED:
                fields = _loaded(record, self.encoding, len(texts))
                texts.append(string_to_utf8(_text(fields.get(self.field), len(texts)))[0])
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

    def names(self, data: Bytes, starts: Ints, lengths: Ints) -> tuple[str, ...]:
        """The fields of these records, as they come."""
        names: dict[str, None] = {}
        for place, record in enumerate(_records(data, starts, lengths)):
            names |= dict.fromkeys(self.check(record, place)[0])
        return tuple(names)

    def check(self, record: memoryview, place: int, escapes: bool = True) -> tuple[Iterable[str], int]:
        """The names of the record's fields, and how many halves of surrogate pairs are in its text; BrokenRecord.

        `escapes`: whether the record may hold escaped surrogates, see `may_hold_surrogates`.
        """
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
            if escapes and may_hold_surrogates(value):
                halves = string_to_utf8(json.loads(to_utf8(bytes(value), self.encoding)[0]))[1]
        return raw, halves


def may_hold_surrogates(data: memoryview) -> bool:
    return _SURROGATE.search(data) is not None


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
