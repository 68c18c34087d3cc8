"""Reading against independent readers: Python's csv and json, str, re, gzip and pyarrow."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import os
import re
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from neardup.errors import Cancelled, ColumnError, OutputError, SettingsError, SourceError
from neardup.sources import (
    cells_of,
    locations_at,
    original_columns,
    plan_bytes,
    preview,
    records_of,
    scan,
    texts_at,
    texts_of,
    write_records,
)
from neardup.sources.corpus import Corpus, Reading
from neardup.sources.formats import strings

csv.field_size_limit(sys.maxsize)
few = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SLICES = [1, 7, 64, 2**23]


def read(*paths: Path, slice_bytes: int = 2**23, **reading: Any) -> Corpus:
    spool = paths[0].parent / ".spool"
    spool.mkdir(exist_ok=True)
    return scan(paths, Reading(**reading), spool, slice_bytes=slice_bytes)


def texts(corpus: Corpus) -> list[str]:
    """By the strict decoder: what a slice gives is always valid UTF-8."""
    return [text for slice in corpus.slices for text in strings(texts_of(corpus, slice))]


def put(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def written(corpus: Corpus, kept: list[bool] | None = None) -> bytes:
    target = io.BytesIO()
    write_records(corpus, np.ones(corpus.rows, np.bool_) if kept is None else np.array(kept, np.bool_), target)
    return target.getvalue()


def lines_of(text: str) -> list[tuple[str, str]]:
    """Each line and its end: the plain twin of the format `lines`."""
    return [(line, end) for line, end in re.findall("([^\r\n]*)(\r\n|\r|\n|$)", text) if line or end]


def blocks_of(text: str) -> list[str]:
    blocks: list[list[str]] = [[]]
    for line, _ in lines_of(text):
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return ["\n".join(block) for block in blocks if block]


# Lines


@few
@given(text=st.text("ab é\u2028\x0b\r\n", max_size=40), size=st.sampled_from(SLICES))
def test_a_line_ends_at_lf_crlf_or_a_lone_cr(text: str, size: int, tmp_path: Path) -> None:
    path = put(tmp_path / "a.txt", text)
    if not text:
        with pytest.raises(SourceError, match="holds no row"):
            read(path)
        return
    corpus = read(path, slice_bytes=size)
    assert texts(corpus) == [line for line, _ in lines_of(text)]
    assert written(corpus) == text.encode()
    assert [slice.first_row for slice in corpus.slices] == list(
        np.cumsum([0, *(slice.rows for slice in corpus.slices)])[:-1]
    )


@few
@given(text=st.text("ab\u3000\u00a0\u2003\x85 \t\r\n", max_size=40), size=st.sampled_from(SLICES))
def test_blank_lines_part_documents(text: str, size: int, tmp_path: Path) -> None:
    path = put(tmp_path / "a.txt", text)
    expected = blocks_of(text)
    if not expected:
        with pytest.raises(SourceError, match="holds no row"):
            read(path, format="blank-lines")
        return
    corpus = read(path, format="blank-lines", slice_bytes=size)
    assert [re.sub("\r\n|\r", "\n", text) for text in texts(corpus)] == expected
    leading = sum(len(line + end) for line, end in lines_of(text)[: _blank_lines_before(text)])
    assert written(corpus) == text[leading:].encode()


def _blank_lines_before(text: str) -> int:
    return next(number for number, (line, _) in enumerate(lines_of(text)) if line.strip())


def test_blocks_of_two_inputs_stay_two_blocks(tmp_path: Path) -> None:
    for ending in ("", "\n", "\n ", "\n \n", "\n\n "):
        first, second = put(tmp_path / "a", "one\ntwo" + ending), put(tmp_path / "b", "three")
        joined = put(tmp_path / "c", written(read(first, second, format="blank-lines")))
        assert texts(read(joined, format="blank-lines")) == ["one\ntwo", "three"]


# CSV

cells = st.text(st.sampled_from('ab,;|\t"\r\n é\0'), max_size=6)
dialects = st.fixed_dictionaries(
    {
        "delimiter": st.sampled_from(",;|\t"),
        "lineterminator": st.sampled_from(["\n", "\r\n", "\r"]),
        "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    }
)


@few
@given(rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=8), dialect=dialects, size=st.sampled_from(SLICES))
def test_a_csv_is_read_as_pythons_csv_module_reads_it(
    rows: list[tuple[str, str]], dialect: dict[str, Any], size: int, tmp_path: Path
) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, **dialect).writerows([("id", "text"), *rows])
    path = put(tmp_path / "a.csv", "\ufeff" + out.getvalue())
    # Before Python 3.13 the writer leaves a line break bare that is not its own: it ends a record then.
    found = list(csv.reader(io.StringIO(out.getvalue(), newline=""), delimiter=dialect["delimiter"]))[1:]
    expected = [tuple(row) for row in found if row]
    assume(all(len(row) == 2 for row in expected))
    corpus = read(path, slice_bytes=size)
    about = corpus.inputs[0]
    assert about.delimiter == dialect["delimiter"] and about.columns == ("id", "text")
    assert texts(corpus) == [row[1] for row in expected]
    assert [row for slice in corpus.slices for row in cells_of(corpus, slice, None, np.arange(slice.rows))] == expected
    assert written(corpus) == path.read_bytes() or [] in found
    assert texts_at(corpus, [len(expected) - 1, 0]) == [expected[-1][1], expected[0][1]]


@few
@given(text=st.text('a,"\r\n', max_size=24), size=st.sampled_from(SLICES))
def test_csv_that_no_writer_writes_is_read_as_the_csv_module_reads_it(text: str, size: int, tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", "text,b\n" + text)
    expected = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    if not expected:
        with pytest.raises(SourceError, match="holds no row"):
            read(path)
        return
    corpus = read(path, slice_bytes=size)
    assert texts(corpus) == [row[0] for row in expected]
    ragged = [number + 1 for number, row in enumerate(expected) if len(row) != 2]
    told = [warning for warning in corpus.warnings if "never closed" not in warning]
    assert bool(told) == bool(ragged)
    if ragged:
        assert f"{len(ragged)} record" in told[0]
        assert f"({', '.join(map(str, ragged[:10]))}" in told[0]
    # One more cell behind a line end is a record of its own, unless a quote is open.
    closed = len(list(csv.reader(io.StringIO(text + "\nx", newline="")))) > len(
        list(csv.reader(io.StringIO(text, newline="")))
    )
    assert (len(told) == len(corpus.warnings)) == closed


def test_the_delimiter_gives_the_header_and_most_records_the_same_number_of_cells(tmp_path: Path) -> None:
    for content, delimiter in {
        "a;b\n1,5;2\n1,5;2\n": ";",
        "a,b;c\n1,2;3\n1,2;3\n": ",",
        "a|b\nx|y\n": "|",
        "a\tb,c\n1\t2,3\n1\t2,3,4\n": "\t",
        "only\n1;2\n": ",",
        'a;b\n"x,;\n";2\n': ";",
    }.items():
        assert read(put(tmp_path / "a.csv", content), text_column="1").inputs[0].delimiter == delimiter
    assert read(put(tmp_path / "a.tsv", "text,x\tb\n1,2\t3\n"), text_column="b").inputs[0].delimiter == "\t"


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_a_column_that_is_not_there_is_refused_with_those_that_are(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "a.parquet":
        pq.write_table(pa.table({"body": ["x"], "7": ["y"]}), path)
    else:
        put(path, "body,7\nx,y\n" if name == "a.csv" else '{"body": "x", "7": "y"}\n')
    with pytest.raises(ColumnError, match=r"no column 'txt': the columns are 'body', '7'") as refused:
        read(path, text_column="txt")
    assert refused.value.columns == ("body", "7") and "\n" not in str(refused.value)
    with pytest.raises(ColumnError, match="which column holds the text"):
        read(path)
    with pytest.raises(ColumnError):
        read(path, text_column="3")
    assert texts(read(path, text_column="1")) == ["x"]
    assert texts(read(path, text_column="7")) == ["y"], "a number is a name where a column has that name"


def test_the_only_column_is_the_text(tmp_path: Path) -> None:
    assert texts(read(put(tmp_path / "a.csv", 'words\na\n\n"b, c"\n'))) == ["a", "b, c"]
    assert texts(read(put(tmp_path / "a.jsonl", '{"words": "a"}\n'))) == ["a"]


def test_a_format_without_columns_refuses_a_text_column(tmp_path: Path) -> None:
    for name in ("a.txt", "a.md"):
        with pytest.raises(ColumnError, match="text"):
            read(put(tmp_path / name, "x"), text_column="text")


# JSON lines

values = st.one_of(st.text(max_size=8), st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False))


@few
@given(
    records=st.lists(
        st.dictionaries(st.sampled_from(["text", "id", "é"]), values, min_size=1), min_size=1, max_size=6
    ).filter(lambda records: any("text" in record for record in records)),
    ascii_=st.booleans(),
    end=st.sampled_from(["\n", "\r\n", "\n\n", "\n \t\r\n"]),
    size=st.sampled_from(SLICES),
)
def test_json_lines_are_read_as_json_reads_them(
    records: list[dict[str, Any]], ascii_: bool, end: str, size: int, tmp_path: Path
) -> None:
    lines = [json.dumps(record, ensure_ascii=ascii_) for record in records]
    path = put(tmp_path / "a.jsonl", end.join(lines))
    corpus = read(path, slice_bytes=size)

    def plain(value: Any) -> str:
        return value if isinstance(value, str) else "" if value is None else json.dumps(value)

    assert texts(corpus) == [plain(record.get("text")) for record in records]
    columns = original_columns(corpus)
    assert columns == tuple(dict.fromkeys(name for record in records for name in record))
    found = [row for slice in corpus.slices for row in cells_of(corpus, slice, None, np.arange(slice.rows))]
    assert found == [tuple(plain(record.get(name)) for name in columns) for record in records]
    own_end = "\n" if end.startswith("\n") else "\r\n"
    assert written(corpus) == own_end.join(lines).encode()


def test_a_number_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", '{"text": 1.50}\n{"text": 1e3}\n{"text": NaN}\n{"text": true, "x": NaN}\n')
    assert texts(read(path)) == ["1.50", "1e3", "NaN", "true"]


def test_halves_of_surrogate_pairs_are_replaced_and_told(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", r'{"text": "a\ud800b"}' + "\n" + r'{"text": "\ud83d\ude00"}' + "\n")
    corpus = read(path)
    assert texts(corpus) == ["a\ufffdb", "😀"]
    assert len(corpus.warnings) == 1 and "1 place that is no utf-" in corpus.warnings[0]


@pytest.mark.parametrize(
    "broken", ['{"text": "a"', "[1]", '{"text": ["a"]}', '{"text": {}}', '{"text": "a"} x', "\x0b"]
)
def test_a_broken_record_is_named_by_file_and_line(broken: str, tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", '{"text": "a"}\n\n' + broken + '\n{"text": "a"}\n')
    for size in SLICES:
        with pytest.raises(SourceError, match=r"a\.jsonl:3: ") as refused:
            read(path, slice_bytes=size)
        assert "\n" not in str(refused.value)


def test_a_field_that_comes_late_is_still_a_column(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", '{"a": "x"}\n' * 3000 + '{"a": "y", "late": "z"}\n')
    assert texts(read(path, text_column="late"))[-2:] == ["", "z"]
    with pytest.raises(ColumnError, match="which column"):
        read(path)


# Parquet


@pytest.mark.parametrize("size", SLICES)
def test_parquet_is_read_and_written_as_pyarrow_does(size: int, tmp_path: Path) -> None:
    words = [None if number % 7 == 0 else f"text {number} é" for number in range(50)]
    table = pa.table(
        {"id": pa.array(range(50), pa.int16()), "text": pa.array(words).dictionary_encode()},
        schema=pa.schema([("id", pa.int16()), ("text", pa.dictionary(pa.int32(), pa.string()))], {"made": "here"}),
    )
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=20, compression="zstd")
    corpus = read(path, slice_bytes=size)
    assert corpus.rows == 50 and texts(corpus) == [word or "" for word in words]
    assert texts_at(corpus, [41, 3, 20]) == [words[41], words[3], words[20]]
    kept = [number % 3 > 0 for number in range(50)]
    found = pq.read_table(io.BytesIO(written(corpus, kept)))
    assert found.equals(pq.read_table(path).filter(pa.array(kept))) and found.schema.equals(
        pq.read_table(path).schema, check_metadata=True
    )
    assert cells_of(corpus, corpus.slices[0], None, np.array([1] if corpus.slices[0].rows > 1 else [0]))[0][0] in "01"


def test_a_file_that_is_not_parquet_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "a.parquet", "PAR1 is not enough")
    with pytest.raises(SourceError, match=r"a\.parquet: is not a whole Parquet file") as refused:
        read(path)
    assert "\n" not in str(refused.value)


def test_a_column_of_lists_is_no_text(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": [["a"]], "b": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(ColumnError, match="not a text"):
        read(tmp_path / "a.parquet")


# Files


def test_a_folder_is_its_documents_sorted_by_bytes(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (tmp_path / "elsewhere").mkdir()
    documents = ("b.txt", "B.md", "README", "sub/a.html")
    for name in (*documents, ".dot.txt", ".hidden/c.txt", "photo.jpg", "../elsewhere/d.txt"):
        put(folder / name, f"<p>text of {Path(name).name}")
    put(folder / "é.txt.gz", gzip.compress(b"text of a gz"))
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    corpus = read(folder)
    assert corpus.inputs[0].files == ("B.md", "README", "b.txt", "sub/a.html", "é.txt.gz")
    assert texts(corpus)[3:] == ["text of a.html", "text of a gz"] and texts(corpus)[0] == "<p>text of B.md"
    assert corpus.warnings == (f"{folder}: 1 file (photo.jpg) left out, of another kind",)
    assert locations_at(corpus, [3])[0].record == "sub/a.html"
    assert written(corpus, [True, False, False, True, False]).decode() == f"{folder}/B.md\n{folder}/sub/a.html\n"
    for size in SLICES:
        assert texts(read(folder, slice_bytes=size)) == texts(corpus)


def test_a_list_of_documents_is_one_input_in_the_order_given(tmp_path: Path) -> None:
    paths = [put(tmp_path / name, name) for name in ("b.md", "a.md", "x.txt", "c.html")]
    corpus = read(*paths)
    assert [(source.format, source.files) for source in corpus.inputs] == [
        ("files", ("b.md", "a.md")),
        ("lines", ()),
        ("files", ("c.html",)),
    ]
    assert texts(corpus) == ["b.md", "a.md", "x.txt", "c.html"]
    assert written(read(*paths[:2])).decode().split() == [str(path) for path in paths[:2]]
    assert written(read(paths[0])).decode().split() == [str(paths[0])]


def test_a_folder_of_one_record_format_is_those_inputs(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    put(folder / "b.csv", "text\nb\n")
    put(folder / "a.csv.gz", gzip.compress(b"text\na\n"))
    assert texts(read(folder)) == ["a", "b"]
    put(folder / "README.md", "# not a record")
    corpus = read(folder)
    assert corpus.inputs[0].format == "files" and "2 files (a.csv.gz, b.csv)" in corpus.warnings[0]
    assert texts(read(folder, format="csv")) == ["a", "b"]


HTML = {
    b"<p>one<p>two": "one two",
    b"<b>b</b>old <i>it</i>alic": "bold italic",
    b"<table><tr><td>a<td>b</table>": "a b",
    b"<div hidden>x</div><div style='color:red; Display : none'>y</div>z": "z",
    b"<title>T &amp; t</title><body><noscript>n</noscript><textarea>seen</textarea>": "T & t seen",
    b"<meta charset=koi8-r><p>\xd4\xc5\xd3\xd4": "тест",
    b"<meta http-equiv=x content='text/html; charset=Latin1'>\x93q\x94": "“q”",
    b"<!-- <meta charset=koi8-r> --><meta charset=shift_jis>\x83e": "テ",
    b"\xef\xbb\xbf<meta charset=koi8-r>\xc3\xa9": "é",
    b"": "",
}


@pytest.mark.parametrize("page", HTML)
def test_a_page_is_read_as_a_browser_shows_it(page: bytes, tmp_path: Path) -> None:
    assert " ".join(texts(read(put(tmp_path / "a.html", page)))[0].split()) == HTML[page]


def test_deeply_nested_pages_are_read(tmp_path: Path) -> None:
    assert texts(read(put(tmp_path / "a.html", "<div>" * 2_000 + "deep")))[0].strip() == "deep"


# Encodings and compression


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("size", [1, 2**23])
def test_a_byte_order_mark_decides_and_an_export_has_the_same_bytes(encoding: str, size: int, tmp_path: Path) -> None:
    mark = "\ufeff" if encoding.endswith("be") else ""
    for name, content, expected in (
        ("a.csv", 'id,text\r\n1,"é, 😀\r\n"\r\n2,b\r\n', ["é, 😀\r\n", "b"]),
        ("a.txt", "é\n😀", ["é", "😀"]),
        ("a.jsonl", '{"text": "é"}\n{"text": "😀"}\n', ["é", "😀"]),
    ):
        path = put(tmp_path / name, (mark + content).encode(encoding))
        corpus = read(path, slice_bytes=size)
        assert texts(corpus) == expected and written(corpus) == path.read_bytes() and not corpus.warnings
        half = (mark + content).split("\n" if name != "a.csv" else "2,")[0] + ("\n" if name != "a.csv" else "")
        assert written(corpus, [True, False]) == half.encode(encoding)


def test_a_half_of_a_surrogate_pair_in_utf_16_is_replaced_once_and_exported_as_it_was(tmp_path: Path) -> None:
    path = put(tmp_path / "a.txt", "\ufeffa\ud800b".encode("utf-16-le", "surrogatepass"))
    corpus = read(path)
    assert texts(corpus) == ["a\ufffdb"] and written(corpus) == path.read_bytes()
    assert len(corpus.warnings) == 1 and "1 place that is no utf-" in corpus.warnings[0]


@pytest.mark.parametrize(
    ("encoding", "sentence"),
    [
        ("windows-1252", "Die Straße ist naß und Müller sagt – „schön“ genug für 5 € am Tag"),
        ("cp932", "これは日本語の文章です。猫が好きです。今日は天気がいいですね。"),
    ],
)
@pytest.mark.parametrize("size", [1, 2**23])
def test_what_is_not_utf_8_is_guessed_and_told(encoding: str, sentence: str, size: int, tmp_path: Path) -> None:
    for name, content in (
        ("a.csv", f"größe,text\n1,{sentence}\n2,x\n" if "ß" in sentence else f"a,text\n1,{sentence}\n2,x\n"),
        ("a.txt", f"{sentence}\nx\n"),
        ("a.jsonl", json.dumps({"text": sentence}, ensure_ascii=False) + '\n{"text": "x"}\n'),
    ):
        plain = b"plain ascii\n" * 200_000 if name == "a.txt" else b""  # more than is looked at before the pass
        path = put(tmp_path / name, plain + content.encode(encoding))
        corpus = read(path, slice_bytes=max(size, len(plain) // 5))
        about = corpus.inputs[0]
        assert texts(corpus)[-2:] == [sentence, "x"] and written(corpus) == path.read_bytes()
        assert about.guessed and about.encoding == encoding and encoding in corpus.warnings[0]
        if name != "a.txt":
            seen = preview([path], Reading())
            assert (seen.columns[-1].first, seen.encoding, seen.guessed) == (sentence, encoding, True)


def test_bytes_that_are_not_the_marked_encoding_are_replaced_and_counted(tmp_path: Path) -> None:
    path = put(tmp_path / "a.txt", b"\xef\xbb\xbfa\xffb\n\xc3\n\xa9 \xef\xbf\xbd\n")
    corpus = read(path)
    assert texts(corpus) == ["a\ufffdb", "\ufffd", "\ufffd \ufffd"] and written(corpus) == path.read_bytes()
    assert "3 places that are no utf-8 read as U+FFFD" in corpus.warnings[0] and not corpus.inputs[0].guessed


def test_compressed_inputs_equal_plain_ones(tmp_path: Path) -> None:
    content = "".join(f"line {number}\n" for number in range(5000)).encode()
    plain = read(put(tmp_path / "a.txt", content), slice_bytes=1000)
    members = gzip.compress(content[:100]) + gzip.compress(content[100:])
    frames = b"".join(pa.compress(part, "zstd", asbytes=True) for part in (content[:999], content[999:]))
    for name, packed in (("a.txt.gz", members), ("a.txt.zst", frames), ("a.TXT.GZ", members)):
        corpus = read(put(tmp_path / name, packed), slice_bytes=1000)
        assert texts(corpus) == texts(plain) and written(corpus) == content
        assert corpus.inputs[0].checksum == plain.inputs[0].checksum
        assert stat.S_IMODE(Path(corpus.inputs[0].body).stat().st_mode) == 0o600
        for cut in (packed[:-9], packed[: len(packed) // 2]):
            with pytest.raises(SourceError, match=r"ends too early"):
                read(put(tmp_path / ("cut" + name), cut))
    with pytest.raises(SourceError, match="is not a whole gzip file"):
        read(put(tmp_path / "b.gz", content))
    assert not [name for name in os.listdir(tmp_path / ".spool") if name.endswith(".tmp")]


def test_the_copy_in_the_spool_is_made_again_when_the_input_changes(tmp_path: Path) -> None:
    path = put(tmp_path / "a.gz", gzip.compress(b"one"))
    body = read(path).inputs[0].body
    assert read(path).inputs[0].body == body
    put(path, gzip.compress(b"two"))
    os.utime(path, ns=(1, 1))
    assert texts(read(path)) == ["two"]


# Writing


@few
@given(
    records=st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=9),
    other=st.lists(st.text("cd", min_size=1, max_size=3), min_size=1, max_size=3),
    end=st.sampled_from(["\n", "\r\n"]),
    data=st.data(),
    size=st.sampled_from(SLICES),
)
def test_kept_records_are_their_own_bytes_and_the_header_once(
    records: list[str], other: list[str], end: str, data: st.DataObject, size: int, tmp_path: Path
) -> None:
    kept = data.draw(st.lists(st.booleans(), min_size=len(records) + len(other), max_size=len(records) + len(other)))
    left_over = [record for record, keep in zip([*records, *other], kept, strict=True) if keep]
    for name, header in (("a.csv", "text" + end), ("a.txt", ""), ("a.jsonl", "")):
        wrap: Callable[[str], str] = (lambda text: json.dumps({"text": text})) if name == "a.jsonl" else str
        first = put(tmp_path / name, "\ufeff" + header + end.join(map(wrap, records)))
        second = put(tmp_path / f"2{name}", header + end.join(map(wrap, other)) + end)
        corpus = read(first, second, slice_bytes=size)
        out = written(corpus, kept).decode()
        last_of_all = records[-1] if not any(kept[len(records) :]) and kept[len(records) - 1] else None
        expected = "\ufeff" + header + "".join(wrap(record) + end for record in left_over)
        if last_of_all is not None:
            expected = expected[: -len(end)]  # the first input's last record has no line end, and none follows
        if len(records) == 1 and name != "a.csv":
            assert out.replace("\r\n", "\n") == expected.replace("\r\n", "\n")  # its line end is not known
        else:
            assert out == expected


def test_kept_records_that_lie_together_are_written_as_one_block(tmp_path: Path) -> None:
    class Blocks(io.BytesIO):
        def write(self, block: Any) -> int:
            blocks.append(bytes(block))
            return len(block)

    blocks: list[bytes] = []
    lines = [f"{number:06}\n" for number in range(1000)]
    corpus = read(put(tmp_path / "a.txt", "".join(lines)), slice_bytes=3500)
    for kept in (np.ones(1000, np.bool_), np.arange(1000) >= 20, np.arange(1000) % 7 > 0):
        blocks.clear()
        write_records(corpus, kept, Blocks())
        halves = (lines[:500], kept[:500]), (lines[500:], kept[500:])
        expected = ["".join(itertools.compress(*half)) for half in halves]
        assert [block.decode() for block in blocks if block] == expected


def test_inputs_that_cannot_be_one_output_are_refused(tmp_path: Path) -> None:
    a, b = put(tmp_path / "a.csv", "id,text\n1,x\n"), put(tmp_path / "b.csv", "text,id\nx,1\n")
    c, d = put(tmp_path / "c.csv", "id;text\n1;x\n"), put(tmp_path / "d.jsonl", '{"id": 1, "text": "x"}\n')
    e = put(tmp_path / "e.csv", "id,text\r\n1,ü\r\n".encode("latin-1"))
    for others in (b, c, d, e):
        with pytest.raises(SettingsError, match="cannot be one output"):
            written(read(a, others))
    corpus = read(a, b, d)
    assert original_columns(corpus) == ("id", "text")
    assert [cells_of(corpus, slice, None, np.array([0])) for slice in corpus.slices] == [[("1", "x")]] * 3


def test_an_input_that_changed_since_the_scan_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "a.txt", "a\nb\nc\n")
    corpus = read(path)
    for content in ("a\n", "abcdef\n"):
        put(path, content)
        with pytest.raises(SourceError, match="has changed"):
            texts_of(corpus, corpus.slices[0])


# Scanning


def test_bad_paths_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "photos").mkdir()
    put(tmp_path / "photos" / "a.jpg", "")
    os.mkfifo(tmp_path / "pipe")
    for path, message in {
        tmp_path / "none": "no such file or folder",
        tmp_path / "empty": "holds no documents",
        tmp_path / "photos": r"only 1 file \(a\.jpg\)",
        tmp_path / "pipe": "neither a file nor a folder",
        put(tmp_path / "zero.txt", ""): "holds no row",
        put(tmp_path / "zero.csv", ""): "holds no row",
        put(tmp_path / "header.csv", "id,text\n"): "holds no row",
        put(tmp_path / "blank.jsonl", "\n \n"): "holds no row",
        put(tmp_path / "zero.gz", gzip.compress(b"")): "holds no row",
    }.items():
        with pytest.raises(SourceError, match=message) as refused:
            read(path)
        assert "\n" not in str(refused.value) and str(path) in str(refused.value)


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl", "a.parquet", "a.md", "a.gz"])
def test_a_file_that_may_not_be_read_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / name, "x")

    def refused(self: Path, *_: object, **__: object) -> None:  # root, who runs many a suite, may read everything
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(SourceError, match=f"{name}: may not be read"):
        read(path)


def test_a_full_disk_under_the_spool_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    from neardup.sources.compression import written_whole

    with pytest.raises(OutputError, match="No space left"), written_whole(tmp_path / "copy"):
        raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())


def test_the_pulse_counts_all_bytes_and_can_stop_the_scan(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    put(folder / "a.md", "12345")
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "a.parquet")
    paths = [
        folder,
        put(tmp_path / "a.txt", "x\n" * 1000),
        put(tmp_path / "a.gz", gzip.compress(b"y\n" * 100_000)),
        put(tmp_path / "b.txt", "é\n".encode("utf-16")),
        put(tmp_path / "c.txt", "é\n".encode("latin-1") * 100),
        put(tmp_path / "a.csv", "text\nx\n"),
        tmp_path / "a.parquet",
    ]
    counted: list[int] = []
    spool = tmp_path / "spool"
    spool.mkdir()
    for _ in range(2):
        counted.clear()
        scan(paths, Reading(), spool, slice_bytes=100, pulse=counted.append)
        assert sum(counted) == plan_bytes(paths) == sum(path.stat().st_size for path in [folder / "a.md", *paths[1:]])

    def stop(done: int) -> None:
        raise Cancelled

    for path in paths:
        with pytest.raises(Cancelled):
            scan([path], Reading(), spool, pulse=stop)
    assert not list(spool.glob("*.tmp"))


def test_the_checksum_is_of_the_content(tmp_path: Path) -> None:
    import mmh3

    path = put(tmp_path / "a.csv", "\ufefftext\nx\n\n")
    for size in SLICES:
        assert read(path, slice_bytes=size).inputs[0].checksum == mmh3.mmh3_x64_128(path.read_bytes()).digest().hex()


def test_rows_are_numbered_over_all_inputs_in_the_order_given(tmp_path: Path) -> None:
    corpus = read(put(tmp_path / "b.txt", "0\n1\n2\n"), put(tmp_path / "a.csv", "text\n3\n4\n"), slice_bytes=3)
    assert texts_at(corpus, range(5)) == list("01234") and texts_at(corpus, [4, 0, 4]) == ["4", "0", "4"]
    assert [place.line for place in locations_at(corpus, range(5))] == [1, 2, 3, None, None]
    picked = texts_of(corpus, corpus.slices[0], records_of(corpus, corpus.slices[0]), np.array([], np.int64))
    assert len(picked) == 0
    with pytest.raises(IndexError):
        texts_at(corpus, [5])


@pytest.mark.parametrize("apart", [1, 5_000], ids=["together", "apart"])
def test_picked_texts_are_those_of_their_rows(apart: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    held = [f't "{n}"' + "x" * int(rng.integers(apart)) for n in range(100)]
    for name, content in (
        ("a.csv", "text\n" + "".join('"' + text.replace('"', '""') + '"\n' for text in held)),
        ("a.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in held)),
        ("a.txt", "".join(text + "\n" for text in held)),
    ):
        corpus = read(put(tmp_path / name, content))
        (slice,) = corpus.slices
        for count in (1, 3, 10, 90, 100):
            picked = rng.permutation(100)[:count]
            if count == 10:
                picked[3] = picked[7]
            expected = [held[n] for n in picked]
            assert list(texts_of(corpus, slice, picked=picked)) == expected
            assert list(texts_of(corpus, slice, records_of(corpus, slice), picked)) == expected


def test_a_file_is_opened_once_however_many_rows_are_picked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = read(put(tmp_path / "a.txt", "".join(f"{n}" + " " * 30_000 + "\n" for n in range(50))))
    (slice,) = corpus.slices
    records, picked = records_of(corpus, slice), np.arange(0, 50, 3)
    opened: list[Path] = []
    open_ = Path.open

    def counted(self: Path, *args: Any, **options: Any) -> Any:
        opened.append(self)
        return open_(self, *args, **options)

    monkeypatch.setattr(Path, "open", counted)
    for known in (None, records):
        opened.clear()
        assert [int(text) for text in texts_of(corpus, slice, known, picked)] == picked.tolist()
        assert len(opened) == 1


def test_a_file_that_was_cut_since_its_borders_were_found_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "a.txt", "a\nb\nc\n")
    corpus = read(path)
    records = records_of(corpus, corpus.slices[0])
    put(path, "a\nb\n")
    assert list(texts_of(corpus, corpus.slices[0], records, np.array([1]))) == ["b"]
    with pytest.raises(SourceError, match="has changed"):
        texts_of(corpus, corpus.slices[0], records, np.array([0, 2]))


def test_a_preview_shows_what_each_column_holds(tmp_path: Path) -> None:
    rows = [{"id": str(n), "body": "" if n % 2 else f"text {n // 4}"} for n in range(300)]
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, ["id", "body"], delimiter=";")
    writer.writeheader()
    writer.writerows(rows)
    put(tmp_path / "a.csv", out.getvalue())
    put(tmp_path / "a.jsonl.gz", gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    for name in ("a.csv", "a.jsonl.gz", "a.parquet"):
        seen = preview([tmp_path / name], Reading())
        assert seen.rows == 200 and [column.name for column in seen.columns] == ["id", "body"]
        body = seen.columns[1]
        assert (body.filled, body.distinct, body.first) == (100, 50, "text 0")
        assert body.mean_chars == sum(len(row["body"]) for row in rows[:200]) / 100
    long = put(tmp_path / "b.csv", "text\n" + '"' + "x\n" * 2**20 + '"\n')
    assert preview([long], Reading()).columns[0].mean_chars == 2 * 2**20


def test_one_real_sample_in_three_formats_is_one_corpus(corpora: Path, tmp_path: Path) -> None:
    folder = corpora / "c07_debian_descriptions"
    with (folder / "debian_sample_multiline.csv").open(newline="", encoding="utf-8") as file:
        expected = [row["description"] for row in csv.DictReader(file)]
    for name in ("debian_sample_multiline.csv", "debian_sample.parquet", "debian_sample.jsonl.zst"):
        corpus = scan([folder / name], Reading(text_column="description"), tmp_path, slice_bytes=50_000)
        # The CSV has \r\n as its record end only: the line breaks in its cells are those of the other two.
        assert texts(corpus) == expected, name
    assert written(scan([folder / "debian_sample_multiline.csv"], Reading(text_column="1"), tmp_path)) == (
        folder / "debian_sample_multiline.csv"
    ).read_bytes()
