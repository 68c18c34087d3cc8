"""What a run leaves when it is killed, and what the next one makes of it: the same bytes as if nothing had happened."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
STAGES = ("read", "signatures", "bands", "verify", "clusters")
PATIENCE = 300.0  # seconds
# At 0.7 with many copies some rows are alike only through others, so the clusters have pairs of their own to compare.
SETTINGS = ("--threshold", "0.7", "--workers", "2", "--quiet")
OUTPUTS = {"--out": "kept.jsonl", "--removed": "removed.csv", "--pairs": "pairs.csv", "--clusters-out": "clusters.csv"}
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "example.jsonl"
    with path.open("wb") as file:
        command = [sys.executable, "-m", "neardup_tui", "example", "5000", "--share", "0.6"]
        subprocess.run(command, stdout=file, check=True, timeout=PATIENCE)
    return path


class Runs:
    """Runs over one corpus in one run directory, each with outputs of its own."""

    def __init__(self, corpus: Path, folder: Path) -> None:
        self.corpus, self.folder, self.run_dir = corpus, folder, folder / "run"
        self.number = 0

    def command(self) -> list[str | Path]:
        self.number += 1
        (self.folder / f"out-{self.number}").mkdir()
        outputs = [word for option, name in OUTPUTS.items() for word in (option, self.out / name)]
        return ["run", self.corpus, *SETTINGS, "--run-dir", self.run_dir, *outputs]

    def struck(
        self, stages: str = "none", number: str = "SIGKILL", whom: str = "owner", **how: object
    ) -> subprocess.CompletedProcess[bytes]:
        struck = [sys.executable, str(TESTS / "struck.py"), stages, number, whom, self.folder / "struck"]
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            [*struck, *self.command()], capture_output=True, timeout=PATIENCE, **{"env": ENVIRONMENT, **how}
        )

    @property
    def out(self) -> Path:
        return self.folder / f"out-{self.number}"

    @property
    def written(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.out.iterdir()}

    def finished_files(self) -> dict[str, tuple[int, int]]:
        """What the journal names and is there, with what tells whether it was written again."""
        files: dict[str, tuple[int, int]] = {}
        journal = self.run_dir / "journal.jsonl"
        for line in journal.read_text().splitlines() if journal.exists() else ():
            for part in json.loads(line)["content"]["outcome"]["parts"].values():
                path = self.run_dir / part["file"]
                if path.exists():  # what was only a step to what is finished now is gone
                    files[part["file"]] = (path.stat().st_ino, path.stat().st_mtime_ns)
        return files


@pytest.fixture(scope="module")
def undisturbed(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    runs = Runs(corpus, tmp_path_factory.mktemp("undisturbed"))
    done = runs.struck()
    assert done.returncode == 0 and done.stderr == b"", done.stderr.decode()
    assert set(runs.written) == set(OUTPUTS.values()) and all(map(len, runs.written.values()))
    return runs.written


@pytest.fixture
def runs(corpus: Path, tmp_path: Path) -> Runs:
    return Runs(corpus, tmp_path)


def test_a_worker_killed_in_each_stage_is_replaced_and_nothing_is_lost(
    runs: Runs, undisturbed: dict[str, bytes]
) -> None:
    done = runs.struck(",".join(STAGES), whom="worker")

    assert done.returncode == 0 and done.stderr == b"", done.stderr.decode()
    assert {path.name for path in runs.folder.glob("struck-*")} == {f"struck-{stage}" for stage in STAGES}
    assert runs.written == undisturbed


def done_again(before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]) -> list[str]:
    """What was finished once, and then written again; of the signatures, the dearest, also what was lost."""
    return [
        file for file, told in before.items()
        if after.get(file, None if file.startswith("signatures-") else told) != told
    ]  # fmt: skip


def test_a_run_killed_in_each_stage_one_after_the_other_goes_on_at_the_chunk(
    runs: Runs, undisturbed: dict[str, bytes]
) -> None:
    finished: dict[str, tuple[int, int]] = {}
    for stage in STAGES:
        killed = runs.struck(stage)
        assert killed.returncode == -signal.SIGKILL, (stage, killed.stderr.decode())
        assert (runs.folder / f"struck-{stage}").exists() and runs.written == {}
        now = runs.finished_files()
        assert not done_again(finished, now), stage
        assert stage == "read" or now
        finished = now

    done = runs.struck()

    assert done.returncode == 0 and done.stderr == b"", done.stderr.decode()
    assert runs.written == undisturbed
    assert len(finished) > 60 and not done_again(finished, runs.finished_files())
    assert not list(runs.run_dir.rglob("*.tmp"))


def test_a_full_disk_is_one_line_and_with_room_the_run_goes_on(runs: Runs, undisturbed: dict[str, bytes]) -> None:
    runs.run_dir.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(runs.run_dir)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.decode().strip()}")
    try:
        refused = runs.struck().stderr.decode()
        assert refused.startswith("neardup: the run needs ") and refused.count("\n") == 1 and "make room" in refused
        subprocess.run(["mount", "-o", "remount,size=4m", str(runs.run_dir)], check=True)  # enough to begin with
        full = runs.struck()
        told = full.stderr.decode()
        assert full.returncode == 1 and told.count("\n") == 1, told
        assert told.startswith("neardup: the run directory ") and "(No space left on device)" in told
        assert "make room there" in told and str(runs.run_dir) in told
        assert runs.written == {}
        subprocess.run(["mount", "-o", "remount,size=64m", str(runs.run_dir)], check=True)
        before = runs.finished_files()
        assert before

        done = runs.struck()

        assert done.returncode == 0 and done.stderr == b"", done.stderr.decode()
        assert runs.written == undisturbed
        assert not done_again(before, runs.finished_files())
    finally:
        subprocess.run(["umount", str(runs.run_dir)], check=True)


@pytest.mark.all
def test_a_file_that_may_not_grow_further_is_one_line_and_without_the_limit_the_run_goes_on(
    runs: Runs, undisturbed: dict[str, bytes]
) -> None:
    limit = 100_000  # bytes: the signatures of a slice have more

    full = runs.struck(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    done = runs.struck()

    told = full.stderr.decode()
    assert full.returncode == 1 and told.count("\n") == 1 and "(File too large): make room there" in told
    assert done.returncode == 0 and done.stderr == b"", done.stderr.decode()
    assert runs.written == undisturbed


# Ctrl+c in the signatures is in test_headless; four seconds each, mostly starting workers.
LONG = {stage: [pytest.mark.all] for stage in STAGES}


@pytest.mark.parametrize("stage", [pytest.param(stage, marks=LONG.get(stage, [])) for stage in STAGES])
def test_ctrl_c_in_any_stage_leaves_no_process_and_nothing_shared(runs: Runs, stage: str) -> None:
    temporary = runs.folder / "temporary"
    temporary.mkdir()
    mark = f"NEARDUP_TEST_MARK={runs.folder}"
    shared = set(os.listdir("/dev/shm"))

    done = runs.struck(stage, "SIGINT", env=ENVIRONMENT | {"TMPDIR": str(temporary), **dict([mark.split("=", 1)])})

    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
    assert (runs.folder / f"struck-{stage}").exists() and runs.written == {}
    _until(lambda: not list(_processes_with(mark)), "the workers' end")
    assert not os.listdir(temporary)
    _until(lambda: not set(os.listdir("/dev/shm")) - shared, "shared memory's end")  # others may have theirs meanwhile
    assert not list(runs.folder.rglob("*.tmp"))


@pytest.mark.all
def test_ctrl_c_while_kernels_are_compiled_leaves_no_process_and_nothing_shared(runs: Runs) -> None:
    temporary, cache = runs.folder / "temporary", runs.folder / "cache"
    temporary.mkdir()
    mark = f"NEARDUP_TEST_MARK={runs.folder}"
    places = {"TMPDIR": str(temporary), "XDG_CACHE_HOME": str(cache)}
    environment = ENVIRONMENT | places | dict([mark.split("=", 1)])
    command = [sys.executable, "-m", "neardup_tui", *runs.command()]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as run:
        try:
            _until(lambda: run.poll() is not None or list(cache.rglob("lock-*")), "the compiling")
            run.send_signal(signal.SIGINT)
            assert run.wait(PATIENCE) == 130
            assert run.stderr is not None and run.stderr.read() == b""
        finally:
            run.kill()
    assert not list(cache.rglob("ready"))
    _until(lambda: not list(_processes_with(mark)), "the workers' end")
    assert not os.listdir(temporary) and runs.written == {}


def test_ctrl_z_pauses_the_workers_too_and_the_run_goes_on_where_it_was(
    runs: Runs, undisturbed: dict[str, bytes]
) -> None:
    mark = f"NEARDUP_TEST_MARK={runs.folder}"
    environment = ENVIRONMENT | dict([mark.split("=", 1)])
    struck = [sys.executable, str(TESTS / "struck.py"), "signatures", "SIGTSTP", "owner", runs.folder / "struck"]
    # A job of its own, as a shell starts it: where nobody could let it go on again, the system does not stop it.
    with subprocess.Popen([*struck, *runs.command()], env=environment, process_group=0) as run:
        try:
            _until(lambda: run.poll() is not None or _state(run.pid) == "T", "the owner's stop")
            assert run.poll() is None
            workers = [pid for pid in _processes_with(mark) if b"neardup.worker" in _command_of(pid)]
            assert len(workers) == 2
            _until(lambda: all(_state(pid) == "T" for pid in workers), "the workers' pause")
            run.send_signal(signal.SIGCONT)
            assert run.wait(PATIENCE) == 0
        finally:
            run.kill()
    assert runs.written == undisturbed
    assert not list(_processes_with(mark))


@pytest.mark.all
def test_a_run_killed_while_it_is_paused_leaves_no_process(runs: Runs) -> None:
    mark = f"NEARDUP_TEST_MARK={runs.folder}"
    environment = ENVIRONMENT | dict([mark.split("=", 1)])
    struck = [sys.executable, str(TESTS / "struck.py"), "verify", "SIGTSTP", "owner", runs.folder / "struck"]
    with subprocess.Popen([*struck, *runs.command()], env=environment, process_group=0) as run:
        _until(lambda: run.poll() is not None or _state(run.pid) == "T", "the owner's stop")
        run.kill()
    assert run.returncode == -signal.SIGKILL
    _until(lambda: not list(_processes_with(mark)), "the workers' end")


def _until(happened: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _command_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def _processes_with(mark: str) -> Iterator[int]:
    """Every process that has the mark in its environment, which workers inherit."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
                running = _state(int(entry.name)) != "Z"
            except OSError:
                continue
            if mark.encode() in environment and running:
                yield int(entry.name)
