"""The pipeline, one call a stage. Each stage looks first for what an earlier run left under the same key.

What grows with the documents, and with their pairs, lies in the run directory and is read through maps, by ranges of
rows, of keys or of pairs; the parent holds up to some 100 bytes a row while it numbers documents and finds clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup import curve
from neardup.artifacts import PAIRS_A_PART, Candidates, Lookup, Numbered, Sketches, content_of, key_of
from neardup.events import Planned
from neardup.exchange import even_borders
from neardup.joining import joined_of
from neardup.memory import private_bytes
from neardup.needs import ENTRY_BYTES, check, check_sets, needs_of
from neardup.results import Banding, Clusters, Documents, Pairs, Result, RowPairs
from neardup.runs import Outcome
from neardup.settings import Settings
from neardup.sources.corpus import Corpus
from neardup.stages import bands, clusters, documents
from neardup.store import LocalStore, Part, Stored, StoredRagged
from neardup.tasks import (
    NOBODY,
    Accept,
    BandEntries,
    Chunk,
    ComparePairs,
    FindBuckets,
    FindRepeats,
    Listed,
    ListRows,
    PairBuckets,
    Sets,
    ShingleSets,
    Signed,
    Sketch,
    Spread,
    packed,
    unpacked,
)
from neardup.work import Work

ARTIFACT_BYTES = 64 * 2**20  # what one artifact may hold
ROUND_BYTES = 4 * 2**30  # band entries on disk at once, for a moment twice; more bands than that take several rounds
ROW_PAIRS_A_PART = 1 << 20
ROWS_A_LISTING = 1 << 20  # rows whose copies are listed by one task


async def find(corpus: Corpus, settings: Settings, work: Work) -> Result:
    """The whole job, from slices to clusters."""
    banding = None if settings.find == "exact" else curve.chosen(settings)
    store = work.backend.store
    planned(corpus, settings, banding, work)
    sketches = await sketches_of(corpus, settings, work)
    numbered = await documents_of(sketches, work)
    if banding is None:
        candidates, lookup = await joined_of(numbered, sketches, settings, work)
    else:
        assert sketches.signatures is not None
        lookup = Lookup(Signed(sketches.signatures, numbered.sketch_rows))
        candidates = await candidates_of(numbered, sketches, banding, settings, work)
    verified = await verified_of(candidates, lookup, numbered, sketches, settings, work)
    grouped = await clusters_of(verified, candidates, lookup, numbered, sketches, settings, work)
    row_pairs = await row_pairs_of(verified, candidates, numbered, settings, work)
    work.finish_stage()
    work.tidy()
    return Result(
        corpus=corpus,
        settings=settings,
        banding=banding,
        documents=numbered.documents,
        pairs=verified.pairs,
        accepted=verified.accepted,
        row_pairs=row_pairs,
        clusters=grouped,
        chars=store.part(numbered.chars),
        shingles=store.part(numbered.shingles),
        buckets_unlisted=candidates.buckets_unlisted,
        pairs_not_examined=candidates.pairs_not_examined,
        warnings=(*corpus.warnings, *work.warnings),
        seconds=dict(work.seconds),
        peak_memory_bytes=max(work.backend.peak_bytes(), private_bytes()),
    )


def planned(corpus: Corpus, settings: Settings, banding: Banding | None, work: Work) -> None:
    """Tell what the run will take; OutputError or SettingsError where that is more than there is."""
    needs = needs_of(corpus, settings, banding.bands if banding else 0, work.budget)
    # What an earlier run left counts as room: it is used, or it goes.
    check(needs, work.budget, work.run.free_bytes() + work.run.used_bytes(), str(work.run.path))
    work.tell(Planned(needs.disk, needs.memory, needs.seconds, str(work.run.path)))


async def sketches_of(corpus: Corpus, settings: Settings, work: Work) -> Sketches:
    """Signatures; or, where the exact join finds the pairs, the sets themselves."""
    exact = settings.find == "exact"
    chunks = _chunks(corpus, ARTIFACT_BYTES // (4 * settings.sketching.num_perm))
    reads = (content_of(corpus), chunks, settings.normalising, settings.shingling)
    key = key_of("shingled", *reads) if exact else key_of("signatures", *reads, settings.sketching)
    work.start_stage("shingles" if exact else "signatures", corpus.rows, "rows")
    sketching = None if exact else settings.sketching
    task = Sketch(work.corpus_path, key, settings.normalising, settings.shingling, sketching)
    outcomes = await work.journaled(key, task, list(enumerate(chunks)), units=corpus.rows)

    def column(name: str) -> tuple[Part, ...]:
        return tuple(outcome.parts[name] for outcome in outcomes)

    return Sketches(
        chunks,
        key,
        prints=Stored(column("prints")),
        chars=Stored(column("chars")),
        local=Stored(column("local")),
        shingles=Stored(column("shingles")),
        signatures=None if exact else Stored(column("signatures")),
        sets=StoredRagged(column("values"), column("offsets")) if exact else None,
    )


async def documents_of(sketches: Sketches, work: Work) -> Numbered:
    """Group copies over all chunks, and say where each document's signature lies."""
    store = work.backend.store
    key = key_of("documents", sketches.key)
    known = work.known(key)
    if known is None:
        borders = even_borders(work.budget.parts(24 * sketches.prints.rows))
        united = await work.exchange(f"{key}/scratch/united", sketches.prints, borders)
        repeats = await work.map(FindRepeats(f"{key}/scratch/repeats"), list(enumerate(united)))
        known = await work.here(partial(_numbered, key, sketches, Stored(tuple(repeats)), store, work.pulse))
        work.run.drop(f"{key}/scratch")
        work.run.record(key, 0, known)
    parts = known.parts
    found = Documents(
        document_of_row=store.part(parts["document_of_row"]),
        first_row=store.part(parts["first_row"]),
        rows_by_document=store.part(parts["rows_by_document"]),
        offsets=store.part(parts["offsets"]),
        empty=known.counts["empty"],
    )
    return Numbered(
        found,
        rows_by_document=parts["rows_by_document"],
        offsets=parts["offsets"],
        sketch_rows=parts["sketch_rows"],
        shingles=parts["shingles"],
        chars=parts["chars"],
        numbering=tuple(parts[f"numbering-{number:05d}"] for number in range(len(sketches.chunks))),
    )


