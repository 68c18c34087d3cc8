"""Where compiled kernels are kept, and how a process gets them without compiling what another one has compiled.

    prepare(cache)      before numba is imported: in the app, the command line and every worker
    load(lock)          imports every kernel module: about 0.4 s from the cache, many seconds when it has to compile

A process that calls neither (a script that uses the library) lives by numba's own rules.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib
import os
import pkgutil
import platform
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

KERNELS = Path(__file__).with_name("kernels")
_READY = "ready"  # in a cache directory: some process has compiled every kernel; its time: last loaded
_NAME = re.compile(r"[0-9a-f]{16}")
_ROOM = 4 * 2**20  # bytes: all kernels take some 1.5 MB
_OLD = 30 * 86_400  # seconds: kernels of another version that nobody loaded for so long go when new ones come


@dataclass(frozen=True, slots=True)
class Loaded:
    """`compiled`: some kernel was not in the cache. `cache`: None where numba chose it. `notice`: to tell the user."""

    seconds: float
    compiled: bool
    cache: Path | None
    notice: str = ""


_notice = ""


def prepare(cache_dir: Path) -> Path:
    """Tell numba, which must not be imported yet, where its cache is and for which CPU to compile.

    Where `cache_dir` cannot be written, a directory of this user below the temporary one takes its place, and
    `load` says so. Without effect in a process that has numba already. Returns the directory.

    numba looks only at the file of the kernel itself when it decides whether the cache is stale, so the directory
    is named after all that goes into machine code: the sources of all kernels, where they lie, the versions, the CPU.
    """
    global _notice
    features = _cpu_features()
    name = _digest(features)
    directory, _notice = cache_dir / name, ""
    if not _usable(directory):
        directory = _private_temporary() / name
        _notice = f"{cache_dir} cannot be written: compiled kernels are kept in {directory.parent}"
        directory.mkdir(mode=0o700, exist_ok=True)
    if "numba" not in sys.modules:
        os.environ["NUMBA_CACHE_DIR"] = str(directory)
        if features:
            os.environ["NUMBA_CPU_FEATURES"] = features
    return directory


def load(lock: Path, *, backwards: bool = False) -> Loaded:
    """Import every kernel module. Each is compiled by one process, holding a lock of its own; the others load it.

    Two workers share the compiling when one goes through the modules `backwards`: they meet in the middle.
    A lock that cannot be taken is done without: compiling twice costs time, never a wrong cache (numba renames
    finished files into place).
    """
    began = time.perf_counter()
    cache = Path(os.environ["NUMBA_CACHE_DIR"]) if "NUMBA_CACHE_DIR" in os.environ else None
    ready = cache / _READY if cache else None
    locked = ready is None or not ready.exists()
    compiled = _import_kernels(lock if locked else None, backwards)
    if cache and ready:
        with contextlib.suppress(OSError):
            ready.touch()
        if locked and _NAME.fullmatch(cache.name):
            for old in others(cache.parent, older_than=_OLD):
                shutil.rmtree(old, ignore_errors=True)
    return Loaded(time.perf_counter() - began, compiled, cache, _notice)


def is_compiled(cache_dir: Path) -> bool:
    """Whether some process has left all kernels, as they are now, in the cache; asks without loading any."""
    directory = os.environ.get("NUMBA_CACHE_DIR") or cache_dir / _digest(_cpu_features())
    return (Path(directory) / _READY).exists()


def kept(cache_dir: Path) -> Path:
    """The directory of this version's kernels for this CPU, whether it is there or not."""
    return cache_dir / _digest(_cpu_features())


def others(cache_dir: Path, older_than: float = 0) -> list[Path]:
    """Where kernels of other versions, or for other CPUs, are kept, and were not loaded for so many seconds."""
    current, found, now = kept(cache_dir), [], time.time()
    with contextlib.suppress(OSError):
        for path in sorted(cache_dir.iterdir()):
            if _NAME.fullmatch(path.name) and path != current and path.is_dir() and not path.is_symlink():
                used = (path / _READY if (path / _READY).exists() else path).stat().st_mtime
                if now - used >= older_than:
                    found.append(path)
    return found


def _import_kernels(lock: Path | None, backwards: bool) -> bool:
    """Import all of `neardup.kernels`; whether any of them had to be compiled."""
    from numba.core.dispatcher import Dispatcher

    names = [found.name for found in pkgutil.iter_modules([str(KERNELS)])]
    modules = []
    with _without_scipy():
        for name in reversed(names) if backwards else names:
            with _held(lock.with_name(f"{lock.name}-{name}")) if lock else contextlib.nullcontext():
                modules.append(importlib.import_module(f"neardup.kernels.{name}"))
    kernels = [value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)]
    return any(kernel.stats.cache_misses for kernel in kernels)


def _llvm() -> Any:
    return importlib.import_module("llvmlite.binding")


def _cpu_features() -> str:
    """The host's own features, with 512-bit vectors allowed where it has them; "" off x86: numba's default is right."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return ""
    return f"{_llvm().get_host_cpu_features().flatten()},-prefer-256-bit"


def _digest(features: str) -> str:
    parts = [version("numba"), version("llvmlite"), sys.version, _llvm().get_host_cpu_name(), features, str(KERNELS)]
    content = hashlib.blake2b("\0".join(parts).encode(), digest_size=8)
    for source in sorted(KERNELS.glob("*.py")):
        content.update(source.name.encode() + b"\0" + source.read_bytes())
    return content.hexdigest()


def _usable(directory: Path) -> bool:
    """Whether kernels can be written there: numba dies of a full disk with a traceback."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory) as file:
            if not (directory / _READY).exists():
                file.write(bytes(_ROOM))
                file.flush()
    except OSError:
        return False
    return True


def _private_temporary() -> Path:
    """A directory that only this user can write: whoever writes a cache can run code in the process that reads it."""
    shared = Path(tempfile.gettempdir()) / f"neardup-kernels-{os.getuid()}"
    with contextlib.suppress(OSError):
        shared.mkdir(mode=0o700, exist_ok=True)
        found = shared.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
            return shared
    return Path(tempfile.mkdtemp(prefix="neardup-kernels-"))


@contextlib.contextmanager
def _without_scipy() -> Iterator[None]:
    """numba asks SciPy, where there is one, for its BLAS: 0.45 s for what no kernel here uses. Ours do without."""
    if "NUMBA_CACHE_DIR" not in os.environ or "scipy.linalg" in sys.modules:
        yield  # not a process of ours, or too late
        return
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]  # importing it raises ImportError, as if there were none
    try:
        yield
    finally:
        sys.modules.pop("scipy.linalg", None)


@contextlib.contextmanager
def _held(lock: Path) -> Iterator[None]:
    try:
        lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = lock.open("a")
    except OSError:
        yield
        return
    with file:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
