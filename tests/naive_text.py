"""Normalising and the curve in plain Python: slow, and short enough to believe at sight."""

from __future__ import annotations

import unicodedata
from fractions import Fraction
from math import comb

from neardup.settings import Normalising

INVISIBLE = {0x0000, 0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF}


def normalised(text: str, how: Normalising) -> str:
    if how.drop_invisible:
        text = "".join(c for c in text if ord(c) not in INVISIBLE)
    if how.unicode_form != "none":
        text = unicodedata.normalize(how.unicode_form.upper(), text)
    if how.fold_accents:
        text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    if how.lower_case:
        text = text.lower()
    if how.drop_punctuation:
        text = "".join(" " if unicodedata.category(c)[0] in "PS" else c for c in text)
    if how.join_whitespace:
        text = " ".join(text.split())
    return text


def probability(s: Fraction, bands: int, rows: int) -> Fraction:
    return 1 - (1 - s**rows) ** bands


def areas(bands: int, rows: int, t: Fraction) -> tuple[Fraction, Fraction]:
    """FP and FN, by the binomial series of (1 − s^r)^b, term by term."""

    def missed(s: Fraction) -> Fraction:
        return sum((-1) ** k * comb(bands, k) * s ** (rows * k + 1) / (rows * k + 1) for k in range(bands + 1))

    return t - missed(t), missed(Fraction(1)) - missed(t)
