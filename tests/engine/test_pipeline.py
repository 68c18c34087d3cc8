"""The whole engine against lists that another program counted, and against itself on other machines' terms."""

from __future__ import annotations

import asyncio
import csv
import gzip
import hashlib
import os
import sys
from fractions import Fraction
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import pytest

from neardup import (
    ByHand,
    ByRecall,
    Engine,
    Finished,
    Normalising,
    Reading,
    Result,
    RunInUse,
    Settings,
    Shingling,
    Sketching,
    SourceError,
    StageStarted,
    Warned,
    budget,
    exports,
    find_duplicates,
    summary,
)

AS_COUNTED = Normalising(drop_invisible=False, unicode_form="none")  # how the lists were counted
BANDS_THAT_MISS_NOTHING = {8_000: ByHand(32, 4), 5_000: ByHand(64, 2)}
C07 = "c07_debian_descriptions/"
LISTS = {
    # source, column, list, row pairs at .8 and .5
    "c07 sample": (C07 + "debian_sample_multiline.csv", "description", "pairs_sample_j50.csv", 678, 2528),
    "c07 parquet": (C07 + "debian_sample.parquet", "description", "pairs_sample_j50.csv", 678, 2528),
    "c07 zst": (C07 + "debian_sample.jsonl.zst", "description", "pairs_sample_j50.csv", 678, 2528),
    "c04 csv": ("c04_spdx_licences/licences.csv", "text", "pairs_j50.csv", 686, 3397),
    "c04 folder": ("c04_spdx_licences/txt", None, "pairs_j50.csv", 686, 3397),
    "c01": ("c01_articles_planted/articles_1000_one_per_line.txt", None, "pairs_1000_j50.csv", 10, 10),
    "c14": ("c14_emoji_lines/emoji_names_one_per_line.txt", None, "pairs_j50.csv", 545, 29039),
    "c06": ("c06_udhr/utf8", None, "pairs_j50.csv", 7, 9),
}  # fmt: skip


def found_pairs(result: Result) -> dict[tuple[int, int], str]:
    """Row pairs and their Jaccard as exports print it."""
    rows = result.row_pairs
    copies = rows.pair < 0
    overlap = np.where(copies, 1, result.pairs.overlap[rows.pair])
    union = np.where(copies, 1, result.pairs.union[rows.pair])
    triples = zip(rows.left.tolist(), rows.right.tolist(), overlap.tolist(), union.tolist(), strict=True)
    return {(left, right): f"{a / b:.6f}" for left, right, a, b in triples}


def listed_pairs(path: Path, threshold: int, order: dict[int, int] | None = None) -> dict[tuple[int, int], str]:
    with path.open(newline="") as file:
        rows = [(int(row["i"]), int(row["j"]), row["jaccard"]) for row in csv.DictReader(file)]
    number = order or {}
    listed = {}
    for i, j, jaccard in rows:
        if Fraction(jaccard) * 10_000 >= threshold:
            left, right = sorted((number.get(i, i), number.get(j, j)))
            listed[left, right] = jaccard
    return listed


def order_of_folder(corpus: Path, names: tuple[str, ...], ending: str) -> dict[int, int]:
    """The lists number a folder's files by its index; rows are paths sorted by bytes."""
    with (corpus / "index.csv").open(newline="") as file:
        index = {row["id"]: int(row["i"]) for row in csv.DictReader(file)}
    return {index[name if name in index else name.removesuffix(ending)]: row for row, name in enumerate(names)}


@pytest.mark.parametrize("find", ["lsh", "exact"])
@pytest.mark.parametrize("threshold", [8_000, 5_000])
@pytest.mark.parametrize("name", LISTS)
def test_pairs_equal_the_exact_list(
    corpora: Path, tmp_path: Path, name: str, threshold: int, find: Literal["lsh", "exact"]
) -> None:
    path, column, list_name, at_8, at_5 = LISTS[name]
    banding = BANDS_THAT_MISS_NOTHING[threshold] if find == "lsh" else ByRecall()
    settings = Settings(normalising=AS_COUNTED, threshold=threshold, find=find, banding=banding)
    result = find_duplicates([corpora / path], settings, Reading(text_column=column), run_dir=tmp_path / "run")
    folder = corpora / path.partition("/")[0]
    files = result.corpus.inputs[0].files
    order = order_of_folder(folder, files, ".txt") if files else None
    expected = listed_pairs(folder / list_name, threshold, order)
    assert len(expected) == (at_8 if threshold == 8_000 else at_5)
    assert found_pairs(result) == expected
    assert result.row_pairs.total == len(expected)


