from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from neardup.errors import OutputError, RunInUse
from neardup.runs import Outcome, RunDirectory, default_directory


def recorded(run: RunDirectory, stage: str, chunk: int = 0) -> Outcome:
    outcome = Outcome({"a": run.store.write(f"{stage}/a", chunk, np.arange(chunk + 3))}, {"rows": 3})
    run.record(stage, chunk, outcome)
    return outcome


def test_what_was_recorded_is_found_by_the_next_process(tmp_path: Path) -> None:
    with RunDirectory(tmp_path / "run") as run:
        outcome = recorded(run, "signatures-1")
        assert run.finished("signatures-1", 1) is None
    with RunDirectory(tmp_path / "run") as run:
        assert run.finished("signatures-1", 0) == outcome


@pytest.mark.parametrize("damage", [b"", b"\x00", b'{"stage": "signatures-2", "chu', b"not json\n"])
def test_a_journal_that_ends_in_half_a_line_loses_only_that_line(tmp_path: Path, damage: bytes) -> None:
    with RunDirectory(tmp_path / "run") as run:
        first = recorded(run, "signatures-1")
        journal = run.journal
    journal.write_bytes(journal.read_bytes() + damage)
    with RunDirectory(tmp_path / "run") as run:
        assert run.finished("signatures-1", 0) == first
        second = recorded(run, "signatures-1", 1)
    with RunDirectory(tmp_path / "run") as run:
        assert run.finished("signatures-1", 1) == second


def test_a_chunk_whose_file_was_damaged_is_not_finished(tmp_path: Path) -> None:
    with RunDirectory(tmp_path / "run") as run:
        part = recorded(run, "signatures-1").parts["a"]
    path = tmp_path / "run" / part.file
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with RunDirectory(tmp_path / "run") as run:
        assert run.finished("signatures-1", 0) is None


def test_half_written_files_are_swept_when_a_run_is_opened_and_closed(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "signatures-1"
    folder.mkdir(parents=True)
    (folder / "a.npy.tmp").write_bytes(b"half")
    with RunDirectory(tmp_path / "run"):
        assert not list(tmp_path.rglob("*.tmp"))
        (folder / "b.npy.tmp").write_bytes(b"half")
    assert not list(tmp_path.rglob("*.tmp"))


def test_the_lock_dies_with_its_owner(tmp_path: Path) -> None:
    code = f"from neardup.runs import RunDirectory; run = RunDirectory(__import__('pathlib').Path({str(tmp_path)!r}))"
    with RunDirectory(tmp_path):
        held = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert held.returncode == 1 and "another neardup works on these inputs" in held.stderr
    killed = subprocess.run([sys.executable, "-c", code + "; import os; os.kill(os.getpid(), 9)"], capture_output=True)
    assert killed.returncode == -9
    RunDirectory(tmp_path).close()
    with RunDirectory(tmp_path), pytest.raises(RunInUse):
        RunDirectory(tmp_path)


def test_old_settings_are_tidied_away_and_the_used_ones_stay(tmp_path: Path) -> None:
    with RunDirectory(tmp_path / "run") as run:
        for number in range(6):
            recorded(run, f"signatures-{number}")
        run.tidy(["signatures-0"])
        left = {path.name for path in run.path.iterdir() if path.name.startswith("signatures-")}
        assert "signatures-0" in left
        assert len(left) == 3
        assert run.finished("signatures-0", 0) is not None
        gone = next(name for name in map("signatures-{}".format, range(6)) if name not in left)
        assert run.finished(gone, 0) is None


def test_a_run_is_named_by_the_real_paths_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert default_directory([tmp_path / "a"]) == default_directory([tmp_path / "link"])
    assert default_directory(["/a", "/b"]) != default_directory(["/b", "/a"])
    assert default_directory(["/a/b"]) != default_directory(["/a", "b"])


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="--run-dir"):
        RunDirectory(tmp_path / "file" / "run")
