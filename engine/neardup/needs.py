"""What a run will take, told before it begins: room on the disk, memory, time.

Counted from the scan alone, so before anything is known of the pairs: what depends on them (the shingle sets of the
documents in candidates, the candidates themselves) is set at what example corpora and package descriptions have, a
third of the documents; `check_sets` asks again once the candidates are known.
"""

from __future__ import annotations

from dataclasses import dataclass

from neardup.budget import Budget
from neardup.errors import OutputError, SettingsError
from neardup.settings import ONE, Settings
from neardup.sizes import size
from neardup.sources.corpus import Corpus

ENTRY_BYTES = 16  # a key, a band and a document
ROW_BYTES = 100  # what numbering and clustering hold of a row at most, in the process that owns the workers
ON_DISK_A_ROW = 160  # prints, numbers, clusters: all that is kept of a row beside its signature
SHARE_IN_PAIRS = 1 / 3  # of the documents, in some candidate
WORD = 6  # bytes a word, with its space

# Seconds of one core of an AMD EPYC of 2021; benchmarks/kernels.py measures them.
SECONDS_A_BYTE = 12e-9  # scanned, read, normalised, cut into shingles
SECONDS_A_HASH = 0.2e-9
SECONDS_A_FAST_SHINGLE = 7e-9
SECONDS_AN_ENTRY = 90e-9
SECONDS_A_SHINGLE_IN_SETS = 30e-9
SECONDS_A_ROW = 1e-6
SECONDS_A_SHINGLE_SORTED = 8e-9
SECONDS_A_SHINGLE_JOINED = 400e-9  # of those that may differ


@dataclass(frozen=True, slots=True)
class Needs:
    """disk and memory in bytes; `certain` of the disk whatever the pairs; seconds on the workers of the budget."""

    disk: int
    certain: int
    memory: int
    seconds: float


def needs_of(corpus: Corpus, settings: Settings, bands: int, budget: Budget) -> Needs:
    """What a run from the beginning takes, on a machine like the one measured.

    Disk and memory within a factor of two (10⁴ to 10⁷ documents). So are the seconds up to 10⁶; more candidates than
    documents come on top, and cannot be foretold from the scan: 65,000,000 of them made four times the seconds.
    """
    rows = corpus.rows
    text = sum(one.size for one in corpus.inputs)
    shingles = text if settings.shingling.kind == "char" else text // WORD
    hashes = settings.sketching.num_perm
    if settings.find == "exact":
        return _needs_of_exact(rows, text, shingles, settings, budget)
    signatures = rows * (4 * hashes + ON_DISK_A_ROW)
    entries = 2 * ENTRY_BYTES * rows * bands
    sets = int(8 * shingles * SHARE_IN_PAIRS)
    fast = settings.sketching.family == "fast"
    sketching = shingles * (SECONDS_A_FAST_SHINGLE if fast else hashes * SECONDS_A_HASH)
    seconds = (
        text * SECONDS_A_BYTE
        + sketching
        + rows * bands * SECONDS_AN_ENTRY
        + shingles * SHARE_IN_PAIRS * SECONDS_A_SHINGLE_IN_SETS
        + rows * SECONDS_A_ROW
    )
    return Needs(
        disk=signatures + max(entries, sets),
        certain=signatures + entries // bands,
        memory=budget.least + rows * ROW_BYTES,
        seconds=seconds / max(1, budget.workers),
    )


def _needs_of_exact(rows: int, text: int, shingles: int, settings: Settings, budget: Budget) -> Needs:
    """The join of documents that resemble few others; below a threshold of 0.7 common shingles cost many times it."""
    differing = (ONE - settings.threshold) / (ONE + settings.threshold)
    seconds = (
        text * SECONDS_A_BYTE
        + shingles * (SECONDS_A_SHINGLE_SORTED + differing * SECONDS_A_SHINGLE_JOINED)
        + rows * SECONDS_A_ROW
    )
    sets = rows * ON_DISK_A_ROW + 8 * shingles
    signed = int(rows * 4 * settings.sketching.num_perm * SHARE_IN_PAIRS)
    index = 2 * budget.index_bytes * max(1, budget.workers)
    return Needs(
        disk=sets + signed,
        certain=sets,
        memory=budget.least + rows * ROW_BYTES + min(index, 24 * shingles),
        seconds=seconds / max(1, budget.workers),
    )


def check(needs: Needs, budget: Budget, free: int, where: str) -> None:
    """OutputError or SettingsError where a run cannot fit, before it begins."""
    if needs.certain > free:
        raise OutputError(
            f"the run needs {size(needs.certain)} in {where} at the least, and {size(free)} are free there: make room, "
            "name another directory with --run-dir, or ask for shorter signatures with --num-perm"
        )
    if needs.memory > budget.memory:
        raise SettingsError(
            f"the run needs about {size(needs.memory)} of memory on {_workers(budget.workers)}, and "
            f"{size(budget.memory)} are allowed: allow more with --memory{_fewer(needs, budget)}"
        )


def check_sets(needed: int, documents: int, free: int, where: str) -> None:
    """OutputError where the shingle sets of the documents in candidates do not fit, before they are made."""
    if needed > free:
        raise OutputError(
            f"the shingles of {documents:,} documents that stand in a candidate need {size(needed)} in {where}, and "
            f"{size(free)} are free there: make room, name another directory with --run-dir, ask for fewer candidates "
            "with more rows a band, or for --verify estimate"
        )


def _fewer(needs: Needs, budget: Budget) -> str:
    """The most workers that fit, as a way out, if any number does."""
    for workers in range(budget.workers - 1, -1, -1):
        needed = needs.memory - budget.least + Budget(budget.memory, workers).least
        if needed <= budget.memory:
            return f", or ask for --workers {workers}, which needs {size(needed)}"
    return ""


def _workers(count: int) -> str:
    return "one process" if not count else "1 worker" if count == 1 else f"{count} workers"
