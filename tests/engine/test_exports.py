"""Exports against the csv and json modules, Python's own '%.6f' and a recount by hand."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup import summary
from neardup.errors import Cancelled, NeardupError, OutputError, OutputExists, SettingsError
from neardup.exports import Outputs, check, command_for, plan, write
from neardup.exports.rendering import write_table
from neardup.results import Banding, Clusters, Documents, Pairs, Result, RowPairs
from neardup.settings import ByHand, Settings, Sketching
from neardup.sources.corpus import Corpus, Input, Reading

T = 8_000


def result_of(seed: int, path: Path, *, verified: bool = True, num_perm: int = 128) -> Result:
    """A result no corpus gave, but of the right shape: documents with copies, pairs, clusters, chains, empty rows."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 40))
    raw = rng.integers(0, rows, rows)
    _, document_of_row, first = _numbered(raw)
    order = np.argsort(document_of_row, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(document_of_row))])
    documents = Documents(document_of_row, first, order, offsets, int(rng.integers(-1, len(first))))
    some = sorted(
        {
            (int(a), int(b))
            for a, b in rng.integers(0, len(first), (12, 2))
            if a < b and documents.empty not in (a, b)
        }
    )
    union = rng.integers(1, 900, len(some))
    overlap = rng.integers(0, union + 1)
    agree = rng.integers(0, num_perm + 1, len(some))
    left, right = (np.array([pair[side] for pair in some], np.uint32) for side in (0, 1))
    pairs = Pairs(left, right, agree.astype(np.uint32), overlap.astype(np.uint32), union.astype(np.uint32))
    accepted = 10_000 * overlap >= T * union
    if not verified:
        pairs = Pairs(left, right, pairs.agree, np.zeros_like(pairs.overlap), np.zeros_like(pairs.union))
    row_pairs = sorted(
        [
            (min(a, b), max(a, b), at)
            for at in np.flatnonzero(accepted)
            for a in np.flatnonzero(document_of_row == some[at][0])
            for b in np.flatnonzero(document_of_row == some[at][1])
        ]
        + [
            (a, b, -1)
            for a in range(rows)
            for b in range(a + 1, rows)
            if document_of_row[a] == document_of_row[b] != documents.empty
        ]
    )
    label = np.arange(rows)
    for a, b, _ in row_pairs:
        label[label == max(label[a], label[b])] = min(label[a], label[b])
    kept_union = rng.integers(1, 900, rows)
    kept_overlap = np.minimum(kept_union, rng.integers(1, 900, rows))
    same = document_of_row == document_of_row[label]
    kept_union[same] = kept_overlap[same] = 1
    alone = np.bincount(label, minlength=rows)[label] == 1
    clusters = Clusters(np.where(alone, -1, label), label, kept_overlap, kept_union)
    column = [np.array(side, np.int64) for side in zip(*row_pairs, strict=True)] or [np.zeros(0, np.int64)] * 3
    path.write_text("text\n" * rows)
    one = Input(
        path=str(path), real=str(path), format="lines", body=str(path), rows=rows, size=5 * rows, checksum="abc"
    )
    return Result(
        corpus=Corpus(inputs=(one,), slices=(), rows=rows),
        settings=Settings(banding=ByHand(1, 1), sketching=Sketching(num_perm=num_perm)),
        banding=Banding(1, 1, "by hand"),
        documents=documents,
        pairs=pairs,
        accepted=accepted,
        row_pairs=RowPairs(*column, total=len(row_pairs)),
        clusters=clusters,
        chars=np.ones(rows, np.int64),
        shingles=np.ones(len(first), np.int64),
        buckets_unlisted=0,
        pairs_not_examined=0,
        warnings=("a warning",),
        seconds={"read": 0.1},
    )


