"""Finding by the exact join: another maker of candidates, beside banding. What is not a candidate is no true pair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from neardup.artifacts import PAIRS_A_PART, Candidates, Lookup, Numbered, Sketches, key_of
from neardup.runs import Outcome
from neardup.settings import Settings, Sketching
from neardup.stages import join
from neardup.store import LocalStore, Part, Stored
from neardup.tasks import CountProbes, JoinTile, Sets, Signed, SignSets, Spread, Tally, ToJoin, unpacked
from neardup.work import Work

SET_BYTES_A_PART = 32 << 20  # of the sets that one task signs
SAMPLED_TILES = 4  # where both designs may do, this many tell which


async def joined_of(
    numbered: Numbered, sketches: Sketches, settings: Settings, work: Work
) -> tuple[Candidates, Lookup]:
    """Every pair of documents with J ≥ t, among the candidates; and the sets, with signatures of who stands in one."""
    assert sketches.sets is not None
    sets = Sets(sketches.sets, rows=numbered.sketch_rows)
    candidates = await candidates_by_join(sketches.key, sets, settings.threshold, numbered, work)
    signed = await _signed(candidates, sets, numbered, settings.sketching, work)
    return candidates, Lookup(signed, sets)


async def candidates_by_join(
    sets_key: str, sets: Sets, threshold: int, numbered: Numbered, work: Work
) -> Candidates:
    key = key_of("join", sets_key, threshold)
    work.start_stage("join", numbered.documents.distinct, "documents")
    known = work.known(key)
    if known is None:
        known = await _joined(key, sets, threshold, numbered, work)
        work.run.drop(f"{key}/scratch")
        work.run.record(key, 0, known)
    return Candidates(key, tuple(known.parts[name] for name in sorted(known.parts)))


async def _joined(key: str, sets: Sets, threshold: int, numbered: Numbered, work: Work) -> Outcome:
    store = work.backend.store
    scratch = f"{key}/scratch"
    sized = await work.here(_sized, sets, numbered, store)
    documents = store.write(f"{scratch}/documents", 0, sized.documents)
    sizes = store.write(f"{scratch}/sizes", 0, sized.sizes)
    only = join.only_design(threshold)
    classes = None
    if only != "partitions":
        counters = await work.map(Tally(f"{scratch}/counters", sets.stored), _shares(len(sets.stored.values), work))
        classes = await work.here(_classes, f"{scratch}/classes", counters, store)
    what = ToJoin(sets, documents, sizes, threshold, classes)
    design = only or await _cheaper(what, sized, work)
    tiles = join.tiles(sized.sizes, threshold, design, 2 * max(1, work.budget.workers), work.budget.index_bytes)
    spread = Spread.of(1, len(numbered.documents))
    # How the work is cut is part of its name.
    name = f"{scratch}/{design}-{len(tiles)}"
    asking = sum(tile.last - tile.ask for tile in tiles)
    blocks = await work.journaled(
        name, JoinTile(name, what, spread), list(enumerate(tiles)), units=asking, share=0.9
    )
    count = sum(part.rows for part in spread.stored(blocks).parts)
    borders = spread.borders(blocks, work.budget.records_a_part(count, PAIRS_A_PART), store)
    pairs = await work.exchange(f"{key}/pairs", spread.stored(blocks), borders, consume=True, share=0.1)
    return Outcome({f"{number:05d}": part for number, part in enumerate(pairs) if part.rows})


def _sized(sets: Sets, numbered: Numbered, store: LocalStore) -> join.Sized:
    assert sets.rows is not None
    sizes = np.concatenate([np.diff(store.part(part)) for part in sets.stored.offsets])
    return join.Sized.of(sizes[store.part(sets.rows)])


def _shares(parts: int, work: Work) -> list[tuple[int, range]]:
    """The parts of the sets, cut into as many ranges as there are workers."""
    cuts = np.linspace(0, parts, min(parts, max(1, work.budget.workers)) + 1).astype(int).tolist()
    return [(at, range(first, stop)) for at, (first, stop) in enumerate(pairwise(cuts))]


def _classes(name: str, counters: Sequence[Part], store: LocalStore) -> Part:
    counts = sum((store.part(part) for part in counters), np.zeros(join.COUNTERS, np.uint32))
    return store.write(name, 0, join.classes_of(counts))


async def _cheaper(what: ToJoin, sized: join.Sized, work: Work) -> join.Design:
    """The design that reads less in a few tiles."""
    tiles = join.tiles(sized.sizes, what.threshold, "partitions")
    some = tiles[:: -(-len(tiles) // SAMPLED_TILES) or 1]
    by_prefixes = [join.Tile(tile.first, tile.stop, tile.ask, tile.last, 0) for tile in some]
    probes = await work.map(CountProbes(what), [*some, *by_prefixes])
    return join.cheaper(sum(probes[: len(some)]), sum(probes[len(some) :]))


async def _signed(
    candidates: Candidates, sets: Sets, numbered: Numbered, sketching: Sketching, work: Work
) -> Signed:
    """Signatures of the documents that stand in a candidate, from their sets."""
    store = work.backend.store
    key = key_of("signed", candidates.key, sketching)

    def wanted() -> tuple[Part, list[tuple[int, Part]]]:
        in_pair = np.zeros(len(numbered.documents), np.bool_)
        for part in candidates.parts:
            for side in unpacked(store.part(part)[:, 0]):
                in_pair[side] = True
            work.pulse(0)
        members = np.flatnonzero(in_pair)
        place = np.zeros(len(in_pair), np.int64)
        place[members] = np.arange(len(members))
        spent = np.cumsum(8 * store.part(numbered.shingles)[members]) // SET_BYTES_A_PART
        cuts = np.flatnonzero(np.diff(spent, prepend=-1, append=-1)).tolist() if len(members) else []
        pieces = [
            (at, store.write(f"{key}/wanted", at, members[first:stop]))
            for at, (first, stop) in enumerate(pairwise(cuts))
        ]
        return store.write(f"{key}/place", 0, place), pieces

    place, pieces = await work.here(wanted)
    outcomes = await work.journaled(key, SignSets(f"{key}/signatures", sets, sketching), pieces, share=0.0)
    return Signed(Stored(tuple(outcome.parts["signatures"] for outcome in outcomes)), place)
