"""`neardup tune`: the best bands × rows, or what one choice finds at each similarity. Needs no document."""

from __future__ import annotations

import json

import numpy as np

from neardup import ByHand, Settings, areas, best_eight, candidate_probability, chosen, steepest
from neardup.settings import ONE, as_decimal

STEPS = tuple(range(500, ONE + 1, 500))  # similarities told of one choice, in ten-thousandths


def print_table(settings: Settings) -> None:
    print("\n".join(_of_one(settings) if isinstance(settings.banding, ByHand) else _of_all(settings)))


def print_json(settings: Settings) -> None:
    """A list of objects, the best first; by hand one object, with its P at 0.05, 0.10, … 1."""
    told: object
    if isinstance(settings.banding, ByHand):
        bands, rows = settings.banding.bands, settings.banding.rows
        fp, fn = areas(bands, rows, settings.threshold, settings.sketching.num_perm)
        found = zip(STEPS, _found(bands, rows), strict=True)
        curve = [{"similarity": step / ONE, "p": round(p, 6)} for step, p in found]
        told = {**_object(bands, rows, _at(settings.threshold, bands, rows), fp, fn), "p": curve}
    else:
        choices = [one.choice for one in best_eight(settings)]
        told = [_object(one.bands, one.rows, one.p_at_threshold, one.fp, one.fn) for one in choices]
    print(json.dumps(told, indent=2))


def _object(bands: int, rows: int, p: float, fp: float, fn: float) -> dict[str, float]:
    return {"bands": bands, "rows": rows, "p_at_threshold": round(p, 6), "fp": round(fp, 6), "fn": round(fn, 6)}


def _of_all(settings: Settings) -> list[str]:
    t, hashes = as_decimal(settings.threshold), settings.sketching.num_perm
    lines = [
        f"bands × rows at t = {t} with {hashes:,} hashes, {chosen(settings).rule}",
        "",
        f"     b ×  r   unused   P at {t:<6}     FN      FP",
    ]
    ranked = best_eight(settings)
    for one in ranked:
        choice = one.choice
        mark = "●" if one.chosen else "<" if one.below_wish else " "
        lines.append(
            f"{mark}{choice.bands:>5} ×{choice.rows:>3}{hashes - choice.bands * choice.rows:>9,}   "
            f"{choice.p_at_threshold:<11.4f}{choice.fn:.4f}  {choice.fp:.4f}"
        )
    below = "   < cheaper, and below the wished recall" * any(one.below_wish for one in ranked)
    return [
        *lines,
        "",
        f"● taken{below}",
        f"P is the chance that a pair at J = {t} becomes a candidate. FN is the area of pairs missed above t,",
        "FP that of candidates below it. unused: hashes of the signature that no band has.",
    ]


def _of_one(settings: Settings) -> list[str]:
    assert isinstance(settings.banding, ByHand)
    bands, rows = settings.banding.bands, settings.banding.rows
    t, hashes = as_decimal(settings.threshold), settings.sketching.num_perm
    fp, fn = areas(bands, rows, settings.threshold, hashes)
    unused = hashes - bands * rows
    lines = [
        f"{bands} bands × {rows} rows, {bands * rows:,} of {hashes:,} hashes" + (f", {unused:,} unused" * bool(unused)),
        f"a pair at t = {t} is found with {_at(settings.threshold, bands, rows):.4f}",
        f"area missed above t, FN {fn:.4f}; of candidates below it, FP {fp:.4f}",
        f"steepest at {steepest(bands, rows):.4f}; the approximation (1/b)^(1/r) says {(1 / bands) ** (1 / rows):.4f}",
        "",
        "     J   P(candidate)",
    ]
    for step, p in zip(STEPS, _found(bands, rows), strict=True):
        lines.append(f"  {step / ONE:.2f}   {p:.6f}   {'━' * round(40 * p)}".rstrip())
    return lines


def _at(threshold: int, bands: int, rows: int) -> float:
    return candidate_probability(threshold / ONE, bands, rows)


def _found(bands: int, rows: int) -> list[float]:
    found = candidate_probability(np.array(STEPS) / ONE, bands, rows)
    return [float(p) for p in found]
