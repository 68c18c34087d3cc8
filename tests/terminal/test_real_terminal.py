"""The real program in a real pseudo-terminal, read with a terminal emulator; and in tmux where there is one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pyte
import pytest
from ptyprocess import PtyProcess, PtyProcessError

UNSET = ("NO_COLOR", "TMUX", "STY", "SSH_CONNECTION", "SSH_TTY")
STARTED = 60.0  # seconds: the first start of all may compile kernels
LEFT = 10.0


class Terminal:
    """A program in a terminal of its own: what it has drawn, and keys to press."""

    def __init__(self, command: list[str], folder: Path, size: tuple[int, int] = (80, 24), **environment: str) -> None:
        columns, lines = size
        clean = {name: value for name, value in os.environ.items() if name not in UNSET}
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.process = PtyProcess.spawn(
            command, cwd=str(folder), dimensions=(lines, columns),
            env={**clean, "TERM": "xterm-256color", **environment})

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def press(self, keys: str) -> None:
        self.process.write(keys.encode())

    def until(self, true: Callable[[str], bool], seconds: float = STARTED) -> str:
        """Read until the screen is so; the screen in the error when it never is."""
        end = time.monotonic() + seconds
        while not true(self.text):
            assert time.monotonic() < end, self.text
            self._read()
        return self.text

    def left(self, seconds: float = LEFT) -> int:
        """Wait for the end; the exit code, or 128 + the signal that ended it."""
        end = time.monotonic() + seconds
        while self.process.isalive():
            assert time.monotonic() < end, f"still there:\n{self.text}"
            self._read()
        self._read()
        code = self.process.exitstatus
        return code if code is not None else 128 + (self.process.signalstatus or 0)

    def _read(self) -> None:
        with suppress(EOFError, OSError):
            ready = self.process.fd in _readable(self.process.fd)
            if ready:
                data = self.process.read(65_536)
                self.raw += data
                self.stream.feed(data)

    def close(self) -> None:
        with suppress(OSError, PtyProcessError):
            self.process.terminate(force=True)


def _readable(fd: int) -> list[int]:
    import select

    return select.select([fd], [], [], 0.05)[0]


@pytest.fixture
def open_terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(*arguments: str, size: tuple[int, int] = (80, 24), **environment: str) -> Terminal:
        opened.append(Terminal([sys.executable, "-m", "neardup_tui", *arguments], tmp_path, size, **environment))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


@pytest.fixture
def tickets(tmp_path: Path) -> str:
    sentence = "the printer on the second floor prints every page twice and nobody knows why it does so"
    (tmp_path / "tickets.txt").write_text(f"{sentence}\n{sentence} x\nanother text about the weather\n")
    return "tickets.txt"


def test_a_person_opens_a_file_runs_looks_and_writes_the_clean_one(
    open_terminal: Callable[..., Terminal], tickets: str, tmp_path: Path
):
    terminal = open_terminal(tickets)
    terminal.until(lambda screen: "tickets.txt · 3 rows" in screen)
    terminal.press("r")
    terminal.until(lambda screen: "● results are current" in screen)
    terminal.press("2")
    terminal.until(lambda screen: "Shingles of row 0" in screen)
    terminal.press("e")
    terminal.until(lambda screen: "? Write 3 files" in screen)
    terminal.press("\r")
    terminal.until(lambda screen: "written into " in screen)
    terminal.press("q")
    assert terminal.left() == 0
    assert (tmp_path / "tickets.clean.txt").read_text().count("\n") == 2


def test_arrows_and_a_split_arrow_over_a_slow_link_never_do_anything_else(
    open_terminal: Callable[..., Terminal], tickets: str
):
    terminal = open_terminal(tickets, SSH_CONNECTION="10.0.0.1 22 10.0.0.2 22")
    terminal.until(lambda screen: "tickets.txt · 3 rows" in screen)
    terminal.press("\x1b[B")
    terminal.until(lambda screen: "›     1" in screen)
    terminal.press("\x1b")
    time.sleep(0.15)  # more than Textual's 100 ms, less than the 250 it is given over SSH
    terminal.press("[B")
    terminal.until(lambda screen: "›     2" in screen)
    assert b"\x1b[?1000h" not in terminal.raw  # no mouse over SSH


@pytest.mark.parametrize(("number", "code"), [(signal.SIGHUP, 129), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_with_its_own_code(
    open_terminal: Callable[..., Terminal], tickets: str, number: signal.Signals, code: int
):
    terminal = open_terminal(tickets)
    terminal.until(lambda screen: "tickets.txt · 3 rows" in screen)
    os.kill(terminal.process.pid, number)
    assert terminal.left() == code


def test_a_lost_connection_leaves_no_process_behind(open_terminal: Callable[..., Terminal], tickets: str):
    terminal = open_terminal(tickets)
    terminal.until(lambda screen: "tickets.txt · 3 rows" in screen)
    pid = terminal.process.pid
    everyone = [pid, *_children(pid)]
    terminal.press("2345612345612345612345612")  # much to draw, and nobody reads it
    os.close(terminal.process.fd)
    end = time.monotonic() + LEFT
    while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0):
        assert time.monotonic() < end, "it is still there"
        time.sleep(0.05)
    assert os.waitstatus_to_exitcode(ended[1]) == 129
    while any(Path(f"/proc/{one}").exists() for one in everyone):
        assert time.monotonic() < end, "a worker is still there"
        time.sleep(0.05)


def test_ctrl_c_twice_leaves_with_130_and_gives_the_terminal_back(open_terminal: Callable[..., Terminal], tickets: str):
    terminal = open_terminal(tickets)
    terminal.until(lambda screen: "tickets.txt · 3 rows" in screen)
    terminal.press("\x03")
    terminal.until(lambda screen: "q quits, x stops" in screen)
    terminal.press("\x03")
    assert terminal.left() == 130
    assert b"\x1b[?1049l" in terminal.raw and b"\x1b[?25h" in terminal.raw  # main screen, cursor


def test_no_process_is_left_behind(open_terminal: Callable[..., Terminal], tickets: str):
    terminal = open_terminal(tickets)
    terminal.until(lambda screen: "tickets.txt · 3 rows" in screen)
    children = _children(terminal.process.pid)
    assert children
    terminal.press("q")
    assert terminal.left() == 0
    end = time.monotonic() + LEFT
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_ctrl_z_suspends_the_app_and_its_workers_and_both_wake_again(
    open_terminal: Callable[..., Terminal], tmp_path: Path
):
    # given: a run of some seconds in worker processes
    with (tmp_path / "example.jsonl").open("wb") as file:
        subprocess.run([sys.executable, "-m", "neardup_tui", "example", "20000"], stdout=file, check=True)
    terminal = open_terminal("example.jsonl", "--num-perm", "1024")
    terminal.until(lambda screen: "loaded 20,000 rows" in screen)
    terminal.press("r")
    terminal.until(lambda screen: "2/5 signatures" in screen)
    everyone = [pid for pid in _children(terminal.process.pid) if "neardup.worker" in _command(pid)]
    everyone.append(terminal.process.pid)

    terminal.press("\x1a")
    terminal.until(lambda _: all(_state(pid) == "T" for pid in everyone), LEFT)
    os.kill(terminal.process.pid, signal.SIGCONT)
    terminal.until(lambda screen: "● results are current" in screen)

    assert len(everyone) > 1 and b"\x1b[?1049l" in terminal.raw  # the shell had the terminal meanwhile
    terminal.press("q")
    assert terminal.left() == 0


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def _children(pid: int) -> list[int]:
    """All processes below this one."""
    below: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            below += [child, *_children(child)]
    return below


def test_it_follows_the_size_of_the_terminal_whatever_the_shell_exported(
    open_terminal: Callable[..., Terminal], tickets: str
):
    terminal = open_terminal(tickets, COLUMNS="80", LINES="24")
    terminal.until(lambda screen: "tickets.txt · 3 rows" in screen)
    terminal.process.setwinsize(12, 50)
    terminal.screen.resize(12, 50)
    terminal.until(lambda screen: "needs 60x16, this is 50x12 · q quits" in screen, LEFT)


def test_without_colour_the_same_is_readable(open_terminal: Callable[..., Terminal], tickets: str):
    terminal = open_terminal(tickets, NO_COLOR="1")
    terminal.until(lambda screen: "tickets.txt · 3 rows" in screen)
    assert b"\x1b[38;" not in terminal.raw and b";38;" not in terminal.raw


def test_without_a_terminal_it_names_the_other_command_and_exits_with_2(tickets: str, tmp_path: Path):
    found = subprocess.run([sys.executable, "-m", "neardup_tui", tickets], cwd=tmp_path, capture_output=True, text=True,
                           stdin=subprocess.DEVNULL, timeout=STARTED, check=False)
    assert found.returncode == 2 and "neardup run" in found.stderr and found.stdout == ""
    assert found.stderr.count("\n") == 1


CRASHING = """
import sys
from neardup_tui.tabs.documents import DocumentsTab
from neardup_tui.app import open_app

