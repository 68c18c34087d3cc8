"""What is kept in the cache: listed, cleaned, kept within its limit; through the library and the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from neardup import Engine, SettingsError, cache, compiled
from neardup.runs import Outcome, RunDirectory

DAY = 86_400


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(cache.LIMIT_VARIABLE, raising=False)
    return tmp_path / "cache" / "neardup"


def kept(name: str, days: float, kilobytes: int = 100, stage: str = "clusters", finished: bool = True) -> Path:
    """A run directory that was used last so many days ago."""
    path = cache.runs_directory() / (name * 16)
    with RunDirectory(path) as run:
        part = run.store.write("signatures-1/signatures", 0, np.ones(kilobytes * 1_000, np.uint8))
        run.record("signatures-1", 0, Outcome({"signatures": part}))
        run.keep_scan(json.dumps({"paths": [f"{name}.csv"], "reading": {}, "corpus": {}}).encode())
        run.mark(stage, finished=finished)
    then = time.time() - days * DAY
    os.utime(path / "lock", (then, then))
    return path


def names() -> str:
    return "".join(sorted(path.name[0] for path in cache.runs_directory().iterdir() if path.is_dir()))


def test_runs_are_listed_the_last_used_first_with_what_they_are_about() -> None:
    kept("a", 5)
    kept("b", 1, kilobytes=300, stage="verify", finished=False)
    last, first = cache.kept_runs()
    assert (last.inputs, last.stage, last.finished, last.in_use) == (("b.csv",), "verify", False, False)
    assert (first.inputs, first.stage, first.finished, first.in_use) == (("a.csv",), "clusters", True, False)
    assert 300_000 < last.bytes < 330_000 and 100_000 < first.bytes < 130_000
    assert abs(time.time() - DAY - last.last_used) < 60


async def test_a_run_says_how_far_it_came(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("one line\none line x\n")
    async with Engine(workers=0) as engine:
        corpus = await engine.load([tmp_path / "lines.txt"])
        [opened] = cache.kept_runs()
        assert (opened.stage, opened.finished, opened.in_use) == ("read", True, True)
        async for _ in engine.run(corpus):
            [run] = cache.kept_runs()
            if run.stage == "bands":
                break
    [stopped] = cache.kept_runs()
    assert (stopped.stage, stopped.finished, stopped.in_use) == ("bands", False, False)
    async with Engine(workers=0) as engine:
        async for _ in engine.run(await engine.load([tmp_path / "lines.txt"])):
            pass
    [done] = cache.kept_runs()
    assert (done.stage, done.finished, done.in_use) == ("clusters", True, False)
    assert done.inputs == (str(tmp_path / "lines.txt"),)


def test_the_oldest_go_until_the_rest_is_small_enough_and_none_that_is_in_use() -> None:
    for number, name in enumerate("dcba"):
        kept(name, days=number)
    with RunDirectory(cache.runs_directory() / ("a" * 16)):  # the oldest of all; opening it makes it the newest
        os.utime(cache.runs_directory() / ("a" * 16) / "lock", (0, 0))
        gone = cache.clean(to=250_000)
        assert [run.inputs for run in gone] == [("b.csv",), ("c.csv",)] and names() == "ad"
        assert [run.inputs for run in cache.clean(to=0)] == [("d.csv",)] and names() == "a"
    assert cache.clean(to=0) and names() == ""


def test_what_was_not_used_for_so_long_goes_whatever_its_size() -> None:
    kept("a", 40)
    kept("b", 20)
    kept("c", 0)
    assert [run.inputs for run in cache.clean(older_than=30 * DAY)] == [("a.csv",)]
    assert names() == "bc"


def test_nothing_that_is_no_run_of_ours_is_ever_removed(tmp_path: Path) -> None:
    elsewhere = kept("a", 9).rename(tmp_path / ("a" * 16))
    runs = cache.runs_directory()
    (runs / ("b" * 16)).symlink_to(elsewhere, target_is_directory=True)
    (runs / ("c" * 16)).mkdir()
    (runs / ("c" * 16) / "precious").write_text("no lock beside it")
    (runs / "my notes").mkdir()
    (runs / ("d" * 16)).write_text("a file")
    (runs / ("e" * 16)).mkdir()
    (runs / ("e" * 16) / "lock").symlink_to(elsewhere / "lock")
    before = sorted(map(str, tmp_path.rglob("*")))
    assert cache.clean(to=0) == [] and cache.kept_runs() == []
    assert sorted(map(str, tmp_path.rglob("*"))) == before


def test_what_a_removal_that_was_killed_left_goes_with_the_next() -> None:
    kept("a", 1).rename(cache.runs_directory() / f"removed-{'a' * 16}-1")
    cache.clean()
    assert names() == ""


def test_the_limit_is_a_tenth_of_the_room_there_is_or_what_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept("a", 1, kilobytes=100)
    runs = cache.kept_runs()

    class Disk:
        free = 9 * 10**9

    monkeypatch.setattr("shutil.disk_usage", lambda _: Disk)
    assert cache.limit(runs) == (9 * 10**9 + runs[0].bytes) // 10
    Disk.free = 10**15
    assert cache.limit(runs) == 20 * 10**9
    monkeypatch.setenv(cache.LIMIT_VARIABLE, "1.5 GB")
    assert cache.limit(runs) == 1_500_000_000
    monkeypatch.setenv(cache.LIMIT_VARIABLE, "lots")
    with pytest.raises(SettingsError, match="NEARDUP_CACHE_SIZE 'lots' is no size"):
        cache.limit(runs)


async def test_a_run_that_begins_removes_what_is_above_the_limit_and_never_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept("a", 2)
    kept("b", 1)
    monkeypatch.setenv(cache.LIMIT_VARIABLE, "150kB")
    (tmp_path / "lines.txt").write_text("one line\n")
    async with Engine(workers=0, run_dir=tmp_path / "elsewhere") as engine:
        await engine.load([tmp_path / "lines.txt"])
    assert names() == "ab"
    async with Engine(workers=0) as engine:
        await engine.load([tmp_path / "lines.txt"])
    assert "a" * 16 not in os.listdir(cache.runs_directory()) and "b" * 16 in os.listdir(cache.runs_directory())
    monkeypatch.setenv(cache.LIMIT_VARIABLE, "0")
    async with Engine(workers=0) as engine:
        await engine.load([tmp_path / "lines.txt"])
        assert [run.inputs for run in cache.kept_runs()] == [(str(tmp_path / "lines.txt"),)]


def test_kernels_of_other_versions_go_and_the_current_ones_stay(home: Path) -> None:
    current = compiled.kept(home / "kernels")
    old, older = home / "kernels" / ("a" * 16), home / "kernels" / ("b" * 16)
    for folder in (current, old, older):
        folder.mkdir(parents=True)
        (folder / "ready").touch()
        (folder / "kernel.nbi").write_bytes(bytes(5_000))
    (home / "kernels" / "lock-bands").touch()
    then = time.time() - 31 * DAY
    os.utime(older / "ready", (then, then))
    assert compiled.others(home / "kernels", older_than=30 * DAY) == [older]
    assert cache.kept_kernels() == (8192, 2 * 8192)
    assert cache.clean_kernels() == 2 * 8192
    assert sorted(os.listdir(home / "kernels")) == sorted([current.name, "lock-bands"])


def neardup(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "neardup_tui", "runs", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_the_command_lists_what_is_kept_for_people_and_for_scripts() -> None:
    kept("a", 0, stage="verify", finished=False)
    kept("b", 400, stage="read")
    kept("c", 0)
    with RunDirectory(cache.runs_directory() / ("c" * 16)):
        listed, told = neardup("list"), neardup("list", "--json")
    assert listed.returncode == told.returncode == 0 and listed.stderr == told.stderr == ""
    head, columns, *rows, kernels = listed.stdout.splitlines()
    assert str(cache.runs_directory()) in head and "3 runs (1 in use)" in head and "of at most" in head
    assert columns.split() == ["directory", "last", "used", "size", "last", "run", "inputs"]
    by_name = {row.split()[0][0]: row for row in rows}
    assert "stopped at 4/5 verify" in by_name["a"] and "opened only" in by_name["b"] and "in use: idle" in by_name["c"]
    assert "today" in by_name["a"] and "today" not in by_name["b"] and "kernels" in kernels
    start = columns.index("inputs")
    assert [row[start:] for row in by_name.values()] == [f"{name}.csv" for name in by_name]
    found = json.loads(told.stdout)
    assert found["directory"] == str(cache.runs_directory()) and found["limit"] > 0
    assert {run["inputs"][0]: (run["stage"], run["finished"], run["in_use"]) for run in found["runs"]} == {
        "a.csv": ("verify", False, False), "b.csv": ("read", True, False), "c.csv": ("clusters", True, True),
    }  # fmt: skip
    assert found["bytes"] == sum(run["bytes"] for run in found["runs"])


def test_the_command_removes_what_it_is_told_to_and_says_what_was_freed() -> None:
    for number, name in enumerate("abc"):
        kept(name, days=10 * number)
    first, second = neardup("clean").stderr.splitlines()
    assert first == "nothing is above the limit; --all, --older-than or --to remove what is below it"
    assert second.startswith("  freed         0 B")
    old = neardup("clean", "--older-than", "15")
    assert old.returncode == 0 and old.stdout == "" and "c.csv, last used" in old.stderr and names() == "ab"
    small = neardup("clean", "--to", "150kB")
    assert "b.csv" in small.stderr and "a.csv" not in small.stderr and names() == "a"
    with RunDirectory(cache.runs_directory() / ("a" * 16)):
        assert "1 run (1 in use)" in neardup("clean", "--all").stderr
    assert names() == "a"
    assert neardup("clean", "--all").returncode == 0 and names() == ""


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["clean", "--all", "--to", "1GB"], "--all"),
        (["clean", "--to", "much"], "'much'"),
        (["clean", "--older-than", "-1"], "-1"),
        (["forget"], "forget"),
        ([], "neardup runs --help"),
    ],
)
def test_a_wrong_use_of_the_command_is_one_line(arguments: list[str], rule: str) -> None:
    kept("a", 100)
    done = neardup(*arguments)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1 and rule in done.stderr
    assert names() == "a"
