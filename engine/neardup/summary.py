"""A result in words and numbers: the object of `--json`, and the lines a person reads after a run.

`document_pairs` and `candidates` count pairs of documents (distinct texts), `pairs` pairs of rows: every copy counts.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from neardup import curve
from neardup.results import Result
from neardup.settings import ONE, ByHand, as_decimal
from neardup.sizes import size

if TYPE_CHECKING:
    from neardup.exports import Written

COLUMNS = 80
KINDS = {
    "lines": "one document a line",
    "blank-lines": "documents parted by blank lines",
    "csv": "CSV",
    "jsonl": "JSON lines",
    "parquet": "Parquet",
    "files": "one document a file",
}


def weakest(result: Result) -> float | None:
    """The least J of a removed row to the row kept for it; None where none is removed."""
    removed = result.clusters.removed
    if not removed.any():
        return None
    return float((result.clusters.overlap[removed] / result.clusters.union[removed]).min())


class Reasons(NamedTuple):
    """Why rows are kept or removed: kept = alone + of_clusters + empty, removed = copies + near + chained.

    alone        rows in no cluster that are not empty
    of_clusters  kept rows of clusters; in transitive mode one a cluster
    copies       removed rows whose text equals the kept row's after normalising
    near         other removed rows with J ≥ t to the kept row
    chained      removed rows with J < t to the kept row, similar to one that is similar to it
    """

    alone: int
    of_clusters: int
    empty: int
    copies: int
    near: int
    chained: int


def reasons(result: Result) -> Reasons:
    clusters, documents = result.clusters, result.documents
    removed, in_cluster = clusters.removed, clusters.label >= 0
    chained = clusters.chained(result.settings.threshold)
    copies = removed & (documents.document_of_row == documents.document_of_row[clusters.kept])
    return Reasons(
        alone=int((~in_cluster).sum()) - documents.empty_rows,
        of_clusters=int((in_cluster & ~removed).sum()),
        empty=documents.empty_rows,
        copies=int(copies.sum()),
        near=int((removed & ~copies & ~chained).sum()),
        chained=int(chained.sum()),
    )


def chance_at_threshold(result: Result) -> float:
    """The chance that a pair exactly at the threshold becomes a candidate."""
    if result.banding is None:
        return 1.0
    return curve.candidate_probability(result.settings.threshold / ONE, result.banding.bands, result.banding.rows)


def cluster_sizes(result: Result) -> np.ndarray[Any, np.dtype[np.int64]]:
    """int64[clusters]: the rows of each, in the order of the clusters' labels."""
    label = result.clusters.label
    return np.unique(label[label >= 0], return_counts=True)[1]


def exact_duplicates(result: Result) -> int:
    """Rows that repeat an earlier row that is not empty, after normalising."""
    return result.corpus.rows - result.documents.empty_rows - result.documents.distinct


def as_json(result: Result) -> dict[str, Any]:
    """What `--json` prints, in its order: plain numbers, texts, lists and objects. Similarities have six decimals."""
    sizes, least = cluster_sizes(result), weakest(result)
    return {
        "inputs": [
            {
                "path": one.path,
                "format": one.format,
                "encoding": one.encoding,
                "guessed": one.guessed,
                "delimiter": one.delimiter,
                "columns": list(one.columns),
                "text_column": one.text_column,
                "rows": one.rows,
            }
            for one in result.corpus.inputs
        ],
        "num_perm": result.settings.sketching.num_perm,
        "documents": result.documents.distinct,
        "rows": result.corpus.rows,
        "empty": result.documents.empty_rows,
        "exact_duplicates": exact_duplicates(result),
        "candidates": len(result.pairs),
        "document_pairs": int(result.accepted.sum()),
        "pairs": result.row_pairs.total,
        "pairs_listed": len(result.row_pairs),
        "buckets_unlisted": result.buckets_unlisted,
        "pairs_not_examined": result.pairs_not_examined,
        "clusters": len(sizes),
        "largest_cluster": int(sizes.max(initial=0)),
        "weakest": None if least is None else round(least, 6),
        "warnings": list(result.warnings),
        "kept": result.kept,
        "removed": result.removed,
        "chained": int(result.clusters.chained(result.settings.threshold).sum()),
        "find": result.settings.find,
        "bands": result.banding.bands if result.banding else None,
        "rows_per_band": result.banding.rows if result.banding else None,
        "rule": result.banding.rule if result.banding else None,
        "predicted": {"recall_at_threshold": round(chance_at_threshold(result), 6)},
        "seconds": {stage: round(seconds, 3) for stage, seconds in result.seconds.items()},
        "peak_memory_bytes": result.peak_memory_bytes,
        "unicode_version": unicodedata.unidata_version,
    }