def _numbered(
    key: str, sketches: Sketches, repeats: Stored, store: LocalStore, pulse: Callable[[int], None]
) -> Outcome:
    """Number the documents by their first row. Holds some 25 bytes a row."""
    rows = sketches.chars.rows
    chunks = [(chunk.row, chunk.row + chunk.stop - chunk.first) for chunk in sketches.chunks]
    firsts = [store.part(part)[:, 2].astype(np.int64) for part in sketches.prints.parts]

    is_first = np.zeros(rows, np.bool_)
    for first in firsts:
        is_first[first] = True
    for part in repeats.parts:
        is_first[store.part(part)[:, 0]] = False
    number = np.cumsum(is_first) - 1  # of the rows that are first; the others follow
    for part in repeats.parts:
        repeating, repeated = store.part(part).T
        number[repeating] = number[repeated]
    pulse(0)

    parts: dict[str, Part] = {}

    def keep(name: str, array: NDArray[Any]) -> NDArray[Any]:
        parts[name] = store.write(f"{key}/{name}", 0, array)
        return store.part(parts[name])

    keep("first_row", np.flatnonzero(is_first))
    empty, sketch_rows, sketch_sizes, before = -1, [], [], 0
    for position, ((start, stop), first) in enumerate(zip(chunks, firsts, strict=True)):
        mine = is_first[first]
        sketch_rows.append(before + np.flatnonzero(mine))
        sketch_sizes.append(store.part(sketches.shingles.parts[position])[mine])
        before += len(first)
        of_sketch = number[first]
        is_empty = store.part(sketches.shingles.parts[position]) == 0
        if is_empty.any():
            empty = int(of_sketch[np.argmax(is_empty)])
        numbering = np.where(mine & ~is_empty, of_sketch, int(NOBODY)).astype(np.uint32)
        parts[f"numbering-{position:05d}"] = store.write(f"{key}/numbering", position, numbering)
        number[start:stop] = of_sketch[store.part(sketches.local.parts[position])]
        pulse(0)
    keep("sketch_rows", np.concatenate(sketch_rows))
    keep("shingles", np.concatenate(sketch_sizes))
    del is_first, firsts, sketch_rows, sketch_sizes
    chars = (store.part(part) for part in sketches.chars.parts)
    parts["chars"] = store.write_blocks(f"{key}/chars", rows, np.dtype(np.int64), chars)
    document_of_row = keep("document_of_row", number)
    del number
    rows_by_document, offsets = documents.rows_of_documents(
        document_of_row, parts["first_row"].rows, pulse
    )
    keep("rows_by_document", rows_by_document)
    keep("offsets", offsets)
    return Outcome(parts, {"empty": empty})


