"""Many variable-length things in two arrays: all values, and where each begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Value = TypeVar("Value", np.uint8, np.uint64)


def _taken(
    values: NDArray[Value], offsets: NDArray[np.int64], indices: NDArray[np.int64]
) -> tuple[NDArray[Value], NDArray[np.int64]]:
    from neardup.kernels.ranges import copy_ranges  # with it numba, which nobody waits for who only names these types

    width = values.itemsize
    starts = offsets[indices] * width
    sizes = offsets[indices + 1] * width - starts
    out = np.empty(int(sizes.sum()), np.uint8)
    new_offsets = np.empty(len(indices) + 1, np.int64)
    copy_ranges(values.view(np.uint8), starts, sizes, out, new_offsets)
    return out.view(values.dtype), new_offsets // width


def _all_in_order(indices: NDArray[np.int64], count: int) -> bool:
    return len(indices) == count and np.array_equal(indices, np.arange(count))


@dataclass(frozen=True, slots=True)
class Texts:
    """n texts: `data` uint8[bytes] is their UTF-8, text i is data[offsets[i]:offsets[i + 1]], offsets int64[n + 1]."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """For tests and single documents; the common path never holds a Python str a document."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(one) for one in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> str:
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes().decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(len(self)))

    def batches(self, size: int) -> Iterator[Texts]:
        """The texts in their order, about `size` bytes at a time, at least one text; once without any where none is."""
        start = 0
        while start < len(self) or start == 0:
            stop = int(np.searchsorted(self.offsets, self.offsets[start] + size, "right")) - 1
            stop = min(max(stop, start + 1), len(self))
            yield Texts(self.data, self.offsets[start : stop + 1])
            start = max(stop, 1)

    def take(self, indices: NDArray[np.int64]) -> Texts:
        """The texts at these indices, in that order; where that is all of them, these themselves."""
        return self if _all_in_order(indices, len(self)) else Texts(*_taken(self.data, self.offsets, indices))


@dataclass(frozen=True, slots=True)
class Ragged:
    """n lists of shingle ids: `values` uint64[ids]; list i is values[offsets[i]:offsets[i + 1]]."""

    values: NDArray[np.uint64]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.uint64]:
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def take(self, indices: NDArray[np.int64]) -> Ragged:
        """The lists at these indices, in that order; where that is all of them, these themselves."""
        return self if _all_in_order(indices, len(self)) else Ragged(*_taken(self.values, self.offsets, indices))


def taken(parts: Sequence[tuple[Ragged, NDArray[np.int64]]]) -> Ragged:
    """Of each part the lists at these indices, one part after the other; every id is copied once."""
    from neardup.kernels.ranges import copy_ranges

    sizes = [lists.offsets[indices + 1] - lists.offsets[indices] for lists, indices in parts]
    offsets = np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes]))
    values = np.empty(offsets[-1], np.uint64)
    done = 0
    for (lists, indices), some in zip(parts, sizes, strict=True):
        stop = done + int(some.sum())
        starts, out = lists.offsets[indices] * 8, values[done:stop].view(np.uint8)
        copy_ranges(lists.values.view(np.uint8), starts, some * 8, out, np.empty(len(some) + 1, np.int64))
        done = stop
    return Ragged(values, offsets)
