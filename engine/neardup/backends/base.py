"""Where a task runs. A backend knows a task only as something to call on a chunk, with a store and a pulse."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from neardup.pulse import Pulse
from neardup.store import LocalStore, Part, Stored

C = TypeVar("C")
C_contra = TypeVar("C_contra", contravariant=True)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Task(Protocol[C_contra, R_co]):
    """Picklable, and the same bytes out for the same bytes in, wherever it runs."""

    def __call__(self, chunk: C_contra, store: LocalStore, pulse: Pulse) -> R_co: ...


class Backend(Protocol):
    """Both methods yield things as they get finished, with the index of what was asked; order is not promised.

    Closing the iterator, or cancelling the asyncio task that reads it, stops the work within 0.2 s.
    """

    store: LocalStore

    def map(self, task: Task[C, R], chunks: Sequence[C]) -> AsyncIterator[tuple[int, R]]: ...

    def exchange(
        self, name: str, stored: Stored, borders: NDArray[np.uint64], consume: bool = False
    ) -> AsyncIterator[tuple[int, Part]]:
        """Redistribute records, uint64[n, width] with the key first, into parts sorted by (key, part, position).

        borders   uint64[parts], ascending, the first one 0: part p holds the keys from borders[p] up to borders[p + 1],
        so that equal keys meet in one part
        consume   give back the room of `stored` as it is read
        """
        ...

    def units(self) -> int:
        """Units that the map under way has finished so far, by the pulses of its tasks."""
        ...

    def peak_bytes(self) -> int:
        """Private memory at its highest, over all processes, as far as seen at the ends of chunks."""
        ...


def whole(finished: dict[int, Any]) -> list[Any]:
    """The results of a map in the order of its chunks."""
    return [finished[index] for index in range(len(finished))]
