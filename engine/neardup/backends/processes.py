"""Work in worker processes: single-threaded kernels inside, processes outside, owned by whoever made the pool.

A dead worker is replaced singly and its chunk done again, twice; a third death ends the map, naming what it was about.
Stopping sets one byte that every worker reads between kernel calls; what still runs after 150 ms is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import pickle
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.backends.base import C, R, Task
from neardup.errors import Cancelled, NeardupError, WorkerError
from neardup.launcher import Launcher
from neardup.memory import private_bytes
from neardup.store import LocalStore, Part, Stored
from neardup.watch import Watch
from neardup.worker import LENGTH

DEATHS_ALLOWED = 2  # over one chunk; the third ends the run
GRACE = 0.15  # seconds a worker has to notice that it should stop
TOLD = 3.0  # seconds in which the launcher tells how a process ended whose socket is closed; it takes a few ms


class NoWorkers(NeardupError):
    """No worker process can be started here; the caller works inline instead."""


@dataclass(eq=False)
class _Worker:
    slot: int
    pid: int = 0
    reader: asyncio.StreamReader | None = None
    writer: asyncio.StreamWriter | None = None
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    dead: asyncio.Event = field(default_factory=asyncio.Event)
    compiled_seconds: float = 0.0
    note: str = ""
    private: int = 0
    code: int | None = None  # how it ended: an exit code, or minus the signal


class Processes:
    """A pool of `workers` processes. `start` returns at once; NoWorkers is raised by the first map if none came up."""

    def __init__(self, workers: int, launcher: Launcher, interpreter: str = "") -> None:
        self.store = LocalStore(launcher.folder)  # until the owner knows where the run is
        self.launcher = launcher
        self._interpreter = interpreter or sys.executable
        self._workers = [_Worker(slot) for slot in range(workers)]
        self._watch = Watch(launcher.folder / "watch", slots=workers)
        self._finished_units = 0
        self._peak = 0
        self._working: set[int] = set()
        self._listening: asyncio.Task[None] | None = None
        self._server: asyncio.Server | None = None
        self._announced: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._starting = asyncio.Lock()
        self._gone: dict[int, int] = {}

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._greet, self.launcher.folder / "socket", limit=2**20)
        self._listening = asyncio.create_task(self._listen())
        for worker in self._workers:
            await self._launch(worker)

    @property
    def is_ready(self) -> bool:
        return any(worker.ready.is_set() for worker in self._workers)

    async def ready(self) -> tuple[float, str]:
        """Wait until some worker has its kernels: seconds spent compiling them and a notice, each told once."""
        waits = [asyncio.create_task(self._up(worker)) for worker in self._workers]
        try:
            for first in asyncio.as_completed(waits):
                if await first:
                    break
            else:
                raise NoWorkers("no worker process could be started")
        finally:
            for wait in waits:
                wait.cancel()
        up = [worker for worker in self._workers if worker.ready.is_set()]
        seconds = max(worker.compiled_seconds for worker in up)
        note = next((worker.note for worker in up if worker.note), "")
        for worker in up:
            worker.compiled_seconds, worker.note = 0.0, ""  # told once
        return seconds, note

    async def map(self, task: Task[C, R], chunks: Sequence[C]) -> AsyncIterator[tuple[int, R]]:
        self._watch.stop = False
        self._finished_units = 0
        waiting = list(reversed(range(len(chunks))))
        finished: asyncio.Queue[tuple[int, R] | BaseException] = asyncio.Queue()
        crew = [
            asyncio.create_task(self._work(worker, task, chunks, waiting, finished.put_nowait))
            for worker in self._workers
        ]
        try:
            for _ in range(len(chunks)):
                done = await finished.get()
                if isinstance(done, BaseException):
                    raise done
                yield done
        finally:
            if any(not member.done() for member in crew):
                await self._halt(crew)

    def exchange(
        self, name: str, stored: Stored, borders: NDArray[np.uint64], consume: bool = False
    ) -> AsyncIterator[tuple[int, Part]]:
        from neardup.exchange import exchange_by_files  # loads kernels, which only a run needs

        return exchange_by_files(self.map, self.store, name, stored, borders, consume)

    def units(self) -> int:
        return self._finished_units + sum(self._watch.units(slot) for slot in list(self._working))

    def peak_bytes(self) -> int:
        self._peak = max(self._peak, private_bytes() + sum(worker.private for worker in self._workers))
        return self._peak

    @property
    def pids(self) -> list[int]:
        return [worker.pid for worker in self._workers if worker.pid and not worker.dead.is_set()]

    async def close(self) -> None:
        self._watch.stop = True
        if self._listening is not None:
            self._listening.cancel()
        if self._server is not None:
            self._server.close()
        for worker in self._workers:
            if worker.writer is not None:
                worker.writer.close()
        await asyncio.to_thread(self.launcher.close)
        self._watch.close()

    async def _work(
        self,
        worker: _Worker,
        task: Task[C, R],
        chunks: Sequence[C],
        waiting: list[int],
        tell: Callable[[tuple[int, R] | BaseException], None],
    ) -> None:
        """One worker's share of a map: take the next chunk until there is none."""
        index = -1
        try:
            if worker.ready.is_set() and worker.dead.is_set():  # it died while there was nothing to do
                await self._replace(worker)
            if not await self._up(worker):
                if all(other.dead.is_set() for other in self._workers):
                    raise NoWorkers("no worker process could be started")
                return
            while waiting:
                index = waiting.pop()
                for death in range(DEATHS_ALLOWED + 1):
                    try:
                        answer = await self._ask(worker, (task, chunks[index], self.store))
                        break
                    except (ConnectionError, asyncio.IncompleteReadError):
                        ended = await self._ended(worker)
                        await self._replace(worker)
                        if death == DEATHS_ALLOWED or not await self._up(worker):
                            raise WorkerError(_told(ended, death + 1, _named(task, chunks[index]))) from None
                if answer[0] == "failed":
                    raise answer[1]
                if answer[0] == "stopped":
                    raise Cancelled
                worker.private = answer[2]
                self.peak_bytes()
                tell((index, answer[1]))
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            tell(error)

    async def _ask(self, worker: _Worker, words: object) -> Any:
        assert worker.reader is not None and worker.writer is not None
        data = pickle.dumps(words, pickle.HIGHEST_PROTOCOL)
        self._watch.set_units(worker.slot, 0)
        self._working.add(worker.slot)
        try:
            worker.writer.write(LENGTH.pack(len(data)) + data)
            await worker.writer.drain()
            answer = await _receive(worker.reader)
            self._finished_units += self._watch.units(worker.slot)
            return answer
        finally:
            self._working.discard(worker.slot)

    async def _halt(self, crew: list[asyncio.Task[None]]) -> None:
        """Stop what a map left running: by the byte, then, 150 ms later, by force."""
        self._watch.stop = True
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait(crew, timeout=GRACE)
        for worker, member in zip(self._workers, crew, strict=False):
            if not member.done():
                member.cancel()
                if worker.slot in self._working or worker.ready.is_set():
                    await self._replace(worker)
        self._watch.stop = False

    async def _up(self, worker: _Worker) -> bool:
        """Wait until the worker is ready; False if it died first."""
        waits = {asyncio.create_task(worker.ready.wait()), asyncio.create_task(worker.dead.wait())}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return worker.ready.is_set() and not worker.dead.is_set()

    async def _ended(self, worker: _Worker) -> int | None:
        """The code of a worker whose socket is closed; None where it lives on."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(worker.dead.wait(), TOLD)
        return worker.code

    async def _replace(self, worker: _Worker) -> None:
        if worker.pid:
            with contextlib.suppress(OSError):
                self.launcher.send({"kill": worker.pid})
        if worker.writer is not None:
            worker.writer.close()
        worker.ready.clear()
        worker.dead.clear()
        worker.pid, worker.reader, worker.writer, worker.code = 0, None, None, None
        # Shielded: an order that was sent must take its own answer, or the next order would get it.
        await asyncio.shield(self._launch(worker))

    async def _launch(self, worker: _Worker) -> None:
        folder = self.launcher.folder
        arguments = [self._interpreter, "-m", "neardup.worker", str(folder / "socket"), str(folder / "watch")]
        async with self._starting:  # answers come in the order of the orders
            try:
                self.launcher.send({"start": [*arguments, str(worker.slot)]})
                answer = await self._announced.get()
            except OSError:
                answer = {"failed": "the launcher is gone"}
        if "started" in answer:
            worker.pid = answer["started"]
            if worker.pid in self._gone:  # it ended before we knew that it had begun
                worker.code = self._gone[worker.pid]
                worker.dead.set()
        else:
            worker.dead.set()

    async def _listen(self) -> None:
        """What the launcher says: answers to orders go to who waits for them, a death to the worker it is about."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), self.launcher.process.stdout)
        while line := await reader.readline():
            words = json.loads(line)
            if "gone" in words:
                self._gone[words["gone"]] = words["code"]
                for worker in self._workers:
                    if worker.pid == words["gone"]:
                        worker.code = words["code"]
                        worker.dead.set()
            else:
                self._gone.pop(words.get("started", 0), None)  # a number used again
                self._announced.put_nowait(words)
        for worker in self._workers:
            worker.dead.set()
        self._announced.put_nowait({"failed": "the launcher is gone"})

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            _, slot, _ = await _receive(reader)
            worker = self._workers[slot]
            worker.reader, worker.writer = reader, writer
            _, worker.compiled_seconds, worker.note = await _receive(reader)
            worker.ready.set()


