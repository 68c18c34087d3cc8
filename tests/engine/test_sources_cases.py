"""Public bug reports about reading: a folder of tests/cases has an input and what a correct product reads in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from neardup.errors import ColumnError, SourceError
from neardup.sources import scan, texts_at
from neardup.sources.corpus import Corpus, Reading

CASES = Path(__file__).parents[1] / "cases"


def case(number: str) -> tuple[Path, dict[str, Any]]:
    (folder,) = CASES.glob(f"{number}-*")
    return folder, json.loads((folder / "expected.json").read_text())


def read(path: Path, spool: Path, **reading: Any) -> tuple[Corpus, list[str]]:
    corpus = scan([path], Reading(**reading), spool)
    return corpus, texts_at(corpus, range(corpus.rows))


@pytest.mark.parametrize(
    ("number", "name"),
    [
        ("02", "rows.csv"),
        ("03", "rows.csv"),
        ("15", "bom.csv"),
        ("17", "notes.csv"),
        ("18", "semi.csv"),
        ("20", "nul.csv"),
        ("20", "nul.txt"),
        ("23", "rec.jsonl"),
        ("24", "joined.txt.gz"),
    ],
)
def test_the_texts_are_those_that_the_report_asks_for(number: str, name: str, tmp_path: Path) -> None:
    folder, expected = case(number)
    corpus, texts = read(folder / name, tmp_path)
    assert texts == expected["doc_texts"] and corpus.rows == expected["docs"]
    assert corpus.inputs[0].columns == tuple(expected.get("columns", corpus.inputs[0].columns))
    assert corpus.warnings == ()


def test_a_semicolon_inside_an_html_entity_is_no_delimiter(tmp_path: Path) -> None:
    folder, expected = case("18")
    corpus, texts = read(folder / "entity.csv", tmp_path)
    assert texts == expected["entity_csv"]["docs"]
    assert corpus.inputs[0].delimiter == "," and list(corpus.inputs[0].columns) == expected["entity_csv"]["columns"]


def test_a_cell_of_any_length_is_read_whole(tmp_path: Path) -> None:
    folder, expected = case("16")
    _, texts = read(folder / "huge.csv.gz", tmp_path)
    assert [len(text) for text in texts] == expected["lengths"]


def test_two_columns_of_one_name_are_told_apart_by_number(tmp_path: Path) -> None:
    folder, expected = case("19")
    assert read(folder / "dup.csv", tmp_path, text_column="2")[1] == expected["docs_first"]
    assert read(folder / "dup.csv", tmp_path, text_column="3")[1] == expected["docs_second"]
    for wanted in (None, "text"):
        with pytest.raises(ColumnError, match="columns 2 and 3 share the name 'text'"):
            read(folder / "dup.csv", tmp_path, text_column=wanted)


def test_one_text_in_eight_encodings_is_read_as_one_text(tmp_path: Path) -> None:
    folder, expected = case("21")
    for name in expected["files"]:
        corpus, texts = read(folder / "files" / name, tmp_path, format="files")
        assert [" ".join(text.split()) for text in texts] == [expected["text"]]
        guessed = name in ("latin1.txt", "cp1252.txt")
        assert corpus.inputs[0].guessed == guessed
        assert any("windows-1252" in warning for warning in corpus.warnings) == guessed
    corpus = scan([folder / "files"], Reading(), tmp_path)
    assert {" ".join(text.split()) for text in texts_at(corpus, range(8))} == {expected["text"]}


@pytest.mark.parametrize(
    "name", ["utf8.txt", "utf8_bom.txt", "utf16le_bom.txt", "utf16be_bom.txt", "utf32le_bom.txt", "cp1252.txt"]
)
def test_lines_are_read_in_every_encoding_too(name: str, tmp_path: Path) -> None:
    folder, expected = case("21")
    _, texts = read(folder / "files" / name, tmp_path)
    assert texts == [expected["text"]]


def test_only_what_a_page_shows_is_its_text(tmp_path: Path) -> None:
    folder, expected = case("22")
    _, texts = read(folder / "html", tmp_path)
    assert [" ".join(text.split()) for text in texts] == expected["doc_texts"]


def test_a_cut_gz_is_refused_by_name(tmp_path: Path) -> None:
    folder, _ = case("24")
    with pytest.raises(SourceError, match=r"cut\.txt\.gz: ends too early"):
        read(folder / "cut.txt.gz", tmp_path)
    assert list(tmp_path.iterdir()) == []