def _numbered(raw: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Documents numbered by their first row."""
    values, first, inverse = np.unique(raw, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return values, number[inverse], first[order]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exports")


def naive_pairs(result: Result) -> list[list[str]]:
    lines = [["left", "right", "estimate", "jaccard"]]
    listed = result.row_pairs
    for left, right, pair in zip(listed.left.tolist(), listed.right.tolist(), listed.pair.tolist(), strict=True):
        estimate, jaccard = "1.000000", "1.000000"
        if pair >= 0:
            estimate = f"{int(result.pairs.agree[pair]) / result.settings.sketching.num_perm:.6f}"
            union = int(result.pairs.union[pair])
            jaccard = f"{int(result.pairs.overlap[pair]) / union:.6f}" if union else ""
        lines.append([str(left), str(right), estimate, jaccard])
    return lines


def naive_clusters(result: Result) -> list[list[str]]:
    lines = [["row", "cluster", "kept", "jaccard_to_kept", "chained"]]
    found = result.clusters
    for row, label in enumerate(found.label.tolist()):
        if label >= 0:
            kept, overlap, union = int(found.kept[row]), int(found.overlap[row]), int(found.union[row])
            chained = kept != row and overlap * 10_000 < result.settings.threshold * union
            lines.append([str(row), str(label), str(kept), f"{overlap / union:.6f}", "true" if chained else "false"])
    return lines


def csv_text(lines: list[list[str]]) -> str:
    target = io.StringIO()
    csv.writer(target, lineterminator="\n").writerows(lines)
    return target.getvalue()


@given(seed=st.integers(0, 2**32), verified=st.booleans(), num_perm=st.sampled_from([1, 96, 128, 255]))
@settings(max_examples=40, deadline=None)
def test_pairs_and_clusters_as_csv_are_what_pythons_csv_module_writes(
    seed: int, verified: bool, num_perm: int, folder: Path
) -> None:
    result = result_of(seed, folder / "in", verified=verified, num_perm=num_perm)

    write(result, Outputs(pairs=str(folder / "p.csv"), clusters=str(folder / "c.csv")), force=True)

    assert (folder / "p.csv").read_bytes() == csv_text(naive_pairs(result)).encode()
    assert (folder / "c.csv").read_bytes() == csv_text(naive_clusters(result)).encode()


@given(seed=st.integers(0, 2**32), verified=st.booleans())
@settings(max_examples=15, deadline=None)
def test_pairs_as_json_lines_and_as_parquet_say_the_same_as_the_csv(seed: int, verified: bool, folder: Path) -> None:
    result = result_of(seed, folder / "in", verified=verified)
    names, *lines = naive_pairs(result)

    write(result, Outputs(pairs=str(folder / "p.jsonl"), clusters=str(folder / "c.ndjson")), force=True)
    write(result, Outputs(pairs=str(folder / "p.parquet")), force=True)

    told = [json.loads(line, parse_float=str) for line in (folder / "p.jsonl").read_text().splitlines()]
    assert told == [
        dict(zip(names, [int(left), int(right), estimate, jaccard or None], strict=True))
        for left, right, estimate, jaccard in lines
    ]
    table = pq.read_table(folder / "p.parquet").to_pylist()
    assert [[str(row["left"]), str(row["right"]), f"{row['estimate']:.6f}"] for row in table] == [x[:3] for x in lines]
    assert [None if row["jaccard"] is None else f"{row['jaccard']:.6f}" for row in table] == [
        line[3] or None for line in lines
    ]
    clusters = [json.loads(line) for line in (folder / "c.ndjson").read_text().splitlines()]
    assert [str(row["chained"]).lower() for row in clusters] == [line[4] for line in naive_clusters(result)[1:]]


@given(cells=st.lists(st.tuples(st.text(), st.none() | st.text(alphabet='a,"\r\n é\0')), min_size=1))
@settings(max_examples=60, deadline=None)
def test_a_cell_with_commas_quotes_and_line_breaks_comes_back_from_csv_and_json(
    cells: list[tuple[str, str | None]],
) -> None:
    schema = pa.schema([("a,b", pa.large_string()), ('say "hi"', pa.large_string())])
    cells = [(a.encode("utf-8", "replace").decode(), b) for a, b in cells]
    batch = pa.record_batch([pa.array(side, pa.large_string()) for side in zip(*cells, strict=True)], schema=schema)
    as_csv, as_json = io.BytesIO(), io.BytesIO()

    write_table(schema, [batch], "csv", as_csv)
    write_table(schema, [batch], "jsonl", as_json)

    back = list(csv.reader(io.StringIO(as_csv.getvalue().decode(), newline="")))
    assert back == [schema.names, *([a, b or ""] for a, b in cells)]
    lines = as_json.getvalue().decode().removesuffix("\n").split("\n")
    assert [tuple(json.loads(line).values()) for line in lines] == cells


@pytest.mark.parametrize(("ending", "opened"), [(".gz", gzip.decompress), (".zst", None)])
def test_a_compressed_output_holds_the_same_bytes_and_is_the_same_each_time(
    ending: str, opened: Callable[[bytes], bytes] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = result_of(7, tmp_path / "in")
    plain, one, two = (str(tmp_path / name) for name in ("p.csv", "one.csv" + ending, "two.csv" + ending))

    write(result, Outputs(pairs=plain))
    write(result, Outputs(pairs=one))
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    write(result, Outputs(pairs=two))

    assert Path(one).read_bytes() == Path(two).read_bytes()
    unpacked = (opened or (lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)))
    assert unpacked(Path(one).read_bytes()) == Path(plain).read_bytes()


@given(seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_a_dry_run_counts_why_each_row_is_kept_or_removed(seed: int, folder: Path) -> None:
    result = result_of(seed, folder / "in")
    outputs = Outputs(pairs=str(folder / "n.csv"), clusters=str(folder / "m.csv"))
    found, documents, t = result.clusters, result.documents.document_of_row.tolist(), result.settings.threshold
    why = {"alone": 0, "of_clusters": 0, "empty": 0, "copies": 0, "near": 0, "chained": 0}
    least: float | None = None
    for row, kept in enumerate(found.kept.tolist()):
        overlap, union = int(found.overlap[row]), int(found.union[row])
        if documents[row] == result.documents.empty:
            why["empty"] += 1
        elif kept == row:
            why["alone" if found.label[row] < 0 else "of_clusters"] += 1
        else:
            least = min(overlap / union, least or 1.0)
            why["copies" if documents[row] == documents[kept] else
                "near" if overlap * 10_000 >= t * union else "chained"] += 1

    dry = plan(result, outputs)

    assert {name: getattr(dry, name) for name in why} == why
    assert dry.kept + dry.removed == result.corpus.rows
    assert (dry.kept, dry.removed) == (result.kept, result.removed) and dry.least == least
    written = write(result, outputs, force=True)
    assert [(file.bytes, file.exact, file.rows) for file in dry.files] == [(w.bytes, True, w.rows) for w in written]


def refused(outputs: Outputs, result: Result, kind: type[NeardupError], *words: str, force: bool = False) -> None:
    with pytest.raises(kind) as error:
        check(outputs, result.corpus, force=force)
    assert type(error.value) is kind
    assert all(word in str(error.value) for word in words) and "\n" not in str(error.value)


def test_what_could_not_be_written_at_the_end_is_refused_before_the_run(tmp_path: Path) -> None:
    result = result_of(1, tmp_path / "in.txt")
    there = tmp_path / "there.csv"
    there.write_text("mine")
    (tmp_path / "link.csv").symlink_to(tmp_path / "in.txt")
    name = str(there)

    refused(Outputs(pairs=name), result, OutputExists, "--pairs", name, "--force")
    refused(Outputs(out=str(tmp_path / "in.txt")), result, SettingsError, "is an input", force=True)
    refused(Outputs(out=str(tmp_path / "link.csv")), result, SettingsError, "is an input", force=True)
    refused(Outputs(out=name, pairs=f"{tmp_path}/./there.csv"), result, SettingsError, "--out and --pairs", force=True)
    refused(Outputs(pairs=str(tmp_path)), result, SettingsError, "is a folder", force=True)
    refused(Outputs(pairs=str(tmp_path / "no" / "p.csv")), result, OutputError, "no folder")
    refused(Outputs(removed=str(tmp_path / "r.jsonl")), result, SettingsError, ".csv")
    refused(Outputs(pairs="-"), result, SettingsError, "--out")
    check(Outputs(pairs=name), result.corpus, force=True)
    check(Outputs(out="-", pairs="/dev/null"), result.corpus)
    assert there.read_text() == "mine"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"format": "csv"}, "lines and csv"),
        ({"encoding": "cp1252"}, "utf-8 and cp1252"),
    ],
)
def test_inputs_that_differ_do_not_go_into_one_output(changes: dict[str, str], word: str, tmp_path: Path) -> None:
    result = result_of(1, tmp_path / "in.txt")
    one = result.corpus.inputs[0]
    other = msgspec.structs.replace(one, path="other", real="/other", **changes)
    mixed = msgspec.structs.replace(result.corpus, inputs=(one, other))

    with pytest.raises(SettingsError, match=word):
        check(Outputs(out=str(tmp_path / "o")), mixed)
    check(Outputs(pairs=str(tmp_path / "o")), mixed)


class _After:
    """A pulse that ends the work at its n-th call."""

    def __init__(self, calls: int, error: BaseException) -> None:
        self.calls, self.error = calls, error

    def __call__(self, _: int) -> None:
        self.calls -= 1
        if self.calls < 0:
            raise self.error


@pytest.mark.parametrize("error", [Cancelled(), KeyboardInterrupt(), OutputError("full")])
@pytest.mark.parametrize("calls", [0, 1, 2])
def test_an_export_that_is_stopped_leaves_nothing(error: BaseException, calls: int, tmp_path: Path) -> None:
    result = result_of(5, tmp_path / "in")
    old = tmp_path / "p.csv"
    old.write_text("old")
    outputs = Outputs(pairs=str(old), clusters=str(tmp_path / "c.csv.gz"), manifest=str(tmp_path / "m.json"))

    with pytest.raises(type(error)):
        write(result, outputs, force=True, pulse=_After(calls, error))

    assert sorted(os.listdir(tmp_path)) == ["in", "p.csv"] and old.read_text() == "old"


def test_a_full_disk_is_one_clear_error_and_leaves_nothing(tmp_path: Path) -> None:
    result = result_of(5, tmp_path / "in")
    with pytest.raises(OutputError, match="/dev/full could not be written: No space left on device"):
        write(result, Outputs(pairs=str(tmp_path / "p.csv"), clusters="/dev/full"))
    assert os.listdir(tmp_path) == ["in"]


@pytest.mark.parametrize(("mode", "shown"), [(0o600, 0o600), (0o644, 0o644), (0o444, 0o644), (0o640, 0o640)])
def test_nobody_may_read_an_output_who_may_not_read_its_input(mode: int, shown: int, tmp_path: Path) -> None:
    result = result_of(5, tmp_path / "in")
    (tmp_path / "in").chmod(mode)
    before = os.umask(0o022)
    try:
        write(result, Outputs(pairs=str(tmp_path / "p.csv")))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "p.csv").stat().st_mode) == shown


def test_an_output_that_is_a_link_stays_one_and_its_target_is_replaced(tmp_path: Path) -> None:
    result = result_of(5, tmp_path / "in")
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")

    write(result, Outputs(pairs=str(tmp_path / "link.csv")), force=True)

    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == csv_text(naive_pairs(result))


def test_without_a_manifest_no_output_is_hashed(tmp_path: Path) -> None:
    (written,) = write(result_of(5, tmp_path / "in"), Outputs(pairs=str(tmp_path / "p.csv")))
    assert written.sha256 is None and written.bytes == (tmp_path / "p.csv").stat().st_size


def test_a_manifest_holds_the_checksum_of_every_output_and_is_the_same_but_for_the_clock(tmp_path: Path) -> None:
    result = result_of(5, tmp_path / "in")
    outputs = Outputs(pairs=str(tmp_path / "p.csv.gz"), manifest=str(tmp_path / "m.json"))

    write(result, outputs)
    first = json.loads((tmp_path / "m.json").read_text())
    write(result, outputs, force=True)
    second = json.loads((tmp_path / "m.json").read_text())

    (pairs,) = first["outputs"]
    assert pairs["sha256"] == hashlib.sha256((tmp_path / "p.csv.gz").read_bytes()).hexdigest()
    assert (pairs["rows"], pairs["bytes"]) == (len(result.row_pairs), (tmp_path / "p.csv.gz").stat().st_size)
    assert first["inputs"][0]["checksum"] == "abc"
    assert msgspec.convert(first["settings"], Settings) == result.settings
    for told in (first, second):
        for key in ("seconds", "machine", "peak_memory_bytes"):
            del told[key]
    assert first == second


def test_the_equal_command_leaves_out_what_is_usual() -> None:
    assert command_for(["a b.csv"], Reading(), Settings()) == ["neardup", "run", "a b.csv"]
    assert command_for(["-x"], Reading(format="csv", text_column="-"), Settings(threshold=8_500)) == [
        "neardup", "run", "./-x", "--format", "csv", "--text-column", "-", "--threshold", "0.85",
    ]  # fmt: skip


@given(seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_the_summary_fits_80_columns_and_says_the_numbers_of_the_json(seed: int, folder: Path) -> None:
    result = result_of(seed, folder / "in")

    told = summary.as_json(result)
    lines = summary.lines(result)

    sizes = np.bincount(result.clusters.label[result.clusters.label >= 0], minlength=1)
    assert (told["clusters"], told["largest_cluster"]) == (int((sizes > 0).sum()), int(sizes.max()))
    assert told["documents"] + told["exact_duplicates"] + told["empty"] == told["rows"] == result.corpus.rows
    assert told["kept"] + told["removed"] == told["rows"]
    assert max(map(len, lines)) <= summary.COLUMNS
    for name in ("rows", "documents", "candidates", "clusters", "kept", "removed"):
        (line,) = (line for line in lines if line.startswith(f"  {name} "))
        assert line.split()[1] == f"{told[name]:,}"
