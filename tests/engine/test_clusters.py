from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_pairs
from neardup.results import Clusters, Documents, Pairs
from neardup.settings import ClusterMode
from neardup.stages import clusters

modes = pytest.mark.parametrize("mode", ["transitive", "star"])


@dataclass
class Case:
    """Rows with texts, and pairs of their documents: (left, right) -> (overlap, union, accepted, verified)."""

    texts: list[int]
    empty: int
    found: dict[tuple[int, int], tuple[int, int, bool, bool]]
    order: list[int]

    @property
    def documents(self) -> Documents:
        return naive_pairs.documents_of(self.texts, self.empty)

    @property
    def accepted(self) -> np.ndarray:
        return np.array([accepted for _, _, accepted, _ in self.found.values()], np.bool_)

    @property
    def pairs(self) -> Pairs:
        verified = [(o, u) if known else (0, 0) for o, u, _, known in self.found.values()]
        overlap, union = np.array(verified, np.uint32).reshape(-1, 2).T
        left, right = np.array(list(self.found), np.uint32).reshape(-1, 2).T
        return Pairs(left, right, np.zeros(len(self.found), np.uint32), overlap, union)

    @property
    def edges(self) -> dict[tuple[int, int], Fraction]:
        accepted = {pair: Fraction(o, u) for pair, (o, u, accepted, _) in self.found.items() if accepted}
        return naive_pairs.row_edges(self.texts, self.empty, accepted)

    def jaccard(self, pair: tuple[int, int]) -> tuple[int, int]:
        """The exact Jaccard of any pair of documents; of pairs that were never found, a made-up one."""
        return self.found.get(pair, (sum(pair) % 7, 7 + pair[1]))[:2]


@st.composite
def cases(draw: st.DrawFn, all_verified: bool) -> Case:
    raw = draw(st.lists(st.integers(0, 9), min_size=1, max_size=14))
    number: dict[int, int] = {}
    texts = [number.setdefault(text, len(number)) for text in raw]
    empty = number.get(0, -1)
    full = [document for document in range(len(number)) if document != empty]
    candidates = [(one, other) for one in full for other in full if one < other]
    found = {}
    for pair in candidates:
        if draw(st.booleans()):
            union = draw(st.integers(1, 4))
            accepted = draw(st.booleans())
            known = all_verified or draw(st.booleans())
            found[pair] = (draw(st.integers(0, union)), union, accepted, known)
    return Case(texts, empty, found, draw(st.permutations(range(len(texts)))))


def whole(case: Case, mode: ClusterMode, order: list[int] | None) -> Clusters:
    documents, pairs = case.documents, case.pairs
    kept = clusters.clustered(
        documents, pairs, case.accepted, mode, None if order is None else np.array(order, np.int64)
    )
    asked = clusters.missing(documents, pairs, kept)
    packed = asked.astype(np.int64) @ np.array([2**32, 1])
    assert asked.dtype == np.uint32 and (asked[:, 0] < asked[:, 1]).all() and (np.diff(packed) > 0).all()
    exact = np.array([case.jaccard((left, right)) for left, right in asked.tolist()], np.uint32).reshape(-1, 2)
    return clusters.clusters_of(documents, pairs, kept, asked, exact[:, 0], exact[:, 1])


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 30).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40))
))
def test_a_component_is_named_by_its_smallest_member(graph: tuple[int, list[tuple[int, int]]]) -> None:
    nodes, edges = graph
    left, right = np.array(edges, np.uint32).reshape(-1, 2).T

    label = clusters.components_of(nodes, np.ascontiguousarray(left), np.ascontiguousarray(right))

    assert label.tolist() == naive_pairs.components(nodes, edges)


def test_a_chain_of_a_million_is_one_component() -> None:
    nodes = 1_000_000
    shuffled = np.random.default_rng(1).permutation(nodes).astype(np.uint32)
    pulses: list[int] = []

    label = clusters.components_of(nodes, shuffled[1:], shuffled[:-1], pulse=pulses.append)

    assert not label.any() and len(pulses) > 10


@settings(max_examples=100, deadline=None)
@given(cases(all_verified=False), st.booleans())
def test_transitive_keeps_the_first_row_of_each_component(case: Case, by_rows: bool) -> None:
    rows = len(case.texts)

    found = whole(case, "transitive", None if by_rows else case.order)

    assert found.kept.tolist() == naive_pairs.transitive(rows, case.edges, range(rows) if by_rows else case.order)


@settings(max_examples=100, deadline=None)
@given(cases(all_verified=True), st.booleans())
def test_star_keeps_a_row_unless_it_has_an_accepted_pair_with_a_kept_one(case: Case, by_rows: bool) -> None:
    rows = len(case.texts)

    found = whole(case, "star", None if by_rows else case.order)

    assert found.kept.tolist() == naive_pairs.star(rows, case.edges, range(rows) if by_rows else case.order)


