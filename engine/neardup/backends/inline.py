"""Work right here: one thread of this process, one chunk after the other. For libraries, small corpora and tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from neardup.backends.base import C, R, Task
from neardup.errors import Cancelled
from neardup.memory import private_bytes
from neardup.store import LocalStore, Part, Stored


class Inline:
    def __init__(self, store: LocalStore) -> None:
        self.store = store
        self._stop = False
        self._units = 0
        self._peak = 0
        self._thread = ThreadPoolExecutor(1, "neardup-inline")

    async def map(self, task: Task[C, R], chunks: Sequence[C]) -> AsyncIterator[tuple[int, R]]:
        self._stop = False
        self._units = 0
        loop = asyncio.get_running_loop()
        for index, chunk in enumerate(chunks):
            work = loop.run_in_executor(self._thread, task, chunk, self.store, self._pulse)
            try:
                result = await asyncio.shield(work)
            except asyncio.CancelledError:
                self._stop = True
                await asyncio.wait([work])  # at most one kernel call, 20 ms
                work.exception()
                raise
            self._peak = max(self._peak, private_bytes())
            yield index, result

    def exchange(
        self, name: str, stored: Stored, borders: NDArray[np.uint64], consume: bool = False
    ) -> AsyncIterator[tuple[int, Part]]:
        from neardup.exchange import exchange_by_files  # loads kernels, which only a run needs

        return exchange_by_files(self.map, self.store, name, stored, borders, consume)

    def units(self) -> int:
        return self._units

    def peak_bytes(self) -> int:
        return self._peak

    async def close(self) -> None:
        self._stop = True
        self._thread.shutdown(wait=True)

    def _pulse(self, done: int) -> None:
        if self._stop:
            raise Cancelled
        self._units += done
