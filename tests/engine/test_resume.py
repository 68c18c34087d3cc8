"""What the next run makes of what it finds: it uses what is good, and does again what is stale or damaged."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from neardup import Engine, Finished, Result, Settings, artifacts, store

SETTINGS = Settings(threshold=7_000)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """300 lines in a compressed file, so that there is a spool too; many are alike, some only through others."""
    rng = np.random.default_rng(3)
    words = np.array(["".join(map(chr, rng.integers(97, 123, 6))) for _ in range(300)])
    texts = [" ".join(rng.choice(words, rng.integers(6, 20)))]
    while len(texts) < 300:
        copy = texts[rng.integers(len(texts))].split(" ")
        copy[rng.integers(len(copy))] = str(rng.choice(words))
        texts.append(" ".join(copy if rng.random() < 0.6 else rng.choice(words, rng.integers(6, 20))))
    path = tmp_path / "lines.txt.gz"
    path.write_bytes(gzip.compress("\n".join(texts).encode(), mtime=0))
    return path


async def run(path: Path, run_dir: Path, settings: Settings = SETTINGS) -> Result:
    async with Engine(workers=0, slice_bytes=8_000, run_dir=run_dir, keep_spool=True) as engine:
        corpus = await engine.load([path])
        async for event in engine.run(corpus, settings):
            if isinstance(event, Finished):
                return event.result
    raise AssertionError


def test_a_finished_run_leaves_none_of_its_steps_between_two_stages(lines: Path, tmp_path: Path) -> None:
    cli(lines, tmp_path / "run", "--threshold", "0.7", "--clusters", "star")
    steps = ("scratch", "united", "spread", "blocks", "entries", "repeats", "sorted")
    left = [path.name for path in (tmp_path / "run").rglob("*.npy")]
    assert left and not [name for name in left if any(step in name for step in steps)]


def found(result: Result) -> list[object]:
    return [
        *(getattr(result.pairs, name).tolist() for name in ("left", "right", "agree", "overlap", "union")),
        *(getattr(result.clusters, name).tolist() for name in ("label", "kept", "overlap", "union")),
        *(array.tolist() for array in (result.accepted, result.chars, result.shingles)),
    ]


def cut(good: bytes) -> bytes:
    return good[: len(good) // 2]


def flipped(good: bytes) -> bytes:
    at = 2 * len(good) // 3
    return good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]


def garbage(good: bytes) -> bytes:
    return b"PK\x03\x04" + np.random.default_rng(1).bytes(len(good))


def nothing(good: bytes) -> bytes:
    return b""


def gone(good: bytes) -> None:
    return None


def put(path: Path, content: bytes | None) -> None:
    path.unlink(missing_ok=True)  # a map of the old one stays valid
    if content is not None:
        path.write_bytes(content)
    store._mapped.cache_clear()  # as in another process


async def test_each_kind_of_file_in_the_run_directory_that_is_damaged_is_noticed_and_made_again(
    lines: Path, tmp_path: Path
) -> None:
    run_dir = tmp_path / "run"
    expected = found(await run(lines, run_dir))
    left = {path: path.read_bytes() for path in run_dir.rglob("*") if path.is_file()}
    kinds = {path.parent.name.partition("-")[0] + "/" + path.name.rpartition("-")[0]: path for path in left}
    assert {"signatures/signatures", "bands/pairs", "sets/sets.values", "verify/compared", "spool/00000"} <= set(kinds)
    for kind, path in kinds.items():
        put(path, flipped(left[path]))

        assert found(await run(lines, run_dir)) == expected, kind

        if path.suffix == ".npy" or path.parent.name == "spool":
            assert path.read_bytes() == left[path], kind


@pytest.mark.parametrize("damage", [cut, garbage, nothing, gone])
async def test_a_run_directory_that_is_damaged_all_over_is_made_again(
    lines: Path, tmp_path: Path, damage: Callable[[bytes], bytes | None]
) -> None:
    run_dir = tmp_path / "run"
    expected = found(await run(lines, run_dir))
    left = {path: path.read_bytes() for path in run_dir.rglob("*") if path.is_file()}
    for directory in ("signatures-", "documents-", "bands-", "sets-", "verify-", "spool", "run"):
        for path, good in left.items():
            if path.parent.name.startswith(directory):
                put(path, damage(good))

        assert found(await run(lines, run_dir)) == expected, directory


async def test_every_damaged_bit_of_a_head_is_noticed(tmp_path: Path) -> None:
    kept = store.LocalStore(tmp_path)
    array = np.arange(300, dtype=np.uint32).reshape(-1, 3)
    part = kept.write("pairs", 0, array)
    path = tmp_path / part.file
    good = path.read_bytes()
    head = len(good) - array.nbytes
    for bit in range(8 * head):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bad)
        if kept.intact(part):  # a blank more, another quote: it says the same
            again = np.load(path)
            assert again.dtype == array.dtype and again.tolist() == array.tolist(), bit


def files(run_dir: Path) -> dict[str, tuple[int, int]]:
    """Which files there are, and what tells whether they were written again."""
    return {
        str(path.relative_to(run_dir)): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in run_dir.rglob("signatures-*/*.npy")
    }


def cli(path: Path, run_dir: Path, *options: str) -> dict[str, object]:
    command = [sys.executable, "-m", "neardup_tui", "run", str(path), "--run-dir", str(run_dir), "--json", "--quiet"]
    done = subprocess.run([*command, "--workers", "0", *options], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    told: dict[str, object] = json.loads(done.stdout)
    return told


def test_touch_loses_nothing_and_another_content_all_that_was_made_of_it(lines: Path, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    cli(lines, run_dir)
    before = files(run_dir)
    assert before

    os.utime(lines, (1, 1))
    cli(lines, run_dir)
    assert files(run_dir) == before

    text = gzip.decompress(lines.read_bytes())
    lines.write_bytes(gzip.compress(text[:-1] + b"!", mtime=0))
    cli(lines, run_dir)
    after = files(run_dir)
    assert before.items() <= after.items() and len(after) == 2 * len(before)

    lines.write_bytes(gzip.compress(text, mtime=0))
    assert cli(lines, run_dir, "--threshold", "0.9")["rows"] == 300
    assert files(run_dir) == after


@pytest.mark.parametrize("stage", ["signatures", "bands", "sets", "verify"])
async def test_a_stage_of_another_version_finds_nothing_of_its_own_and_all_before_it(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    def folders() -> set[str]:
        return {path.name for path in (tmp_path / "run").iterdir() if "-" in path.name}

    expected = found(await run(lines, tmp_path / "run"))
    before = folders()
    monkeypatch.setitem(artifacts.VERSIONS, stage, 99)
    assert found(await run(lines, tmp_path / "run")) == expected
    made = {name.partition("-")[0] for name in folders() - before}
    assert stage in made
    assert stage == "signatures" or "signatures" not in made
