"""Clusters: the connected components of the accepted pairs, and which row stands for each.

Two phases, because a removed row may have been reached over others: `clustered` says who is kept, `missing`
which documents still have to be compared with the one that stands for them (workers do that), and
`clusters_of` puts both together. Pairs are of documents, clusters are of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import components as kernels
from neardup.pulse import Pulse, unwatched
from neardup.results import Clusters, Documents, Pairs
from neardup.settings import ClusterMode

# A random access to an array of 10,000,000 documents costs about 50 ns, and an edge needs four.
EDGES_A_CALL = 1 << 16
PAIRS_LOOKED_AT = 1 << 20


@dataclass(frozen=True, slots=True)
class Kept:
    """Over rows, both int64[rows].

    label   smallest row of the row's cluster, or -1: in no cluster of two or more
    kept    the row that stands for this one: itself where it is kept
    """

    label: NDArray[np.int64]
    kept: NDArray[np.int64]


def components_of(
    count: int,
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    accepted: NDArray[np.bool_] | None = None,
    pulse: Pulse = unwatched,
) -> NDArray[np.int64]:
    """The connected components of `count` nodes under edges left - right: int64[count], the smallest member of each.

    Of the edges only those `accepted`. They are read part by part, so that they may lie on the disk.
    """
    parent = np.arange(count)
    for part in _parts(len(left)):
        chosen = slice(None) if accepted is None else accepted[part]
        kernels.unite(parent, left[part][chosen], right[part][chosen])
        pulse(0)
    kernels.flatten(parent)
    return parent


def clustered(
    documents: Documents,
    pairs: Pairs,
    accepted: NDArray[np.bool_],
    mode: ClusterMode,
    order: NDArray[np.int64] | None = None,
    pulse: Pulse = unwatched,
) -> Kept:
    """Say for each row in which cluster it is and which row stands for it.

    accepted   bool[pairs]; accepted pairs never hold the empty document, and in mode star all have overlap and union
    order      int64[rows]: all rows in keep order; None is the order of the rows themselves

    `transitive` keeps the first row of a component. `star` walks the component in keep order and keeps a row
    unless it has an accepted pair with a kept one; each removed row then names the kept neighbour of highest exact
    Jaccard, ties going to the earlier in keep order. Copies of one document are a pair at J = 1. Empty rows are
    in no cluster and are kept.
    """
    component = components_of(len(documents), pairs.left, pairs.right, accepted, pulse)
    # In the order of rows a document's place is its first row, and the first of a component is its root.
    place = documents.first_row if order is None else _places(documents, order)
    if mode == "star":
        first_place = place[_star(place, pairs, accepted, order is None, pulse)]
    elif order is None:
        first_place = place[component]
    else:
        least = np.full(len(documents), len(order))
        np.minimum.at(least, component, place)
        first_place = least[component]
    kept_by_document = first_place if order is None else order[first_place]
    rows_of_component = np.zeros(len(documents), np.int64)
    np.add.at(rows_of_component, component, documents.copies)
    label_of_document = np.where(rows_of_component[component] == 1, -1, documents.first_row[component])
    label = label_of_document[documents.document_of_row]
    kept = kept_by_document[documents.document_of_row]
    if documents.empty >= 0:
        empty_rows = documents.rows_by_document[slice(*documents.offsets[documents.empty : documents.empty + 2])]
        label[empty_rows] = -1
        kept[empty_rows] = empty_rows
    return Kept(label, kept)


def missing(documents: Documents, pairs: Pairs, kept: Kept) -> NDArray[np.uint32]:
    """The pairs of documents whose exact Jaccard `clusters_of` needs and `pairs` does not have.

    uint32[n, 2], left < right, sorted, each once: a removed document and the one that stands for it.
    """
    _, needed, _ = _to_kept(documents, kept)
    return _unpacked(needed[_verified(needed, pairs) < 0])


def clusters_of(
    documents: Documents,
    pairs: Pairs,
    kept: Kept,
    extra_pairs: NDArray[np.uint32],
    extra_overlap: NDArray[np.uint32],
    extra_union: NDArray[np.uint32],
) -> Clusters:
    """Clusters with the exact Jaccard of every removed row to the row that stands for it.

    extra_pairs is what `missing` gave, uint32[n, 2]; the overlap and the union of each: uint32[n].
    """
    rows, needed, which = _to_kept(documents, kept)
    at = _verified(needed, pairs)
    known = at >= 0
    if not np.array_equal(extra_pairs, _unpacked(needed[~known])):
        raise ValueError("the extra pairs are not those that missing() asks for")
    overlap, union = np.ones((2, len(kept.kept)), np.int64)
    for column, of_pairs, of_extra in ((overlap, pairs.overlap, extra_overlap), (union, pairs.union, extra_union)):
        of_needed = np.empty(len(needed), np.int64)
        of_needed[known] = of_pairs[at[known]]
        of_needed[~known] = of_extra
        column[rows] = of_needed[which]
    return Clusters(kept.label, kept.kept, overlap, union)


def _places(documents: Documents, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[documents]: where in the keep order the first of a document's rows stands."""
    place_of_row = np.empty(len(order), np.int64)
    place_of_row[order] = np.arange(len(order))
    if not len(documents):
        return place_of_row
    return np.minimum.reduceat(place_of_row[documents.rows_by_document], documents.offsets[:-1])


