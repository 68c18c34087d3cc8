"""What would be written, before it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup.exports.names import STDOUT, compression_of, form_of, is_stream
from neardup.exports.outputs import Name, Outputs
from neardup.exports.tables import similarities
from neardup.results import Result
from neardup.summary import reasons, weakest


class Planned(msgspec.Struct, frozen=True):
    """An output as it would be. `exact` tells whether `bytes` is counted or estimated."""

    name: str
    path: str
    rows: int
    bytes: int
    exact: bool
    exists: bool


class DryRun(msgspec.Struct, frozen=True):
    """What would be kept, removed and written; why, as `summary.Reasons` counts it.

    least   the least J of a removed row to the row kept for it; None where nothing is removed
    """

    kept: int
    removed: int
    alone: int
    of_clusters: int
    empty: int
    copies: int
    near: int
    chained: int
    least: float | None
    files: tuple[Planned, ...]


def plan(result: Result, outputs: Outputs) -> DryRun:
    """What `write` would do, without reading a text. Cheap: array sums over the rows."""
    return DryRun(
        kept=result.kept,
        removed=result.removed,
        **reasons(result)._asdict(),
        least=weakest(result),
        files=tuple(_planned(result, name, path) for name, path in outputs.items()),
    )


def _planned(result: Result, name: Name, path: str) -> Planned:
    rows, size, exact = _SIZES[name](result)
    if compression_of(path):
        size, exact = size // 3, False  # what gzip leaves of plain text, about
    if name in ("pairs", "clusters") and form_of(path) != "csv":
        size, exact = size * (2 if form_of(path) == "jsonl" else 1), False
    return Planned(name, path, rows, size, exact, path != STDOUT and not is_stream(path) and Path(path).exists())


def _record_bytes(result: Result, rows: NDArray[np.int64]) -> int:
    """About what the records of these rows take: their texts, and as much beside the text as in other rows."""
    corpus = result.corpus
    if corpus.inputs[0].format == "files":
        paths = [f"{one.path}/{file}\n" for one in corpus.inputs for file in one.files]
        return sum(len(os.fsencode(path)) for path in paths) * len(rows) // corpus.rows
    size = sum(one.size for one in corpus.inputs if one.format == "parquet")
    size += sum(part.stop - part.start for part in corpus.slices if corpus.inputs[part.input].format != "parquet")
    texts, all_texts = int(result.chars[rows].sum()), int(result.chars.sum())
    beside = size - all_texts
    if beside < 0:  # packed tighter than one byte a character
        return round(size * (texts + len(rows)) / (all_texts + corpus.rows))
    return texts + round(beside * len(rows) / max(corpus.rows, 1))


def _planned_out(result: Result) -> tuple[int, int, bool]:
    start, stop = result.corpus.inputs[0].header
    kept = np.flatnonzero(~result.clusters.removed)
    return result.kept, _record_bytes(result, kept) + stop - start, False


def _planned_removed(result: Result) -> tuple[int, int, bool]:
    clusters, rows = result.clusters, np.flatnonzero(result.clusters.removed)
    size = _record_bytes(result, rows)
    numbers = _digits(rows) + _digits(clusters.kept[rows]) + _digits(clusters.label[rows])
    return len(rows), size + numbers + len(rows) * len(",,0.000000,,,,"), False


def _planned_pairs(result: Result) -> tuple[int, int, bool]:
    pairs = result.row_pairs
    _, _, verified = similarities(result, pairs, slice(None))
    size = len("left,right,estimate,jaccard\n") + _digits(pairs.left) + _digits(pairs.right)
    return len(pairs), size + len(pairs) * len(",,0.000000,\n") + 8 * int(verified.sum()), True


def _planned_clusters(result: Result) -> tuple[int, int, bool]:
    clusters = result.clusters
    rows = np.flatnonzero(clusters.label >= 0)
    size = len("row,cluster,kept,jaccard_to_kept,chained\n")
    size += _digits(rows) + _digits(clusters.label[rows]) + _digits(clusters.kept[rows])
    chained = int(clusters.chained(result.settings.threshold)[rows].sum())
    return len(rows), size + len(rows) * len(",,,0.000000,false\n") - chained, True


def _digits(numbers: NDArray[np.int64]) -> int:
    """How many letters the numbers take, all together."""
    return int(np.searchsorted(10 ** np.arange(1, 19), numbers, side="right").sum()) + len(numbers)


def _planned_manifest(result: Result) -> tuple[int, int, bool]:
    return 0, 4_096 + 200 * len(result.corpus.inputs), False


_SIZES: dict[Name, Callable[[Result], tuple[int, int, bool]]] = {
    "out": _planned_out,
    "removed": _planned_removed,
    "pairs": _planned_pairs,
    "clusters": _planned_clusters,
    "manifest": _planned_manifest,
}
