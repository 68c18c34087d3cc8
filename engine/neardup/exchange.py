"""Records change places by their key, so that equal keys meet: what banding, grouping and listing have in common.

A record is a row of uint64[n, width]: the key first. `partitioned` says which part of the key space each goes to,
`sorted_records` puts one part in order; both keep the order of equal ones.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import exchange as kernels
from neardup.pulse import Pulse, unwatched
from neardup.store import LocalStore, Part, Stored

Map = Callable[[Any, Sequence[Any]], AsyncIterator[tuple[int, Any]]]

RECORDS_A_CALL = 1 << 20  # 2 to 10 ns each
TABLE_BITS = 14
DIGIT_BITS = 10  # at most 1,024 buckets at once: 10 ns a move for 64 to 2,048 of them (1,600,000 records)
BUCKET = 1 << 12  # records in one, about: 64 kB of entries
SORTED_A_CALL = 1 << 18  # some 20 ns each


def even_borders(parts: int) -> NDArray[np.uint64]:
    """uint64[parts]: the least key of each part, where keys are hashes."""
    return np.array([part * 2**64 // parts for part in range(parts)], np.uint64)


def partitioned(
    records: NDArray[np.uint64], borders: NDArray[np.uint64], pulse: Pulse = unwatched
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Records part after part, and where each part begins: uint64[n, width], int64[parts + 1].

    borders   uint64[parts], ascending, the first one 0: part p has the keys from borders[p] up to borders[p + 1]
    """
    # The upper bits of a key, of as many as the last border has, nearly tell its part; the table says which.
    shift = max(0, int(borders[-1]).bit_length() - TABLE_BITS) if len(borders) > 1 else 63
    first_keys = np.arange((int(borders[-1]) >> shift) + 1, dtype=np.uint64) << np.uint64(shift)
    table = (np.searchsorted(borders, first_keys, side="right") - 1).astype(np.uint32)
    starts = np.zeros(len(borders) + 1, np.int64)
    for first, stop in _calls(len(records)):
        kernels.count_parts(records, borders, table, np.uint64(shift), first, stop, starts[1:])
        pulse(0)
    np.cumsum(starts, out=starts)
    out = np.empty_like(records)
    cursor = starts[:-1].copy()
    for first, stop in _calls(len(records)):
        kernels.move_to_parts(records, borders, table, np.uint64(shift), first, stop, cursor, out)
        pulse(0)
    return out, starts


def sorted_records(records: NDArray[np.uint64], pulse: Pulse = unwatched) -> NDArray[np.uint64]:
    """The records in the order of their keys, equal keys as they came. May use up `records`.

    They are moved into buckets by the highest bits in which keys differ, and each bucket is sorted where the caches
    hold it: 45 to 60 ns a record of 16 bytes, where passes over all of them took 110 (1,600,000 band entries).
    """
    union, common = np.uint64(0), kernels.ALL
    for first, stop in _calls(len(records)):
        union, common = kernels.seen_bits(records, first, stop, np.uint64(union), np.uint64(common))
        pulse(0)
    differing = int(union) & ~int(common)
    if not differing:
        return records
    bits = min(DIGIT_BITS, max(1, (len(records) // BUCKET).bit_length()))
    shift, mask = np.uint64(max(0, differing.bit_length() - bits)), np.uint64((1 << bits) - 1)
    starts = np.zeros((1 << bits) + 1, np.int64)
    for first, stop in _calls(len(records)):
        kernels.count_digits(records, shift, mask, first, stop, starts[1:])
        pulse(0)
    np.cumsum(starts, out=starts)
    moved, cursor = np.empty_like(records), starts[:-1].copy()
    for first, stop in _calls(len(records)):
        kernels.move_by_digit(records, shift, mask, first, stop, cursor, moved)
        pulse(0)
    bucket = 0
    while bucket < 1 << bits:
        bucket = kernels.sort_buckets(moved, records, starts, bucket, SORTED_A_CALL)
        pulse(0)
        first, stop = starts[bucket : bucket + 2].tolist() if bucket < 1 << bits else (0, 0)
        if stop - first > kernels.LARGEST:  # keys that crowd together
            moved[first:stop] = sorted_records(moved[first:stop].copy(), pulse)
            bucket += 1
    return moved


@dataclass(frozen=True)
class Divide:
    """First half of a local exchange: the records of each part of the input, ordered by the new part they go to."""

    name: str
    borders: NDArray[np.uint64]

    def __call__(self, chunk: tuple[int, Part], store: LocalStore, pulse: Pulse) -> tuple[Part, list[int]]:
        position, part = chunk
        records, starts = partitioned(store.part(part), self.borders, pulse)
        return store.write(f"{self.name}.divided", position, records), starts.tolist()


@dataclass(frozen=True)
class Unite:
    """Second half: one new part is gathered from its stretch of every divided part, in their order, and sorted."""

    name: str

    def __call__(self, chunk: tuple[int, list[tuple[Part, int, int]]], store: LocalStore, pulse: Pulse) -> Part:
        position, stretches = chunk
        pulse(0)
        gathered = np.concatenate([store.part(part)[first:stop] for part, first, stop in stretches])
        return store.write(self.name, position, sorted_records(gathered, pulse))


async def exchange_by_files(
    map_: Map, store: LocalStore, name: str, stored: Stored, borders: NDArray[np.uint64], consume: bool
) -> AsyncIterator[tuple[int, Part]]:
    """The exchange of backends whose workers see one file system: two maps, and files between them.

    Where the records may be consumed they are at most twice on the disk.
    """
    if len(borders) == 1:  # nothing to divide
        async for position, united in map_(Unite(name), [(0, [(part, 0, part.rows) for part in stored.parts])]):
            yield position, united
        for part in stored.parts if consume else ():
            store.remove(part)
        return
    divided: dict[int, tuple[Part, list[int]]] = {}
    async for position, done in map_(Divide(name, borders), list(enumerate(stored.parts))):
        divided[position] = done
        if consume:
            store.remove(stored.parts[position])
    stretches = [
        [(part, cuts[new], cuts[new + 1]) for _, (part, cuts) in sorted(divided.items()) if cuts[new] < cuts[new + 1]]
        or [(part, 0, 0) for part, _ in list(divided.values())[:1]]
        for new in range(len(borders))
    ]
    async for position, united in map_(Unite(name), list(enumerate(stretches))):
        yield position, united
    for part, _ in divided.values():
        store.remove(part)


def _calls(count: int) -> list[tuple[int, int]]:
    return [(first, min(first + RECORDS_A_CALL, count)) for first in range(0, count, RECORDS_A_CALL)]


def spread_of(keys: NDArray[np.uint64], shift: int, bins: int) -> NDArray[np.int64]:
    """int64[bins]: how many keys lie in each bin of 2^shift, so that borders can be chosen."""
    return np.bincount((keys >> np.uint64(shift)).astype(np.int64), minlength=bins)


def borders_for(spread: NDArray[np.int64], shift: int, most: int) -> NDArray[np.uint64]:
    """The borders of parts of about `most` records, at the borders of bins, where each bin holds `spread` of them."""
    borders, held = [0], 0
    for at, count in enumerate(spread.tolist()):
        if held and held + count > most:
            borders.append(at << shift)
            held = 0
        held += count
    return np.array(borders, np.uint64)
