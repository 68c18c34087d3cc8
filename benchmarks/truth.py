"""All pairs of rows with J ≥ 0.8, exactly, and by nothing of neardup's: the shingles are Python's own sets of texts.

Shingles are numbered from the rarest to the commonest and a set is held as its sorted numbers. Two sets A and B with
J ≥ t share at least m = ⌈t·max(|A|, |B|)⌉ numbers, so that the L-th common one (L ≤ m) is among the first
|A| − ⌈t·|A|⌉ + L numbers of A, and likewise of B. Only pairs that share L numbers there are compared in full: the
prefix filter (Chaudhuri, Ganti, Kaushik 2006; Xiao and others 2008) with a longer prefix that asks for more. Some rows
are compared with every other row as well, and the two answers must be the same.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray
from ours import BUILD

NUMERATOR, DENOMINATOR = 4, 5  # t = 0.8
COMMON = 32  # L
CHECKED = 50

Pairs = NDArray[np.int64]  # [pairs, 2]: rows, the smaller first; sorted


def characters(text: str) -> set[str]:
    """Runs of five characters of the text in lower case with white space joined; a shorter text is one run."""
    text = " ".join(text.lower().split())
    return {text[at : at + 5] for at in range(max(1, len(text) - 4))} if text else set()


def words(text: str) -> set[str]:
    """Runs of three words, which are runs of letters, digits and _, in lower case."""
    found = re.findall(r"\w+", text.lower())
    return {" ".join(found[at : at + 3]) for at in range(max(1, len(found) - 2))} if found else set()


SHINGLES: dict[str, Callable[[str], set[str]]] = {"char:5": characters, "word:3": words}


def true_pairs(path: Path, shingles: str) -> Pairs:
    """The pairs of a JSON-lines file with a column `text`; computed once and kept."""
    kept = BUILD / f"truth-{path.stem}-{shingles.replace(':', '')}.npy"
    if not kept.exists():
        began = time.perf_counter()
        values, offsets = _numbered(path, SHINGLES[shingles])
        pairs = _joined(values, offsets)
        _check(pairs, values, offsets)
        np.save(kept, pairs)
        took = time.perf_counter() - began
        print(f"truth of {path.name}, {shingles}: {len(pairs):,} pairs in {took:.0f} s", file=sys.stderr)
    return np.load(kept)


def _numbered(path: Path, shingles: Callable[[str], set[str]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The sets as sorted numbers, rarest shingle first: values, and where each row's begin."""
    number: dict[str, int] = {}
    sets: list[NDArray[np.int32]] = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            one = shingles(json.loads(line)["text"])
            sets.append(np.fromiter((number.setdefault(shingle, len(number)) for shingle in one), np.int32, len(one)))
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in sets])]).astype(np.int64)
    values = np.concatenate(sets)
    rank = np.empty(len(number), np.int32)
    rank[np.argsort(np.bincount(values, minlength=len(number)), kind="stable")] = np.arange(len(number), dtype=np.int32)
    values = rank[values]
    for first, last in itertools.pairwise(offsets):
        values[first:last].sort()
    return values, offsets


def _joined(values: NDArray[np.int32], offsets: NDArray[np.int64]) -> Pairs:
    sizes = np.diff(offsets)
    needed = -(-sizes * NUMERATOR // DENOMINATOR)
    prefix = np.minimum(sizes, sizes - needed + COMMON)
    rows = np.repeat(np.arange(len(sizes)), prefix)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(prefix) - prefix, prefix) + np.repeat(offsets[:-1], prefix)
    numbers = values[places]
    order = np.argsort(numbers, kind="stable")  # of one number, rows ascend
    starts = np.searchsorted(numbers[order], np.arange(values.max(initial=0) + 2))
    found = _join(values, offsets, needed, prefix, rows[order].astype(np.int32), starts)
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


@njit
def _join(values, offsets, needed, prefix, posted, starts):  # type: ignore[no-untyped-def]
    """Each row against the earlier rows of its prefix's posting lists: left, right, left, right, …"""
    found = [np.int64(0) for _ in range(0)]
    shared = np.zeros(len(needed), np.int32)
    touched = np.empty(len(needed), np.int32)
    for right in range(len(needed)):
        count = 0
        for place in range(offsets[right], offsets[right] + prefix[right]):
            for at in range(starts[values[place]], starts[values[place] + 1]):
                left = posted[at]
                if left >= right:
                    break
                if shared[left] == 0:
                    touched[count] = left
                    count += 1
                shared[left] += 1
        for one in range(count):
            left = touched[one]
            if shared[left] >= min(COMMON, max(needed[left], needed[right])):
                overlap, i, j = 0, offsets[left], offsets[right]
                while i < offsets[left + 1] and j < offsets[right + 1]:
                    a, b = values[i], values[j]
                    overlap += a == b
                    i += a <= b
                    j += b <= a
                union = offsets[left + 1] - offsets[left] + offsets[right + 1] - offsets[right] - overlap
                if DENOMINATOR * overlap >= NUMERATOR * union:
                    found.append(np.int64(left))
                    found.append(np.int64(right))
            shared[left] = 0
    return found


def _check(pairs: Pairs, values: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
    """Compare some rows with all rows, counting in plain posting lists; half of them are rows of some pair."""
    sizes = np.diff(offsets)
    draw = np.random.default_rng(1)
    some = draw.integers(0, len(sizes), CHECKED)
    if len(pairs):
        some = np.concatenate([some, draw.choice(pairs.ravel(), CHECKED)])
    owner = np.repeat(np.arange(len(sizes)), sizes)
    order = np.argsort(values, kind="stable")
    starts = np.searchsorted(values[order], np.arange(values.max(initial=0) + 2))
    for row in np.unique(some):
        places = [order[starts[value] : starts[value + 1]] for value in values[offsets[row] : offsets[row + 1]]]
        overlap = np.bincount(owner[np.concatenate(places)] if places else [], minlength=len(sizes))
        alike = (overlap > 0) & (DENOMINATOR * overlap >= NUMERATOR * (sizes + sizes[row] - overlap))
        expected = np.setdiff1d(np.flatnonzero(alike), [row])
        joined = np.concatenate([pairs[pairs[:, 0] == row, 1], pairs[pairs[:, 1] == row, 0]])
        assert np.array_equal(np.sort(joined), expected), f"row {row}: {joined} by the join, {expected} one by one"
