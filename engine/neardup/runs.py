"""The run directory: artifacts, journal, spool, lock. Private (0700), named by the inputs' real paths.

    <cache>/neardup/runs/<16 hex digits>/
        lock              held by the process that works here; the lock dies with its owner
        inputs.json       the scan: which inputs, how they were read, the slices
        journal.jsonl     one line a finished chunk; written by the parent alone
        spool/            plain copies of compressed inputs
        <stage>-<key>/    the artifacts of one stage under one set of settings
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import msgspec
import platformdirs

from neardup.errors import OutputError, RunInUse
from neardup.store import LocalStore, Part, private

KEYS_KEPT_A_STAGE = 3  # how many sets of settings of one stage stay for the next run


class Outcome(msgspec.Struct, frozen=True):
    """What a task tells about its chunk: the parts it wrote by name, numbers, seconds by what they went into."""

    parts: dict[str, Part] = {}
    counts: dict[str, int] = {}
    seconds: dict[str, float] = {}


class Line(msgspec.Struct, frozen=True):
    """A line of the journal: this chunk of this stage is finished."""

    stage: str
    chunk: int
    outcome: Outcome


class RunDirectory:
    """Open one with `with`: it is locked until closed. RunInUse where another process holds it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = LocalStore(path)
        self._lines: dict[tuple[str, int], Outcome] = {}
        self._checked: set[tuple[str, int]] = set()
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.spool.mkdir(mode=0o700, exist_ok=True)
            self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise OutputError(
                f"the run directory {path} cannot be made or written ({error.strerror}): name another with --run-dir"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise RunInUse(
                f"another neardup works on these inputs (it holds {path}): "
                "wait until it is done, or name another directory with --run-dir"
            ) from None
        self._sweep()
        self._read_journal()
        self._journal = open(self.journal, "ab", opener=private)  # noqa: SIM115

    @property
    def spool(self) -> Path:
        return self.path / "spool"

    @property
    def journal(self) -> Path:
        return self.path / "journal.jsonl"

    @property
    def inputs(self) -> Path:
        return self.path / "inputs.json"

    def finished(self, stage: str, chunk: int) -> Outcome | None:
        """What a finished chunk left, if all its files are still what they were."""
        outcome = self._lines.get((stage, chunk))
        if outcome is None:
            return None
        if (stage, chunk) not in self._checked:
            if not all(self.store.intact(part) for part in outcome.parts.values()):
                del self._lines[stage, chunk]
                return None
            self._checked.add((stage, chunk))
        return outcome

    def record(self, stage: str, chunk: int, outcome: Outcome) -> None:
        self._journal.write(msgspec.json.encode(Line(stage, chunk, outcome)) + b"\n")
        self._journal.flush()
        os.fsync(self._journal.fileno())
        self._lines[stage, chunk] = outcome
        self._checked.add((stage, chunk))

    def write_file(self, path: Path, content: bytes) -> None:
        """Put a small private file in place, whole or not at all."""
        temporary = path.with_name(path.name + ".tmp")
        with open(temporary, "wb", opener=private) as target:
            target.write(content)
            target.flush()
            os.fsync(target.fileno())
        os.replace(temporary, path)

    def tidy(self, stages: Sequence[str]) -> None:
        """Drop what older settings left: of each stage the last few keys stay, and always the ones named."""
        by_stage: dict[str, list[Path]] = {}
        for folder in self.path.iterdir():
            if folder.is_dir() and "-" in folder.name:
                by_stage.setdefault(folder.name.partition("-")[0], []).append(folder)
        for folders in by_stage.values():
            newest_first = sorted(folders, key=lambda folder: (folder.name not in stages, -folder.stat().st_mtime_ns))
            for folder in newest_first[KEYS_KEPT_A_STAGE:]:
                if folder.name not in stages:
                    self.drop(folder.name)

    def drop(self, stage: str) -> None:
        """Remove a stage's artifacts, or those of a part of it (`stage/part`); the journal's lines about them find no
        file, and so count for nothing."""
        shutil.rmtree(self.path / stage, ignore_errors=True)
        for known in [key for key in self._lines if key[0] == stage or key[0].startswith(f"{stage}/")]:
            del self._lines[known]
            self._checked.discard(known)

    def free_bytes(self) -> int:
        """What the disk has left for this user."""
        return shutil.disk_usage(self.path).free

    def used_bytes(self, stage: str = "") -> int:
        """What the artifacts of a stage, or of all of them, take."""
        return sum(path.stat().st_size for path in (self.path / stage).rglob("*.npy"))

    def empty_spool(self) -> None:
        shutil.rmtree(self.spool, ignore_errors=True)

    def close(self) -> None:
        self._sweep()
        self._journal.close()
        with contextlib.suppress(OSError):
            os.close(self._lock)

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _sweep(self) -> None:
        for left in self.path.rglob("*.tmp"):
            with contextlib.suppress(OSError):
                left.unlink()

    def _read_journal(self) -> None:
        """A line that was cut by a power failure, or is of another version, counts for nothing."""
        if not self.journal.exists():
            return
        lines = self.journal.read_bytes().split(b"\n")
        for line in lines:
            with contextlib.suppress(msgspec.DecodeError):
                read = msgspec.json.decode(line, type=Line)
                self._lines[read.stage, read.chunk] = read.outcome
        if lines[-1]:  # the last write did not reach its line end; the next must not be glued to it
            with open(self.journal, "ab") as journal:
                journal.write(b"\n")


def default_directory(paths: Sequence[str | Path]) -> Path:
    """Where the run over these inputs lives: named by their real paths, in their order."""
    names = "\0".join(os.path.realpath(path) for path in paths)
    return cache_directory() / "runs" / hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def cache_directory() -> Path:
    """$XDG_CACHE_HOME/neardup, or the platform's own place for such things."""
    return Path(platformdirs.user_cache_path("neardup", appauthor=False))


def kernel_cache() -> Path:
    """Where compiled kernels are kept for every neardup process of this user."""
    return cache_directory() / "kernels"
