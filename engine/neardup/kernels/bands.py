"""Band keys, buckets checked against the rows themselves, and the pairs of documents a bucket gives."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from neardup.kernels import (
    bools,
    helper,
    int64s,
    int64s_out,
    kernel,
    uint8s,
    uint32rows,
    uint32rows_out,
    uint32s,
    uint64rows_out,
    uint64s,
)
from neardup.kernels.murmur3 import hash_bytes, pointer


@kernel(types.void(uint8s, types.int64, types.int64, types.int64, uint32s, uint64rows_out))
def keys(
    data: NDArray[np.uint8], width: int, first: int, rows: int, documents: NDArray[np.uint32], out: NDArray[np.uint64]
) -> None:
    """The entries of each document in the bands from `first` on: the key, and band · 2³² + document.

    A signature is `width` bytes of `data`, a band rows · 4 of them; `out` has as many rows a document as there are
    bands.
    """
    there = pointer(data)
    size = rows * 4
    bands = len(out) // max(1, len(documents))
    at = 0
    for i in range(len(documents)):
        for band in range(first, first + bands):
            start = i * width + band * size
            out[at, 0] = hash_bytes(there, start, start + size, np.uint64(band))[0]
            out[at, 1] = np.uint64(band) << np.uint64(32) | np.uint64(documents[i])
            at += 1


@helper
def same(signatures: NDArray[np.uint32], one: int, other: int, band: int, rows: int) -> bool:
    """Whether two signatures agree in all rows of a band."""
    first = np.int64(band) * rows
    for slot in range(first, first + rows):
        if signatures[one, slot] != signatures[other, slot]:
            return False
    return True


@kernel(
    types.void(uint32rows, int64s, uint32s, int64s, types.int64, types.int64, types.int64, int64s_out, int64s_out)
)
def split(
    signatures: NDArray[np.uint32],
    at: NDArray[np.int64],
    band: NDArray[np.uint32],
    run: NDArray[np.int64],
    start: int,
    stop: int,
    rows: int,
    representative: NDArray[np.int64],
    following: NDArray[np.int64],
) -> None:
    """Find for each entry from start to stop the first one of its run of equal keys whose rows are the same.

    run        where the run of an entry begins
    at         the signature of an entry, for those asked about and the representatives of their run
    following  of a representative, the next one in its run; -1 where there is none, as nearly always
    """
    for entry in range(start, stop):
        first = run[entry]
        while first != entry and not same(signatures, at[first], at[entry], band[entry], rows):
            if following[first] < 0:
                following[first] = entry
            first = following[first]
        representative[entry] = first


@helper
def find(unlisted: NDArray[np.uint64], band: int, document: np.uint32) -> int:
    """The position of band · 2³² + document, or -1."""
    wanted = np.uint64(band) << np.uint64(32) | np.uint64(document)
    low = 0
    high = len(unlisted)
    while low < high:
        middle = (low + high) >> 1
        if unlisted[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    if low < len(unlisted) and unlisted[low] == wanted:
        return low
    return -1


@helper
def emits(
    heads: NDArray[np.uint32],
    signatures: NDArray[np.uint32],
    one: int,
    other: int,
    document: np.uint32,
    band: int,
    listed: bool,
    bands: int,
    rows: int,
    unlisted: NDArray[np.uint64],
    smallest: NDArray[np.uint32],
) -> bool:
    """Whether it is this bucket that emits the pair, whose smaller one is `document`.

    A listed bucket does unless they meet in a listed one of an earlier band. An unlisted bucket has only links to its
    smallest document: it does unless they meet in any listed one, or an earlier unlisted one has the link as well.
    """
    for earlier in range(np.int64(band) if listed else bands):
        if heads[one, earlier] != heads[other, earlier] or earlier == band:
            continue
        if same(signatures, one, other, earlier, rows):
            met = find(unlisted, earlier, document)
            if met < 0 or (not listed and earlier < band and smallest[met] == document):
                return False
    return True


@kernel(
    types.int64(
        uint32rows, uint32rows, int64s, uint32s, int64s, int64s, uint32s, bools, types.int64, types.int64, uint64s,
        uint32s, types.int64, int64s_out, uint32rows_out,
    )
)
def pairs(
    heads: NDArray[np.uint32],
    signatures: NDArray[np.uint32],
    at: NDArray[np.int64],
    documents: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    lefts: NDArray[np.int64],
    band: NDArray[np.uint32],
    listed: NDArray[np.bool_],
    bands: int,
    rows: int,
    unlisted: NDArray[np.uint64],
    smallest: NDArray[np.uint32],
    budget: int,
    cursor: NDArray[np.int64],
    out: NDArray[np.uint32],
) -> int:
    """Write the pairs that some pieces of buckets emit, from the cursor on; how many.

    heads   the first slot of each band once more: one cache line tells nearly all bands apart
    lefts   a piece pairs its first `lefts` members with the others; where all are lefts, each with all later ones

    Returns at the end, when `out` is full, or after about `budget` comparisons of bands; the cursor, [piece, left,
    right], says where to go on. It begins with zeros, and its piece ends as len(lefts).
    """
    emitted = 0
    piece = cursor[0]
    left = cursor[1]
    right = cursor[2]
    while piece < len(lefts) and budget > 0 and emitted < len(out):
        start = offsets[piece]
        size = offsets[piece + 1] - start
        if left == lefts[piece]:
            piece += 1
            left = 0
            right = 0
            continue
        right = max(right, left + 1 if lefts[piece] == size else lefts[piece])
        cost = 1 + (np.int64(band[piece]) if listed[piece] else bands)
        stop = min(size, right + min(len(out) - emitted, budget // cost + 1))
        document = documents[start + left]
        for i in range(right, stop):
            if emits(
                heads, signatures, at[start + left], at[start + i], document, band[piece], listed[piece], bands, rows,
                unlisted, smallest,
            ):
                out[emitted, 0] = document
                out[emitted, 1] = documents[start + i]
                emitted += 1
        budget -= cost * (stop - right) + 1
        right = stop
        if stop == size:
            left += 1
            right = 0
    cursor[0] = piece
    cursor[1] = left
    cursor[2] = right
    return emitted
