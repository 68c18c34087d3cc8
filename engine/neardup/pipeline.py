"""The pipeline, one call a stage. Each stage looks first for what an earlier run left under the same key.

A key is a hash of the stage, its version, the settings it reads and the keys of what it reads: another threshold
finds the old signatures, another shingle length does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup import curve
from neardup.backends.base import Backend, Task, whole
from neardup.errors import Cancelled
from neardup.events import STAGES, Advanced, Event, StageStarted, Warned
from neardup.results import Clusters, Documents, Pairs, Result
from neardup.runs import Outcome, RunDirectory
from neardup.settings import Settings
from neardup.sources.corpus import Corpus
from neardup.stages import bands, clusters, documents, listing, verify
from neardup.store import Part, Stored, StoredRagged
from neardup.tasks import (
    NOBODY,
    BandEntries,
    Chunk,
    ComparePairs,
    FindBuckets,
    PairBuckets,
    ShingleSets,
    Signed,
    Sketch,
    read_buckets,
)

# A stage whose output changes for the same input gets a new number, and no old artifact is taken for a new one.
VERSIONS = {"signatures": 1, "documents": 1, "bands": 1, "sets": 1, "verify": 1}

ARTIFACT_BYTES = 64 * 2**20  # what one artifact may hold
PART_BYTES = 16 * 2**20  # band entries a part: sorted in memory, several at once
ROUND_BYTES = 512 * 2**20  # band entries on disk at once; more bands than that take several rounds
RANGE_BYTES = 48 * 2**20  # signatures and sets that one range of pairs may gather
RANGE_PAIRS = 1 << 17

C = TypeVar("C")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Sketches:
    """What the chunks left: over rows fingerprints, chars and local, over sketches signatures and shingles."""

    chunks: list[Chunk]
    key: str
    fingerprints: Stored
    chars: Stored
    local: Stored
    signatures: Stored
    shingles: Stored


@dataclass(frozen=True, slots=True)
class Numbered:
    """Documents; the sketch that signs each (sketch_rows int64[documents], ascending); how many shingles each has."""

    documents: Documents
    sketch_rows: NDArray[np.int64]
    signed: Signed
    shingles: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Candidates:
    """uint32[n, 2], sorted, in parts that fit one verification each."""

    key: str
    parts: tuple[Part, ...]
    buckets_unlisted: int
    pairs_not_examined: int


async def find(corpus: Corpus, settings: Settings, work: Work) -> Result:
    """The whole job, from slices to clusters."""
    banding = curve.chosen(settings)
    sketches = await signatures_of(corpus, settings, work)
    numbered = await documents_of(sketches, work)
    candidates = await candidates_of(numbered, sketches, banding, settings, work)
    pairs, accepted = await verified(candidates, numbered, sketches, settings, work)
    grouped = await clusters_of(pairs, accepted, candidates, numbered, sketches, settings, work)
    row_pairs = await work.here(partial(listing.row_pairs_of, pulse=work.pulse), numbered.documents, pairs, accepted)
    work.finish_stage()
    work.tidy()
    return Result(
        corpus=corpus,
        settings=settings,
        bands=banding.bands,
        rows_per_band=banding.rows,
        rule=banding.rule,
        documents=numbered.documents,
        pairs=pairs,
        accepted=accepted,
        row_pairs=row_pairs,
        clusters=grouped,
        chars=work.backend.store.read(sketches.chars),
        shingles=numbered.shingles,
        buckets_unlisted=candidates.buckets_unlisted,
        pairs_not_examined=candidates.pairs_not_examined,
        warnings=(*corpus.warnings, *work.warnings),
        seconds=dict(work.seconds),
        peak_memory_bytes=work.backend.peak_bytes(),
    )


async def signatures_of(corpus: Corpus, settings: Settings, work: Work) -> Sketches:
    chunks = _chunks(corpus, ARTIFACT_BYTES // (4 * settings.sketching.num_perm))
    key = key_of(
        "signatures", content_of(corpus), chunks, settings.normalising, settings.shingling, settings.sketching
    )
    work.start_stage("signatures", corpus.rows, "rows")
    task = Sketch(work.corpus_path, key, settings.normalising, settings.shingling, settings.sketching)
    outcomes = await work.journaled(key, task, list(enumerate(chunks)), units=corpus.rows)
    columns = {
        name: Stored(tuple(outcome.parts[name] for outcome in outcomes))
        for name in ("fingerprints", "chars", "local", "signatures", "shingles")
    }
    return Sketches(chunks, key, **columns)


async def documents_of(sketches: Sketches, work: Work) -> Numbered:
    """Group copies over all chunks, and say where each document's signature lies."""
    store = work.backend.store
    key = key_of("documents", sketches.key)
    work.used.add(key)

    def number() -> Numbered:
        # A text is empty where it has no code point; fingerprints alone do not tell.
        found = documents.grouped(store.read(sketches.fingerprints), store.read(sketches.chars) == 0)
        rows_of_chunks = np.array([chunk.stop - chunk.first for chunk in sketches.chunks])
        first_sketch = np.repeat(sketches.signatures.starts[:-1], rows_of_chunks)
        sketch_of_row = first_sketch + store.read(sketches.local)
        sketch_rows = sketch_of_row[found.first_row]
        stored = store.write(f"{key}/sketch_rows", 0, sketch_rows, durable=False)
        signed = Signed(sketches.signatures, Stored((stored,)))
        return Numbered(found, sketch_rows, signed, store.read(sketches.shingles)[sketch_rows])

    return await work.here(number)


