"""What a run found. Arrays, not strings: screens, exports and scripts draw their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.settings import Settings
from neardup.sources.corpus import Corpus


@dataclass(frozen=True, slots=True)
class Banding:
    """b bands of r rows, and how they came about, as people read it."""

    bands: int
    rows: int
    rule: str


@dataclass(frozen=True, slots=True)
class Documents:
    """The bridge between rows and documents. Documents are numbered by their first row.

    document_of_row  int64[rows]
    first_row        int64[documents]
    rows_by_document int64[rows]: the rows, document after document, ascending inside each
    offsets          int64[documents + 1]: where each document's rows begin in rows_by_document
    empty            the document whose text is empty, or -1
    """

    document_of_row: NDArray[np.int64]
    first_row: NDArray[np.int64]
    rows_by_document: NDArray[np.int64]
    offsets: NDArray[np.int64]
    empty: int

    def __len__(self) -> int:
        return len(self.first_row)

    @property
    def copies(self) -> NDArray[np.int64]:
        """How many rows each document has."""
        return np.diff(self.offsets)

    @property
    def empty_rows(self) -> int:
        return int(self.copies[self.empty]) if self.empty >= 0 else 0

    @property
    def distinct(self) -> int:
        """Documents that are not empty."""
        return len(self) - (self.empty >= 0)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of documents, left < right, sorted by (left, right), each once; one array a column, all of one length.

    agree   how many of the num_perm slots agree; estimate = agree / num_perm
    overlap, union   of the two shingle sets; 0 and 0 where the pair was not verified exactly
    """

    left: NDArray[np.uint32]
    right: NDArray[np.uint32]
    agree: NDArray[np.uint32]
    overlap: NDArray[np.uint32]
    union: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True, slots=True)
class RowPairs:
    """Accepted pairs of rows, left < right, sorted by (left, right), each once.

    pair   int64: the pair in `Result.pairs` that gives estimate, overlap and union, or -1: two copies of one document
    total  how many row pairs there are; more than len(self) where the listing limits cut
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    pair: NDArray[np.int64]
    total: int

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True, slots=True)
class Clusters:
    """Over rows, all arrays int64[rows].

    label    smallest row of the row's cluster, or -1: in no cluster of two or more
    kept     the row that stands for this one: itself where it is kept
    overlap, union   exact Jaccard to the kept row; 1 and 1 for kept rows and verbatim copies of the kept one
    """

    label: NDArray[np.int64]
    kept: NDArray[np.int64]
    overlap: NDArray[np.int64]
    union: NDArray[np.int64]

    @property
    def removed(self) -> NDArray[np.bool_]:
        """bool[rows]"""
        return np.not_equal(self.kept, np.arange(len(self.kept)))

    def chained(self, threshold: int) -> NDArray[np.bool_]:
        """bool[rows]: removed, and below the threshold (ten-thousandths) to the kept row."""
        return self.removed & (10_000 * self.overlap < threshold * self.union)


@dataclass(frozen=True, slots=True)
class Result:
    corpus: Corpus
    settings: Settings
    banding: Banding | None  # None: the exact join found the pairs
    documents: Documents
    pairs: Pairs  # every candidate
    accepted: NDArray[np.bool_]  # bool[pairs]
    row_pairs: RowPairs
    clusters: Clusters
    chars: NDArray[np.int64]  # int64[rows]: code points of the normalised text
    shingles: NDArray[np.int64]  # int64[documents]: shingles with repeats; 0 where empty
    buckets_unlisted: int
    pairs_not_examined: int
    warnings: tuple[str, ...]
    seconds: dict[str, float]  # a key a stage
    peak_memory_bytes: int = 0

    @property
    def kept(self) -> int:
        return self.corpus.rows - self.removed

    @property
    def removed(self) -> int:
        return int(self.clusters.removed.sum())