async def candidates_of(
    numbered: Numbered, sketches: Sketches, banding: Banding, settings: Settings, work: Work
) -> Candidates:
    key = key_of("bands", sketches.key, banding.bands, banding.rows, settings.bucket_limit)
    work.start_stage("bands", banding.bands, "bands")
    known = work.known(key)
    if known is None:
        known = await _banded(key, numbered, sketches, banding, settings, work)
        work.run.record(key, 0, known)
    parts = tuple(known.parts[name] for name in sorted(known.parts))
    unlisted, not_examined = known.counts["buckets_unlisted"], known.counts["pairs_not_examined"]
    if unlisted:
        work.warn(
            f"{unlisted:,} buckets hold more than {settings.bucket_limit:,} documents: {not_examined:,} pairs in them "
            "were not examined one by one; more rows a band or longer shingles part them"
        )
    return Candidates(key, parts, unlisted, not_examined)


async def _banded(
    key: str, numbered: Numbered, sketches: Sketches, banding: Banding, settings: Settings, work: Work
) -> Outcome:
    """Keys, sorted by key, buckets, pairs; a few bands at a time where all of them would not fit.

    Each step is journaled: a run that was stopped goes on at the chunk.
    """
    store, distinct = work.backend.store, max(1, numbered.documents.distinct)
    room = min(ROUND_BYTES, work.run.free_bytes() // 3)
    bands_a_round = max(1, min(room // (ENTRY_BYTES * distinct), banding.bands))
    parts = work.budget.parts(ENTRY_BYTES * distinct * bands_a_round)
    scratch = f"{key}/scratch/{bands_a_round}-{parts}"  # how the work is cut is part of its name
    buckets: list[Outcome] = []
    for first in range(0, banding.bands, bands_a_round):
        some = range(first, min(first + bands_a_round, banding.bands))
        name = f"{scratch}/{first:05d}"
        buckets += await _buckets(name, some, parts, numbered, sketches, banding, settings, work)
    members, smallest = await work.here(_unlisted, buckets, scratch, store)
    assert sketches.signatures is not None
    spread = Spread.of(1, len(numbered.documents))
    pairing = PairBuckets(
        f"{scratch}/pairs", banding.bands, banding.rows, settings.bucket_limit,
        Signed(sketches.signatures, numbered.sketch_rows), members, smallest, spread,
    )  # fmt: skip
    chunks = [(number, outcome.parts) for number, outcome in enumerate(buckets)]
    blocks = await work.journaled(f"{scratch}/pairs", pairing, chunks, share=0.2)
    count = sum(part.rows for part in spread.stored(blocks).parts)
    borders = spread.borders(blocks, work.budget.records_a_part(count, PAIRS_A_PART), store)
    pairs = await work.exchange(f"{key}/pairs", spread.stored(blocks), borders, consume=True, share=0.05)
    work.run.drop(f"{key}/scratch")
    counts = {
        name: sum(outcome.counts[name] for outcome in buckets) for name in ("buckets_unlisted", "pairs_not_examined")
    }
    return Outcome({f"{number:05d}": part for number, part in enumerate(pairs) if part.rows}, counts)


async def _buckets(
    name: str, some: range, parts: int, numbered: Numbered, sketches: Sketches, banding: Banding,
    settings: Settings, work: Work,
) -> list[Outcome]:  # fmt: skip
    """The buckets of some bands: an outcome a part."""
    distinct = numbered.documents.distinct
    assert sketches.signatures is not None
    share = 0.75 * len(some) / banding.bands
    united = work.known(f"{name}/united")
    if united is None:
        entries = await work.journaled(
            f"{name}/entries",
            BandEntries(f"{name}/entries", some, banding.rows),
            [(i, *both) for i, both in enumerate(zip(sketches.signatures.parts, numbered.numbering, strict=True))],
            units=distinct * len(some),
            share=0.4 * share,
        )
        stored = Stored(tuple(outcome.parts["entries"] for outcome in entries))
        merged = await work.exchange(f"{name}/united", stored, even_borders(parts), consume=True, share=0.3 * share)
        united = Outcome({f"{number:05d}": part for number, part in enumerate(merged)})
        work.run.record(f"{name}/united", 0, united)
    task = FindBuckets(
        f"{name}/buckets", banding.rows, settings.bucket_limit, Signed(sketches.signatures, numbered.sketch_rows)
    )
    chunks = list(enumerate(part for _, part in sorted(united.parts.items())))
    return await work.journaled(f"{name}/buckets", task, chunks, share=0.3 * share)


def _unlisted(buckets: Sequence[Outcome], name: str, store: LocalStore) -> tuple[Part, Part]:
    """What every part must know of the unlisted buckets in the others."""
    of_parts = [bands.Unlisted(store.part(one.parts["members"]), store.part(one.parts["smallest"])) for one in buckets]
    all_of_them = bands.merged(of_parts)
    return store.write(f"{name}/members", 0, all_of_them.members), store.write(
        f"{name}/smallest", 0, all_of_them.smallest
    )


@dataclass(frozen=True, slots=True)
class Verified:
    """The candidates as compared; `pairs` and `accepted` are mapped, `parts` and `compared` what they are made of."""

    pairs: Pairs
    accepted: NDArray[np.bool_]
    accept: Accept
    parts: tuple[Part, ...]
    compared: tuple[Part, ...]


async def verified_of(
    candidates: Candidates, lookup: Lookup, numbered: Numbered, sketches: Sketches, settings: Settings, work: Work
) -> Verified:
    """Estimate and, where wanted, exact overlap and union of every candidate; and which of them are accepted.

    Star clusters choose by exact Jaccard: for them the accepted pairs are compared exactly whatever --verify says.
    """
    store = work.backend.store
    work.start_stage("verify", len(candidates), "pairs")
    accept = Accept(settings.verify, settings.sketching.num_perm, settings.threshold)
    exact = settings.verify == "exact"
    compared = await compared_of(candidates.key, candidates.parts, exact, lookup, numbered, sketches, settings, work)
    key = key_of("verify", candidates.key, settings.verify, settings.threshold, settings.clusters)
    work.used.add(key)
    if settings.clusters == "star" and not exact:
        chosen = await work.here(_accepted_parts, f"{key}/accepted", candidates.parts, compared, accept, store)
        exactly = await compared_of(key, chosen, True, lookup, numbered, sketches, settings, work)
        compared = await work.here(_overlaid, f"{key}/overlaid", compared, exactly, accept, store)
    parts = candidates.parts
    if settings.find == "exact":  # which others were compared depends on how the join was cut
        parts, compared = await work.here(_true_only, key, parts, compared, accept, store)
    pairs, accepted = await work.here(_columns, key, parts, compared, accept, store)
    return Verified(pairs, accepted, accept, parts, tuple(compared))


def _true_only(
    key: str, parts: Sequence[Part], compared: Sequence[Part], accept: Accept, store: LocalStore
) -> tuple[tuple[Part, ...], list[Part]]:
    accepted = [accept(store.part(found)) for found in compared]
    return (
        tuple(store.write(f"{key}/pairs", at, store.part(parts[at])[true]) for at, true in enumerate(accepted)),
        [store.write(f"{key}/compared", at, store.part(compared[at])[true]) for at, true in enumerate(accepted)],
    )


def _accepted_parts(
    name: str, parts: Sequence[Part], compared: Sequence[Part], accept: Accept, store: LocalStore
) -> list[Part]:
    return [
        store.write(name, number, store.part(pairs)[accept(store.part(found))])
        for number, (pairs, found) in enumerate(zip(parts, compared, strict=True))
    ]


def _overlaid(
    name: str, compared: Sequence[Part], exactly: Sequence[Part], accept: Accept, store: LocalStore
) -> list[Part]:
    """The compared pairs with overlap and union where they are accepted."""
    parts = []
    for number, (found, exact) in enumerate(zip(compared, exactly, strict=True)):
        columns = store.part(found).copy()
        columns[accept(columns)] = store.part(exact)
        parts.append(store.write(name, number, columns))
    return parts


def _columns(
    key: str, parts: Sequence[Part], compared: Sequence[Part], accept: Accept, store: LocalStore
) -> tuple[Pairs, NDArray[np.bool_]]:
    """The columns of all pairs, each in a file, mapped."""
    count = sum(part.rows for part in parts)

    def column(name: str, blocks: Iterator[NDArray[Any]], dtype: type = np.uint32) -> NDArray[Any]:
        return store.part(store.write_blocks(f"{key}/{name}", count, np.dtype(dtype), blocks))

    left = column("left", (unpacked(store.part(part)[:, 0])[0] for part in parts))
    right = column("right", (unpacked(store.part(part)[:, 0])[1] for part in parts))
    agree, overlap, union = (
        column(name, (store.part(part)[:, at] for part in compared))
        for at, name in enumerate(("agree", "overlap", "union"))
    )
    accepted = column("is_accepted", (accept(store.part(part)) for part in compared), np.bool_)
    return Pairs(left, right, agree, overlap, union), accepted


async def clusters_of(
    verified: Verified, candidates: Candidates, lookup: Lookup, numbered: Numbered, sketches: Sketches,
    settings: Settings, work: Work,
) -> Clusters:  # fmt: skip
    store = work.backend.store
    work.start_stage("clusters", len(numbered.documents.document_of_row), "rows")
    found = numbered.documents
    key = key_of("clusters", candidates.key, settings.verify, settings.threshold, settings.clusters)
    work.used.add(key)
    kept = await work.here(
        clusters.clustered, found, verified.pairs, verified.accepted, settings.clusters, None, work.pulse
    )
    needed = await work.here(clusters.missing, found, verified.pairs, kept)
    parts = [
        store.write(f"{key}/needed", number, packed(needed[first : first + PAIRS_A_PART])[:, None])
        for number, first in enumerate(range(0, len(needed), PAIRS_A_PART))
    ]
    compared = await compared_of(key, parts, True, lookup, numbered, sketches, settings, work)

    def finished() -> Clusters:
        extra = np.concatenate([np.zeros((0, 3), np.uint32), *(store.part(part) for part in compared)])
        done = clusters.clusters_of(found, verified.pairs, kept, needed, extra[:, 1], extra[:, 2])
        return Clusters(*(store.part(store.write(f"{key}/{name}", 0, getattr(done, name))) for name in _CLUSTERS))

    return await work.here(finished)


_CLUSTERS = ("label", "kept", "overlap", "union")


async def row_pairs_of(
    verified: Verified, candidates: Candidates, numbered: Numbered, settings: Settings, work: Work
) -> RowPairs:
    """The accepted pairs as pairs of rows, sorted, mapped."""
    store = work.backend.store
    cut = [part.checksum for part in (*verified.parts, *verified.compared)]
    key = key_of("listing", candidates.key, cut, settings.verify, settings.threshold)
    known = work.known(key)
    if known is None:
        spread = Spread.of(2, len(numbered.documents.document_of_row))
        task = ListRows(
            f"{key}/scratch/blocks", verified.accept, numbered.rows_by_document, numbered.offsets,
            numbered.documents.empty, spread,
        )  # fmt: skip
        chunks = list(enumerate(_to_list(verified, numbered)))
        outcomes = await work.journaled(f"{key}/scratch/blocks", task, chunks, share=0)
        borders = spread.borders(outcomes, ROW_PAIRS_A_PART, store)
        parts = await work.exchange(f"{key}/scratch/united", spread.stored(outcomes), borders, consume=True, share=0)
        known = await work.here(_listed, key, parts, store)
        work.run.drop(f"{key}/scratch")
        known = Outcome(known.parts, {"total": sum(outcome.counts["total"] for outcome in outcomes)})
        work.run.record(key, 0, known)
    left, right, pair = (store.part(known.parts[name]) for name in ("left", "right", "pair"))
    return RowPairs(left, right, pair, known.counts["total"])


def _to_list(verified: Verified, numbered: Numbered) -> Iterator[Listed]:
    first = 0
    for pairs, compared in zip(verified.parts, verified.compared, strict=True):
        yield Listed(first, first + pairs.rows, pairs, compared)
        first += pairs.rows
    offsets = numbered.documents.offsets
    rows = np.arange(0, offsets[-1] + 1, ROWS_A_LISTING)
    cuts = np.unique(np.append(np.searchsorted(offsets, rows), len(offsets) - 1))
    for start, stop in pairwise(cuts.tolist()):
        yield Listed(start, stop)


def _listed(key: str, parts: Sequence[Part], store: LocalStore) -> Outcome:
    count = sum(part.rows for part in parts)

    def column(name: str, blocks: Iterator[NDArray[Any]]) -> Part:
        return store.write_blocks(f"{key}/{name}", count, np.dtype(np.int64), blocks)

    return Outcome(
        {
            "left": column("left", (unpacked(store.part(part)[:, 0])[0] for part in parts)),
            "right": column("right", (unpacked(store.part(part)[:, 0])[1] for part in parts)),
            "pair": column("pair", (store.part(part)[:, 1].view(np.int64) for part in parts)),
        }
    )


async def compared_of(
    pairs_key: str,
    parts: Sequence[Part],
    exactly: bool,
    lookup: Lookup,
    numbered: Numbered,
    sketches: Sketches,
    settings: Settings,
    work: Work,
) -> list[Part]:
    """Agreeing slots and, `exactly`, overlap and union of the pairs in `parts`: uint32[n, 3] each."""
    sets = lookup.sets if exactly else None
    if exactly and parts and sets is None:
        sets = await _sets(pairs_key, parts, numbered, sketches, settings, work)
    # What a chunk compared is found again where the pairs are cut in the same way.
    key = key_of("verify", pairs_key, [part.checksum for part in parts], exactly)
    task = ComparePairs(key, lookup.signed, numbered.shingles, sets, 3 * work.budget.part_bytes)
    pairs = sum(part.rows for part in parts)
    outcomes = await work.journaled(key, task, list(enumerate(parts)), units=pairs, share=0.5 if exactly else 1.0)
    return [outcome.parts["compared"] for outcome in outcomes]


async def _sets(
    pairs_key: str, parts: Sequence[Part], numbered: Numbered, sketches: Sketches, settings: Settings, work: Work
) -> Sets:
    """The shingle sets of all documents that stand in a pair. Documents, chunks and sets are in one order."""
    store = work.backend.store
    key = key_of("sets", pairs_key)

    def wanted() -> tuple[Part, list[tuple[int, Chunk, Part]]]:
        in_pair = np.zeros(len(numbered.documents), np.bool_)
        for part in parts:
            for side in unpacked(store.part(part)[:, 0]):
                in_pair[side] = True
            work.pulse(0)
        members = np.flatnonzero(in_pair).astype(np.uint32)
        needed = 8 * int(store.part(numbered.shingles)[members].sum())
        check_sets(needed, len(members), work.run.free_bytes() + work.run.used_bytes(key), str(work.run.path))
        rows = numbered.documents.first_row[members]
        starts = np.array([chunk.row for chunk in sketches.chunks])
        cuts = np.append(np.searchsorted(rows, starts), len(rows))
        pieces = [
            (position, chunk, store.write(f"{key}/wanted", position, rows[first:stop] - chunk.row))
            for position, (chunk, (first, stop)) in enumerate(zip(sketches.chunks, pairwise(cuts), strict=True))
            if first < stop
        ]
        return store.write(f"{key}/members", 0, members), pieces

    members, pieces = await work.here(wanted)
    task = ShingleSets(work.corpus_path, key, settings.normalising, settings.shingling)
    outcomes = await work.journaled(key, task, pieces, share=0.5)
    stored = StoredRagged(
        tuple(outcome.parts["values"] for outcome in outcomes), tuple(outcome.parts["offsets"] for outcome in outcomes)
    )
    return Sets(stored, members=members)


def _chunks(corpus: Corpus, rows: int) -> list[Chunk]:
    """Slices, cut further where their signatures would not fit one artifact."""
    return [
        Chunk(number, first, min(first + rows, piece.rows), piece.first_row + first)
        for number, piece in enumerate(corpus.slices)
        for first in range(0, piece.rows, rows)
    ]
