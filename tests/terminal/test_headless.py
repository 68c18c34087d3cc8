"""A headless run as the shell has it: signals, a terminal on stderr, no terminal at all."""

from __future__ import annotations

import itertools
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyte
import pytest

NEARDUP = [sys.executable, "-m", "neardup_tui"]
PATIENCE = 240.0  # seconds; the first run of all compiles the kernels
SLOWLY = ("--num-perm", "4096")  # 5,000 texts take a second


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Long enough to be stopped in the middle."""
    path = tmp_path_factory.mktemp("corpus") / "example.jsonl"
    with path.open("wb") as file:
        subprocess.run([*NEARDUP, "example", "150000"], stdout=file, check=True, timeout=PATIENCE)
    return path


@contextmanager
def started(command: Sequence[str], **streams: Any) -> Iterator[subprocess.Popen[bytes]]:
    """The program, which does not outlive a test that fails."""
    with subprocess.Popen(command, **streams) as program:
        try:
            yield program
        finally:
            program.kill()


def until(happened: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)


def processes_with(mark: str) -> Iterator[int]:
    """Every process that has the mark in its environment, which workers inherit."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
                running = "\nState:\tZ" not in (entry / "status").read_text()
            except OSError:
                continue
            if mark.encode() in environment and running:
                yield int(entry.name)


@pytest.mark.parametrize(
    ("workers", "number", "code"),
    [
        ("2", signal.SIGINT, 130), ("2", signal.SIGHUP, 129),
        pytest.param("2", signal.SIGTERM, 143, marks=pytest.mark.all), ("0", signal.SIGINT, 130),
    ],
    ids=str,
)
def test_a_signal_ends_a_run_with_its_code_and_leaves_nothing_behind(
    workers: str, number: signal.Signals, code: int, corpus: Path, tmp_path: Path
) -> None:
    mark = f"NEARDUP_TEST_MARK={tmp_path}"
    (tmp_path / "out").mkdir()
    run_dir = tmp_path / "run"
    command = [*NEARDUP, "run", str(corpus), "--workers", workers, "--run-dir", str(run_dir), "--quiet", *SLOWLY]
    command += ["--out", str(tmp_path / "out" / "clean.jsonl"), "--pairs", str(tmp_path / "out" / "pairs.csv")]
    environment = os.environ | dict([mark.split("=", 1)])
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as run:
        assert run.stdout is not None and run.stderr is not None
        until(lambda: run.poll() is not None or any(run_dir.glob("**/signatures-*/**/*")), "the first signatures")
        assert run.poll() is None, run.stderr.read().decode()
        asked = time.monotonic()
        run.send_signal(number)
        assert run.wait(PATIENCE) == code
        taken = time.monotonic() - asked
        assert (run.stdout.read(), run.stderr.read()) == (b"", b"")
    assert taken < 5  # no measurement: a run that ended by itself would take as long on a slow machine
    until(lambda: not list(processes_with(mark)), "the workers' end")
    assert not list(tmp_path.glob("**/*.tmp")) and not os.listdir(tmp_path / "out")


def test_a_run_that_is_stopped_says_where_and_that_it_can_go_on(corpus: Path, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    command = [*NEARDUP, "run", str(corpus), "--workers", "0", "--run-dir", str(run_dir), *SLOWLY]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stderr is not None
        until(lambda: run.poll() is not None or any(run_dir.glob("**/signatures-*/**/*")), "the first signatures")
        run.send_signal(signal.SIGINT)
        assert run.wait(PATIENCE) == 130
        told = run.stderr.read().decode().splitlines()
    assert told[-1] == (
        "neardup: stopped in 2/5 signatures; what is finished is kept: the same command goes on from there"
    )


@pytest.fixture
def small(corpus: Path, tmp_path: Path) -> Path:
    path = tmp_path / "small.jsonl"
    with corpus.open("rb") as file:
        path.write_bytes(b"".join(itertools.islice(file, 5_000)))
    return path


def test_a_run_whose_output_nobody_reads_can_still_be_stopped(small: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    command = [*NEARDUP, "run", str(small), "--run-dir", str(tmp_path / "run"), "--workers", "0"]
    command += ["--out", "-", "--pairs", str(tmp_path / "out" / "pairs.csv")]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        until(lambda: run.poll() is not None or any((tmp_path / "out").glob(".pairs.csv.*.tmp")), "the export")
        run.stdout.peek(1)  # type: ignore[attr-defined]  # the pipe, 64 kB, is full by now or soon
        run.send_signal(signal.SIGTERM)
        assert run.wait(PATIENCE) == 143
    assert not os.listdir(tmp_path / "out")


def test_a_signal_that_was_ignored_at_the_start_stays_ignored(small: Path, tmp_path: Path) -> None:
    shell = 'trap "" HUP; exec "$@"'
    command = ["sh", "-c", shell, "sh", *NEARDUP, "run", str(small), "--run-dir", str(tmp_path / "run"), "--json"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        until(lambda: run.poll() is not None or (tmp_path / "run").exists(), "the run directory")
        run.send_signal(signal.SIGHUP)
        out, _ = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0 and b'"rows": 5000' in out


def test_progress_is_drawn_on_a_terminal_and_gone_at_the_end(small: Path, tmp_path: Path) -> None:
    outside, inside = pty.openpty()
    screen = pyte.Screen(80, 24)
    stream = pyte.ByteStream(screen)
    command = [*NEARDUP, "run", str(small), "--run-dir", str(tmp_path / "run"), "--json", *SLOWLY]
    environment = os.environ | {"TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
    with started(command, stdout=subprocess.PIPE, stderr=inside, env=environment) as run:
        os.close(inside)
        shown: list[str] = []
        while True:
            try:
                data = os.read(outside, 65_536)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            stream.feed(data)
            shown.append(screen.display[0].rstrip())
        assert run.stdout is not None
        out = run.stdout.read()
        assert run.wait(PATIENCE) == 0
    os.close(outside)
    drawn = [line for line in shown if "/5 signatures" in line and "5,000 rows" in line]
    assert drawn and all(len(line) < 80 for line in drawn)
    assert any("━" in line for line in drawn)
    assert b"signatures" in out and b"\x1b" not in out
    assert screen.display[0].startswith("  rows ") and not any("/5 " in line for line in screen.display)