@pytest.mark.parametrize("threshold", [8_000, 5_000])
def test_the_exact_join_of_three_folders_gives_the_exact_list(
    corpora: Path, tmp_path: Path, threshold: int
) -> None:
    folder = corpora / "c11_markdown_tldr"
    names = ("pages", "pages.ar", "pages.zh")
    settings = Settings(normalising=AS_COUNTED, threshold=threshold, find="exact")
    result = find_duplicates([folder / name for name in names], settings, run_dir=tmp_path / "run")
    files = [f"{name}/{file}" for name, one in zip(names, result.corpus.inputs, strict=True) for file in one.files]
    expected = listed_pairs(folder / "pairs_j50.csv", threshold, order_of_folder(folder, tuple(files), ".md"))
    assert len(expected) == {8_000: 113, 5_000: 25_480}[threshold]
    assert found_pairs(result) == expected


def test_rows_and_documents_are_counted_apart(corpora: Path, tmp_path: Path) -> None:
    settings = Settings(normalising=AS_COUNTED, banding=ByHand(32, 4))
    sample = corpora / "c07_debian_descriptions/debian_sample_multiline.csv"
    result = find_duplicates([sample], settings, Reading(text_column="description"), run_dir=tmp_path / "run")
    assert (result.corpus.rows, result.documents.distinct) == (2538, 2502)
    assert int(result.accepted.sum()) == 584
    assert result.kept + result.removed == 2538


def test_the_empty_document_is_reported_and_in_no_pair(corpora: Path, tmp_path: Path) -> None:
    settings = Settings(normalising=AS_COUNTED, banding=ByHand(32, 4))
    result = find_duplicates([corpora / "c06_udhr/utf8"], settings, run_dir=tmp_path / "run")
    assert result.documents.empty_rows == 1


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """500 lines: edited copies, verbatim copies, empty ones."""
    rng = np.random.default_rng(3)
    words = np.array(["".join(map(chr, rng.integers(97, 123, rng.integers(3, 9)))) for _ in range(400)])
    texts: list[str] = []
    for _ in range(500):
        kind = rng.random()
        if texts and kind < 0.1:
            texts.append(texts[rng.integers(len(texts))])
        elif texts and kind < 0.5:
            copy = texts[rng.integers(len(texts))].split(" ")
            copy[rng.integers(len(copy))] = str(rng.choice(words))
            texts.append(" ".join(copy))
        else:
            texts.append("" if kind > 0.99 else " ".join(rng.choice(words, rng.integers(6, 30))))
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(texts) + "\n")
    return path


def everything(result: Result) -> list[object]:
    """All that a result says, but for time and memory."""
    return [
        *(array.tolist() for array in (result.accepted, result.chars, result.shingles)),
        *(getattr(result.documents, name).tolist() for name in ("document_of_row", "first_row", "offsets")),
        *(getattr(result.pairs, name).tolist() for name in ("left", "right", "agree", "overlap", "union")),
        *(getattr(result.row_pairs, name).tolist() for name in ("left", "right", "pair")),
        *(getattr(result.clusters, name).tolist() for name in ("label", "kept", "overlap", "union")),
        (result.banding, result.warnings),
    ]  # fmt: skip


async def run(paths: list[Path], settings: Settings, **engine: object) -> Result:
    async with Engine(**engine) as here:  # type: ignore[arg-type]
        corpus = await here.load(paths)
        async for event in here.run(corpus, settings):
            if isinstance(event, Finished):
                return event.result
    raise AssertionError


