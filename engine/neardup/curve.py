"""The S-curve of banding, the two areas beside the threshold, and the choice of b × r. Plain numpy.

A signature cut into b bands of r rows makes a pair of similarity s a candidate with probability
P(s) = 1 − (1 − s^r)^b (Leskovec, Rajaraman, Ullman: Mining of Massive Datasets, 3.4.2).
Thresholds and recalls come as ten-thousandths, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from neardup.errors import SettingsError
from neardup.results import Banding
from neardup.settings import MAX_PERMUTATIONS, ONE, ByHand, ByRecall, ByWeights, Settings, as_decimal

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LISTED = 8  # rows of the table of choices


@dataclass(frozen=True, slots=True)
class Choice:
    """One b × r and what it costs.

    p_at_threshold  chance that a pair exactly at the threshold becomes a candidate
    fp              area under the curve left of the threshold: candidates that are no true pairs
    fn              area above the curve right of it: true pairs that are missed
    """

    bands: int
    rows: int
    p_at_threshold: float
    fp: float
    fn: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row of the table of choices; `below_wish`: it is cheaper, and misses more than the wished recall allows."""

    choice: Choice
    chosen: bool
    below_wish: bool


@overload
def candidate_probability(similarity: float, bands: int, rows: int) -> float: ...
@overload
def candidate_probability(similarity: Floats, bands: int | Integers, rows: int | Integers) -> Floats: ...
def candidate_probability(
    similarity: float | Floats, bands: int | Integers, rows: int | Integers
) -> float | Floats:
    """P(candidate | s) = 1 − (1 − s^r)^b for s in [0, 1]; arrays broadcast.

    Exact to rounding even where P is 1e-300 or 1 − 1e-16: neither difference is ever formed.
    """
    chance = -np.expm1(_log_missed(np.asarray(similarity, np.float64), bands, rows))
    return chance if chance.ndim else float(chance)


def steepest(bands: int, rows: int) -> float:
    """The similarity at which the curve rises fastest: ((r − 1)/(b·r − 1))^(1/r), and 0 where r = 1.

    It is where the second derivative vanishes; (1/b)^(1/r) is the usual approximation.
    """
    return 0.0 if rows == 1 else float(((rows - 1) / (bands * rows - 1)) ** (1 / rows))


def areas(bands: int, rows: int, threshold: int, num_perm: int) -> tuple[float, float]:
    """FP = ∫₀ᵗ 1 − (1 − s^r)^b ds and FN = ∫ₜ¹ (1 − s^r)^b ds, for b·r ≤ num_perm; exact to rounding."""
    fp, fn = _areas(np.array([bands]), np.array([rows]), threshold, num_perm)
    return float(fp[0]), float(fn[0])


def by_recall(threshold: int, recall: int, num_perm: int) -> Choice:
    """For each r the least b with P(t) ≥ recall, and among these the one with the least FP (ties: the larger r).

    Raises SettingsError where no b·r ≤ num_perm reaches the recall.
    """
    bands, rows = _reaching(threshold, recall, num_perm)
    if not len(rows):
        raise _unreachable(threshold, recall, num_perm)
    return _ranked(bands, rows, threshold, num_perm)[0]


