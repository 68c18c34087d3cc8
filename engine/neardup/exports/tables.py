"""The tables of a result, as Arrow batches in the order of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup import sources
from neardup.results import Result, RowPairs

Table = tuple[pa.Schema, Iterator[pa.RecordBatch]]

BATCH = 65_536

PAIRS = pa.schema(
    [("left", pa.int64()), ("right", pa.int64()), ("estimate", pa.float64()), ("jaccard", pa.float64())]
)
CLUSTERS = pa.schema(
    [
        ("row", pa.int64()),
        ("cluster", pa.int64()),
        ("kept", pa.int64()),
        ("jaccard_to_kept", pa.float64()),
        ("chained", pa.bool_()),
    ]
)
REMOVED = pa.schema(
    [
        ("row", pa.int64()),
        ("kept", pa.int64()),
        ("jaccard", pa.float64()),
        ("cluster", pa.int64()),
        ("id", pa.large_string()),
        ("kept_id", pa.large_string()),
    ]
)


def pairs(result: Result) -> Table:
    """The accepted pairs of rows that are listed."""

    def batches() -> Iterator[pa.RecordBatch]:
        listed = result.row_pairs
        for start in range(0, len(listed), BATCH):
            some = slice(start, start + BATCH)
            estimate, jaccard, verified = similarities(result, listed, some)
            columns = [listed.left[some], listed.right[some], estimate, pa.array(jaccard, mask=~verified)]
            yield pa.record_batch([pa.array(column) for column in columns], schema=PAIRS)

    return PAIRS, batches()


def similarities(
    result: Result, listed: RowPairs, some: slice
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Estimate, Jaccard, and whether that was verified, each [pairs]: two copies of one text are 1, 1, and certain."""
    pair = listed.pair[some]
    different = pair >= 0
    overlap, union = np.ones(len(pair), np.int64), np.ones(len(pair), np.int64)
    estimate = np.ones(len(pair))
    estimate[different] = result.pairs.agree[pair[different]] / result.settings.sketching.num_perm
    overlap[different] = result.pairs.overlap[pair[different]]
    union[different] = result.pairs.union[pair[different]]
    return estimate, overlap / np.maximum(union, 1), union > 0


def clusters(result: Result) -> Table:
    """The rows in clusters of two or more."""
    found = result.clusters
    rows = np.flatnonzero(found.label >= 0)
    chained = found.chained(result.settings.threshold)

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, len(rows), BATCH):
            some = rows[start : start + BATCH]
            jaccard = found.overlap[some] / found.union[some]
            columns = [some, found.label[some], found.kept[some], jaccard, chained[some]]
            yield pa.record_batch([pa.array(column) for column in columns], schema=CLUSTERS)

    return CLUSTERS, batches()


def removed(result: Result) -> Table:
    """The removed rows with the cells they had, a batch a slice."""
    corpus, found = result.corpus, result.clusters
    columns = [(name, pa.large_string()) for name in sources.original_columns(corpus)]
    schema = pa.schema([*REMOVED, *columns])

    def batches() -> Iterator[pa.RecordBatch]:
        for part in corpus.slices:
            picked = np.flatnonzero(found.removed[part.first_row : part.first_row + part.rows])
            if not len(picked):
                continue
            rows = picked + part.first_row
            cells = zip(*sources.cells_of(corpus, part, None, picked), strict=True)
            no_id = pa.nulls(len(rows), pa.large_string())
            told = [rows, found.kept[rows], found.overlap[rows] / found.union[rows], found.label[rows]]
            arrays = [*map(pa.array, told), no_id, no_id, *(pa.array(column, pa.large_string()) for column in cells)]
            yield pa.record_batch(arrays, schema=schema)

    return schema, batches()


OF: dict[str, Callable[[Result], Table]] = {"pairs": pairs, "clusters": clusters, "removed": removed}
