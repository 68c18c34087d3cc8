"""Settings: frozen, checked values, and what each stage reads of them.

Thresholds and recalls are whole numbers of ten-thousandths, so that no float takes part in a decision:
0.8 is 8000. `ten_thousandths` reads one from what a person typed.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from math import gcd
from typing import Literal, get_args

import msgspec

from neardup.errors import SettingsError

UnicodeForm = Literal["none", "nfc", "nfkc"]
ShingleKind = Literal["char", "word"]
Family = Literal["mersenne", "fast"]
Find = Literal["lsh", "exact"]
Verify = Literal["exact", "estimate", "none"]
ClusterMode = Literal["transitive", "star"]
Keep = Literal["first"]

ONE = 10_000
MAX_PERMUTATIONS = 65_535
MAX_SHINGLE = 1_000
MAX_WEIGHT = 10**8


def _within(name: str, value: int, least: int, most: int, option: str) -> None:
    if not least <= value <= most:
        raise SettingsError(f"{name} is {value:,}: {option} takes {least:,} to {most:,}")


def _one_of(name: str, value: str, allowed: object, option: str) -> None:
    names: tuple[str, ...] = get_args(allowed)
    if value not in names:
        raise SettingsError(f"{name} is {value!r}: {option} takes {', '.join(names)}")


class Normalising(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is done to a text before it is cut into shingles, in the order of the fields."""

    drop_invisible: bool = True
    unicode_form: UnicodeForm = "nfc"
    fold_accents: bool = False
    lower_case: bool = True
    drop_punctuation: bool = False
    join_whitespace: bool = True

    def __post_init__(self) -> None:
        _one_of("the Unicode form", self.unicode_form, UnicodeForm, "--unicode")


