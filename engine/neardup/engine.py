"""The engine: owns the workers and the run directory, loads inputs, runs the pipeline, tells by events."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from pathlib import Path
from types import TracebackType

import msgspec

from neardup import cache, compiled
from neardup.backends.base import Backend
from neardup.backends.inline import Inline
from neardup.backends.processes import NoWorkers, Processes
from neardup.budget import SHARE, Budget, memory_left
from neardup.errors import SourceError
from neardup.events import STAGES, Advanced, Event, Finished, Preparing, StageStarted, Warned
from neardup.launcher import Launcher
from neardup.results import Result
from neardup.runs import RunDirectory, default_directory, kernel_cache
from neardup.settings import Settings
from neardup.sources.corpus import Corpus, Reading

SLICE_BYTES = 8 * 2**20
# Starting workers takes two seconds on two cores; one process does 4 MB of text in about one.
WORTH_WORKERS = 4 * 2**20
Listener = Callable[[Event], None]


class Engine:
    """Find near duplicates, in worker processes or right here.

        async with Engine() as engine:
            corpus = await engine.load(["tickets.csv"], Reading(text_column="body"))
            async for event in engine.run(corpus, Settings()):
                ...                                       # the last event is Finished(result)

    workers      None: as many as this process may use cores, but none for a few MB, unless they were started before;
                 0: none, work is done in a thread of this process
    run_dir      where artifacts go; None: a directory of the inputs' own below the user's cache
    launcher     a Launcher that was started before (an app does so before it takes over the terminal)
    slice_bytes  how much of an input one chunk holds; no result depends on it
    keep_spool   leave the plain copies of compressed inputs in the run directory when the engine is closed
    memory       bytes over all processes; None: a share of what the machine and the cgroup leave
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        run_dir: Path | None = None,
        launcher: Launcher | None = None,
        slice_bytes: int = SLICE_BYTES,
        keep_spool: bool = False,
        memory: int | None = None,
    ) -> None:
        self._workers = default_workers() if workers is None else workers
        self._workers_wished = workers is not None
        self._small = False  # what is loaded is not worth starting workers
        self._no_workers = False  # none can be started here, and that was told
        self._run_dir = run_dir
        self._launcher = launcher
        self._own_launcher = launcher is None
        self._slice_bytes = slice_bytes
        self._keep_spool = keep_spool
        self._memory = memory
        self._pool: Processes | None = None
        self._inline: Inline | None = None
        self._run: RunDirectory | None = None
        self._corpus_path = ""
        self._loaded: Corpus | None = None
        self._read_seconds = 0.0

    async def __aenter__(self) -> Engine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Start the workers now and not at the first need; returns at once, they come up meanwhile."""
        if self._workers and self._pool is None and not self._no_workers:
            with contextlib.suppress(OSError):
                await self._start_pool()

    async def load(
        self, paths: Sequence[str | Path], reading: Reading | None = None, on_event: Listener | None = None
    ) -> Corpus:
        """Scan the inputs for record borders; they are read by workers later, slice by slice.

        SourceError for an input that is missing, unreadable, broken or without a row; ColumnError where the text
        column is not there or not clear; RunInUse where another process works on the same inputs.
        """
        tell = on_event or _nobody
        reading = reading or Reading()
        names = tuple(os.fspath(path) for path in paths)
        for name in names:
            check_there(name)
        self._change_run(self._run_dir or default_directory(names))
        assert self._run is not None
        if self._run.notice:
            tell(Warned(self._run.notice))
        if self._run_dir is None:
            await asyncio.to_thread(cache.clean)
        # Of each load anew: an engine may be given a few lines first and a large file later.
        self._small = not self._workers_wished and _small(names) and compiled.is_compiled(kernel_cache())
        # Also where the scan is known: a caller that looks at texts afterwards must find the kernels compiled.
        backend = await self._backend(tell)
        began = time.perf_counter()
        tell(StageStarted("read", 1, len(STAGES), 0, "bytes"))
        scanned = _scan_of(self._run)
        copies = {one.body: one.checksum for one in scanned.corpus.inputs} if scanned else {}
        await asyncio.to_thread(self._run.check_spool, copies)
        corpus = _scanned_before(scanned, names, reading)
        if corpus is None:
            from neardup.tasks import Scan

            self._run.mark("read")
            async with _ticking(tell, backend, names, reading):
                scan = Scan(names, reading, str(self._run.spool), self._slice_bytes)
                async for _, done in backend.map(scan, [None]):
                    corpus = done
            self._run.mark("read", finished=True)
        assert corpus is not None
        self._run.trust_spool()
        self._remember(names, reading, corpus)
        tell(Advanced("read", corpus.rows, corpus.rows, time.perf_counter() - began))
        for warning in corpus.warnings:
            tell(Warned(warning))
        self._read_seconds = time.perf_counter() - began
        return corpus

    async def run(self, corpus: Corpus, settings: Settings | None = None) -> AsyncGenerator[Event, None]:
        """Run the pipeline over the corpus loaded last. Leaving the loop, or cancelling, stops the work.

        What is finished stays in the run directory: the next run with settings that agree goes on from there.
        """
        run = self._run
        if run is None or corpus is not self._loaded:
            raise ValueError("run() takes the corpus that load() gave last")
        check_unchanged(corpus)
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        work = asyncio.create_task(self._find(corpus, settings or Settings(), events.put_nowait))
        work.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                if isinstance(event, StageStarted):
                    run.mark(event.stage)
                yield event
            result = await work
            run.mark(STAGES[-1], finished=True)
            yield Finished(result)
        finally:
            if not work.done():
                work.cancel()
                await asyncio.wait([work])

    @property
    def worker_pids(self) -> list[int]:
        """The process numbers of the workers that live; none where work is done in this process."""
        return self._pool.pids if self._pool is not None else []

    def pause(self, paused: bool) -> None:
        """Stop the workers where they are, or let them go on: for a process that is about to be stopped itself."""
        if self._launcher is not None:
            self._launcher.pause(paused)

    async def close(self) -> None:
        """End workers, free the run directory. Finished chunks stay; nothing half-written does."""
        if self._pool is not None:
            await self._pool.close()
            self._pool = None
        if self._own_launcher and self._launcher is not None:
            await asyncio.to_thread(self._launcher.close)
            self._launcher = None
        if self._inline is not None:
            await self._inline.close()
            self._inline = None
        if self._run is not None:
            if not self._keep_spool:
                self._run.empty_spool()
            self._run.close()
            self._run = None

    async def _find(self, corpus: Corpus, settings: Settings, tell: Listener) -> Result:
        backend = await self._backend(tell)
        from neardup import pipeline
        from neardup.work import Work

        assert self._run is not None
        work = Work(backend, self._run, self._corpus_path, tell, self._budget())
        work.seconds["read"] = self._read_seconds
        return await pipeline.find(corpus, settings, work)

    def _budget(self) -> Budget:
        return Budget(self._memory or int(SHARE * memory_left()), len(self.worker_pids))

    async def _backend(self, tell: Listener) -> Backend:
        assert self._run is not None
        if self._workers and not self._no_workers and not (self._small and self._pool is None):
            try:
                if self._pool is None:
                    await self._start_pool()
                assert self._pool is not None
                self._pool.store = self._run.store
                await self._until_ready(tell)
                return self._pool
            except (NoWorkers, OSError) as error:
                self._no_workers = True
                tell(Warned(f"no worker process can be started here ({error}): the work is done in this process"))
                if self._pool is not None:
                    await self._pool.close()
                    self._pool = None
        if self._inline is None:
            await asyncio.to_thread(_load_kernels)
            self._inline = Inline(self._run.store)
        self._inline.store = self._run.store
        return self._inline

    async def _until_ready(self, tell: Listener) -> None:
        """Wait for the first worker with kernels; where they are not in the cache that takes a while, and is told."""
        assert self._pool is not None
        here = None
        if await asyncio.to_thread(compiled.is_compiled, kernel_cache()):
            # This process needs them too, for what looks at the whole corpus: it loads them while the workers do.
            here = asyncio.ensure_future(asyncio.to_thread(_load_kernels))
        elif not self._pool.is_ready:
            tell(Preparing("compiling kernels, once on this machine: about half a minute"))
        seconds, notice = await self._pool.ready()
        await (here or asyncio.to_thread(_load_kernels))
        if notice:
            tell(Warned(notice))
        if seconds > 1:
            tell(Preparing(f"kernels compiled in {seconds:.0f} s"))

    async def _start_pool(self) -> None:
        if self._launcher is None:
            self._launcher = Launcher.start()
        self._pool = Processes(self._workers, self._launcher)
        await self._pool.start()

    def _change_run(self, path: Path) -> None:
        if self._run is not None:
            if self._run.path == path:
                return
            if not self._keep_spool:
                self._run.empty_spool()
            self._run.close()
            self._run = None
        self._run = RunDirectory(path)

    def _remember(self, names: tuple[str, ...], reading: Reading, corpus: Corpus) -> None:
        """Keep the scan for the next time, and for the workers under a name that says what it holds."""
        assert self._run is not None
        encoded = msgspec.json.encode(corpus)
        path = self._run.path / f"corpus.{_digest(encoded)}.json"
        for older in self._run.path.glob("corpus.*.json"):
            older.unlink()
        self._run.write_file(path, encoded)
        self._run.keep_scan(msgspec.json.encode(_Scanned(names, reading, corpus)))
        self._corpus_path = str(path)
        self._loaded = corpus


class _Scanned(msgspec.Struct, frozen=True):
    paths: tuple[str, ...]
    reading: Reading
    corpus: Corpus


def find_duplicates(
    paths: Sequence[str | Path],
    settings: Settings | None = None,
    reading: Reading | None = None,
    *,
    workers: int = 0,
    run_dir: Path | None = None,
    on_event: Listener | None = None,
) -> Result:
    """Find the near duplicates in `paths` and wait for the result; in this process unless `workers` says otherwise.

    Runs the same Engine on a private thread and loop, so that it works inside a notebook and inside another loop.
    """
    from concurrent.futures import ThreadPoolExecutor

    async def whole_job() -> Result:
        async with Engine(workers=workers, run_dir=run_dir) as engine:
            corpus = await engine.load(paths, reading, on_event)
            async for event in engine.run(corpus, settings):
                if isinstance(event, Finished):
                    return event.result
                if on_event is not None:
                    on_event(event)
        raise AssertionError("a run ends with Finished or an error")

    with ThreadPoolExecutor(1, "neardup") as thread:
        return thread.submit(asyncio.run, whole_job()).result()


def default_workers() -> int:
    """As many as this process may use cores: CPU affinity, and the quota of its cgroup."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            cores = min(cores, -(-int(quota) // int(period)))
    return max(1, cores)