async def _receive(reader: asyncio.StreamReader) -> Any:
    size = LENGTH.unpack(await reader.readexactly(LENGTH.size))[0]
    return pickle.loads(await reader.readexactly(size))


def _named(task: object, chunk: object) -> str:
    """The rows a chunk is about, where something in it says so; else which part of which stage it is."""
    pieces = chunk if isinstance(chunk, tuple) else (chunk,)
    for piece in pieces:
        describe = getattr(piece, "described", None)
        if callable(describe):
            return str(describe())
    name = getattr(task, "stage", None) or getattr(task, "name", None)  # as artifacts are named: stage-key/...
    stage = name.partition("-")[0] if isinstance(name, str) else type(task).__name__.lower()
    return f"part {pieces[0] + 1:,} of {stage}" if isinstance(pieces[0], int) else f"the {stage}"


def _told(code: int | None, times: int, about: str) -> str:
    """One line on a chunk that workers do not survive. Nobody but the system kills them, and it does for memory."""
    if code == -signal.SIGKILL:
        return (
            f"a worker was killed {times} times over {about}, as the system does when memory runs out: "
            "give the machine more memory, or fewer --workers"
        )
    if code is None:
        how = "its socket closed"
    else:
        how = signal.strsignal(-code) or f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"a worker crashed {times} times ({how}) over {about}: leave these out, or try --workers 0"
