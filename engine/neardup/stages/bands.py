"""Banding: the documents that agree in all rows of a band are candidates.

A signature is cut into bands of `rows` slots. Documents with the same slots in a band form a bucket, found by sorting
64-bit keys, which need not lie in one place: entries are redistributed by key, equal keys meet in one part.
A pair met in several bands is emitted by one of them, told from the two signatures alone, so that parts need to
know nothing of each other but which buckets are unlisted: too large to list their pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import bands as kernels
from neardup.kernels.exchange import not_alone
from neardup.pulse import Pulse, unwatched

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)

SignaturesOf = Callable[[NDArray[np.uint32]], NDArray[np.uint32]]
"""Documents, sorted, each once: uint32[m] -> their signatures uint32[m, num_perm]."""

BLOCK_BYTES = 16 << 20  # of signatures gathered at a time: some 10 ms, and as much to compare them
KEYS_A_CALL = 1 << 17  # 20 to 60 ns each
ENTRIES_A_CALL = 1 << 20  # 2 ns each
BANDS_A_CALL = 1 << 21  # bands of a pair compared: 1 to 5 ns each
PAIRS_A_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Buckets:
    """Buckets of two documents or more, each once; bucket i has documents[offsets[i]:offsets[i + 1]], ascending.

    documents   uint32[members]
    offsets     int64[buckets + 1]
    band        uint32[buckets]
    """

    documents: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    band: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.band)

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class Unlisted:
    """Who lies in an unlisted bucket, over all parts: what each part must know of the others.

    members    uint64[n], ascending: band · 2³² + document
    smallest   uint32[n]: the smallest document of that bucket
    """

    members: NDArray[np.uint64]
    smallest: NDArray[np.uint32]


def entries_of(
    signatures: NDArray[np.uint32],
    documents: NDArray[np.uint32],
    bands: range,
    rows: int,
    pulse: Pulse = unwatched,
) -> NDArray[np.uint64]:
    """The key of every document in some of the bands: uint64[documents · bands, 2], document after document.

    signatures   uint32[documents, num_perm]; documents ascending, without the empty one
    bands        consecutive, (last + 1) · rows ≤ num_perm

    An entry is a key and band · 2³² + document. A key is the first 64 bits of MurmurHash3 x64 128 of the band's
    little-endian slots, seed = band. The pulse counts entries.
    """
    count, width = signatures.shape
    entries = np.empty((count * len(bands), 2), np.uint64)
    step = max(1, KEYS_A_CALL // max(1, len(bands)))
    for start in range(0, count, step):
        data = np.ascontiguousarray(signatures[start : start + step], "<u4").view(np.uint8)
        some = entries[start * len(bands) : (start + len(data)) * len(bands)]
        kernels.keys(data.reshape(-1), 4 * width, bands.start, rows, documents[start : start + step], some)
        pulse(len(some))
    return entries


def buckets_of(
    entries: NDArray[np.uint64], signatures_of: SignaturesOf, rows: int, pulse: Pulse = unwatched
) -> Buckets:
    """The buckets among entries that are sorted by key, those of a band by document inside a key.

    Equal keys are compared by the rows themselves: documents that differ go into buckets of their own. Only
    documents whose key is not alone are asked for, in blocks of at most BLOCK_BYTES of signatures. Buckets come in
    the order of the keys, and inside a key of band and smallest document. The pulse counts entries.
    """
    together = _not_alone(entries, pulse)
    keys, values = _by_band_inside_a_key(together[:, 0], together[:, 1])
    begins = np.ones(len(keys), np.bool_)
    begins[1:] = (keys[1:] != keys[:-1]) | (values[1:] >> HALF != values[:-1] >> HALF)
    alone = begins.copy()
    alone[:-1] &= begins[1:]
    if alone.any():  # where keys of two bands collide
        begins, values = begins[~alone], values[~alone]
    pulse(len(entries) - len(values))
    documents, band = (values & LOW).astype(np.uint32), (values >> HALF).astype(np.uint32)
    runs = np.flatnonzero(begins)
    run = np.repeat(runs, np.diff(runs, append=len(values)))
    representative = _representatives(documents, band, run, signatures_of, rows, pulse)
    if not np.array_equal(representative, run):  # else every run has the same rows throughout, and is a bucket
        order = np.argsort(representative, kind="stable")
        documents, band, representative = documents[order], band[order], representative[order]
    bounds = np.flatnonzero(np.diff(representative, prepend=-1, append=-1))
    sizes = np.diff(bounds)
    several = sizes > 1
    offsets = np.zeros(np.count_nonzero(several) + 1, np.int64)
    np.cumsum(sizes[several], out=offsets[1:])
    members = documents if several.all() else documents[np.repeat(several, sizes)]
    return Buckets(members, offsets, band[bounds[:-1]][several])


def unlisted_of(buckets: Buckets, limit: int) -> Unlisted:
    """Who lies in one of these buckets that holds more than `limit` documents."""
    large = np.flatnonzero(buckets.sizes > limit)
    picked = np.repeat(buckets.sizes > limit, buckets.sizes)
    sizes = buckets.sizes[large]
    members = buckets.documents[picked] | np.repeat(buckets.band[large].astype(np.uint64) << HALF, sizes)
    order = np.argsort(members)
    smallest = np.repeat(buckets.documents[buckets.offsets[large]], sizes)
    return Unlisted(members[order], smallest[order])


def merged(parts: Sequence[Unlisted]) -> Unlisted:
    """What all parts must know, of what each has."""
    members = np.concatenate([np.empty(0, np.uint64), *(part.members for part in parts)])
    smallest = np.concatenate([np.empty(0, np.uint32), *(part.smallest for part in parts)])
    order = np.argsort(members)
    return Unlisted(members[order], smallest[order])


def not_examined(buckets: Buckets, limit: int) -> tuple[int, int]:
    """How many buckets are unlisted, and the Σ (n − 1)(n − 2)/2 pairs in them that are not examined for it."""
    sizes = buckets.sizes[buckets.sizes > limit]
    return len(sizes), sum((n - 1) * (n - 2) // 2 for n in sizes.tolist())


def candidates_of(
    buckets: Buckets,
    limit: int,
    unlisted: Unlisted,
    signatures_of: SignaturesOf,
    bands: int,
    rows: int,
    pulse: Pulse = unwatched,
) -> Iterator[NDArray[np.uint32]]:
    """The candidates that one part of the buckets emits: blocks uint32[≤ PAIRS_A_BLOCK, 2], left < right, unsorted.

    Over all parts each pair comes once. A bucket of up to `limit` documents is listed: it gives every pair, unless a
    listed bucket of an earlier band gives it. A larger one links each document to its smallest, unless any listed
    bucket, or an unlisted one of an earlier band, gives the pair. Memory: BLOCK_BYTES of signatures and one block,
    whatever the size of a bucket. The pulse counts members of buckets.
    """
    if not len(buckets):
        return
    num_perm = signatures_of(buckets.documents[:1]).shape[1]
    block = np.empty((PAIRS_A_BLOCK, 2), np.uint32)
    filled = 0
    for pieces in _pieces(buckets, limit, max(2, BLOCK_BYTES // (4 * num_perm))):
        numbers, at = np.unique(pieces.documents, return_inverse=True)
        signatures = np.ascontiguousarray(signatures_of(numbers), np.uint32)
        pulse(0)
        heads = np.ascontiguousarray(signatures[:, : bands * rows : rows])
        cursor = np.zeros(3, np.int64)
        while cursor[0] < len(pieces.band):
            filled += kernels.pairs(
                heads, signatures, at, pieces.documents, pieces.offsets, pieces.lefts, pieces.band, pieces.listed,
                bands, rows, unlisted.members, unlisted.smallest, BANDS_A_CALL, cursor, block[filled:],
            )
            pulse(0)
            if filled == len(block):
                yield block.copy()
                filled = 0
        pulse(pieces.members)
    if filled:
        yield block[:filled].copy()


def _not_alone(entries: NDArray[np.uint64], pulse: Pulse) -> NDArray[np.uint64]:
    """The entries whose key occurs more than once."""
    found = [np.empty((0, 2), np.uint64)]
    for first in range(0, len(entries), ENTRIES_A_CALL):
        positions = np.empty(min(ENTRIES_A_CALL, len(entries) - first), np.int64)
        count = not_alone(entries, first, first + len(positions), positions)
        found.append(entries[positions[:count]])
        pulse(0)
    return np.concatenate(found)


def _by_band_inside_a_key(
    keys: NDArray[np.uint64], values: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Entries arrive in this order, but where keys of two bands collide: of 10⁸ keys once in four thousand runs."""
    if ((keys[1:] != keys[:-1]) | (values[1:] > values[:-1])).all():
        return keys, values
    order = np.lexsort((values, keys))
    return keys[order], values[order]


