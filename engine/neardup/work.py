"""How a stage gets its work done: on a backend, in a thread, or not at all where an earlier run has done it; and how
all that is told."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from neardup.backends.base import Backend, Task, whole
from neardup.budget import Budget
from neardup.errors import Cancelled
from neardup.events import STAGES, Advanced, Event, StageStarted, Warned, number_of
from neardup.runs import Outcome, RunDirectory
from neardup.store import Part, Stored

C = TypeVar("C")
R = TypeVar("R")


@dataclass
class Work:
    """What every stage needs to get its work done and to tell of it; also what the run has used and said so far."""

    backend: Backend
    run: RunDirectory
    corpus_path: str
    tell: Callable[[Event], None]
    budget: Budget
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    _stage: str = ""
    _total: int = 0
    _began: float = 0.0
    _done_share: float = 0.0
    _stopped: bool = False

    def start_stage(self, stage: str, total: int, unit: str) -> None:
        self.finish_stage()
        self._stage, self._total, self._began, self._done_share = stage, total, time.perf_counter(), 0.0
        self.tell(StageStarted(stage, number_of(stage), len(STAGES), total, unit))

    def finish_stage(self) -> None:
        if self._stage:
            self.seconds[self._stage] = time.perf_counter() - self._began
            self.tell(Advanced(self._stage, self._total, self._total, self.seconds[self._stage]))
            self._stage = ""

    def warn(self, text: str) -> None:
        self.warnings.append(text)
        self.tell(Warned(text))

    def known(self, label: str) -> Outcome | None:
        """What an earlier run, or this one, left whole under this label."""
        self.used.add(label.partition("/")[0])
        return self.run.finished(label, 0)

    async def map(self, task: Task[C, R], chunks: Sequence[C], *, units: int = 0, share: float = 0.0) -> list[R]:
        """All results in the order of the chunks. Progress counts the pulses, or the chunks where `units` is 0."""
        finished: dict[int, R] = {}
        async with self._ticking(units, share, len(chunks)) as arrived:
            async for index, result in self.backend.map(task, chunks):
                finished[index] = result
                arrived()
        return whole(finished)

    async def exchange(
        self, name: str, stored: Stored, borders: NDArray[np.uint64], *, consume: bool = False, share: float = 0.0
    ) -> list[Part]:
        finished: dict[int, Part] = {}
        async with self._ticking(0, share, len(borders)) as arrived:
            async for index, part in self.backend.exchange(name, stored, borders, consume):
                finished[index] = part
                arrived()
        return whole(finished)

    async def journaled(
        self, label: str, task: Task[C, Outcome], chunks: Sequence[C], *, units: int = 0, share: float = 1.0
    ) -> list[Outcome]:
        """Like `map`, but chunks that an earlier run finished are not done again; each finish is recorded at once."""
        self.used.add(label.partition("/")[0])
        known = {index: self.run.finished(label, index) for index in range(len(chunks))}
        finished = {index: outcome for index, outcome in known.items() if outcome is not None}
        todo = [index for index in range(len(chunks)) if index not in finished]
        left = len(todo) / max(1, len(chunks))
        self._done_share += share * (1 - left)
        async with self._ticking(int(units * left), share * left, len(todo)) as arrived:
            async for position, outcome in self.backend.map(task, [chunks[index] for index in todo]):
                self.run.record(label, todo[position], outcome)
                finished[todo[position]] = outcome
                arrived()
        return whole(finished)

    async def here(self, work: Callable[..., R], *arguments: Any) -> R:
        """Run something that needs all of the corpus in a thread; kernels give up the GIL, so the loop goes on."""
        thread = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            self._stopped = True  # the thread sees it at its next pulse; nobody waits for what has none
            thread.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise

    def pulse(self, done: int) -> None:
        """For what `here` runs: it stops where this is called."""
        if self._stopped:
            raise Cancelled

    def tidy(self) -> None:
        self.run.tidy(sorted(self.used))

    @contextlib.asynccontextmanager
    async def _ticking(self, units: int, share: float, count: int) -> AsyncIterator[Callable[[], None]]:
        """Tell ten times a second how far the stage is: what is done of it, and a part of `share`."""
        chunks = 0

        def arrived() -> None:
            nonlocal chunks
            chunks += 1

        async def tick() -> None:
            while True:
                await asyncio.sleep(0.1)
                part = self.backend.units() / units if units else chunks / max(1, count)
                done = int(self._total * min(1.0, self._done_share + share * min(1.0, part)))
                self.tell(Advanced(self._stage, done, self._total, time.perf_counter() - self._began))

        ticker = asyncio.create_task(tick())
        try:
            yield arrived
        finally:
            ticker.cancel()
        self._done_share += share
