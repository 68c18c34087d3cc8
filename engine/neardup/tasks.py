"""What a worker runs on ONE chunk: read, call the stages' doors, write artifacts. Small, frozen, picklable.

A task gets names of arrays and small values, never the arrays themselves.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup import sources
from neardup.pulse import Pulse
from neardup.runs import Outcome
from neardup.settings import Normalising, Shingling, Sketching
from neardup.sources.corpus import Corpus, Reading
from neardup.stages import bands, documents, normalise, shingles, signatures, verify
from neardup.store import LocalStore, Part, Stored, StoredRagged

NOBODY = np.uint32(2**32 - 1)  # a sketch whose document is signed elsewhere, or is empty


class Chunk(msgspec.Struct, frozen=True):
    """Rows `first` to `stop` of one slice; `row` is the first of them in the corpus."""

    slice: int
    first: int
    stop: int
    row: int

    def described(self) -> str:
        return f"rows {self.row:,} to {self.row + self.stop - self.first - 1:,}"


@dataclass(frozen=True)
class Signed:
    """Where the signature of a document is found: row sketch_rows[document] of signatures."""

    signatures: Stored
    sketch_rows: Stored

    def signatures_of(self, store: LocalStore) -> bands.SignaturesOf:
        """Documents to their signatures: uint32[n] -> uint32[n, num_perm]."""
        sketch_rows = store.read(self.sketch_rows)
        return lambda numbers: store.take(self.signatures, sketch_rows[numbers])


@dataclass(frozen=True)
class Scan:
    """Find the record borders of all inputs; the corpus goes into a file, since every later task reads it."""

    paths: tuple[str, ...]
    reading: Reading
    spool: str
    slice_bytes: int

    def __call__(self, chunk: None, store: LocalStore, pulse: Pulse) -> Corpus:
        return sources.scan(self.paths, self.reading, Path(self.spool), slice_bytes=self.slice_bytes, pulse=pulse)


@dataclass(frozen=True)
class Sketch:
    """Read, normalise, fingerprint, group copies inside the chunk, sign what is left.

    Writes for the n rows of the chunk fingerprints uint64[n, 2], chars int64[n] and local uint32[n] (which sketch is
    the row's); for its m sketches signatures uint32[m, num_perm] and shingles int64[m].
    """

    corpus: str
    stage: str
    normalising: Normalising
    shingling: Shingling
    sketching: Sketching

    def __call__(self, chunk: tuple[int, Chunk], store: LocalStore, pulse: Pulse) -> Outcome:
        position, piece = chunk
        clock = _Clock()
        alive = _alive(pulse)
        texts = _texts(self.corpus, piece, None)
        clock.lap("read")
        texts = normalise.normalised(texts, self.normalising, alive)
        chars = normalise.code_points(texts)
        clock.lap("normalise")
        fingerprints = documents.fingerprints(texts)
        copies = documents.grouped(fingerprints, np.diff(texts.offsets) == 0)
        clock.lap("copies")
        ids = shingles.shingle_ids(texts.take(copies.first_row), self.shingling, alive)
        clock.lap("shingles")
        signed = signatures.signatures_of(ids, self.sketching, pulse)
        clock.lap("signatures")
        pulse(len(texts) - len(copies))  # the rest of the chunk's rows are copies
        arrays: dict[str, NDArray[Any]] = {
            "fingerprints": fingerprints,
            "chars": chars,
            "local": copies.document_of_row.astype(np.uint32),
            "signatures": signed,
            "shingles": ids.sizes,
        }
        parts = {name: store.write(f"{self.stage}/{name}", position, array) for name, array in arrays.items()}
        clock.lap("write")
        return Outcome(parts, {"rows": len(texts)}, clock.seconds)


@dataclass(frozen=True)
class BandEntries:
    """The keys of one chunk's documents in some of the bands: bands.ENTRY[documents · bands]."""

    name: str
    bands: range
    rows: int

    def __call__(self, chunk: tuple[int, Part, Part], store: LocalStore, pulse: Pulse) -> Part:
        position, signed, numbers = chunk
        numbering = store.part(numbers)
        mine = numbering != NOBODY
        signatures_ = store.part(signed) if mine.all() else store.part(signed)[mine]
        entries = bands.entries_of(signatures_, numbering[mine], self.bands, self.rows, pulse)
        return store.write(self.name, position, entries, durable=False)


@dataclass(frozen=True)
class FindBuckets:
    """The buckets in one part of the sorted entries: documents, offsets and bands as three arrays."""

    name: str
    rows: int
    signed: Signed

    def __call__(self, chunk: tuple[int, Part], store: LocalStore, pulse: Pulse) -> dict[str, Part]:
        position, entries = chunk
        found = bands.buckets_of(store.part(entries), self.signed.signatures_of(store), self.rows, pulse)
        arrays: dict[str, NDArray[Any]] = {"documents": found.documents, "offsets": found.offsets, "band": found.band}
        return {
            name: store.write(f"{self.name}.{name}", position, array, durable=False) for name, array in arrays.items()
        }


@dataclass(frozen=True)
class PairBuckets:
    """The candidates that one part of the buckets gives: uint32[n, 2], in blocks."""

    name: str
    rows: int
    limit: int
    signed: Signed
    unlisted: bands.Unlisted

    def __call__(self, chunk: tuple[int, dict[str, Part]], store: LocalStore, pulse: Pulse) -> list[Part]:
        position, parts = chunk
        blocks = bands.candidates_of(
            read_buckets(store, parts), self.limit, self.unlisted, self.signed.signatures_of(store), self.rows, pulse
        )
        name = f"{self.name}.{position:05d}"
        return [store.write(name, number, block, durable=False) for number, block in enumerate(blocks)]


@dataclass(frozen=True)
class ShingleSets:
    """The sorted shingle sets of some rows of a chunk: two ragged arrays, values and offsets."""

    corpus: str
    stage: str
    normalising: Normalising
    shingling: Shingling

    def __call__(self, chunk: tuple[int, Chunk, Part], store: LocalStore, pulse: Pulse) -> Outcome:
        position, piece, wanted = chunk
        alive = _alive(pulse)
        texts = _texts(self.corpus, piece, store.part(wanted))
        sets = shingles.shingle_sets(normalise.normalised(texts, self.normalising, alive), self.shingling, pulse)
        values, offsets = store.write_ragged(f"{self.stage}/sets", position, sets)
        return Outcome({"values": values, "offsets": offsets})


@dataclass(frozen=True)
class ComparePairs:
    """For one part of the pairs, uint32[n, 3]: agreeing slots, overlap, union; the last two 0 without `sets`.

    `members`, uint32, are the documents that have a set, ascending, in the order of the sets.
    """

    stage: str
    signed: Signed
    sets: StoredRagged | None
    members: Stored | None

    def __call__(self, chunk: tuple[int, Part], store: LocalStore, pulse: Pulse) -> Outcome:
        position, part = chunk
        pairs = store.part(part)
        alive = _alive(pulse)
        numbers, local = np.unique(pairs.ravel(), return_inverse=True)
        left, right = np.ascontiguousarray(local.reshape(-1, 2).T.astype(np.int64))
        compared = np.zeros((len(pairs), 3), np.uint32)
        compared[:, 0] = verify.agreements(self.signed.signatures_of(store)(numbers), left, right, alive)
        if self.sets is not None and self.members is not None:
            sets = store.take_ragged(self.sets, np.searchsorted(store.read(self.members), numbers))
            compared[:, 1] = verify.overlaps(sets, left, right, pulse)
            compared[:, 2] = sets.sizes[left] + sets.sizes[right] - compared[:, 1]
        else:
            pulse(len(pairs))
        return Outcome({"compared": store.write(f"{self.stage}/compared", position, compared)})


def read_buckets(store: LocalStore, parts: dict[str, Part]) -> bands.Buckets:
    return bands.Buckets(*(store.part(parts[name]) for name in ("documents", "offsets", "band")))


@lru_cache(maxsize=4)
def corpus_at(path: str) -> Corpus:
    """The corpus that a scan left; a file of this name is never written twice with different content."""
    return msgspec.json.decode(Path(path).read_bytes(), type=Corpus)


def _texts(corpus_path: str, piece: Chunk, picked: NDArray[np.int64] | None) -> Any:
    """The texts of a chunk, or of the picked positions in it."""
    corpus = corpus_at(corpus_path)
    part = corpus.slices[piece.slice]
    positions = None
    if picked is not None:
        positions = picked + piece.first
    elif piece.stop - piece.first < part.rows:
        positions = np.arange(piece.first, piece.stop)
    return sources.texts_of(corpus, part, sources.records_of(corpus, part), positions)


def _alive(pulse: Pulse) -> Pulse:
    """For steps whose units are not the stage's: stops like the pulse, counts nothing."""
    return lambda _: pulse(0)


class _Clock:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now