async def candidates_of(
    numbered: Numbered, sketches: Sketches, banding: curve.Banding, settings: Settings, work: Work
) -> Candidates:
    key = key_of("bands", sketches.key, banding.bands, banding.rows, settings.bucket_limit)
    work.start_stage("bands", banding.bands, "bands")
    known = work.run.finished(key, 0)
    if known is None:
        known = await _banded(key, numbered, sketches, banding, settings, work)
        work.run.record(key, 0, known)
    work.used.add(key)
    parts = tuple(known.parts[name] for name in sorted(known.parts))
    unlisted, not_examined = known.counts["buckets_unlisted"], known.counts["pairs_not_examined"]
    if unlisted:
        work.warn(
            f"{unlisted:,} buckets hold more than {settings.bucket_limit:,} documents: {not_examined:,} pairs in them "
            "were not examined one by one; more rows a band or longer shingles part them"
        )
    return Candidates(key, parts, unlisted, not_examined)


async def _banded(
    key: str, numbered: Numbered, sketches: Sketches, banding: curve.Banding, settings: Settings, work: Work
) -> Outcome:
    """Keys, sorted by key, buckets, pairs; a few bands at a time where all of them would not fit."""
    store = work.backend.store
    scratch = f"{key}/scratch"
    numbering = await work.here(_numbering, numbered, sketches, scratch, store)
    entry_bytes = bands.ENTRY.itemsize * max(1, numbered.documents.distinct)
    bands_a_round = max(1, ROUND_BYTES // entry_bytes)
    rounds = [
        range(first, min(first + bands_a_round, banding.bands)) for first in range(0, banding.bands, bands_a_round)
    ]
    found: list[dict[str, Part]] = []
    for number, some in enumerate(rounds):
        share = 0.8 * len(some) / banding.bands
        name = f"{scratch}/entries-{number}"
        keyed = await work.map(
            BandEntries(name, some, banding.rows),
            [(i, *parts) for i, parts in enumerate(zip(sketches.signatures.parts, numbering, strict=True))],
            units=numbered.documents.distinct * len(some),
            share=share / 2,
        )
        parts = -(-entry_bytes * len(some) // PART_BYTES)
        merged = await work.exchange(f"{name}.merged", Stored(tuple(keyed)), "key", parts, share=share / 4)
        buckets = FindBuckets(f"{scratch}/buckets-{number}", banding.rows, numbered.signed)
        found += await work.map(buckets, list(enumerate(merged)), share=share / 4)

    def survey() -> tuple[bands.Unlisted, int, int]:
        all_buckets = [read_buckets(store, parts) for parts in found]
        unlisted = bands.unlisted_of(all_buckets, settings.bucket_limit, banding.bands)
        counts = [bands.not_examined(one, settings.bucket_limit) for one in all_buckets]
        return unlisted, sum(buckets for buckets, _ in counts), sum(pairs for _, pairs in counts)

    unlisted, buckets_unlisted, pairs_not_examined = await work.here(survey)
    pairing = PairBuckets(f"{scratch}/pairs", banding.rows, settings.bucket_limit, numbered.signed, unlisted)
    blocks = await work.map(pairing, list(enumerate(found)), share=0.2)

    def gather() -> dict[str, Part]:
        pairs = sorted_pairs([store.part(part) for some in blocks for part in some])
        cuts = _ranges(pairs, numbered.shingles, settings.sketching.num_perm)
        return {
            f"pairs-{position:05d}": store.write(f"{key}/pairs", position, pairs[first:stop])
            for position, (first, stop) in enumerate(cuts)
        }

    parts_of_pairs = await work.here(gather)
    work.run.drop(scratch)
    return Outcome(parts_of_pairs, {"buckets_unlisted": buckets_unlisted, "pairs_not_examined": pairs_not_examined})


async def verified(
    candidates: Candidates, numbered: Numbered, sketches: Sketches, settings: Settings, work: Work
) -> tuple[Pairs, NDArray[np.bool_]]:
    """Estimate and, where wanted, exact overlap and union of every candidate; and which of them are accepted.

    Star clusters choose by exact Jaccard: for them the accepted pairs are compared exactly whatever --verify says.
    """
    store = work.backend.store
    candidate_count = sum(part.rows for part in candidates.parts)
    work.start_stage("verify", candidate_count, "pairs")
    exact = settings.verify == "exact"
    pairs = await compared(candidates.key, candidates.parts, exact, numbered, sketches, settings, work)
    if exact:
        return pairs, verify.is_true(pairs.overlap, pairs.union, settings.threshold)
    num_perm = settings.sketching.num_perm
    if settings.verify == "estimate":
        accepted = verify.estimate_passes(pairs.agree, num_perm, settings.threshold)
    else:
        accepted = np.ones(len(pairs), np.bool_)
    if settings.clusters == "star":
        chosen = np.stack([pairs.left[accepted], pairs.right[accepted]], axis=1)
        key = key_of("verify", candidates.key, settings.verify, settings.threshold)
        work.used.add(key)
        parts = await work.here(_stored_pairs, chosen, key, numbered, settings, store)
        exactly = await compared(key, parts, True, numbered, sketches, settings, work)
        pairs.overlap[accepted] = exactly.overlap
        pairs.union[accepted] = exactly.union
    return pairs, accepted


async def clusters_of(
    pairs: Pairs,
    accepted: NDArray[np.bool_],
    candidates: Candidates,
    numbered: Numbered,
    sketches: Sketches,
    settings: Settings,
    work: Work,
) -> Clusters:
    work.start_stage("clusters", len(numbered.documents.document_of_row), "rows")
    found = numbered.documents
    kept = await work.here(clusters.clustered, found, pairs, accepted, settings.clusters, None, work.pulse)
    needed = await work.here(clusters.missing, found, pairs, kept)
    key = key_of("verify", candidates.key, settings.verify, settings.threshold, settings.clusters, "to kept")
    work.used.add(key)
    parts = await work.here(_stored_pairs, needed, key, numbered, settings, work.backend.store)
    extra = await compared(key, parts, True, numbered, sketches, settings, work)
    return await work.here(clusters.clusters_of, found, pairs, kept, needed, extra.overlap, extra.union)


async def compared(
    pairs_key: str,
    parts: Sequence[Part],
    exactly: bool,
    numbered: Numbered,
    sketches: Sketches,
    settings: Settings,
    work: Work,
) -> Pairs:
    """Agreeing slots and, `exactly`, overlap and union of the pairs in `parts`."""
    store = work.backend.store
    pairs = np.concatenate([np.zeros((0, 2), np.uint32), *(store.part(part) for part in parts)])
    sets, members = None, None
    if exactly and len(pairs):
        sets, members = await _sets(pairs_key, pairs, numbered, sketches, settings, work)
    key = key_of("verify", pairs_key, exactly)
    task = ComparePairs(key, numbered.signed, sets, members)
    outcomes = await work.journaled(key, task, list(enumerate(parts)), units=len(pairs))
    done = [store.part(outcome.parts["compared"]) for outcome in outcomes]
    columns = np.concatenate([np.zeros((0, 3), np.uint32), *done])
    return Pairs(*np.ascontiguousarray(pairs.T), *np.ascontiguousarray(columns.T))


async def _sets(
    pairs_key: str, pairs: NDArray[np.uint32], numbered: Numbered, sketches: Sketches, settings: Settings, work: Work
) -> tuple[StoredRagged, Stored]:
    """The shingle sets of all documents that stand in a pair. Documents, chunks and sets are in one order."""
    store = work.backend.store
    key = key_of("sets", pairs_key)

    def wanted() -> tuple[Part, list[tuple[int, Chunk, Part]]]:
        members = np.unique(pairs)
        rows = numbered.documents.first_row[members]
        starts = np.array([chunk.row for chunk in sketches.chunks])
        cuts = np.append(np.searchsorted(rows, starts), len(rows))
        pieces = [
            (position, chunk, store.write(f"{key}/wanted", position, rows[first:stop] - chunk.row, durable=False))
            for position, (chunk, (first, stop)) in enumerate(zip(sketches.chunks, pairwise(cuts), strict=True))
            if first < stop
        ]
        return store.write(f"{key}/members", 0, members, durable=False), pieces

    members, pieces = await work.here(wanted)
    task = ShingleSets(work.corpus_path, key, settings.normalising, settings.shingling)
    outcomes = await work.journaled(key, task, pieces)
    sets = StoredRagged(
        tuple(outcome.parts["values"] for outcome in outcomes), tuple(outcome.parts["offsets"] for outcome in outcomes)
    )
    return sets, Stored((members,))


@dataclass
class Work:
    """What every stage needs to get its work done and to tell of it; also what the run has used and said so far."""

    backend: Backend
    run: RunDirectory
    corpus_path: str
    tell: Callable[[Event], None]
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    _stage: str = ""
    _total: int = 0
    _began: float = 0.0
    _done_share: float = 0.0
    _stopped: bool = False

    def start_stage(self, stage: str, total: int, unit: str) -> None:
        self.finish_stage()
        self._stage, self._total, self._began, self._done_share = stage, total, time.perf_counter(), 0.0
        self.tell(StageStarted(stage, STAGES.index(stage) + 1, len(STAGES), total, unit))

    def finish_stage(self) -> None:
        if self._stage:
            self.seconds[self._stage] = time.perf_counter() - self._began
            self.tell(Advanced(self._stage, self._total, self._total, self.seconds[self._stage]))
            self._stage = ""

    def warn(self, text: str) -> None:
        self.warnings.append(text)
        self.tell(Warned(text))

    async def map(self, task: Task[C, R], chunks: Sequence[C], *, units: int = 0, share: float = 1.0) -> list[R]:
        """All results in the order of the chunks. Progress counts the pulses, or the chunks where `units` is 0."""
        return await self._gather(self.backend.map(task, chunks), len(chunks), units, share)

    async def exchange(self, name: str, stored: Stored, by: str, parts: int, *, share: float) -> list[Part]:
        return await self._gather(self.backend.exchange(name, stored, by, parts), parts, 0, share)

    async def journaled(
        self, stage: str, task: Task[C, Outcome], chunks: Sequence[C], *, units: int = 0
    ) -> list[Outcome]:
        """Like `map`, but chunks that an earlier run finished are not done again; each finish is recorded at once."""
        self.used.add(stage)
        known = {index: self.run.finished(stage, index) for index in range(len(chunks))}
        finished = {index: outcome for index, outcome in known.items() if outcome is not None}
        todo = [index for index in range(len(chunks)) if index not in finished]
        self._done_share = len(finished) / max(1, len(chunks))
        async with self._ticking(units, self._done_share, 1 - self._done_share, len(todo)) as arrived:
            async for position, outcome in self.backend.map(task, [chunks[index] for index in todo]):
                self.run.record(stage, todo[position], outcome)
                finished[todo[position]] = outcome
                arrived()
        return whole(finished)

    async def here(self, work: Callable[..., R], *arguments: Any) -> R:
        """Run something that needs all of the corpus in a thread; kernels give up the GIL, so the loop goes on."""
        thread = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            self._stopped = True  # the thread sees it at its next pulse; nobody waits for what has none
            thread.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise

    def pulse(self, done: int) -> None:
        """For what `here` runs: it stops where this is called."""
        if self._stopped:
            raise Cancelled

    def tidy(self) -> None:
        self.run.tidy(sorted(self.used))

    async def _gather(self, results: AsyncIterator[tuple[int, R]], count: int, units: int, share: float) -> list[R]:
        finished: dict[int, R] = {}
        async with self._ticking(units, self._done_share, share, count) as arrived:
            async for index, result in results:
                finished[index] = result
                arrived()
        self._done_share += share
        return whole(finished)

    @contextlib.asynccontextmanager
    async def _ticking(self, units: int, before: float, share: float, count: int) -> AsyncIterator[Callable[[], None]]:
        """Tell ten times a second how far the stage is: `before` and a part of `share`."""
        chunks = 0

        def arrived() -> None:
            nonlocal chunks
            chunks += 1

        async def tick() -> None:
            while True:
                await asyncio.sleep(0.1)
                part = self.backend.units() / units / share if units and share else chunks / max(1, count)
                done = int(self._total * (before + share * min(1.0, part)))
                self.tell(Advanced(self._stage, done, self._total, time.perf_counter() - self._began))

        ticker = asyncio.create_task(tick())
        try:
            yield arrived
        finally:
            ticker.cancel()


def key_of(stage: str, *parts: object) -> str:
    """`stage-` and 16 hex digits that name the stage's version and all that it reads."""
    encoded = msgspec.json.encode([VERSIONS[stage], *parts])
    return f"{stage}-{hashlib.sha256(encoded).hexdigest()[:16]}"


def content_of(corpus: Corpus) -> list[object]:
    """What a corpus says, wherever it lies and whenever it was written."""
    return [
        [one.checksum, one.format, one.encoding, one.delimiter, one.text_column, one.column, one.rows, one.files]
        for one in corpus.inputs
    ]


def sorted_pairs(blocks: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """Pairs of all blocks, sorted by (left, right): uint32[n, 2]."""
    if not blocks:
        return np.zeros((0, 2), np.uint32)
    pairs = np.concatenate(blocks)
    keys = pairs[:, 0].astype(np.uint64) << np.uint64(32) | pairs[:, 1]
    keys.sort()
    return np.stack([keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)], axis=1).astype(np.uint32)


def _chunks(corpus: Corpus, rows: int) -> list[Chunk]:
    """Slices, cut further where their signatures would not fit one artifact."""
    return [
        Chunk(number, first, min(first + rows, piece.rows), piece.first_row + first)
        for number, piece in enumerate(corpus.slices)
        for first in range(0, piece.rows, rows)
    ]


def _numbering(numbered: Numbered, sketches: Sketches, name: str, store: Any) -> list[Part]:
    """A chunk: uint32[sketches], the document that each sketch is the first of, or NOBODY."""
    numbers = np.full(sketches.signatures.rows, NOBODY)
    numbers[numbered.sketch_rows] = np.arange(len(numbered.documents), dtype=np.uint32)
    if numbered.documents.empty >= 0:
        numbers[numbered.sketch_rows[numbered.documents.empty]] = NOBODY
    starts = sketches.signatures.starts
    return [
        store.write(f"{name}/numbering", position, numbers[first:stop], durable=False)
        for position, (first, stop) in enumerate(pairwise(starts))
    ]


def _stored_pairs(
    pairs: NDArray[np.uint32], key: str, numbered: Numbered, settings: Settings, store: Any
) -> tuple[Part, ...]:
    cuts = _ranges(pairs, numbered.shingles, settings.sketching.num_perm)
    return tuple(
        store.write(f"{key}/pairs", position, pairs[first:stop], durable=False)
        for position, (first, stop) in enumerate(cuts)
    )


def _ranges(pairs: NDArray[np.uint32], shingles: NDArray[np.int64], num_perm: int) -> list[tuple[int, int]]:
    """Cut sorted pairs where the signatures and sets that a range gathers would pass RANGE_BYTES.

    Counts each right end, and each left end where it is new: an upper bound, as repeated right ends are gathered once.
    """
    if not len(pairs):
        return []
    cost = 4 * num_perm + 8 * shingles
    new_left = np.append(True, pairs[1:, 0] != pairs[:-1, 0])
    spent = np.cumsum(cost[pairs[:, 1]] + new_left * cost[pairs[:, 0]])
    cuts = [0]
    while cuts[-1] < len(pairs):
        before = spent[cuts[-1] - 1] if cuts[-1] else 0
        stop = int(np.searchsorted(spent, before + RANGE_BYTES, side="right"))
        cuts.append(min(max(stop, cuts[-1] + 1), cuts[-1] + RANGE_PAIRS, len(pairs)))
    return list(pairwise(cuts))