@pytest.mark.parametrize(
    ("verify", "clusters", "find", "threshold"),
    [
        ("exact", "transitive", "lsh", 7_000), ("estimate", "star", "lsh", 7_000),
        ("exact", "star", "exact", 7_000), ("exact", "transitive", "exact", 8_000),
        *(pytest.param(*both, "lsh", 7_000, marks=pytest.mark.all)
          for both in [("exact", "star"), ("estimate", "transitive"), ("none", "transitive"), ("none", "star")]),
    ],
)  # fmt: skip
async def test_a_run_says_the_same_for_any_workers_and_any_chunks(
    lines: Path, tmp_path: Path, verify: str, clusters: str, find: str, threshold: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(verify=verify, clusters=clusters, find=find, threshold=threshold)  # type: ignore[arg-type]
    results = []
    for workers, size, index in [(0, 2**23, 2**20), (0, 700, 2**12), (0, 5_000, 2**14), (2, 700, 2**20)]:
        monkeypatch.setattr(budget, "MOST_INDEX", index)
        monkeypatch.setattr(budget, "LEAST_INDEX", index)
        directory = tmp_path / f"{workers}-{size}"
        results.append(await run([lines], settings, workers=workers, slice_bytes=size, run_dir=directory))
    assert len(results[1].corpus.slices) > 20
    assert len(results[0].pairs) > 100
    first, *others = map(everything, results)
    for other in others:
        assert other == first


async def test_the_fast_family_finds_the_same_pairs_and_calls_its_chance_approximate(
    lines: Path, tmp_path: Path
) -> None:
    settings = Settings(threshold=7_000, banding=ByHand(42, 3))
    families = [settings, msgspec.structs.replace(settings, sketching=Sketching(family="fast"))]

    mersenne, fast = [await run([lines], one, run_dir=tmp_path / "run") for one in families]
    in_pieces = await run([lines], families[1], run_dir=tmp_path / "other", slice_bytes=700)

    assert found_pairs(fast) == found_pairs(mersenne) and len(fast.row_pairs) > 100
    assert not np.array_equal(fast.pairs.agree, mersenne.pairs.agree)
    assert everything(in_pieces) == everything(fast)
    told = [" ".join(" ".join(summary.lines(result)).split()) for result in (mersenne, fast)]
    assert ["a chance of about" in one for one in told] == [False, True]


async def test_bands_in_several_rounds_and_parts_give_the_same_candidates(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from neardup import budget, pipeline

    settings = Settings(threshold=6_000)
    whole = await run([lines], settings, workers=0, run_dir=tmp_path / "whole")
    monkeypatch.setattr(pipeline, "ROUND_BYTES", 30_000)
    monkeypatch.setattr(pipeline, "PAIRS_A_PART", 50)
    monkeypatch.setattr(pipeline, "ROW_PAIRS_A_PART", 20)
    monkeypatch.setattr(pipeline, "ROWS_A_LISTING", 30)
    monkeypatch.setattr(budget, "LEAST_PART", 1_000)
    monkeypatch.setattr(budget, "MOST_PART", 4_000)
    cut = await run([lines], settings, workers=0, run_dir=tmp_path / "cut")
    assert everything(cut) == everything(whole)


async def test_candidates_that_are_made_again_and_cut_otherwise_find_nothing_compared_for_the_old_cut(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from neardup import budget, pipeline

    # given: a run whose candidates are lost, while what was compared is still there
    settings, run_dir = Settings(threshold=6_000), tmp_path / "run"
    monkeypatch.setattr(budget, "WORTH_A_PART", 1)
    monkeypatch.setattr(pipeline, "PAIRS_A_PART", 50)
    whole = await run([lines], settings, workers=0, run_dir=run_dir)
    for path in run_dir.rglob("bands-*/*.npy"):
        path.unlink()
    assert list(run_dir.rglob("verify-*/compared-*.npy"))

    # when: the next run cuts the pairs in other places
    monkeypatch.setattr(pipeline, "PAIRS_A_PART", 31)
    again = await run([lines], settings, workers=0, run_dir=run_dir)

    assert everything(again) == everything(whole)


async def test_a_bucket_over_the_limit_is_told_and_linked(lines: Path, tmp_path: Path) -> None:
    listed = await run([lines], Settings(threshold=6_000), workers=0, run_dir=tmp_path / "a")
    limited = await run([lines], Settings(threshold=6_000, bucket_limit=2), workers=0, run_dir=tmp_path / "b")
    assert (listed.buckets_unlisted, listed.pairs_not_examined) == (0, 0)
    assert limited.buckets_unlisted > 0 and limited.pairs_not_examined > 0
    assert any("not examined" in warning for warning in limited.warnings)
    assert len(limited.pairs) < len(listed.pairs)


async def test_another_threshold_finds_the_old_signatures(lines: Path, tmp_path: Path) -> None:
    async with Engine(workers=0, run_dir=tmp_path / "run") as engine:
        corpus = await engine.load([lines])
        by_hand = ByHand(16, 6)

        async def artifacts(settings: Settings) -> dict[str, int]:
            async for _ in engine.run(corpus, settings):
                pass
            return {
                str(path.relative_to(tmp_path)): path.stat().st_ino for path in (tmp_path / "run").rglob("*.npy")
            }

        before = await artifacts(Settings(banding=by_hand))
        after = await artifacts(Settings(banding=by_hand, threshold=9_000))
        other_shingles = await artifacts(Settings(banding=by_hand, shingling=Shingling(k=7)))
    signatures = [name for name in before if "/signatures-" in name]
    assert signatures
    assert all(after[name] == before[name] for name in signatures)
    assert set(other_shingles) - set(after)


async def test_a_damaged_artifact_is_noticed_and_made_again(lines: Path, tmp_path: Path) -> None:
    first = await run([lines], Settings(), workers=0, run_dir=tmp_path / "run")
    for path in (tmp_path / "run").rglob("signatures-*/signatures-*.npy"):
        data = bytearray(path.read_bytes())
        data[-5] ^= 1
        path.write_bytes(data)
    # The candidates that were made of it have to go too, or nobody would look at it again.
    for path in (tmp_path / "run").rglob("bands-*/*.npy"):
        path.unlink()
    again = await run([lines], Settings(), workers=0, run_dir=tmp_path / "run")
    assert everything(again) == everything(first)


async def test_what_a_stopped_run_finished_is_used_by_the_next(lines: Path, tmp_path: Path) -> None:
    options = {"workers": 0, "slice_bytes": 700, "run_dir": tmp_path / "run"}
    async with Engine(**options) as engine:  # type: ignore[arg-type]
        corpus = await engine.load([lines])
        async for event in engine.run(corpus, Settings()):
            if isinstance(event, StageStarted) and event.stage == "bands":
                break
    kept = {path: path.stat().st_ino for path in (tmp_path / "run").rglob("signatures-*/*.npy")}
    assert kept
    assert not list((tmp_path / "run").rglob("*.tmp"))
    again = await run([lines], Settings(), **options)
    assert everything(again) == everything(await run([lines], Settings(), workers=0, run_dir=tmp_path / "other"))
    assert {path: path.stat().st_ino for path in kept} == kept


async def test_stopping_a_run_leaves_no_half_written_file_and_workers_that_live(lines: Path, tmp_path: Path) -> None:
    async with Engine(workers=2, slice_bytes=300, run_dir=tmp_path / "run") as engine:
        corpus = await engine.load([lines])

        async def go() -> None:
            async for _ in engine.run(corpus, Settings()):
                pass

        running = asyncio.create_task(go())
        await asyncio.sleep(0.15)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not list((tmp_path / "run").rglob("*.tmp"))
        await go()


async def test_two_engines_on_one_run_directory_are_kept_apart(lines: Path, tmp_path: Path) -> None:
    async with Engine(workers=0, run_dir=tmp_path / "run") as one, Engine(workers=0, run_dir=tmp_path / "run") as two:
        await one.load([lines])
        with pytest.raises(RunInUse, match="another neardup"):
            await two.load([lines])


async def test_an_input_that_changed_since_it_was_read_is_refused(lines: Path, tmp_path: Path) -> None:
    async with Engine(workers=0, run_dir=tmp_path / "run") as engine:
        corpus = await engine.load([lines])
        lines.write_text("another text\n")
        with pytest.raises(SourceError, match="changed on disk"):
            async for _ in engine.run(corpus, Settings()):
                pass


async def test_where_no_worker_can_start_there_is_one_warning_and_the_same_result(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = await run([lines], Settings(), workers=0, run_dir=tmp_path / "inline")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    warnings: list[str] = []
    async with Engine(workers=2, run_dir=tmp_path / "run") as engine:

        def hear(event: object) -> None:
            if isinstance(event, Warned):
                warnings.append(event.text)

        corpus = await engine.load([lines], on_event=hear)
        async for event in engine.run(corpus, Settings()):
            hear(event)
            if isinstance(event, Finished):
                assert everything(event.result)[:-1] == everything(expected)[:-1]
    assert [warning for warning in warnings if "no worker" in warning] == warnings[:1]
    assert len(warnings) == 1


async def test_a_few_lines_are_not_worth_a_process_and_many_are(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from neardup import engine as module

    async def processes(**options: object) -> int:
        async with Engine(run_dir=tmp_path / "run", **options) as engine:  # type: ignore[arg-type]
            await engine.load([lines])
            return len(engine.worker_pids)

    assert await processes() == 0
    assert await processes(workers=1) == 1
    monkeypatch.setattr(module, "WORTH_WORKERS", 1_000)
    assert await processes() == module.default_workers()


async def test_an_engine_that_had_a_few_lines_first_starts_workers_for_a_large_file(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from neardup import engine as module

    monkeypatch.setattr(module, "WORTH_WORKERS", 1_000)
    (tmp_path / "few.txt").write_text("one line\n")
    async with Engine() as engine:
        await engine.load([tmp_path / "few.txt"])
        assert engine.worker_pids == []
        await engine.load([lines])
        assert len(engine.worker_pids) == module.default_workers()


def test_a_run_directory_is_private(lines: Path, tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        find_duplicates([lines], run_dir=tmp_path / "run")
    finally:
        os.umask(old)
    for path in [tmp_path / "run", *(tmp_path / "run").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_the_input_is_never_changed(lines: Path, tmp_path: Path) -> None:
    before = (hashlib.sha256(lines.read_bytes()).digest(), lines.stat().st_mtime_ns)
    find_duplicates([lines], run_dir=tmp_path / "run")
    assert (hashlib.sha256(lines.read_bytes()).digest(), lines.stat().st_mtime_ns) == before


async def test_find_duplicates_works_inside_a_running_loop(lines: Path, tmp_path: Path) -> None:
    assert find_duplicates([lines], run_dir=tmp_path / "run").corpus.rows == 500


@pytest.mark.parametrize("shape", ["csv", "gz", "folder"])
async def test_every_export_has_the_same_bytes_for_any_workers_and_any_chunks(
    lines: Path, tmp_path: Path, shape: str
) -> None:
    texts = lines.read_text().splitlines()
    source = tmp_path / f"input.{shape}"
    if shape == "csv":
        with source.open("w", newline="") as file:
            csv.writer(file).writerows([["id", "text"], *enumerate(texts)])
    elif shape == "gz":
        source = tmp_path / "input.txt.gz"
        source.write_bytes(gzip.compress(lines.read_bytes()))
    else:
        source.mkdir()
        for number, text in enumerate(texts):
            (source / f"{number:04d}.txt").write_text(text)
    digests = []
    for workers, size in [(0, 2**23), (1, 3_000), (2, 9_000)]:
        folder = tmp_path / f"out-{workers}-{size}"
        folder.mkdir()
        outputs = exports.Outputs(
            out=str(folder / "kept"), removed=str(folder / "removed.csv"), pairs=str(folder / "pairs.csv"),
            clusters=str(folder / "clusters.csv"),
        )  # fmt: skip
        options = {"workers": workers, "slice_bytes": size, "run_dir": tmp_path / f"run-{workers}-{size}"}
        async with Engine(**options) as engine:  # type: ignore[arg-type]
            corpus = await engine.load([source])
            async for event in engine.run(corpus, Settings(threshold=7_000)):
                if isinstance(event, Finished):
                    exports.write(event.result, outputs)
        digests.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()})
    assert len(digests[0]) == 4
    assert digests[1:] == digests[:1] * 2
