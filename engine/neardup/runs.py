"""The run directory: artifacts, journal, spool, lock. Private (0700), named by the inputs' real paths.

    <cache>/neardup/runs/<16 hex digits>/
        lock              held by the process that works here; the lock dies with its owner. Its time: last used
        stage             how far the last run came, for people
        inputs.json       the scan: which inputs, how they were read, the slices
        journal.jsonl     one line a finished chunk; written by the parent alone
        spool/            plain copies of compressed inputs
        <stage>-<key>/    the artifacts of one stage under one set of settings
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import mmh3
import msgspec
import platformdirs

from neardup.errors import OutputError, RunInUse
from neardup.store import LocalStore, Part, private

FORCED_EVERY = 1.0  # seconds of work that a power failure may take from the journal; an fsync takes some 7 ms
KEYS_KEPT_A_STAGE = 3  # how many sets of settings of one stage stay for the next run
# Who lists or cleans the cache holds each lock for a moment; a run takes longer.
TRIES, BETWEEN_TRIES = 5, 0.02
NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}  # NFS without a lock daemon, FUSE


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


class _Sealed(msgspec.Struct, frozen=True):
    content: msgspec.Raw
    checksum: str


class RunDirectory:
    """Open one with `with`: it is locked until closed. RunInUse where another process holds it.

    `notice` is what the user should be told of it: that its file system has no locks.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = LocalStore(path)
        self._lines: dict[tuple[str, int], Outcome] = {}
        self._checked: set[tuple[str, int]] = set()
        self._trusted: set[Path] = set()
        self._forced = 0.0
        self.notice = ""
        try:
            self._lock, locked = _held(path)
            if not locked:
                self.notice = (
                    f"the file system of {path} has no locks: see to it that no other neardup works on these inputs "
                    "meanwhile, or name a directory elsewhere with --run-dir"
                )
            self.spool.mkdir(mode=0o700, exist_ok=True)
            os.utime(self._lock)
            self._sweep()
            self._read_journal()
            self._journal = os.open(self.journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            with contextlib.suppress(AttributeError, OSError):
                os.close(self._lock)
            raise _unwritable(path, error) from error

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
        """Note a finished chunk for this run and the next; OutputError where the disk does not take it."""
        line = sealed(msgspec.json.encode(Line(stage, chunk, outcome))) + b"\n"
        before = os.fstat(self._journal).st_size
        try:
            rest = line
            while rest:
                rest = rest[os.write(self._journal, rest) :]
            if time.monotonic() - self._forced >= FORCED_EVERY:
                os.fsync(self._journal)
                self._forced = time.monotonic()
        except OSError as error:
            with contextlib.suppress(OSError):  # the next line must not be glued to a half one
                os.ftruncate(self._journal, before)
            raise _unwritable(self.path, error) from error
        self._lines[stage, chunk] = outcome
        self._checked.add((stage, chunk))

    def write_file(self, path: Path, content: bytes) -> None:
        """Put a small private file in place, whole or not at all; OutputError where the disk does not take it."""
        temporary = path.with_name(path.name + ".tmp")
        try:
            with open(temporary, "wb", opener=private) as target:
                target.write(content)
                target.flush()
                os.fsync(target.fileno())
            os.replace(temporary, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise _unwritable(self.path, error) from error

    def keep_scan(self, content: bytes) -> None:
        """`content` is JSON; `scan` gives it back as long as it is whole."""
        self.write_file(self.inputs, sealed(content))

    def scan(self) -> bytes | None:
        try:
            return unsealed(self.inputs.read_bytes())
        except OSError:
            return None

    def mark(self, stage: str, *, finished: bool = False) -> None:
        """Say for `neardup runs list` how far it is. A disk that does not take this will not take what matters."""
        with contextlib.suppress(OSError), open(self.path / "stage", "wb", opener=private) as target:
            target.write(b"finished " * finished + stage.encode())

    def check_spool(self, checksums: Mapping[str, str]) -> None:
        """Remove what is not the plain copy that the scan saw, by the MurmurHash3 of its bytes; each copy once."""
        for copy in set(self.spool.iterdir()) - self._trusted:
            if _checksum_of_file(copy) != checksums.get(str(copy)):
                copy.unlink()

    def trust_spool(self) -> None:
        """What lies in the spool now was made or checked by this process."""
        self._trusted = set(self.spool.iterdir())

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
        with contextlib.suppress(OSError):
            os.utime(self._lock)
        for handle in (self._journal, self._lock):
            with contextlib.suppress(OSError):
                os.close(handle)

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
        """A line that was cut by a power failure, is damaged, or is of another version, counts for nothing."""
        if not self.journal.exists():
            return
        lines = self.journal.read_bytes().split(b"\n")
        for line in lines:
            with contextlib.suppress(msgspec.DecodeError):
                read = msgspec.json.decode(unsealed(line) or b"", type=Line)
                self._lines[read.stage, read.chunk] = read.outcome
        if lines[-1]:  # the last write did not reach its line end; the next must not be glued to it
            with open(self.journal, "ab") as journal:
                journal.write(b"\n")


def _unwritable(path: Path, error: OSError) -> OutputError:
    room = "make room there, or " if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else ""
    return OutputError(
        f"the run directory {path} cannot be written ({error.strerror}): {room}name another with --run-dir"
    )


def sealed(content: bytes) -> bytes:
    """JSON with its checksum, as one JSON object: a bit that flips in a count would pass for another count."""
    return msgspec.json.encode(_Sealed(msgspec.Raw(content), _checksum_of(content)))


def unsealed(data: bytes) -> bytes | None:
    """The JSON inside; None where it is not what was sealed."""
    try:
        read = msgspec.json.decode(data, type=_Sealed)
    except (msgspec.DecodeError, ValueError):  # ValueError: text that is not UTF-8
        return None
    content = bytes(read.content)
    return content if _checksum_of(content) == read.checksum else None


def _checksum_of(content: bytes) -> str:
    return mmh3.hash_bytes(content).hex()


def _checksum_of_file(path: Path) -> str:
    """As the scan takes it: MurmurHash3 x64 128 of all bytes, in hexadecimal."""
    hasher = mmh3.mmh3_x64_128()
    with contextlib.suppress(OSError), path.open("rb") as file:
        while block := file.read(2**20):
            hasher.update(block)
    return hasher.digest().hex()


def _held(path: Path) -> tuple[int, bool]:
    """A handle on the lock of a run directory, which is made where it is not there; False: nobody can lock there."""
    for _ in range(TRIES):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        taken = locked(handle)
        # Who cleans the cache moves the directory away: what is locked then is not the lock of this path any more.
        with contextlib.suppress(FileNotFoundError):
            if taken is not False and os.path.samestat(os.fstat(handle), os.stat(path / "lock")):
                return handle, taken is True
        os.close(handle)
        time.sleep(BETWEEN_TRIES)
    raise RunInUse(
        f"another neardup works on these inputs (it holds {path}): "
        "wait until it is done, or name another directory with --run-dir"
    )


def locked(handle: int) -> bool | None:
    """Lock an open file until it is closed; False where another process has it, None where there are no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in NO_LOCKS:
            return None
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


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
