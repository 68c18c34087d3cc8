"""Where a task runs. A backend knows a task only as something to call on a chunk, with a store and a pulse."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
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

    def exchange(self, name: str, stored: Stored, by: str, parts: int) -> AsyncIterator[tuple[int, Part]]:
        """Redistribute rows by the uint64 field `by` into `parts` parts, each sorted by (key, part, position).

        Part p holds the keys in [p·2⁶⁴/parts, (p+1)·2⁶⁴/parts): equal keys meet in one part.
        """
        ...

    def units(self) -> int:
        """Units that the map under way has finished so far, by the pulses of its tasks."""
        ...

    def peak_bytes(self) -> int:
        """Private memory at its highest, over all processes, as far as seen at the ends of chunks."""
        ...


@dataclass(frozen=True)
class SortPart:
    """First half of a local exchange: each part of the input is sorted by key and cut where the new parts begin."""

    name: str
    by: str
    parts: int

    def __call__(self, chunk: tuple[int, Part], store: LocalStore, pulse: Pulse) -> tuple[Part, list[int]]:
        position, part = chunk
        array = store.part(part)
        pulse(0)
        ordered = array[np.argsort(array[self.by], kind="stable")]
        pulse(0)
        cuts = np.searchsorted(ordered[self.by], _borders(self.parts)).tolist()
        return store.write(f"{self.name}.sorted", position, ordered, durable=False), [*cuts, len(ordered)]


@dataclass(frozen=True)
class MergePart:
    """Second half: one new part is gathered from its stretch of every sorted part, in their order."""

    name: str
    by: str

    def __call__(self, chunk: tuple[int, list[tuple[Part, int, int]]], store: LocalStore, pulse: Pulse) -> Part:
        position, stretches = chunk
        pulse(0)
        gathered = np.concatenate([store.part(part)[first:stop] for part, first, stop in stretches])
        if len(stretches) > 1:
            gathered = gathered[np.argsort(gathered[self.by], kind="stable")]
        pulse(0)
        return store.write(self.name, position, gathered, durable=False)


async def exchange_by_files(
    backend: Backend, name: str, stored: Stored, by: str, parts: int
) -> AsyncIterator[tuple[int, Part]]:
    """The exchange of backends whose workers see one file system: two maps, and files between them."""
    sorted_parts: dict[int, tuple[Part, list[int]]] = {}
    async for position, done in backend.map(SortPart(name, by, parts), list(enumerate(stored.parts))):
        sorted_parts[position] = done
    stretches = [
        [(part, cuts[new], cuts[new + 1]) for _, (part, cuts) in sorted(sorted_parts.items())] for new in range(parts)
    ]
    async for position, part in backend.map(MergePart(name, by), list(enumerate(stretches))):
        yield position, part


def _borders(parts: int) -> NDArray[np.uint64]:
    """uint64[parts]: the least key of each part."""
    return np.array([part * 2**64 // parts for part in range(parts)], np.uint64)


def whole(finished: dict[int, Any]) -> list[Any]:
    """The results of a map in the order of its chunks."""
    return [finished[index] for index in range(len(finished))]
