"""JSON lines by the kernel, against Python's json and against msgspec and json as the only readers."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from neardup.kernels.json import DEEPEST, LEFT
from neardup.sources import jsonl
from neardup.sources.encodings import is_utf8
from neardup.sources.formats import pieces
from neardup.sources.jsonl import BrokenRecord, Jsonl, Seen, Walked

many = settings(max_examples=100, deadline=None)


def walked(lines: Sequence[bytes], encoding: str = "utf-8") -> Walked:
    data, starts, lengths = laid(lines)
    return Jsonl("text", encoding)._walked(data, starts, lengths, is_utf8(data.data))


def laid(lines: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    lengths = np.array([len(line) + 1 for line in lines], np.int64)
    lengths[-1] -= 1
    return np.frombuffer(b"\n".join(lines), np.uint8), np.cumsum(lengths) - lengths, lengths


def texts_in(lines: Sequence[bytes], encoding: str = "utf-8") -> list[bytes]:
    return pieces(Jsonl("text", encoding).texts(*laid(lines)))


def all_that_is_read(lines: Sequence[bytes], encoding: str) -> list[object]:
    """The texts, the names of the fields, how many halves were replaced; or the error and its record."""
    found: list[object] = []
    seen = Seen()
    data, starts, lengths = laid(lines)
    for read in (
        lambda: texts_in(lines, encoding),
        lambda: Jsonl("text", encoding).inspect(data, starts, lengths, seen, valid=is_utf8(data.data)),
    ):
        try:
            found.append(read())
        except BrokenRecord as error:
            found.append((str(error), error.record))
    return [*found, list(seen.names)]


@contextmanager
def the_kernel_takes_nothing() -> Iterator[None]:
    def objects(data: object, starts: object, lengths: object, name: object, ascii_only: bool, *walked: Any) -> None:
        for array in walked[:4]:
            array[:] = 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "objects", objects)
        yield


halves = st.text(st.sampled_from("a\ud83d\ude00\udc00é"), max_size=4)
texts = st.one_of(st.text(max_size=30), st.text(st.sampled_from('a"\\\n/😀\x00\x7fé\u2028'), max_size=20))
plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts)
odd = st.one_of(plain, st.floats(), halves, st.integers(10**400, 10**401))


def nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))


names = st.one_of(st.sampled_from(["text", "text", "id", "é", ""]), st.text(st.characters(), max_size=4))
spaces = st.sampled_from(["", "", " ", "\t", " \r ", "  "])


@st.composite
def lines_of(draw: st.DrawFn, name: st.SearchStrategy[str], value: st.SearchStrategy[Any]) -> bytes:
    """An object as some writer may write it: any white space, names twice, ASCII or not."""
    ascii_, comma, colon = draw(st.booleans()), draw(spaces) + "," + draw(spaces), draw(spaces) + ":" + draw(spaces)
    fields = draw(st.lists(st.tuples(name, value), max_size=5))
    written = (
        f"{json.dumps(key, ensure_ascii=ascii_)}{colon}"
        f"{json.dumps(held, ensure_ascii=ascii_, separators=(comma, colon))}"
        for key, held in fields
    )
    line = draw(spaces) + "{" + draw(spaces) + comma.join(written) + draw(spaces) + "}" + draw(spaces)
    return line.encode("utf-8", "surrogatepass")


@many
@given(
    st.lists(lines_of(names, st.one_of(texts, nested(odd))), min_size=1, max_size=3),
    st.sampled_from(["utf-8", "cp1252"]),
)
def test_the_kernel_reads_json_as_its_judges_do(lines: list[bytes], encoding: str) -> None:
    found = all_that_is_read(lines, encoding)
    with the_kernel_takes_nothing():
        assert all_that_is_read(lines, encoding) == found


foreign = st.sampled_from([bytes([byte]) for byte in b'"\\{}[],:019.eE+-tnuf \x00\x1f\x7f\x80\xc3\xe9\xed\xffdD8b/'])


@many
@given(lines_of(names, st.one_of(texts, nested(plain))), st.data())
def test_a_damaged_line_gives_the_text_or_the_error_of_the_judges(line: bytes, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(line)))
        line = line[:place] + data.draw(foreign | st.just(b"")) + line[place + data.draw(st.integers(0, 1)) :]
    for encoding in ("utf-8", "cp1252"):
        found = all_that_is_read([b'{"a":1}', line], encoding)
        with the_kernel_takes_nothing():
            assert all_that_is_read([b'{"a":1}', line], encoding) == found


@many
@given(
    st.lists(lines_of(st.sampled_from(["id", "é😀", "a\nb", ""]), nested(plain)), min_size=1, max_size=4),
    st.lists(st.none() | texts, min_size=4, max_size=4),
)
def test_plain_json_never_needs_the_judges(lines: list[bytes], held: list[str | None]) -> None:
    with_text = [
        b'{"text": ' + json.dumps(text).encode() + b"," + line.strip()[1:]
        if len(json.loads(line))
        else b'{"text":' + json.dumps(text, ensure_ascii=False).encode() + b"}"
        for text, line in zip(held, lines, strict=False)
    ]
    assert not len(walked([*with_text, *lines]).left)
    expected = [(json.loads(line).get("text") or "").encode() for line in [*with_text, *lines]]
    assert texts_in([*with_text, *lines]) == expected


def test_a_number_is_what_json_calls_one() -> None:
    numbers = ["".join(parts) for size in range(1, 6) for parts in itertools.product("01-+.eE", repeat=size)]
    taken = walked([f'{{"text": "", "n": {number}}}'.encode() for number in numbers]).names != LEFT

    def is_number(text: str) -> bool:
        try:
            json.loads(text)
        except ValueError:
            return False
        return True

    assert taken.tolist() == [is_number(number) for number in numbers] and 0 < taken.sum() < len(numbers)


def test_every_escape_is_what_json_says() -> None:
    codes = [*range(0x20), 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF]
    held = [prefix + chr(code) * 3 + "z" for code in codes for prefix in ("", "1234567", "12345678")]
    lines = [json.dumps({"text": text}).encode() for text in held] + [
        json.dumps({"text": text}).upper().replace("TEXT", "text").replace("\\U", "\\u").encode() for text in held[-27:]
    ]
    lines.append(rb'{"text": "\"\\\/\b\f\n\r\t"}')
    assert not len(walked(lines[: len(held)]).left)
    assert texts_in(lines) == [json.loads(line)["text"].encode() for line in lines]


@pytest.mark.parametrize("depth", [1, DEEPEST, DEEPEST + 1, 900, 100_000])
def test_objects_in_one_another_are_read_to_any_depth_that_json_reads(depth: int) -> None:
    for opening, closing in ((b"[", b"]"), (b'{"text":', b"}")):
        line = b'{"text": "t", "deep": ' + opening * depth + b"1" + closing * depth + b"}"
        assert (walked([line]).names[0] != LEFT) == (depth <= DEEPEST)
        found = all_that_is_read([line], "utf-8")
        with the_kernel_takes_nothing():
            assert all_that_is_read([line], "utf-8") == found
        assert walked([line.replace(closing, b"", 1), line[:-1] + b"]"]).names.tolist() == [LEFT, LEFT]
    mixed = b'{"text": "t", "deep": ' + b'[{"a":' * 20 + b"1" + b"}]" * 20 + b"}"
    assert walked([mixed]).names[0] != LEFT and walked([mixed.replace(b"}]", b"]}", 1)]).names[0] == LEFT


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"text": "a", "text": "b"}', b"b"),
        (b'{"text": "a", "text": null}', b""),
        (b'{"text": null, "text": "a"}', b"a"),
        (b'{"text": "a", "x": {"text": "b"}}', b"a"),
        (b'{"x": [{"text": "b"}], "y": "text"}', b""),
        (b"{}", b""),
        (b" { } ", b""),
        (rb'{"te\u0078t": "a", "t\u00e9xt": "b", "\t": "c"}', b"a"),
        (rb'{"text": "b", "\u0074\u0065\u0078\u0074": "a", "text\u0000": "c"}', b"a"),
        (b'{"Text": "a", "tex": "b", "texts": "c"}', b""),
    ],
)
def test_the_last_field_of_the_name_at_the_top_is_the_text(line: bytes, text: bytes) -> None:
    assert walked([line]).names[0] != LEFT
    assert texts_in([line]) == [text]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (rb'{"te\ud800xt": "a"}', b""),
        (b'{"text": 1.50}', b"1.50"),
        (b'{"text": true}', b"true"),
        (b'{"text": "a", "x": NaN}', b"a"),
        (rb'{"text": "a\ud800b"}', "a\ufffdb".encode()),
        (rb'{"text": "a\udc00\ude00b"}', "a\ufffd\ufffdb".encode()),
        (rb'{"text": "a\ud800\ud800b"}', "a\ufffd\ufffdb".encode()),
        (rb'{"text": "a", "x": "\ud800"}', b"a"),
        (b'{"text": "a\xff"}', "a\ufffd".encode()),
        (b'{"text": "a", "x": "\xff"}', b"a"),
    ],
)
def test_what_is_unusual_is_left_to_the_judges(line: bytes, text: bytes) -> None:
    assert walked([line]).names[0] == LEFT
    lines = [b'{"text": "before"}', line, b'{"text": "be\\nhind"}']
    assert texts_in(lines) == [b"before", text, b"be\nhind"]


@many
@given(st.lists(st.lists(st.sampled_from(["a", "b", "é", "a\\u0062", "ab"]), max_size=4), min_size=1, max_size=8))
def test_the_names_of_the_fields_come_in_the_order_of_their_first_record(records: list[list[str]]) -> None:
    lines = [("{" + ",".join(f'"{name}":1' for name in fields) + "}").encode() for fields in records]
    seen = Seen()
    for window in (lines[:3], lines[3:]):
        if window:
            Jsonl(None, "utf-8").inspect(*laid(window), seen, valid=True)
    assert list(seen.names) == list(dict.fromkeys(name for line in lines for name in json.loads(line)))


@pytest.mark.parametrize("name", ["é", "内容", "a\"\\\n\t/", "😀x", "x😀", ""])
def test_a_name_with_escapes_is_the_name_that_it_spells(name: str) -> None:
    others = [name + "x", name[:-1], "x" + name, name[::-1] + name, name.upper() + "\0"]
    for ascii_ in (True, False):
        fields = [*zip(others, "vwxyz", strict=True), (name, "the text")]
        written = ",".join(f"{json.dumps(key, ensure_ascii=ascii_)}: {json.dumps(text)}" for key, text in fields)
        data, starts, lengths = laid([("{" + written + "}").encode()])
        walked = Jsonl(name, "utf-8")._walked(data, starts, lengths, True)
        assert walked.names[0] != LEFT and data[walked.starts[0] : walked.stops[0]].tobytes() == b"the text"


def test_records_of_the_same_names_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    inspected = Jsonl._inspected

    def counted(self: Jsonl, record: memoryview, place: int) -> Any:
        asked.append(place)
        return inspected(self, record, place)

    monkeypatch.setattr(Jsonl, "_inspected", counted)
    lines = [b'{"a": 1, "b": 2}', b'{"b": 2, "a": 1}'] * 50 + [b'{"ab": 1}'] * 3
    seen = Seen()
    for _ in range(2):
        Jsonl(None, "utf-8").inspect(*laid(lines), seen, valid=True)
    assert asked == [0, 1, 100]
