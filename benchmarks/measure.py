"""What a command costs, with all the processes that it starts: time, CPU, memory, disk. Linux only.

CPU is what the kernel has counted for every process of the tree once it was waited for. Orphans are handed to this
process (it is their "subreaper") and waited for as well, so that nobody's seconds are lost: workers, pools, compilers.

Memory is sampled twenty times a second, summed over the tree, in two ways:
private   RssAnon + RssShmem: what the processes have for themselves. Mapped files are not in it; memory that several
          processes share is counted in each, so that this is never too little
pss       proportional set size: shared pages are divided among those who share them, mapped files are in it. The
          kernel walks over all pages for it, so that it is asked less often where it would take over 5 % of a core
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PERIOD = 0.05
DISK_PERIOD = 1.0
PSS_SHARE = 0.05
PR_SET_CHILD_SUBREAPER = 36


class Failed(Exception):
    """The command did not end well; the message is its last line, or how long it was waited for."""


@dataclass(frozen=True)
class Cost:
    """wall and cpu in seconds; memory and disk in bytes, the highest that was sampled; what was written to stdout."""

    wall: float
    cpu: float
    private: int
    pss: int
    disk: int
    output: str


def cost_of(
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout: float = 3600,
) -> Cost:
    """Run a command to its end. `folder`: where to look once a second for the disk that it takes. Raises Failed."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+", errors="replace") as errors:
        cpu, began = _cpu_of_children(), time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env={**os.environ, **(environment or {})},
        )
        samples = _Sampler(process.pid, folder)
        samples.start()
        in_time = True
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            in_time = False
        finally:
            wall = time.perf_counter() - began
            samples.stop()
            _end(process)
        output.seek(0)
        errors.seek(0)
        said, complaints = output.read(), errors.read().split("\n")
    if not in_time:
        raise Failed(f"not done after {timeout:,.0f} s")
    if process.returncode:
        last = next((line.strip() for line in reversed(complaints) if line.strip()), "nothing said")
        raise Failed(f"exit code {process.returncode}: {last}")
    return Cost(wall, _cpu_of_children() - cpu, samples.private, samples.pss, samples.disk, said)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _end(process: subprocess.Popen[str]) -> None:
    """Kill it if it still runs, and wait for its orphans: five seconds long, then they are killed."""
    if process.poll() is None:
        _kill([process.pid, *_descendants(process.pid)])
        process.wait()
    deadline = time.monotonic() + 5
    with contextlib.suppress(ChildProcessError):
        while True:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                if time.monotonic() > deadline:
                    _kill(list(_descendants(os.getpid())))
                time.sleep(0.01)


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _descendants(pid: int) -> Iterator[int]:
    """The processes started by pid and by those. Some may be gone by the time one looks."""
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split():
                    yield int(child)
                    yield from _descendants(int(child))


class _Sampler(threading.Thread):
    """Looks at a process tree and a folder until it is stopped; keeps the highest of each."""

    def __init__(self, pid: int, folder: Path | None) -> None:
        super().__init__(daemon=True)
        self.pid, self.folder = pid, folder
        self.private = self.pss = self.disk = 0
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()
        self.join()

    def run(self) -> None:
        next_pss = next_disk = 0.0
        while not self._stopped.wait(PERIOD):
            pids = [self.pid, *_descendants(self.pid)]
            self.private = max(self.private, sum(_kilobytes(pid, "status", b"RssAnon", b"RssShmem") for pid in pids))
            began = time.monotonic()
            if began >= next_pss:
                self.pss = max(self.pss, sum(_kilobytes(pid, "smaps_rollup", b"Pss") for pid in pids))
                ended = time.monotonic()
                next_pss = ended + (ended - began) / PSS_SHARE
            if self.folder is not None and began >= next_disk:
                self.disk = max(self.disk, disk_of(self.folder))
                next_disk = began + DISK_PERIOD


def _kilobytes(pid: int, file: str, *names: bytes) -> int:
    """The sum of some lines `name: n kB` of a file in /proc, in bytes; 0 when the process is gone."""
    try:
        lines = Path(f"/proc/{pid}/{file}").read_bytes().split(b"\n")
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.split(b":")[0] in names)


def disk_of(folder: Path) -> int:
    """Bytes of the blocks that the files below a folder take."""
    total = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    total += disk_of(Path(entry.path))
                else:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
    return total