def crash(self):
    document = "text of a document"
    raise ValueError(document)

DocumentsTab.hints = crash
sys.exit(open_app(("tickets.txt",)))
"""


def test_an_error_nobody_foresaw_ends_it_with_one_line_that_holds_no_document(tickets: str, tmp_path: Path):
    terminal = Terminal([sys.executable, "-c", CRASHING], tmp_path)
    try:
        assert terminal.left(STARTED) == 1
    finally:
        terminal.close()
    after = terminal.raw.rpartition(b"\x1b[?1049l")[2].decode()
    assert "neardup: internal error: ValueError at " in after
    assert b"text of a document" not in terminal.raw and b"Traceback" not in terminal.raw


def test_it_works_in_tmux(tickets: str, tmp_path: Path):
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    socket = f"neardup-test-{os.getpid()}"

    def tmux(*arguments: str) -> str:
        return subprocess.run(["tmux", "-L", socket, "-f", "/dev/null", *arguments], capture_output=True, text=True,
                              check=True, cwd=tmp_path).stdout

    def until(words: str, seconds: float = STARTED) -> None:
        end = time.monotonic() + seconds
        while words not in (screen := tmux("capture-pane", "-p")):
            assert time.monotonic() < end, screen
            time.sleep(0.1)

    command = f"{sys.executable} -m neardup_tui {tickets}; echo left with $?; sleep 60"
    tmux("new-session", "-d", "-x", "80", "-y", "24", command)
    try:
        until("tickets.txt · 3 rows")
        tmux("send-keys", "r")
        until("● results are current")
        tmux("send-keys", "6")
        until("Dry run: kept 2 of 3")
        tmux("send-keys", "Y")
        until("sent to the terminal by tmux")
        assert "neardup run tickets.txt" in tmux("show-buffer")
        tmux("resize-window", "-x", "50", "-y", "12")
        until("needs 60x16, this is 50x12")
        tmux("resize-window", "-x", "120", "-y", "40")
        until("run   idle")
        tmux("send-keys", "q")
        until("left with 0")
    finally:
        tmux("kill-server")
