"""Texts → shingle ids, and sets of them."""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup.kernels import sets
from neardup.kernels import shingles as kernels
from neardup.pulse import Pulse, unwatched
from neardup.ragged import Ragged, Texts
from neardup.settings import Shingling

# Units of work a kernel call: 3 to 10 ms on one core of an AMD EPYC of 2021.
SHINGLE_BUDGET = 1 << 23
SORT_BUDGET = 1 << 19


class SpelledShingle(msgspec.Struct, frozen=True):
    """A shingle as a person sees it: where it begins in the text, in code points; what it is; its id."""

    at: int
    text: str
    id: int


def shingle_ids(texts: Texts, how: Shingling, pulse: Pulse = unwatched) -> Ragged:
    """Cut each text into shingles and hash each shingle once: its ids in text order, with repeats.

    A shingle is k consecutive code points, or k consecutive words joined by one space, where white space is what
    `str.split()` takes for it. A text that is not empty and has fewer than k of them has one shingle: all of it, as
    it is. An empty text has none. An id is the first 64 bits of MurmurHash3 x64 128, seed 0, of the shingle's UTF-8.

    `pulse` counts texts. The texts are valid UTF-8. Time is linear in the bytes of all shingles.
    """
    cut = kernels.char_ids if how.kind == "char" else kernels.word_ids
    size = int(texts.offsets[-1] - texts.offsets[0])
    # As many ids as there can be. Memory that is never written is never handed out by the system.
    values = np.empty(size if how.kind == "char" else (size + len(texts)) // 2, np.uint64)
    offsets = np.zeros(len(texts) + 1, np.int64)
    cursor = np.array([0, texts.offsets[0], 0])
    while cursor[0] < len(texts):
        pulse(cut(texts.data, texts.offsets, how.k, cursor, SHINGLE_BUDGET, values, offsets))
    return Ragged(values[: cursor[2]], offsets)


def shingle_sets(texts: Texts, how: Shingling, pulse: Pulse = unwatched) -> Ragged:
    """The shingle ids of each text as a set: ascending, each once. `pulse` counts texts."""
    return sorted_sets(shingle_ids(texts, how, lambda _: pulse(0)), pulse)


def spelled(text: str, how: Shingling) -> list[SpelledShingle]:
    """The shingles of one text in text order, readable, for the screen; ids by the kernel that a run uses."""
    k = how.k
    ids = shingle_ids(Texts.of([text]), how).values.tolist()
    if how.kind == "char":
        cut = [(at, text[at : at + k]) for at in range(len(ids))]
    else:
        words = [(word.start(), word.group()) for word in re.finditer(r"\S+", text)]
        cut = [(words[i][0], " ".join(word for _, word in words[i : i + k])) for i in range(len(words) - k + 1)]
    return [SpelledShingle(at, shown, id) for (at, shown), id in zip(cut or [(0, text)], ids, strict=False)]


def sorted_sets(ids: Ragged, pulse: Pulse = unwatched) -> Ragged:
    """Make a set of each list: ascending, each id once. Works in the lists' own memory, which is used up."""
    values, offsets = ids.values, np.zeros(len(ids) + 1, np.int64)
    longest = int(min(ids.sizes.max(initial=0), sets.LONGEST))
    table = np.full(sets.table_size(longest), sets.EMPTY)
    cursor = np.array([0, 0])
    while cursor[0] < len(ids):
        done = sets.sort_unique(values, ids.offsets, cursor, SORT_BUDGET, table, offsets)
        pulse(done)
        if done == 0:
            index, written = cursor.tolist()
            union = _set_of_long(ids[index], pulse)
            values[written : written + len(union)] = union
            cursor += 1, len(union)
            offsets[index + 1] = cursor[1]
            pulse(1)
    return Ragged(values[: cursor[1]], offsets)


def _set_of_long(ids: NDArray[np.uint64], pulse: Pulse) -> NDArray[np.uint64]:
    """A list longer than the kernel takes: sets of its pieces, united two by two."""
    borders = np.append(np.arange(0, len(ids), sets.LONGEST), len(ids))
    pieces = sorted_sets(Ragged(ids, borders), lambda _: pulse(0))
    runs = [pieces.values[start:stop] for start, stop in pairwise(pieces.offsets)]
    while len(runs) > 1:
        odd = runs[len(runs) // 2 * 2 :]
        runs = [_union(left, right, pulse) for left, right in zip(runs[::2], runs[1::2], strict=False)] + odd
    return runs[0]


def _union(left: NDArray[np.uint64], right: NDArray[np.uint64], pulse: Pulse) -> NDArray[np.uint64]:
    out = np.empty(len(left) + len(right), np.uint64)
    cursor = np.zeros(3, np.int64)
    while cursor[0] < len(left) or cursor[1] < len(right):
        sets.merge_unique(left, right, cursor, 4 * SORT_BUDGET, out)
        pulse(0)
    return out[: cursor[2]]
