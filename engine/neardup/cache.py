"""What neardup keeps in the user's cache: run directories and compiled kernels. To look at, and to keep small.

A directory counts as a run of ours when it lies in <cache>/runs, bears a name of 16 hexadecimal digits, belongs to this
user and has our files in it. What another process holds is never touched. A removal first takes the lock, then
moves the directory away under another name, so that whoever opens the run meanwhile finds it whole or not at all.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from neardup import compiled
from neardup.runs import cache_directory, kernel_cache, locked, unsealed
from neardup.sizes import parse_size

LIMIT = 20 * 10**9  # bytes of all run directories, or a tenth of what they could have, whichever is less
LIMIT_VARIABLE = "NEARDUP_CACHE_SIZE"

_NAME = re.compile(r"[0-9a-f]{16}")
_REMOVED = "removed-"  # a directory on its way out; what is left of one goes with the next removal


@dataclass(frozen=True, slots=True)
class KeptRun:
    """One run directory: bytes on disk, when it was used last (seconds since 1970) and how far its last run came.

    inputs    their names as they were given; empty where no scan was finished
    stage     the last stage begun, "" where there was none
    finished  whether that was the end: "clusters", or "read" of inputs that were only opened
    in_use    another process holds it, or its file system cannot tell
    """

    path: Path
    inputs: tuple[str, ...]
    bytes: int
    last_used: float
    stage: str
    finished: bool
    in_use: bool


class _Scanned(msgspec.Struct):
    paths: tuple[str, ...] = ()


def runs_directory() -> Path:
    return cache_directory() / "runs"


def kept_runs() -> list[KeptRun]:
    """All run directories in the cache, the one used last first."""
    return sorted(map(_looked_at, _run_directories()), key=lambda run: (-run.last_used, run.path))


def kept_kernels() -> tuple[int, int]:
    """Bytes of the compiled kernels of this version, and of all others."""
    mine = compiled.kept(kernel_cache())
    return _bytes(mine), sum(map(_bytes, compiled.others(kernel_cache())))


def limit(runs: Sequence[KeptRun]) -> int:
    """How many bytes all run directories may have; SettingsError where the environment says what is no size."""
    if LIMIT_VARIABLE in os.environ:
        return parse_size(os.environ[LIMIT_VARIABLE], LIMIT_VARIABLE, zero=True)
    place = runs_directory()
    while not place.exists():
        place = place.parent
    return min(LIMIT, (shutil.disk_usage(place).free + sum(run.bytes for run in runs)) // 10)


def clean(*, to: int | None = None, older_than: float | None = None) -> list[KeptRun]:
    """Remove runs that nobody uses, the one used longest ago first; returns them.

    Those go that were not used for more than `older_than` seconds, and then others until all that is left has at most
    `to` bytes; with neither, `to` is the limit.
    """
    with contextlib.suppress(OSError):
        for left in runs_directory().glob(f"{_REMOVED}*"):
            shutil.rmtree(left, ignore_errors=True)
    runs = kept_runs()
    if to is None and older_than is None:
        to = limit(runs)
    total, now, gone = sum(run.bytes for run in runs), time.time(), []
    for run in reversed(runs):
        old = older_than is not None and now - run.last_used > older_than
        if (old or (to is not None and total > to)) and _remove(run.path):
            total -= run.bytes
            gone.append(run)
    return gone


def clean_kernels() -> int:
    """Remove the compiled kernels of other versions; returns the bytes freed."""
    freed = 0
    for folder in compiled.others(kernel_cache()):
        size = _bytes(folder)
        shutil.rmtree(folder, ignore_errors=True)
        freed += size - _bytes(folder)
    return freed


def _run_directories() -> Iterator[Path]:
    with contextlib.suppress(OSError):
        for path in sorted(runs_directory().iterdir()):
            if _NAME.fullmatch(path.name) and _ours(path, stat.S_ISDIR) and _ours(path / "lock", stat.S_ISREG):
                yield path


def _ours(path: Path, is_right: Callable[[int], bool]) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return found.st_uid == os.getuid() and is_right(found.st_mode)


def _looked_at(path: Path) -> KeptRun:
    stage, last_used = "", 0.0
    inputs: tuple[str, ...] = ()
    with _hold(path) as free:  # for a moment only: a run that begins meanwhile waits for it
        pass
    with contextlib.suppress(OSError):
        stage = (path / "stage").read_text("utf-8", "replace")
    with contextlib.suppress(OSError, msgspec.DecodeError):
        inputs = msgspec.json.decode(unsealed((path / "inputs.json").read_bytes()) or b"", type=_Scanned).paths
    with contextlib.suppress(OSError):
        last_used = (path / "lock").stat().st_mtime
    finished, stage = stage.startswith("finished "), stage.removeprefix("finished ")
    return KeptRun(path, inputs, _bytes(path), last_used, stage, finished, not free)


def _remove(path: Path) -> bool:
    away = path.with_name(f"{_REMOVED}{path.name}-{os.getpid()}")
    with _hold(path) as free:
        if not free:
            return False
        try:
            path.rename(away)
        except OSError:
            return False
    shutil.rmtree(away, ignore_errors=True)
    return True


@contextlib.contextmanager
def _hold(path: Path) -> Iterator[bool]:
    """Hold the lock of a run directory; False where somebody else has it, or nobody can say."""
    try:
        handle = os.open(path / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        yield locked(handle) is True
    finally:
        os.close(handle)


def _bytes(folder: Path) -> int:
    """On disk: a sparse file has what it takes up, and a file with two names is counted twice."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_blocks * 512
    return total
