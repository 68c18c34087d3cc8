"""Small results by plain sets, for tests of the tabs: no engine, every number can be counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from neardup.results import Banding, Clusters, Documents, Pairs, Result, RowPairs
from neardup.settings import Settings
from neardup.sources import scan
from neardup.sources.corpus import Corpus, Reading
from neardup_tui.screen import NeardupApp
from tui.fakes import FakeEngine, small_corpus


def shingles(text: str, k: int = 5) -> set[str]:
    text = " ".join(text.lower().split())
    return {text[at : at + k] for at in range(max(1, len(text) - k + 1))} if text else set()


def result_of(
    texts: Sequence[str], settings: Settings | None = None, corpus: Corpus | None = None, least: float = 0.3
) -> Result:
    """Candidates are all pairs of documents with J ≥ `least`; the estimate is J to the nearest slot."""
    settings = settings or Settings()
    hashes, threshold = settings.sketching.num_perm, settings.threshold
    rows = len(texts)
    known: dict[str, int] = {}
    document_of = np.array([known.setdefault(" ".join(text.lower().split()), len(known)) for text in texts])
    first = np.array([list(document_of).index(document) for document in range(len(known))])
    by_document = np.argsort(document_of, kind="stable")
    sets = [shingles(texts[row]) for row in first]
    found = []
    for a, b in combinations(range(len(known)), 2):
        overlap, union = len(sets[a] & sets[b]), len(sets[a] | sets[b])
        if union and overlap / union >= least:
            found.append((a, b, round(hashes * overlap / union), overlap, union))
    left, right, agree, overlap, union = np.array(found, np.uint32).reshape(-1, 5).T
    accepted = 10_000 * overlap.astype(np.int64) >= threshold * union.astype(np.int64)
    if settings.verify == "none":
        overlap, union = np.zeros_like(overlap), np.zeros_like(union)
        accepted = np.ones(len(left), np.bool_)

    row_pairs = []
    number = {(int(a), int(b)): index for index, (a, b) in enumerate(zip(left, right, strict=True))}
    for a, b in combinations(range(rows), 2):
        one, other = sorted((int(document_of[a]), int(document_of[b])))
        if one == other and texts[a].strip():
            row_pairs.append((a, b, -1))
        elif (one, other) in number and accepted[number[one, other]]:
            row_pairs.append((a, b, number[one, other]))
    a, b, pair = np.array(row_pairs, np.int64).reshape(-1, 3).T

    label, kept = np.arange(rows), np.arange(rows)
    for _ in range(rows):
        for one, other in zip(a, b, strict=True):
            label[[one, other]] = min(label[one], label[other])
    kept = label.copy()
    alone = np.bincount(label, minlength=rows)[label] < 2
    label[alone] = -1
    to = [(shingles(texts[row]), shingles(texts[kept[row]])) for row in range(rows)]
    return Result(
        corpus=corpus or small_corpus(rows=rows), settings=settings,
        banding=Banding(16, 6, "wished recall 0.99 at t = 0.8"),
        documents=Documents(document_of, first, by_document,
                            np.concatenate([[0], np.cumsum(np.bincount(document_of))]), -1),
        pairs=Pairs(left, right, agree, overlap, union), accepted=accepted, row_pairs=RowPairs(a, b, pair, len(a)),
        clusters=Clusters(label, kept, *(np.array([max(1, len(both(x, y))) for x, y in to])
                                         for both in (set.intersection, set.union))),
        chars=np.array([len(text) for text in texts]), shingles=np.array([len(one) for one in sets]),
        buckets_unlisted=0, pairs_not_examined=0, warnings=(), seconds={"read": 0.1, "bands": 0.2},
    )


def app_over(texts: Sequence[str], folder: Path, held: bool = False) -> tuple[NeardupApp, FakeEngine]:
    """The app over a real file of these texts, one a line, and an engine whose runs give `result_of`; `held`: they
    stop on their way until `engine.go` is set."""
    path = folder / "tickets.txt"
    path.write_text("".join(text + "\n" for text in texts))
    corpus = scan([str(path)], Reading(), folder / "spool")
    engine = FakeEngine({str(path): corpus}, result_of=lambda corpus, settings: result_of(texts, settings, corpus))
    if held:
        engine.go.clear()
    return NeardupApp((str(path),), engine=lambda: engine), engine


PRINTER = ("Hello, since yesterday's update the printer on the second floor prints every page twice. I restarted it "
           "and removed the job from the queue, but nothing changed. Could someone have a look before Friday?")
TICKETS = (
    "My invoice for March shows the wrong amount, please send a new one.",
    PRINTER,
    "Login fails with 'account locked' although I have changed my password this morning as you told me to.",
    PRINTER.replace("second", "third").replace("queue,", "queue").replace("someone have", "someone please have"),
    "My invoice for March shows the wrong amount,  please send a new one.",
    "Please cancel order 88121, it was placed twice by mistake and I need only one of the two chairs.",
    PRINTER.replace("second", "third").replace("queue,", "queue").replace("someone have", "someone please have")
    .replace("Friday", "Monday or so, thank you very much"),
    "Please cancel order 88121, it was placed twice by mistake and I need just one of the two chairs.",
    "[b]Brackets[/b] are shown as they are, and 漢字 too.",
    "Login fails with 'account locked' although I have changed my password this morning as you told us to.",
)