def lines(result: Result, written: Sequence[Written] = (), beside: Mapping[str, float] | None = None) -> list[str]:
    """The summary: a name, a number, and what to know about it, in 80 columns.

    beside   seconds that went into other things than the stages
    """
    t = as_decimal(result.settings.threshold)
    told = as_json(result)
    table: list[tuple[str, str, str]] = [
        ("rows", f"{told['rows']:,}", _inputs(result)),
        ("documents", f"{told['documents']:,}", _documents(told)),
        ("candidates", f"{told['candidates']:,}", _candidates(result)),
        ("pairs", f"{told['document_pairs']:,}", _pairs(result, told, t)),
        ("clusters", f"{told['clusters']:,}", _clusters(told)),
        ("kept", f"{told['kept']:,}", _kept(reasons(result))),
        ("removed", f"{told['removed']:,}", _removed(reasons(result), t)),
    ]
    widest = max(len(number) for _, number, _ in table)
    shown: list[str] = []
    for name, number, note in table:
        head = f"  {name:<12}{number:>{widest}}   "
        room = max(20, COLUMNS - len(head))
        shown += [(head if at == 0 else " " * len(head)) + part for at, part in enumerate(_wrapped(note, room))]
    shown = [line.rstrip() for line in shown]
    if written:
        shown += ["", *_files(written)]
    return [*shown, "", *_wrapped(_seconds({**result.seconds, **(beside or {})}), COLUMNS - 2, indent="  ")]


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    wrapped = textwrap.wrap(_kept_together(text), width)
    return [indent + line.replace("\N{NO-BREAK SPACE}", " ") for line in wrapped] or [""]


def _kept_together(text: str) -> str:
    """`t = 0.8`, `99.2 %` and `16 × 6` stay on one line."""
    return re.sub(r" (?=[=≥<×%])|(?<=[=≥<×]) ", "\N{NO-BREAK SPACE}", text)


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _inputs(result: Result) -> str:
    inputs = result.corpus.inputs
    first = inputs[0]
    name = "standard input" if first.path == "-" else PurePath(first.path).name or first.path
    named = name if len(inputs) == 1 else f"{len(inputs):,} inputs, {name} the first"
    column = f", column {first.text_column}" if first.text_column is not None else ""
    return f"{named}, {KINDS[first.format]}{column}"


def _documents(told: dict[str, Any]) -> str:
    notes = ["different texts"]
    if told["exact_duplicates"]:
        notes.append(_count(told["exact_duplicates"], "row repeats", "rows repeat") + " an earlier one")
    if told["empty"]:
        notes.append(_count(told["empty"], "row is empty", "rows are empty"))
    return "; ".join(notes)


def _candidates(result: Result) -> str:
    t = as_decimal(result.settings.threshold)
    if result.banding is None:
        return f"found by the exact join: every pair of documents at J ≥ {t}, none is missed"
    used, hashes = result.banding.bands * result.banding.rows, result.settings.sketching.num_perm
    by_hand = isinstance(result.settings.banding, ByHand)
    chosen = "set by hand" if by_hand else f"chosen for a {result.banding.rule}"
    about = "" if result.settings.sketching.independent else "about "
    return (
        f"pairs of documents that share a band: {result.banding.bands} bands × {result.banding.rows} rows "
        f"({used} of {hashes} hashes), {chosen}. A pair exactly at t = {t} "
        f"is found with a chance of {about}{_percent(chance_at_threshold(result))}"
    )


def _pairs(result: Result, told: dict[str, Any], t: str) -> str:
    how = {
        "exact": f"of documents at J ≥ {t}" + (", every candidate verified" if result.banding else ""),
        "estimate": f"of documents whose estimated J is ≥ {t}",
        "none": "of documents: every candidate, not verified",
    }[result.settings.verify]
    if told["pairs"] != told["document_pairs"]:
        how += f"; {told['pairs']:,} of rows, copies included"
    if told["pairs_listed"] != told["pairs"]:
        how += f", {told['pairs_listed']:,} of them listed"
    if told["buckets_unlisted"]:
        buckets = _count(told["buckets_unlisted"], "large bucket")
        how += f"; {told['pairs_not_examined']:,} pairs in {buckets} not examined"
    return how


def _clusters(told: dict[str, Any]) -> str:
    if not told["clusters"]:
        return ""
    return f"the largest has {told['largest_cluster']:,} rows; least J to a kept row {told['weakest'] or 1:.3f}"


def _kept(why: Reasons) -> str:
    notes = [f"{why.alone:,} in no cluster", f"{why.of_clusters:,} from clusters"]
    return ", ".join(notes + ([f"{why.empty:,} empty"] if why.empty else []))


def _removed(why: Reasons, t: str) -> str:
    notes = []
    if why.copies:
        notes.append(f"{why.copies:,} the same as the row kept")
    if why.near:
        notes.append(f"{why.near:,} like it, J ≥ {t}")
    if why.chained:
        notes.append(f"{why.chained:,} chained: like one that is like the row kept, but J < {t} to that row")
    return "; ".join(notes)


def _files(written: Sequence[Written]) -> list[str]:
    table = [(one.path, _count(one.rows, "row") if one.name != "manifest" else "", size(one.bytes)) for one in written]
    rows, sizes = (max(len(line[at]) for line in table) for at in (1, 2))
    names = [one.name for one in written]
    return [
        f"  {name:<12}{count:>{rows}}  {length:>{sizes}}   {'standard output' if path == '-' else path}"
        for name, (path, count, length) in zip(names, table, strict=True)
    ]


def _seconds(seconds: Mapping[str, float]) -> str:
    stages = ", ".join(f"{stage} {taken:.1f}" for stage, taken in seconds.items() if taken >= 0.05)
    total = sum(seconds.values())
    return f"{total:.1f} s" + (f": {stages}" if stages else "")


def _percent(chance: float) -> str:
    """99.2 %, and never 100 % for what is not certain."""
    for digits in (1, 2, 3):
        text = f"{100 * chance:.{digits}f}"
        if not text.startswith("100") or chance >= 1:
            return f"{text} %"
    return "over 99.999 %"