_Edges = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]


def _star(
    place: NDArray[np.int64], pairs: Pairs, accepted: NDArray[np.bool_], by_rows: bool, pulse: Pulse
) -> NDArray[np.int64]:
    """int64[documents]: the document that stands for each, itself where it is kept.

    Copies of a document have the same neighbours, so the walk over rows is one over documents, each at the place
    of its first row.
    """
    # A document's fate is known once all edges from earlier ones have been seen: so by their earlier end.
    edges = partial(_edges_by_rows, pairs, accepted) if by_rows else partial(_edges, *_walk(place, pairs, accepted))
    removed = np.zeros(len(place), np.bool_)
    for earlier, later, _, _ in edges():
        kernels.walk(earlier, later, removed)
        pulse(0)
    stands_for = np.arange(len(place))
    best_overlap, best_union = np.zeros((2, len(place)), np.uint32)
    for earlier, later, overlap, union in edges():
        kernels.choose(earlier, later, overlap, union, removed, place, stands_for, best_overlap, best_union)
        pulse(0)
    return stands_for


def _edges_by_rows(pairs: Pairs, accepted: NDArray[np.bool_]) -> Iterator[_Edges]:
    """In the order of rows pairs come by their earlier end as they are, part by part from the disk."""
    for part in _parts(len(pairs)):
        columns = (pairs.left, pairs.right, pairs.overlap, pairs.union)
        earlier, later, overlap, union = (column[part][accepted[part]] for column in columns)
        yield earlier, later, overlap, union


def _walk(place: NDArray[np.int64], pairs: Pairs, accepted: NDArray[np.bool_]) -> _Edges:
    left, right = pairs.left[accepted], pairs.right[accepted]
    swap = place[left] > place[right]
    earlier, later = np.where(swap, right, left), np.where(swap, left, right)
    walk = np.argsort(place[earlier], kind="stable")
    return earlier[walk], later[walk], pairs.overlap[accepted][walk], pairs.union[accepted][walk]


def _edges(*columns: NDArray[np.uint32]) -> Iterator[_Edges]:
    for part in _parts(len(columns[0])):
        earlier, later, overlap, union = (column[part] for column in columns)
        yield earlier, later, overlap, union


def _parts(count: int, step: int = EDGES_A_CALL) -> Iterator[slice]:
    return (slice(start, start + step) for start in range(0, count, step))


def _to_kept(
    documents: Documents, kept: Kept
) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]:
    """The rows that another document stands for, the pairs of documents this makes, packed and sorted, and which is
    whose: int64[n], uint64[m], int64[n]."""
    own = documents.document_of_row
    standing = own[kept.kept]
    rows = np.flatnonzero(own != standing)
    own, standing = own[rows], standing[rows]
    # Asked for the inverse, unique sorts; else numpy 2.4 hashes, which packed pairs make 13 times slower.
    needed, which = np.unique(_packed(np.minimum(own, standing), np.maximum(own, standing)), return_inverse=True)
    return rows, needed, which


def _verified(keys: NDArray[np.uint64], pairs: Pairs) -> NDArray[np.int64]:
    """The position of each key, which ascend, in `pairs`, or -1 where it is not there or has no exact Jaccard."""
    positions = np.full(len(keys), -1)
    for part in _parts(len(pairs), PAIRS_LOOKED_AT):
        known = np.flatnonzero(pairs.union[part])
        if not len(known):
            continue
        packed = _packed(pairs.left[part][known], pairs.right[part][known])
        first, stop = np.searchsorted(keys, packed[0]), np.searchsorted(keys, packed[-1], "right")
        at = np.searchsorted(packed, keys[first:stop])
        found = packed[at] == keys[first:stop]
        positions[first:stop][found] = part.start + known[at[found]]
    return positions


def _packed(left: NDArray[np.integer], right: NDArray[np.integer]) -> NDArray[np.uint64]:
    return left.astype(np.uint64) << np.uint64(32) | right.astype(np.uint64)


def _unpacked(keys: NDArray[np.uint64]) -> NDArray[np.uint32]:
    return np.stack([keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)], axis=1).astype(np.uint32)