def check_there(path: str) -> None:
    """SourceError where there is no such file or folder, or none that may be looked at."""
    if not path:
        raise SourceError("an input is named by an empty text: name a file or a folder")
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise SourceError(f"{path} does not exist: name a file or a folder") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no file can have this name"
        raise SourceError(f"{path} cannot be read ({reason}): see who may enter the folders above") from None


def check_unchanged(corpus: Corpus) -> None:
    """SourceError where an input is no longer the file that was scanned."""
    for one in corpus.inputs:
        if one.format == "files":
            continue  # many files: each is looked at when it is read
        try:
            found = os.stat(one.real)
        except OSError:
            raise SourceError(f"{one.path} is gone since it was read: open it again") from None
        if (found.st_size, found.st_mtime_ns) != (one.size, one.mtime_ns):
            raise SourceError(f"{one.path} changed on disk since it was read: open it again")


def _scan_of(run: RunDirectory) -> _Scanned | None:
    """The scan that an earlier process left, whole and of this version."""
    try:
        return msgspec.json.decode(run.scan() or b"", type=_Scanned)
    except msgspec.DecodeError:
        return None


def _scanned_before(scanned: _Scanned | None, names: tuple[str, ...], reading: Reading) -> Corpus | None:
    """The scan of an earlier process, if every input is a plain file that did not change since."""
    if scanned is None:
        return None
    corpus = scanned.corpus
    if (scanned.paths, scanned.reading) != (names, reading) or any(one.format == "files" for one in corpus.inputs):
        return None
    try:
        check_unchanged(corpus)
    except SourceError:
        return None
    return corpus if all(os.path.exists(one.body) for one in corpus.inputs) else None


@contextlib.asynccontextmanager
async def _ticking(tell: Listener, backend: Backend, names: Sequence[str], reading: Reading) -> AsyncIterator[None]:
    """Tell ten times a second how many bytes the scan has seen."""
    from neardup import sources

    total = await asyncio.to_thread(sources.plan_bytes, names, reading)
    began = time.perf_counter()

    async def tick() -> None:
        while True:
            await asyncio.sleep(0.1)
            tell(Advanced("read", min(backend.units(), total), total, time.perf_counter() - began))

    ticker = asyncio.create_task(tick())
    try:
        yield
    finally:
        ticker.cancel()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _small(names: Sequence[str]) -> bool:
    """Whether the inputs are files and so small that starting workers takes longer than the work."""
    return all(map(os.path.isfile, names)) and sum(map(os.path.getsize, names)) < WORTH_WORKERS


def _load_kernels() -> None:
    compiled.load(kernel_cache() / "lock")
    importlib.import_module("neardup.pipeline")  # and what comes with it: Arrow, the sources


def _nobody(event: Event) -> None:
    """Who listens to a load that nobody watches."""