@modes
@settings(max_examples=100, deadline=None)
@given(case=cases(all_verified=True), threshold=st.sampled_from([1, 2_500, 5_000, 10_000]))
def test_every_removed_row_names_a_kept_one_of_its_cluster_with_the_exact_jaccard(
    case: Case, mode: ClusterMode, threshold: int
) -> None:
    rows = len(case.texts)

    found = whole(case, mode, case.order)

    kept = {row for row in range(rows) if found.kept[row] == row}
    assert found.removed.sum() + len(kept) == rows
    assert set(found.kept.tolist()) == kept
    label = naive_pairs.components(rows, case.edges)
    assert found.label.tolist() == [one if label.count(one) > 1 else -1 for one in label]
    for row in range(rows):
        own, other = sorted((case.texts[row], case.texts[int(found.kept[row])]))
        overlap, union = (1, 1) if own == other else case.jaccard((own, other))
        assert (found.overlap[row], found.union[row]) == (overlap, union)
        assert label[row] == label[found.kept[row]]
        chained = row not in kept and Fraction(overlap, union) < Fraction(threshold, 10_000)
        assert bool(found.chained(threshold)[row]) == chained
    if mode == "transitive":
        assert len(kept) == len(set(label))


@modes
def test_empty_rows_are_in_no_cluster_and_all_kept(mode: ClusterMode) -> None:
    # given: the empty document in rows 0, 2, 4, and a text twice
    case = Case([0, 1, 0, 1, 0, 2], 0, {}, list(range(6)))

    found = whole(case, mode, None)

    assert found.label.tolist() == [-1, 1, -1, 1, -1, -1]
    assert found.kept.tolist() == [0, 1, 2, 1, 4, 5]


@modes
def test_no_rows_give_no_clusters(mode: ClusterMode) -> None:
    assert len(whole(Case([], -1, {}, []), mode, None).kept) == 0


def test_only_pairs_with_the_kept_row_that_were_not_compared_exactly_are_missing() -> None:
    # given: the chain 0 - 1 - 2 - 3 where 0 - 1 was compared, 0 - 2 is a candidate that was not, 0 - 3 no candidate
    case = Case(
        [0, 1, 2, 3],
        -1,
        {(0, 1): (9, 10, True, True), (0, 2): (0, 1, False, False), (1, 2): (9, 10, True, True),
         (2, 3): (9, 10, True, False)},
        [],
    )
    kept = clusters.clustered(case.documents, case.pairs, case.accepted, "transitive")

    assert clusters.missing(case.documents, case.pairs, kept).tolist() == [[0, 2], [0, 3]]


def test_the_exact_jaccards_of_other_pairs_are_refused() -> None:
    case = Case([0, 1, 2], -1, {(0, 1): (9, 10, True, True), (1, 2): (9, 10, True, True)}, [])
    kept = clusters.clustered(case.documents, case.pairs, case.accepted, "transitive")
    one = np.array([1], np.uint32)

    with pytest.raises(ValueError, match="missing"):
        clusters.clusters_of(case.documents, case.pairs, kept, np.array([[1, 2]], np.uint32), one, one)


def test_star_tells_the_higher_of_two_jaccards_that_no_float_tells_apart() -> None:
    # given: a removed row with two kept neighbours, overlaps and unions near 2³²
    most = 2**32 - 1
    case = Case([0, 1, 2], -1, {(0, 2): (most - 2, most - 1, True, True), (1, 2): (most - 1, most, True, True)}, [])
    assert (most - 2) / (most - 1) == (most - 1) / most

    assert whole(case, "star", None).kept.tolist() == [0, 1, 1]


def test_a_tie_between_kept_neighbours_goes_to_the_earlier_in_keep_order() -> None:
    case = Case([0, 1, 2], -1, {(0, 2): (2, 4, True, True), (1, 2): (1, 2, True, True)}, [])

    assert whole(case, "star", None).kept.tolist() == [0, 1, 0]
    assert whole(case, "star", [1, 0, 2]).kept.tolist() == [0, 1, 1]


def test_a_tie_between_kept_neighbours_that_come_later_goes_to_the_earlier_of_them() -> None:
    # given: 2 is removed by 3, and has two better neighbours, 0 and 1, that are kept after it
    half, full = (1, 2, True, True), (1, 1, True, True)
    case = Case([0, 1, 2, 3], -1, {(0, 2): full, (1, 2): full, (2, 3): half}, [])

    assert whole(case, "star", [3, 2, 1, 0]).kept.tolist() == [0, 1, 1, 3]
    assert whole(case, "star", [3, 2, 0, 1]).kept.tolist() == [0, 1, 0, 3]