def _representatives(
    documents: NDArray[np.uint32],
    band: NDArray[np.uint32],
    run: NDArray[np.int64],
    signatures_of: SignaturesOf,
    rows: int,
    pulse: Pulse,
) -> NDArray[np.int64]:
    """For each entry the first one of its run that has the same rows: int64[entries]."""
    count = len(documents)
    representative, at = np.empty((2, count), np.int64)
    following = np.full(count, -1)
    step = max(1, BLOCK_BYTES // (4 * signatures_of(documents[:1]).shape[1])) if count else 1
    for start in range(0, count, step):
        stop = min(start + step, count)
        # A run cut by the border needs its earlier representatives too.
        earlier = []
        first = int(run[start])
        while 0 <= first < start:
            earlier.append(first)
            first = int(following[first])
        members = np.append(np.arange(start, stop), np.array(earlier, np.int64))
        numbers, at[members] = np.unique(documents[members], return_inverse=True)
        signatures = np.ascontiguousarray(signatures_of(numbers), np.uint32)
        pulse(0)
        kernels.split(signatures, at, band, run, start, stop, rows, representative, following)
        pulse(stop - start)
    return representative


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Parts of buckets whose signatures are gathered together: each has its first `lefts` members paired with the rest,
    or, where all members are lefts, each with all later ones. `members` counts what is finished with them."""

    documents: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    lefts: NDArray[np.int64]
    band: NDArray[np.uint32]
    listed: NDArray[np.bool_]
    members: int


def _pieces(buckets: Buckets, limit: int, most: int) -> Iterator[_Pieces]:
    """Whole buckets, as many as have `most` members together; larger and unlisted ones by themselves, cut."""
    large = np.append(np.flatnonzero((buckets.sizes > limit) | (buckets.sizes > most)), len(buckets))
    start = 0
    for next_large in large.tolist():
        while start < next_large:
            reach = int(np.searchsorted(buckets.offsets, buckets.offsets[start] + most, "right")) - 1
            stop = min(reach, next_large)
            first, last = buckets.offsets[start], buckets.offsets[stop]
            yield _Pieces(
                buckets.documents[first:last],
                buckets.offsets[start : stop + 1] - first,
                buckets.sizes[start:stop],
                buckets.band[start:stop],
                np.ones(stop - start, np.bool_),
                int(last - first),
            )
            start = stop
        if start < len(buckets):
            documents = buckets.documents[buckets.offsets[start] : buckets.offsets[start + 1]]
            listed = len(documents) <= limit
            for piece, lefts, members in _tiles(documents, most) if listed else _links(documents, most):
                yield _Pieces(
                    piece,
                    np.array([0, len(piece)]),
                    np.array([lefts]),
                    buckets.band[start : start + 1],
                    np.array([listed]),
                    members,
                )
            start += 1


def _tiles(documents: NDArray[np.uint32], most: int) -> Iterator[tuple[NDArray[np.uint32], int, int]]:
    """Every pair of a bucket too large to be gathered at once: its tiles, each in itself and with each later one."""
    tiles = [documents[start : start + most // 2] for start in range(0, len(documents), most // 2)]
    for number, tile in enumerate(tiles):
        yield tile, len(tile), len(tile)
        for later in tiles[number + 1 :]:
            yield np.concatenate((tile, later)), len(tile), 0


def _links(documents: NDArray[np.uint32], most: int) -> Iterator[tuple[NDArray[np.uint32], int, int]]:
    """The smallest document of a bucket with each other one."""
    for start in range(1, len(documents), most - 1):
        others = documents[start : start + most - 1]
        yield np.concatenate((documents[:1], others)), 1, len(others) + (start == 1)
