"""Connected components, and who is kept in them. Nodes are documents, an edge is an accepted pair."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from neardup.kernels import bools, bools_out, helper, int64s, int64s_out, kernel, uint32s, uint32s_out


@helper
def root(parent: NDArray[np.int64], node: np.int64) -> np.int64:
    """Path halving: every second node on the way is hung on its grandparent (Tarjan and van Leeuwen 1984)."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@kernel(types.void(int64s_out, uint32s, uint32s))
def unite(parent: NDArray[np.int64], left: NDArray[np.uint32], right: NDArray[np.uint32]) -> None:
    """Join the two ends of each edge; the smaller root stays one, so that a root is its component's least member."""
    for edge in range(len(left)):
        one = root(parent, np.int64(left[edge]))
        other = root(parent, np.int64(right[edge]))
        parent[max(one, other)] = min(one, other)


@kernel(types.void(int64s_out))
def flatten(parent: NDArray[np.int64]) -> None:
    """Let every node name its root. A parent is never above its child, so one pass upwards does."""
    for node in range(len(parent)):
        parent[node] = parent[parent[node]]


@kernel(types.void(uint32s, uint32s, bools_out))
def walk(earlier: NDArray[np.uint32], later: NDArray[np.uint32], removed: NDArray[np.bool_]) -> None:
    """Remove what has an edge to an earlier node that is kept. Edges come ordered by their earlier end."""
    for edge in range(len(earlier)):
        if not removed[earlier[edge]]:
            removed[later[edge]] = True


@kernel(types.void(uint32s, uint32s, uint32s, uint32s, bools, int64s, int64s_out, uint32s_out, uint32s_out))
def choose(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    overlap: NDArray[np.uint32],
    union: NDArray[np.uint32],
    removed: NDArray[np.bool_],
    place: NDArray[np.int64],
    stands_for: NDArray[np.int64],
    best_overlap: NDArray[np.uint32],
    best_union: NDArray[np.uint32],
) -> None:
    """Let each removed node name its kept neighbour of highest overlap / union, of equal ones that of least place.

    The products of two 32-bit numbers stay below 2⁶⁴, so comparing them crosswise is exact.
    """
    for edge in range(len(left)):
        node = np.int64(left[edge])
        kept = np.int64(right[edge])
        if removed[node] == removed[kept]:
            continue
        if removed[kept]:
            node, kept = kept, node
        this = np.uint64(overlap[edge]) * np.uint64(best_union[node])
        best = np.uint64(best_overlap[node]) * np.uint64(union[edge])
        first = stands_for[node] == node
        if first or this > best or (this == best and place[kept] < place[stands_for[node]]):
            stands_for[node] = kept
            best_overlap[node] = overlap[edge]
            best_union[node] = union[edge]
