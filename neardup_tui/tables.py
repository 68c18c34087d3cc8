"""What Results and Clusters list, as arrays over all of it: columns, order and filter. Meant for a thread."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from neardup import Result

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
PairColumn = Literal["J", "est.", "left", "right", "cluster"]
ClusterColumn = Literal["rows", "removed", "chained", "weakest", "cluster"]

PAIR_COLUMNS: tuple[PairColumn, ...] = ("J", "est.", "left", "right", "cluster")
CLUSTER_COLUMNS: tuple[ClusterColumn, ...] = ("rows", "removed", "chained", "weakest", "cluster")
# Great ones first: what one looks for in a list of similarities and sizes. Numbers of rows go up.
DESCENDING = {"J", "est.", "rows", "removed", "chained"}


def share(overlap: NDArray[np.unsignedinteger] | Integers, union: NDArray[np.unsignedinteger] | Integers) -> Floats:
    """float64[n]: overlap / union; NaN where union is 0, which means: not verified."""
    with np.errstate(invalid="ignore"):
        ratio: Floats = np.where(union == 0, np.nan, overlap / union)
    return ratio


def arranged(values: Floats | Integers, descending: bool) -> Integers:
    """int64[n]: the order by these values, equal ones as they stand, NaN last in both directions."""
    return np.argsort(-values if descending else values, kind="stable")


# Pairs

@dataclass(frozen=True)
class PairTable:
    """The accepted row pairs of a result. A pair of copies (no document pair) has J = 1 and estimate = 1."""

    result: Result

    def __len__(self) -> int:
        return len(self.result.row_pairs)

    @cached_property
    def jaccard(self) -> Floats:
        pairs = self.result.pairs
        return self._over_rows(share(pairs.overlap, pairs.union))

    @cached_property
    def estimate(self) -> Floats:
        return self._over_rows(self.result.pairs.agree / self.result.settings.sketching.num_perm)

    @cached_property
    def cluster(self) -> Integers:
        """The label, or -1."""
        return self.result.clusters.label[self.result.row_pairs.left]

    def _over_rows(self, of_documents: Floats) -> Floats:
        # With no document pair at all, every row pair is one of copies, and there is nothing to take from.
        pair = self.result.row_pairs.pair
        values = of_documents[pair] if len(of_documents) else np.empty(len(pair))
        return np.where(pair < 0, 1.0, values)

    def column(self, name: PairColumn) -> Floats | Integers:
        pairs = self.result.row_pairs
        match name:
            case "J":
                return self.jaccard
            case "est.":
                return self.estimate
            case "left":
                return pairs.left
            case "right":
                return pairs.right
            case "cluster":
                return self.cluster

    def listed(self, by: PairColumn, descending: bool, chosen: Filter | None) -> Integers:
        """int64[n]: indices in `row_pairs` in the order of the list, those that the filter leaves."""
        order = arranged(self.column(by), descending)
        return order[chosen(self)[order]] if chosen is not None else order


Filter = Callable[[PairTable], NDArray[np.bool_]]

_TERM = re.compile(r"(?P<no>!?)(?:(?P<name>[a-z]+\.?)(?P<sign>>=|<=|!=|=|>|<))?(?P<number>[\d,]*\.?\d+)")
_SIGNS = {">=": operator.ge, "<=": operator.le, "!=": operator.ne, "=": operator.eq, ">": operator.gt, "<": operator.lt}
_NAMES: dict[str, PairColumn] = {
    "j": "J", "est": "est.", "est.": "est.", "left": "left", "right": "right", "cluster": "cluster",
}


def pair_filter(text: str) -> Filter | None:
    """Read `j>=0.9 est<0.8 !412`: all terms must hold, ! first is not, a number alone is a row on either side.

    None for an empty text; ValueError, in a sentence, for one that cannot be read.
    """
    terms = [_term(word) for word in re.sub(r"\s*([<>=!]=?)\s*(?=[\d.])", r"\1", text.lower()).split()]
    if not terms:
        return None

    def holds(table: PairTable) -> NDArray[np.bool_]:
        mask = np.ones(len(table), np.bool_)
        for term in terms:
            mask &= term(table)
        return mask

    return holds


def _term(word: str) -> Filter:
    found = _TERM.fullmatch(word)
    name = found["name"] if found else None
    if found is None or (name is not None and name != "row" and name not in _NAMES):
        raise ValueError(f"no filter: write j>=0.9 est<0.8 row=412 !cluster=31 (! is not); {word!r} is none")
    number = float(found["number"].replace(",", ""))
    sign = _SIGNS[found["sign"] or "="]
    no = bool(found["no"])

    def holds(table: PairTable) -> NDArray[np.bool_]:
        if name is None or name == "row":
            pairs = table.result.row_pairs
            mask: NDArray[np.bool_] = sign(pairs.left, number) | sign(pairs.right, number)
        else:
            mask = sign(table.column(_NAMES[name]), number)
        return ~mask if no else mask

    return holds


@dataclass(frozen=True, slots=True)
class Band:
    """Verified document pairs with low ≤ J < high (the last band has its high end too)."""

    low: float
    high: float
    accepted: int
    others: int


def by_similarity(result: Result) -> tuple[Band, ...]:
    """The candidates whose exact J is known, by J, highest first: bands of 0.05 down to 0.5, then all below."""
    pairs, edges = result.pairs, np.arange(50, 100, 5)
    known = pairs.union > 0
    # In whole hundredths, by cross products: 0.8 belongs to .80-.85 whatever a float makes of it.
    overlap, union = pairs.overlap[known].astype(np.int64), pairs.union[known].astype(np.int64)
    at = np.zeros(len(union), np.int64)
    for edge in edges:
        at += 100 * overlap >= edge * union
    of = np.bincount(at, minlength=len(edges) + 1)
    accepted = np.bincount(at[result.accepted[known]], minlength=len(edges) + 1)
    bounds = [0, *(edges / 100).tolist(), 1.0]
    return tuple(
        Band(bounds[index], bounds[index + 1], int(accepted[index]), int(of[index] - accepted[index]))
        for index in reversed(range(len(edges) + 1))
    )


# Clusters

@dataclass(frozen=True)
class ClusterTable:
    """The clusters of two or more rows; all arrays int64 or float64, one value a cluster, in the order of labels.

    rows_by_cluster, offsets   the rows of cluster i are rows_by_cluster[offsets[i]:offsets[i + 1]], ascending
    kept      its first row that is kept        keeps    how many of its rows are kept
    weakest   the least J of a removed row to the row kept for it; NaN where it is not known
    """

    result: Result

    def __len__(self) -> int:
        return len(self.label)

    @cached_property
    def rows_by_cluster(self) -> Integers:
        labels = self.result.clusters.label
        inside = np.flatnonzero(labels >= 0)
        return inside[np.argsort(labels[inside], kind="stable")]

    @cached_property
    def offsets(self) -> Integers:
        labels = self.result.clusters.label[self.rows_by_cluster]
        starts = np.flatnonzero(np.concatenate([[True], labels[1:] != labels[:-1]])) if len(labels) else labels
        return np.append(starts, len(labels))

    @cached_property
    def label(self) -> Integers:
        return self.result.clusters.label[self.rows_by_cluster[self.offsets[:-1]]]

    @cached_property
    def rows(self) -> Integers:
        return np.diff(self.offsets)

    @cached_property
    def _removed_row(self) -> NDArray[np.bool_]:
        return self.result.clusters.removed[self.rows_by_cluster]

    @cached_property
    def removed(self) -> Integers:
        return self._summed(self._removed_row)

    @cached_property
    def keeps(self) -> Integers:
        return self.rows - self.removed

    @cached_property
    def chained_row(self) -> NDArray[np.bool_]:
        """bool[rows of the corpus]"""
        return self.result.clusters.chained(self.result.settings.threshold)

    @cached_property
    def chained(self) -> Integers:
        return self._summed(self.chained_row[self.rows_by_cluster])

    @cached_property
    def kept(self) -> Integers:
        rows = np.where(self._removed_row, np.iinfo(np.int64).max, self.rows_by_cluster)
        return np.minimum.reduceat(rows, self.offsets[:-1]) if len(rows) else rows

    @cached_property
    def to_kept(self) -> Floats:
        """float64[rows of the corpus]: exact J to the row kept for it."""
        clusters = self.result.clusters
        return share(clusters.overlap, clusters.union)

    @cached_property
    def weakest(self) -> Floats:
        values = np.where(self._removed_row, self.to_kept[self.rows_by_cluster], 1.0)
        return np.minimum.reduceat(values, self.offsets[:-1]) if len(values) else values

    def _summed(self, flags: NDArray[np.bool_]) -> Integers:
        return np.add.reduceat(flags.astype(np.int64), self.offsets[:-1]) if len(flags) else flags.astype(np.int64)

    def members(self, cluster: int) -> Integers:
        return self.rows_by_cluster[self.offsets[cluster] : self.offsets[cluster + 1]]

    def at(self, label: int) -> int | None:
        """Which cluster has this label."""
        place = int(np.searchsorted(self.label, label))
        return place if place < len(self) and self.label[place] == label else None

    def listed(self, by: ClusterColumn, descending: bool) -> Integers:
        columns: dict[ClusterColumn, Floats | Integers] = {
            "rows": self.rows, "removed": self.removed, "chained": self.chained, "weakest": self.weakest,
            "cluster": self.label,
        }
        return arranged(columns[by], descending)

    def link(self, row: int) -> tuple[int, float] | None:
        """The most similar accepted neighbour of a row, and J to it (the estimate where it is not verified)."""
        documents, pairs = self.result.documents, self.result.pairs
        document = documents.document_of_row[row]
        first, stop = np.searchsorted(pairs.left, [document, document + 1])
        found = np.concatenate([np.arange(first, stop), np.flatnonzero(pairs.right == document)])
        found = found[self.result.accepted[found]]
        if not len(found):
            return None
        alike = share(pairs.overlap[found], pairs.union[found])
        alike = np.where(np.isnan(alike), pairs.agree[found] / self.result.settings.sketching.num_perm, alike)
        best = found[np.argmax(alike)]
        other = pairs.right[best] if pairs.left[best] == document else pairs.left[best]
        return int(documents.first_row[other]), float(alike.max())
