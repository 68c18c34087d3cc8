from __future__ import annotations

import errno
import fcntl
import os
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


def test_a_journal_cut_at_any_byte_of_its_last_lines_loses_only_what_was_cut(tmp_path: Path) -> None:
    with RunDirectory(tmp_path / "run") as run:
        first = recorded(run, "signatures-1", 0)
        whole = run.journal.stat().st_size
        recorded(run, "signatures-1", 1)
        second = run.journal.stat().st_size
        recorded(run, "signatures-1", 2)
        journal = run.journal
    good = journal.read_bytes()
    for size in range(whole, len(good) + 1):
        journal.write_bytes(good[:size])
        with RunDirectory(tmp_path / "run") as run:
            there = [run.finished("signatures-1", chunk) is not None for chunk in range(3)]
            # A line counts once it is whole, with its line end or without.
            assert there == [True, size >= second - 1, size >= len(good) - 1], size
            assert run.finished("signatures-1", 0) == first
            again = recorded(run, "signatures-2", 7)
        with RunDirectory(tmp_path / "run") as run:
            assert run.finished("signatures-2", 7) == again


def test_a_bit_that_flips_in_a_line_of_the_journal_makes_it_count_for_nothing(tmp_path: Path) -> None:
    with RunDirectory(tmp_path / "run") as run:
        outcome = recorded(run, "bands-1")
        journal = run.journal
    good = journal.read_bytes()
    for bit in range(8 * (len(good) - 1)):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        journal.write_bytes(bad)
        with RunDirectory(tmp_path / "run") as run:
            assert run.finished("bands-1", 0) in (None, outcome), bit
            assert list(run._lines) in ([], [("bands-1", 0)]), bit


def test_a_line_that_the_disk_does_not_take_is_one_error_and_the_next_one_is_whole(tmp_path: Path) -> None:
    code = f"""if True:
        import resource, pathlib
        from neardup.errors import OutputError
        from neardup.runs import Outcome, RunDirectory
        with RunDirectory(pathlib.Path({str(tmp_path / "run")!r})) as run:
            run.record("verify-1", 0, Outcome(counts={{"pairs": 3}}))
            room = run.journal.stat().st_size + 20
            unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, unlimited[1]))
            for write in (
                lambda: run.record("verify-1", 1, Outcome(counts={{"pairs": 4}})),
                lambda: run.write_file(run.path / "corpus.json", bytes(10 * room)),
            ):
                try:
                    write()
                except OutputError as error:
                    print(error)
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
            run.record("verify-1", 2, Outcome(counts={{"pairs": 5}}))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert len(told) == 2 and told[0] == told[1]
    assert "cannot be written (File too large): make room there, or name another with --run-dir" in told[0]
    assert not list(tmp_path.rglob("*.tmp"))
    with RunDirectory(tmp_path / "run") as run:
        counts = [one.counts if (one := run.finished("verify-1", chunk)) else None for chunk in range(3)]
    assert counts == [{"pairs": 3}, None, {"pairs": 5}]


def test_a_file_system_without_locks_is_told_and_one_that_fails_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers(number: int) -> None:
        def flock(handle: int, how: int) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(fcntl, "flock", flock)

    for number in (errno.ENOLCK, errno.EOPNOTSUPP):
        answers(number)
        with RunDirectory(tmp_path / "run") as run:
            assert "has no locks" in run.notice and str(tmp_path) in run.notice
    answers(errno.EWOULDBLOCK)
    with pytest.raises(RunInUse):
        RunDirectory(tmp_path / "run")
    answers(errno.EIO)
    with pytest.raises(OutputError, match="Input/output error"):
        RunDirectory(tmp_path / "run")


def test_a_directory_that_is_cleaned_away_while_it_is_opened_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    RunDirectory(tmp_path / "run").close()
    flock, moved = fcntl.flock, []

    def slow_flock(handle: int, how: int) -> None:
        if not moved:
            moved.append((tmp_path / "run").rename(tmp_path / "away"))
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", slow_flock)
    with RunDirectory(tmp_path / "run") as run:
        assert os.path.samestat(os.fstat(run._lock), os.stat(tmp_path / "run" / "lock"))
