"""A small engine, so that a test decides what a load and a run do and when, and small corpora for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType

import numpy as np

from neardup.errors import ColumnError, SourceError
from neardup.events import Advanced, Event, Finished, StageStarted, Warned
from neardup.results import Banding, Clusters, Documents, Pairs, Result, RowPairs
from neardup.settings import Settings
from neardup.sources.corpus import Corpus, Input, Reading, Slice


@dataclass
class FakeEngine:
    """Loads what `corpora` has by path once `read` is set; a run waits at each stage until `go` is, then gives
    `result_of`."""

    corpora: dict[str, Corpus] = field(default_factory=dict)
    result_of: Callable[[Corpus, Settings], Result] | None = None
    error: Exception | None = None
    runs: list[Settings] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    stopped: bool = False

    def __post_init__(self) -> None:
        self.go = asyncio.Event()
        self.go.set()
        self.read = asyncio.Event()
        self.read.set()

    async def __aenter__(self) -> FakeEngine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopped = True

    async def load(
        self, paths: Sequence[str], reading: Reading, on_event: Callable[[Event], None] | None = None
    ) -> Corpus:
        self.readings.append(reading)
        await asyncio.sleep(0)
        await self.read.wait()
        path = paths[0]
        if path not in self.corpora:
            raise SourceError(f"{path} does not exist: name a file or a folder")
        corpus = self.corpora[path]
        names = corpus.inputs[0].columns
        if names and reading.text_column is not None and reading.text_column not in names:
            raise ColumnError(f"{path} has no column {reading.text_column!r}; it has: {', '.join(names)}", names)
        return corpus

    async def run(self, corpus: Corpus, settings: Settings) -> AsyncGenerator[Event, None]:
        self.runs.append(settings)
        yield StageStarted("read", 1, 5, corpus.rows, "rows")
        yield Advanced("read", corpus.rows, corpus.rows, 0.1)
        yield StageStarted("signatures", 2, 5, corpus.rows, "rows")
        yield Advanced("signatures", corpus.rows * 61 // 100, corpus.rows, 2.0)
        await self.go.wait()
        if self.error is not None:
            raise self.error
        yield Warned("half the documents are short")
        yield Finished((self.result_of or no_duplicates)(corpus, settings))


def small_corpus(path: str = "tickets.csv", rows: int = 2_538, columns: tuple[str, ...] = ("id", "body")) -> Corpus:
    return Corpus(
        inputs=(Input(path=path, real=f"/srv/{path}", format="csv", body=f"/srv/{path}", rows=rows, columns=columns,
                      text_column=columns[-1], column=len(columns) - 1, delimiter=",", size=764_000),),
        slices=(Slice(0, 0, 764_000, 0, rows),),
        rows=rows,
    )


def no_duplicates(corpus: Corpus, settings: Settings) -> Result:
    """The result where every row is a document of its own and no two are alike."""
    rows = np.arange(corpus.rows)
    none, ones = np.empty(0, np.uint32), np.ones(corpus.rows, np.int64)
    return Result(
        corpus=corpus, settings=settings, banding=Banding(16, 6, "by hand"),
        documents=Documents(rows, rows, rows, np.arange(corpus.rows + 1), -1),
        pairs=Pairs(none, none, none, none, none), accepted=np.empty(0, np.bool_),
        row_pairs=RowPairs(rows[:0], rows[:0], rows[:0], 0),
        clusters=Clusters(np.full(corpus.rows, -1), rows, ones, ones),
        chars=np.full(corpus.rows, 200), shingles=np.full(corpus.rows, 196), buckets_unlisted=0, pairs_not_examined=0,
        warnings=(), seconds={"read": 0.2, "signatures": 0.3},
    )