class Shingling(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """k consecutive code points, or k consecutive words joined by one space."""

    kind: ShingleKind = "char"
    k: int = 5

    def __post_init__(self) -> None:
        _one_of("the kind of shingle", self.kind, ShingleKind, "--shingle")
        _within("the shingle length k", self.k, 1, MAX_SHINGLE, "--shingle")

    def __str__(self) -> str:
        return f"{self.kind}:{self.k}"


class Sketching(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """num_perm numbers a document, drawn from the seed: MinHash (`mersenne`) or Fast Similarity Sketching (`fast`)."""

    num_perm: int = 128
    seed: int = 1
    family: Family = "mersenne"

    def __post_init__(self) -> None:
        _one_of("the family", self.family, Family, "--family")
        _within("num-perm", self.num_perm, 1, MAX_PERMUTATIONS, "--num-perm")
        _within("the seed", self.seed, 0, 2**32 - 1, "--seed")

    @property
    def independent(self) -> bool:
        """Whether slots agree independently of each other, so that 1 − (1 − s^r)^b is exact, and not approximate."""
        return self.family == "mersenne"


class ByRecall(msgspec.Struct, frozen=True, tag="recall", forbid_unknown_fields=True):
    """The b × r that find a pair at the threshold with at least this chance, and the least false positives."""

    recall: int = 9_900

    def __post_init__(self) -> None:
        _within("the wished recall in ten-thousandths", self.recall, 1, ONE, "--recall")


class ByWeights(msgspec.Struct, frozen=True, tag="weights", forbid_unknown_fields=True):
    """The b × r with the least fp · FP + fn · FN, the areas beside the threshold; whole numbers in lowest terms."""

    fp: int = 1
    fn: int = 1

    def __post_init__(self) -> None:
        _within("the weight of false positives", self.fp, 1, MAX_WEIGHT, "--weights")
        _within("the weight of false negatives", self.fn, 1, MAX_WEIGHT, "--weights")
        if gcd(self.fp, self.fn) > 1:
            common = gcd(self.fp, self.fn)
            raise SettingsError(
                f"the weights {self.fp}:{self.fn} are not in lowest terms: give {self.fp // common}:{self.fn // common}"
            )

    def __str__(self) -> str:
        """As shares of their sum where four decimals hold them: 1:1 is 0.5:0.5, 1:2 stays 1:2."""
        whole = self.fp + self.fn
        if ONE % whole:
            return f"{self.fp}:{self.fn}"
        return f"{as_decimal(self.fp * ONE // whole)}:{as_decimal(self.fn * ONE // whole)}"


class ByHand(msgspec.Struct, frozen=True, tag="hand", forbid_unknown_fields=True):
    bands: int
    rows: int

    def __post_init__(self) -> None:
        _within("bands", self.bands, 1, MAX_PERMUTATIONS, "--bands")
        _within("rows", self.rows, 1, MAX_PERMUTATIONS, "--rows")


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that decides what is found and what is kept. Where the documents come from is not in here."""

    normalising: Normalising = Normalising()
    shingling: Shingling = Shingling()
    sketching: Sketching = Sketching()
    threshold: int = 8_000
    banding: ByRecall | ByWeights | ByHand = ByRecall()
    bucket_limit: int = 10_000
    find: Find = "lsh"
    verify: Verify = "exact"
    clusters: ClusterMode = "transitive"
    keep: Keep = "first"

    def __post_init__(self) -> None:
        _within("the threshold in ten-thousandths", self.threshold, 1, ONE, "--threshold")
        _within("the bucket limit", self.bucket_limit, 1, 2**31, "bucket_limit")
        _one_of("the way to find", self.find, Find, "--find")
        _one_of("the verification", self.verify, Verify, "--verify")
        _one_of("the cluster mode", self.clusters, ClusterMode, "--clusters")
        _one_of("the keep rule", self.keep, Keep, "--keep")
        if self.find == "exact" and self.verify != "exact":
            raise SettingsError(
                f"--find exact finds pairs by their exact Jaccard, which --verify {self.verify} does not ask for: "
                "leave one of them out"
            )
        if isinstance(self.banding, ByHand):
            bands, rows, hashes = self.banding.bands, self.banding.rows, self.sketching.num_perm
            if bands * rows > hashes:
                raise SettingsError(
                    f"{bands} bands × {rows} rows need {bands * rows} hashes, and a signature has {hashes}: "
                    f"ask for fewer bands or rows, or for longer signatures with --num-perm {bands * rows}"
                )


def ten_thousandths(text: str, name: str, example: str = "0.8") -> int:
    """Read a number in (0, 1] with at most four decimals as ten-thousandths; else SettingsError, with the example."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise SettingsError(f"{name} {text!r} is not a number: give one above 0 and up to 1, such as {example}")
    if not 0 < value <= 1:
        raise SettingsError(f"{name} {text} is outside (0, 1]: give a number above 0 and up to 1, such as {example}")
    scaled = value * ONE
    if scaled != scaled.to_integral_value():
        raise SettingsError(f"{name} {text} has more than four decimals: the finest step is 0.0001")
    return int(scaled)


def as_decimal(value: int) -> str:
    """Ten-thousandths as people write them: 8000 is 0.8, 8500 is 0.85."""
    return format((Decimal(value) / ONE).normalize(), "f")


def parse_weights(text: str) -> ByWeights:
    """Read `0.5:0.5`, `1:9` and the like: two numbers above 0 with at most four decimals; else SettingsError."""
    rule = "give two numbers above 0 and up to 10,000, with at most four decimals, such as 0.5:0.5"
    weights = []
    for part in text.split(":"):
        try:
            scaled = Decimal(part) * ONE
        except InvalidOperation:
            scaled = Decimal("NaN")
        if not (scaled.is_finite() and 0 < scaled <= MAX_WEIGHT and scaled == scaled.to_integral_value()):
            raise SettingsError(f"the weights {text!r} are not of the form FP:FN: {rule}")
        weights.append(int(scaled))
    if len(weights) != 2:
        raise SettingsError(f"the weights {text!r} are not of the form FP:FN: {rule}")
    common = gcd(*weights)
    return ByWeights(weights[0] // common, weights[1] // common)


def parse_shingling(text: str) -> Shingling:
    """Read `char:5` or `word:3`; else SettingsError."""
    kind, colon, length = text.partition(":")
    if not colon or kind not in get_args(ShingleKind) or not (length.isascii() and length.isdigit()):
        raise SettingsError(f"the shingle {text!r} is not of the form char:5 or word:3")
    return Shingling(kind=kind, k=int(length))  # type: ignore[arg-type]  # __post_init__ has the rule
