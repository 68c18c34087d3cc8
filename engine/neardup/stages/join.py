"""The exact join: pairs of documents among which is every pair with J ≥ t, found without asking bands.

Documents stand in the order of their sizes. A tile is a range of them, indexed, and all larger ones that may be
similar to one of them, which ask. Tiles know nothing of each other, and the pairs of all tiles are all pairs.

Tiles are joined by partitions or by the prefix filter (`kernels.join` has both). By partitions, work grows nearly with
the number of documents, but at low thresholds a partition has few ids, and many documents share it; so where both may
do, the postings that either would read are counted on a sample, and the cheaper design is taken for all tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup.kernels import join as kernels
from neardup.pulse import Pulse, unwatched
from neardup.ragged import Ragged
from neardup.settings import ONE

Design = Literal["partitions", "prefix"]
SetsOf = Callable[[NDArray[np.int64]], Ragged]  # of documents, ascending

RATIO = 12  # hundredths that the largest indexed set may be larger than the smallest: H, and so m, is the largest's
SLACK = 4  # one partition more for so many: those with the longest postings are not asked
ALWAYS_PARTITIONS, NEVER_PARTITIONS = 8_000, 6_000  # thresholds between which the postings are counted
PARTITIONS_COST = 33  # tenths of what a posting costs the prefix filter, with what is made of it
SAMPLED = 16  # of so many documents one is asked for, where postings are counted
ASKING_IDS = 1 << 21  # ids of the sets that ask at a time
ASKING = 1 << 15  # and how many sets
INDEX_BYTES = 1 << 28  # what is indexed at a time, where nobody says how much
POSTING_BYTES = 16  # a key, its posting, and its share of the buckets
ID_BYTES = 24  # an id, its place in a prefix, and its posting
COUNTERS = 1 << 22  # of ids: 4 MB of classes, which caches hold
STEPS_A_CALL = 1 << 21  # of 2 to 10 ns
PAIRS_A_CALL = 1 << 16
SKIPPED = 4  # ids that are sorted into a prefix while one posting is read


class Tile(msgspec.Struct, frozen=True):
    """Positions in the order of sizes: first to stop are indexed, ask to last ask. `parts` 0: the prefix filter."""

    first: int
    stop: int
    ask: int
    last: int
    parts: int


@dataclass(frozen=True, slots=True)
class Sized:
    """The documents by size, smallest first, then by number.

    documents   int64[n]: their numbers; those without a shingle are left out
    sizes       int64[n]: ids in their sets
    """

    documents: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: NDArray[np.int64]) -> Sized:
        order = np.argsort(sizes, kind="stable")
        order = order[np.searchsorted(sizes[order], 1) :]
        return cls(order, sizes[order])


def cheaper(by_partitions: int, by_prefixes: int) -> Design:
    """The design that takes less time for so many probes."""
    return "partitions" if PARTITIONS_COST * by_partitions <= 10 * by_prefixes else "prefix"


def only_design(threshold: int) -> Design | None:
    """The one that is cheaper at this threshold whatever the documents are, if there is one."""
    if threshold >= ALWAYS_PARTITIONS:
        return "partitions"
    return "prefix" if threshold < NEVER_PARTITIONS else None


def tiles(
    sizes: NDArray[np.int64], threshold: int, design: Design, pieces: int = 1, index_bytes: int = INDEX_BYTES
) -> list[Tile]:
    """The tiles of ascending sizes, at least 1 each: at least `pieces` where that pays, and `index_bytes` is what one
    may index. No pair depends on how they are cut."""
    by_partitions = design == "partitions"
    ids = np.concatenate([[0], np.cumsum(sizes)])
    found = []
    first = 0
    while first < len(sizes):
        parts = 0
        if by_partitions:
            stop = int(np.searchsorted(sizes, sizes[first] + sizes[first] * RATIO // 100, "right"))
            largest = int(sizes[stop - 1])
            # Both ends of H: the largest that is indexed, and the largest that asks.
            differing = (ONE - threshold) * (largest + largest * ONE // threshold) // (ONE + threshold)
            parts = differing + 1 + -(-(differing + 1) // SLACK) * (differing > 0)
            stop = min(stop, first + index_bytes // (POSTING_BYTES * parts))
        else:
            stop = int(np.searchsorted(ids, ids[first] + index_bytes // ID_BYTES, "right")) - 1
        stop = min(max(stop, first + 1), len(sizes))
        last = int(np.searchsorted(sizes, int(sizes[stop - 1]) * ONE // threshold, "right"))
        # An index is made again for each piece, so no piece asks less than a part of what all of them do.
        least = max(ASKING_IDS, int(ids[-1]) // pieces + 1)
        count = 1 if by_partitions else max(1, int(ids[last] - ids[first]) // least)
        cuts = np.searchsorted(ids, np.linspace(ids[first], ids[last], count + 1)[1:-1].astype(np.int64)).tolist()
        for ask, end in pairwise([first, *cuts, last]):
            if ask < end:
                found.append(Tile(first, stop, ask, end, parts))
        first = stop
    return found


def counted(sets: Ragged, counters: NDArray[np.uint32], pulse: Pulse = unwatched) -> None:
    """Count the ids of the sets in uint32[COUNTERS]; several ids share a counter."""
    values = sets.values[sets.offsets[0] : sets.offsets[-1]]
    for first in range(0, len(values), STEPS_A_CALL):
        kernels.tally(values, first, min(first + STEPS_A_CALL, len(values)), counters)
        pulse(0)


def classes_of(counters: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """uint8: how often ids are seen, in classes: 0 once, then four classes a power of two."""
    exponent = np.frexp(counters.astype(np.float64))[1] - 1  # exact: the exponent of the float
    quarter = (counters.astype(np.int64) << 2 >> np.maximum(exponent, 0)) & 3
    classes = 4 * exponent + quarter - 3
    return np.where(counters < 2, 0, np.minimum(classes, kernels.CLASSES - 1)).astype(np.uint8)


@dataclass(frozen=True, slots=True)
class Joining:
    """One tile at a time. `classes`, of all sets, are asked for where a tile goes by the prefix filter."""

    sized: Sized
    threshold: int
    sets_of: SetsOf
    classes: NDArray[np.uint8] | None = None

    def pairs(self, tile: Tile, pulse: Pulse = unwatched) -> Iterator[NDArray[np.uint32]]:
        """Blocks uint32[n, 2] of documents, left < right: all with J ≥ t, and some others, each pair once.

        The pulse counts documents that ask. Memory: what is indexed, and about as much for a block that asks.
        """
        joined = self._by_partitions(tile, pulse) if tile.parts else self._by_prefixes(tile, pulse)
        for block in joined:
            positions = tile.first + np.stack([block >> np.uint64(32), block & kernels.LOW], axis=1).astype(np.int64)
            yield np.sort(self.sized.documents[positions], axis=1).astype(np.uint32)

    def probes(self, tile: Tile, pulse: Pulse = unwatched) -> int:
        """About how many postings a join of the tile reads: asked of one document in SAMPLED. The pulse counts them."""
        first = tile.ask + -tile.ask % SAMPLED
        some = np.arange(first, tile.last, SAMPLED)
        if tile.parts:
            index = self._index(tile, pulse)
            probes = sum(index.asked(*self._described(few, tile.parts, pulse), pulse)[1] for few in self._blocks(some))
        else:
            shift, heads, *_ = self._prefix_index(self._sets(np.arange(tile.first, tile.stop)), pulse)
            sizes = np.diff(heads)
            probes = 0
            for few in self._blocks(some):
                prefix, _, _ = self._prefixes(self._sets(few), pulse)
                probes += int(sizes[(prefix >> shift).astype(np.int64)].sum(dtype=np.int64))
        pulse(len(some))
        return SAMPLED * probes

    def _by_partitions(self, tile: Tile, pulse: Pulse) -> Iterator[NDArray[np.uint64]]:
        index = self._index(tile, pulse)
        out = np.empty(PAIRS_A_CALL, np.uint64)
        for some in self._blocks(np.arange(tile.ask, tile.last)):
            place = int(some[0]) - tile.first
            described = (
                index.of_indexed(slice(place, place + len(some)))
                if some[-1] < tile.stop
                else self._described(some, tile.parts, pulse)
            )
            counts, _ = index.asked(*described, pulse)
            keys, sizes, parity = described
            cursor = np.zeros(3, np.int64)
            while cursor[0] < tile.parts:
                found = kernels.meet(
                    index.keys, index.heads, index.posts, index.sizes, index.parity, keys, counts, sizes, parity,
                    np.int64(place), np.int64(self.threshold), index.shift, np.int64(STEPS_A_CALL), cursor, out,
                )  # fmt: skip
                pulse(0)
                if found:
                    yield out[:found].copy()
            pulse(len(some))

    def _index(self, tile: Tile, pulse: Pulse) -> _Partitions:
        count = tile.stop - tile.first
        keys = np.empty((tile.parts, count), np.uint32)
        parity = np.empty((count, kernels.WORDS), np.uint64)
        for some in self._blocks(np.arange(tile.first, tile.stop)):
            place = slice(int(some[0]) - tile.first, int(some[-1]) + 1 - tile.first)
            keys[:, place], _, parity[place] = self._described(some, tile.parts, pulse)
        return _Partitions.of(keys, self.sized.sizes[tile.first : tile.stop], parity, self.threshold, pulse)

    def _by_prefixes(self, tile: Tile, pulse: Pulse) -> Iterator[NDArray[np.uint64]]:
        sets = self._sets(np.arange(tile.first, tile.stop))
        parity = self._parity(sets, pulse)
        shift, heads, posts, last = self._prefix_index(sets, pulse)
        ends = heads[1:].astype(np.int64)
        shared, met = np.zeros(len(sets), np.uint32), np.empty(len(sets) + 1, np.uint32)
        beyond = -(-self.threshold * sets.sizes // ONE)
        about = np.stack([last, (sets.sizes << 32 | beyond).astype(np.uint64)], axis=1)
        out = np.empty(PAIRS_A_CALL, np.uint64)
        for some in self._blocks(np.arange(tile.ask, tile.last)):
            asking = self._sets(some)
            its_parity = self._parity(asking, pulse)
            its_prefix, its_offsets, its_last = self._prefixes(asking, pulse)
            cursor = np.zeros(4, np.int64)
            while cursor[0] < len(some):
                found = kernels.probe(
                    heads, posts, ends, sets.values, sets.offsets, about, parity, its_prefix, its_offsets, its_last,
                    asking.values, asking.offsets, its_parity, some[0] - tile.first, np.int64(self.threshold),
                    shift, np.int64(STEPS_A_CALL), shared, met, cursor, out,
                )  # fmt: skip
                pulse(0)
                if found:
                    yield out[:found].copy()
            pulse(len(some))

    def _prefix_index(
        self, sets: Ragged, pulse: Pulse
    ) -> tuple[np.uint64, NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint64]]:
        """By how much ids are shifted to their bucket, `heads` and `posts` of the kernel, the last of each prefix."""
        prefix, offsets, last = self._prefixes(sets, pulse)
        bits = min(24, max(1, len(prefix).bit_length()))
        shift = np.uint64(64 - bits)
        heads, posts = np.zeros((1 << bits) + 1, np.uint32), np.empty(len(prefix), np.uint64)
        kernels.index_prefixes(prefix, offsets, shift, heads, posts)
        return shift, heads, posts, last

    def _blocks(self, positions: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Some of the ascending positions at a time, whose sets can be held."""
        while len(positions):
            some = positions[:ASKING]
            count = max(1, min(len(some), ASKING_IDS // int(self.sized.sizes[some[-1]])))
            yield positions[:count]
            positions = positions[count:]

    def _described(
        self, positions: NDArray[np.int64], parts: int, pulse: Pulse
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint64]]:
        """Keys uint32[parts, n], sizes and parity of the documents at these positions."""
        documents = self.sized.documents[positions]
        order = np.argsort(documents)
        sets = self.sets_of(documents[order])
        keys = np.empty((parts, len(positions)), np.uint32)
        parity = np.empty((len(positions), kernels.WORDS), np.uint64)
        sums = np.empty(parts, np.uint64)
        for one, other in _ranges(len(sets), STEPS_A_CALL // (int(sets.sizes.max()) + 4 * parts)):
            kernels.describe(sets.values, sets.offsets, order, one, other, sums, keys, parity)
            pulse(0)
        return keys, self.sized.sizes[positions], parity

    def _sets(self, positions: NDArray[np.int64]) -> Ragged:
        """In the order of the positions."""
        documents = self.sized.documents[positions]
        order = np.argsort(documents)
        return self.sets_of(documents[order]).take(np.argsort(order))

    def _parity(self, sets: Ragged, pulse: Pulse) -> NDArray[np.uint64]:
        keys, parity = np.empty((1, len(sets)), np.uint32), np.empty((len(sets), kernels.WORDS), np.uint64)
        sums, columns = np.empty(1, np.uint64), np.arange(len(sets))
        for one, other in _ranges(len(sets), STEPS_A_CALL // int(sets.sizes.max())):
            kernels.describe(sets.values, sets.offsets, columns, one, other, sums, keys, parity)
            pulse(0)
        return parity

    def _prefixes(
        self, sets: Ragged, pulse: Pulse
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint64]]:
        """Ids of the prefixes, where each prefix begins, the last id of each."""
        assert self.classes is not None
        out, offsets = np.empty(sets.offsets[-1] - sets.offsets[0], np.uint64), np.zeros(len(sets) + 1, np.int64)
        last, seen = np.empty(len(sets), np.uint64), np.empty(kernels.CLASSES, np.int64)
        threshold, written = np.int64(self.threshold), np.int64(0)
        for one, other in _ranges(len(sets), STEPS_A_CALL // (4 * int(sets.sizes.max()) + kernels.CLASSES)):
            written = kernels.prefixes(
                sets.values, sets.offsets, self.classes, threshold, one, other, seen, written, out, offsets, last
            )
            pulse(0)
        return out[:written], offsets, last


@dataclass(frozen=True, slots=True)
class _Partitions:
    """What is indexed of a tile; see the kernels."""

    keys: NDArray[np.uint32]
    sizes: NDArray[np.int64]
    parity: NDArray[np.uint64]
    threshold: int
    shift: np.uint64
    heads: NDArray[np.uint32]
    posts: NDArray[np.uint64]

    @classmethod
    def of(
        cls, keys: NDArray[np.uint32], sizes: NDArray[np.int64], parity: NDArray[np.uint64], threshold: int,
        pulse: Pulse,
    ) -> _Partitions:  # fmt: skip
        parts, count = keys.shape
        bits = min(22, max(1, (count - 1).bit_length()))
        shift = np.uint64(32 - bits)
        heads, posts = np.zeros((parts, (1 << bits) + 1), np.uint32), np.empty((parts, count), np.uint64)
        for first, stop in _ranges(parts, STEPS_A_CALL // (4 * count + (1 << bits))):
            kernels.index(keys, first, stop, shift, heads, posts)
            pulse(0)
        return cls(keys, sizes, parity, threshold, shift, heads, posts)

    def of_indexed(self, some: slice) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint64]]:
        """Keys, sizes and parity of indexed documents, where they ask."""
        return np.ascontiguousarray(self.keys[:, some]), self.sizes[some], self.parity[some]

    def asked(
        self, keys: NDArray[np.uint32], sizes: NDArray[np.int64], parity: NDArray[np.uint64], pulse: Pulse
    ) -> tuple[NDArray[np.uint8], int]:
        """Which partitions are asked for each document, as `choose` leaves them, and how many postings that reads."""
        parts, count = keys.shape
        counts, seen, probes = np.empty((parts, count), np.uint8), np.zeros(256, np.int64), 0
        largest, threshold = self.sizes[-1], np.int64(self.threshold)
        for first, stop in _ranges(parts, STEPS_A_CALL // (4 * count)):
            kernels.ask(keys, self.heads, self.shift, first, stop, counts)
            pulse(0)
        for first, stop in _ranges(count, STEPS_A_CALL // (2 * parts)):
            probes += int(kernels.choose(sizes, largest, threshold, first, stop, seen, counts))
            pulse(0)
        return counts, probes


def _ranges(count: int, step: int) -> Iterator[tuple[int, int]]:
    step = max(1, step)
    return ((first, min(first + step, count)) for first in range(0, count, step))
