"""Slow, plain twins of pairing: lists, sets and dicts, short enough to believe at sight."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, product

import mmh3
import numpy as np

from neardup.results import Documents

Pair = tuple[int, int]
Bucket = tuple[int, list[int]]  # band, documents


def band_key(signature: Sequence[int], band: int, rows: int) -> int:
    slots = signature[band * rows : (band + 1) * rows]
    data = b"".join(int(slot).to_bytes(4, "little") for slot in slots)
    return mmh3.mmh3_x64_128_utupledigest(data, band)[0]


def buckets(signatures: Sequence[Sequence[int]], bands: int, rows: int) -> list[Bucket]:
    found = defaultdict(list)
    for document, signature in enumerate(signatures):
        for band in range(bands):
            found[band, tuple(signature[band * rows : (band + 1) * rows])].append(document)
    return [(band, documents) for (band, _), documents in found.items() if len(documents) > 1]


def emitted(signatures: Sequence[Sequence[int]], bands: int, rows: int, limit: int) -> dict[Pair, int]:
    """The band that emits each candidate, by the rule as it is written."""
    found = sorted(buckets(signatures, bands, rows))
    by: dict[Pair, int] = {}
    for band, documents in found:
        if len(documents) <= limit:
            for pair in combinations(documents, 2):
                by.setdefault(pair, band)
    in_listed = set(by)
    for band, documents in found:
        if len(documents) > limit:
            for document in documents[1:]:
                if (documents[0], document) not in in_listed:
                    by.setdefault((documents[0], document), band)
    return by


def documents_of(texts: list[int], empty: int) -> Documents:
    """Documents of rows whose texts are numbered by their first rows."""
    document_of_row = np.array(texts, np.int64)
    by_document = np.argsort(document_of_row, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(document_of_row)))).astype(np.int64)
    return Documents(document_of_row, by_document[offsets[:-1]], by_document, offsets, empty)


def components(nodes: int, edges: Iterable[Pair]) -> list[int]:
    """The smallest node that each one can reach."""
    label = list(range(nodes))
    changed = True
    edges = list(edges)
    while changed:
        changed = False
        for one, other in edges:
            if label[one] != label[other]:
                label[one] = label[other] = min(label[one], label[other])
                changed = True
    return label


def row_edges(texts: Sequence[int], empty: int, accepted: dict[Pair, Fraction]) -> dict[Pair, Fraction]:
    """All accepted pairs of rows with their J; row i has text texts[i]."""
    edges = {}
    for one, other in combinations(range(len(texts)), 2):
        key = min(texts[one], texts[other]), max(texts[one], texts[other])
        if texts[one] == texts[other] != empty:
            edges[one, other] = Fraction(1)
        elif key in accepted:
            edges[one, other] = accepted[key]
    return edges


def transitive(rows: int, edges: Iterable[Pair], order: Sequence[int]) -> list[int]:
    label = components(rows, edges)
    kept: dict[int, int] = {}
    for row in order:
        kept.setdefault(label[row], row)
    return [kept[label[row]] for row in range(rows)]


def star(rows: int, edges: dict[Pair, Fraction], order: Sequence[int]) -> list[int]:
    neighbours: dict[int, dict[int, Fraction]] = defaultdict(dict)
    for (one, other), jaccard in edges.items():
        neighbours[one][other] = neighbours[other][one] = jaccard
    kept: list[int] = []
    for row in order:
        if not any(one in neighbours[row] for one in kept):
            kept.append(row)
    stands_for = list(range(rows))
    for row in set(range(rows)) - set(kept):
        best = max(neighbours[row][one] for one in kept if one in neighbours[row])
        stands_for[row] = next(one for one in kept if neighbours[row].get(one) == best)  # kept is in keep order
    return stands_for


def row_pairs(
    texts: Sequence[int], empty: int, pairs: dict[int, Pair], cross: int, inside: int
) -> tuple[dict[Pair, int], int]:
    """The listed pairs of rows with the number of their pair or −1, and how many there are in all."""
    rows_of = defaultdict(list)
    for row, text in enumerate(texts):
        rows_of[text].append(row)
    listed: dict[Pair, int] = {}
    total = 0
    for number, (one, other) in pairs.items():
        every = list(product(rows_of[one], rows_of[other]))
        total += len(every)
        for left, right in every if len(every) <= cross else every[:1]:
            listed[min(left, right), max(left, right)] = number
    for text, rows in rows_of.items():
        if text != empty:
            every = list(combinations(rows, 2))
            total += len(every)
            for pair in every if len(rows) <= inside else [(rows[0], copy) for copy in rows[1:]]:
                listed[pair] = -1
    return listed, total