def by_weights(threshold: int, weights: ByWeights, num_perm: int) -> list[Choice]:
    """The eight choices with the least weighted error (fp · FP + fn · FN) / (fp + fn), of all b·r ≤ num_perm.

    Errors within 1e-12 of each other count as equal: the smaller b, then the smaller r comes first.
    """
    # For one r the error falls and then rises with b: its difference from b to b + 1 is an integral of (1 − s^r)^b over
    # a function that changes sign once, at t, and such integrals change sign once at most (the kernel is totally
    # positive: Karlin, Total Positivity, 1968). With r for one b it was so in every case tried (the tests
    # ask all choices). One of both is at most √num_perm: for each such value the other is searched, and the best eight
    # lie within eight of where the difference changes.
    largest = _worth(threshold, weights, num_perm)
    few = np.arange(1, int(num_perm**0.5) + 1)
    rows = few[few <= largest]
    for_rows = _near_least(lambda bands: _error(bands, rows, threshold, weights, num_perm), num_perm // rows)
    for_bands = _near_least(
        lambda rows: _error(few, rows, threshold, weights, num_perm), np.minimum(num_perm // few, largest)
    )
    found = np.unique(
        np.concatenate([
            np.column_stack([for_rows.ravel(), np.repeat(rows, for_rows.shape[1])]),
            np.column_stack([np.repeat(few, for_bands.shape[1]), for_bands.ravel()]),
        ]),
        axis=0,
    )  # fmt: skip
    bands, rows = found.T
    best = np.lexsort((rows, bands, np.round(_error(bands, rows, threshold, weights, num_perm), 12)))[:LISTED]
    return _choices(bands[best], rows[best], threshold, num_perm)


def _near_least(error: Callable[[Integers], Floats], most: Integers) -> Integers:
    """int64[n, 17]: what makes each of n errors least, from 1 to `most`, and eight on either side, cut to it."""
    low, high = np.ones_like(most), most.copy()
    while (low < high).any():
        middle = (low + high) // 2
        falls = (error(np.minimum(middle + 1, most)) < error(middle)) & (middle < high)
        low, high = np.where(falls, middle + 1, low), np.where(falls, high, middle)
    return np.asarray(np.clip(low[:, None] + np.arange(-LISTED, LISTED + 1), 1, most[:, None]), np.int64)


def _error(bands: Integers, rows: Integers, threshold: int, weights: ByWeights, num_perm: int) -> Floats:
    fp, fn = _areas(bands, rows, threshold, num_perm)
    return (weights.fp * fp + weights.fn * fn) / (weights.fp + weights.fn)


def _worth(threshold: int, weights: ByWeights, num_perm: int) -> int:
    """The largest r that may be among the best eight."""
    # What r misses at the least, with as many bands as fit, rises with r; where that alone is more than the eighth
    # best of the choices below r = 64, no larger r is among them.
    rows = np.arange(1, min(num_perm, 64) + 1)
    tried = [np.column_stack([num_perm // rows // part, rows]) for part in (1, 2, 4, 8)]
    some = np.unique(np.concatenate(tried), axis=0)
    some = some[some[:, 0] > 0]
    limit = np.sort(_error(some[:, 0], some[:, 1], threshold, weights, num_perm))[:LISTED][-1] + 1e-11
    low, high = 1, num_perm
    while low < high:
        middle = (low + high + 1) // 2
        _, fn = _areas(np.array([num_perm // middle]), np.array([middle]), threshold, num_perm)
        missed = weights.fn * float(fn[0]) / (weights.fp + weights.fn)
        low, high = (middle, high) if missed <= limit else (low, middle - 1)
    return low


def chosen(settings: Settings) -> Banding:
    """The b × r of a run. Raises SettingsError where the wished recall is out of reach."""
    banding, threshold, num_perm = settings.banding, settings.threshold, settings.sketching.num_perm
    if isinstance(banding, ByHand):
        return Banding(banding.bands, banding.rows, "by hand")
    t = as_decimal(threshold)
    if isinstance(banding, ByWeights):
        best = by_weights(threshold, banding, num_perm)[0]
        return Banding(best.bands, best.rows, f"least error at t = {t}, weights {banding}")
    choice = by_recall(threshold, banding.recall, num_perm)
    return Banding(choice.bands, choice.rows, f"wished recall {as_decimal(banding.recall)} at t = {t}")


def best_eight(settings: Settings) -> tuple[Ranked, ...]:
    """The table of choices: up to eight that reach the wished recall, by FP, then the next r, below the wish.

    The eight are each r's least b, filled up with further b of the same r. By weights they are the eight of the least
    error. Where b × r is set by hand, the default recall ranks, and the choice made is marked, or put first when it is
    not among the others. Raises SettingsError where a wished recall is out of reach.
    """
    banding, threshold, num_perm = settings.banding, settings.threshold, settings.sketching.num_perm
    if isinstance(banding, ByWeights):
        return tuple(
            Ranked(choice, chosen=place == 0, below_wish=False)
            for place, choice in enumerate(by_weights(threshold, banding, num_perm))
        )
    recall = banding.recall if isinstance(banding, ByRecall) else ByRecall().recall
    best = _best_by_recall(threshold, recall, num_perm, least=isinstance(banding, ByRecall))
    if isinstance(banding, ByHand):
        mine = (banding.bands, banding.rows)
        if mine not in [(choice.bands, choice.rows) for choice in best]:
            best = _ranked(np.array([mine[0]]), np.array([mine[1]]), threshold, num_perm) + best
    else:
        mine = (best[0].bands, best[0].rows)
    return tuple(
        Ranked(
            choice,
            chosen=(choice.bands, choice.rows) == mine,
            below_wish=not _reaches(choice.bands, choice.rows, threshold, recall),
        )
        for choice in best
    )


def _best_by_recall(threshold: int, recall: int, num_perm: int, *, least: bool) -> list[Choice]:
    """Up to eight that reach the recall, and the next r; SettingsError where there is none and `least` asks for one."""
    bands, rows = _reaching(threshold, recall, num_perm)
    if least and not len(rows):
        raise _unreachable(threshold, recall, num_perm)
    if len(rows) < LISTED:
        wanted = LISTED - len(rows)
        more = (bands[:, None] + np.arange(1, wanted + 1)).ravel()
        same = np.repeat(rows, wanted)
        fits = more * same <= num_perm
        best = _ranked(bands, rows, threshold, num_perm) + _ranked(more[fits], same[fits], threshold, num_perm)[:wanted]
        best.sort(key=lambda choice: (choice.fp, -choice.rows))
    else:
        best = _ranked(bands, rows, threshold, num_perm)[:LISTED]

    # P(t) falls with r, so the r that reach the wish are 1 … len(rows), and the next one is the first below it.
    beyond = len(rows) + 1
    if beyond <= num_perm:
        best += _ranked(np.array([num_perm // beyond]), np.array([beyond]), threshold, num_perm)
    return best


def _log_missed(similarity: Floats, bands: int | Integers, rows: int | Integers) -> Floats:
    """ln (1 − s^r)^b"""
    with np.errstate(divide="ignore", under="ignore"):  # s = 1 is missed with chance 0; s^r may well be below 1e-308
        return np.asarray(bands * np.log1p(-np.power(similarity, rows)), np.float64)


def _areas(bands: Integers, rows: Integers, threshold: int, num_perm: int) -> tuple[Floats, Floats]:
    """float64[n], float64[n]: FP and FN of n choices."""
    # The integrands are polynomials of degree b·r, for which this many nodes are exact. From some 4·√degree nodes on
    # the rest is below rounding (the Chebyshev coefficients of s^r fall like exp(−k²/r)), hence the bound, which
    # 4,095 hashes do not reach: against twice as many nodes no area moves by more than 1e-11 of itself at 65,535.
    nodes, weights = _gauss_legendre(min(num_perm // 2 + 1, 2_048))
    t = threshold / ONE
    missed_below = _log_missed(t * nodes, bands[:, None], rows[:, None])
    missed_above = _log_missed(t + (1 - t) * nodes, bands[:, None], rows[:, None])
    return t * (-np.expm1(missed_below) @ weights), (1 - t) * (np.exp(missed_above) @ weights)


@lru_cache(maxsize=8)
def _gauss_legendre(count: int) -> tuple[Floats, Floats]:
    """Nodes, ascending, and weights of the Gauss-Legendre rule on [0, 1], by Newton's method on P_count.

    numpy's leggauss solves an eigenvalue problem: cubic in `count`, where this is quadratic.
    """
    # The first guess is off by O(count⁻²), and each step squares the error: three reach rounding, the last one counts.
    x = -np.cos(np.pi * (np.arange(count) + 0.75) / (count + 0.5))
    for _ in range(4):
        before, value = np.ones(count), x.copy()
        for degree in range(2, count + 1):
            before, value = value, ((2 * degree - 1) * x * value - (degree - 1) * before) / degree
        slope = count * (before - x * value) / ((1 - x) * (1 + x))
        x = x - value / slope
    return (1 + x) / 2, 1 / ((1 - x) * (1 + x) * slope**2)


def _reaching(threshold: int, recall: int, num_perm: int) -> tuple[Integers, Integers]:
    """Least b for each r = 1, 2, … as long as b·r ≤ num_perm. Both int64, b never falling with r."""
    rows = np.arange(1, num_perm + 1)
    if threshold == ONE:  # equal sets agree in every slot
        return np.ones_like(rows), rows
    if recall == ONE:  # below t = 1 no pair is found for certain
        return rows[:0], rows[:0]
    with np.errstate(divide="ignore", over="ignore", under="ignore"):  # t^r may round to 0: no b is enough
        needed = np.log1p(-recall / ONE) / np.log1p(-((threshold / ONE) ** rows))
        fits = needed * rows < num_perm + 1
    rows, needed = rows[fits], needed[fits]
    bands = np.ceil(needed).astype(np.int64)
    # Near a whole number integers decide, so that 0.99 at t = 0.9 needs two bands of one row on every machine.
    for at in np.flatnonzero(np.abs(needed - np.rint(needed)) <= 1e-9 * needed):
        bands[at] = round(needed[at])
        bands[at] += not _reaches(int(bands[at]), int(rows[at]), threshold, recall)
    fits = bands * rows <= num_perm
    return bands[fits], rows[fits]


def _reaches(bands: int, rows: int, threshold: int, recall: int) -> bool:
    """Whether P(t) ≥ recall, in integers: (1 − t^r)^b ≤ 1 − recall, both sides times 10000^(r·b + 1)."""
    missed: int = (ONE**rows - threshold**rows) ** bands
    allowed: int = (ONE - recall) * ONE ** (rows * bands)
    return missed * ONE <= allowed


def _ranked(bands: Integers, rows: Integers, threshold: int, num_perm: int) -> list[Choice]:
    """Choices by FP, the larger r first among equals; of any one b no more than the eight with the largest r."""
    # Of two choices with one b the larger r has the lower curve, and so the lesser FP: with 65,535 hashes and t = 1,
    # where one band of any length will do, this leaves 8 of 65,535 to integrate.
    order = np.lexsort((rows, bands))
    bands, rows = bands[order], rows[order]
    keep = np.ones(len(rows), np.bool_)
    keep[:-LISTED] = bands[:-LISTED] != bands[LISTED:]
    bands, rows = bands[keep], rows[keep]

    fp, _ = _areas(bands, rows, threshold, num_perm)
    order = np.lexsort((-rows, fp))
    return _choices(bands[order], rows[order], threshold, num_perm)


def _choices(bands: Integers, rows: Integers, threshold: int, num_perm: int) -> list[Choice]:
    fp, fn = _areas(bands, rows, threshold, num_perm)
    p = candidate_probability(np.array(threshold / ONE), bands, rows)
    each = zip(bands.tolist(), rows.tolist(), p.tolist(), fp.tolist(), fn.tolist(), strict=True)
    return [Choice(*choice) for choice in each]


def _unreachable(threshold: int, recall: int, num_perm: int) -> SettingsError:
    wish = f"a recall of {as_decimal(recall)} at t = {as_decimal(threshold)} is out of reach"
    if recall == ONE:
        return SettingsError(f"{wish}: only pairs at t = 1 are found for certain; ask for 0.9999 or less with --recall")
    # Bands of one row miss least, as 1 − s ≤ (1 − s²)^½ and so on. Rounded down: it stays below the wish.
    best = int(candidate_probability(threshold / ONE, num_perm, 1) * ONE) / ONE
    problem = f"{wish}: with {num_perm:,} hashes the best is {best:.4f}"
    enough, _ = _reaching(threshold, recall, MAX_PERMUTATIONS)
    if not len(enough):
        return SettingsError(f"{problem}, and {MAX_PERMUTATIONS:,} would not do; ask for less with --recall")
    return SettingsError(f"{problem}; it takes --num-perm {enough[0]} or more, or a lower --recall")
