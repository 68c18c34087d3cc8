"""What the stages hand to each other: where it lies in the run directory, and under which key.

A key is a hash of the stage, its version, the settings it reads and the keys of what it reads: another threshold
finds the old signatures, another shingle length does not.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import msgspec

from neardup.results import Documents
from neardup.sources.corpus import Corpus
from neardup.store import Part, Stored, StoredRagged
from neardup.tasks import Chunk, Sets, Signed

# A stage whose output changes for the same input gets a new number, and no old artifact is taken for a new one.
VERSIONS = {
    "signatures": 2, "shingled": 1, "documents": 2, "bands": 2, "join": 1, "sets": 1, "signed": 1, "verify": 2,
    "clusters": 1, "listing": 1,
}  # fmt: skip

PAIRS_A_PART = 1 << 17  # compared by one task


@dataclass(frozen=True, slots=True)
class Sketches:
    """What the chunks left: over rows chars and local, over sketches prints, shingles, and signatures or sets."""

    chunks: list[Chunk]
    key: str
    prints: Stored
    chars: Stored
    local: Stored
    shingles: Stored
    signatures: Stored | None
    sets: StoredRagged | None


@dataclass(frozen=True, slots=True)
class Numbered:
    """Documents, mapped; where they lie; which sketch is each document's; how many shingles each has.

    numbering   a part a chunk, uint32[sketches]: the document that each sketch is the first of, or NOBODY
    """

    documents: Documents
    rows_by_document: Part
    offsets: Part
    sketch_rows: Part
    shingles: Part
    chars: Part
    numbering: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Candidates:
    """uint64[n, 1], left · 2³² + right, sorted over all parts."""

    key: str
    parts: tuple[Part, ...]
    buckets_unlisted: int = 0
    pairs_not_examined: int = 0

    def __len__(self) -> int:
        return sum(part.rows for part in self.parts)


@dataclass(frozen=True, slots=True)
class Lookup:
    """Where what documents are compared by is found; without `sets` they are made for the documents in a pair."""

    signed: Signed
    sets: Sets | None = None


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
