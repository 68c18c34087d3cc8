from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.errors import SettingsError
from neardup.settings import (
    ByHand,
    ByRecall,
    Normalising,
    Settings,
    Shingling,
    Sketching,
    as_decimal,
    parse_shingling,
    ten_thousandths,
)


@given(st.integers(1, 10_000))
def test_a_threshold_is_read_as_it_is_written(value: int) -> None:
    assert ten_thousandths(as_decimal(value), "threshold") == value
    assert Fraction(as_decimal(value)) == Fraction(value, 10_000)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.8", 8000), ("1", 10_000), ("1.0", 10_000), (".5", 5000), ("8e-1", 8000), ("0.80000", 8000)],
)
def test_ways_to_write_a_threshold(text: str, value: int) -> None:
    assert ten_thousandths(text, "threshold") == value


@pytest.mark.parametrize(
    ("text", "rule"),
    [("0", "outside"), ("-0.1", "outside"), ("1.0001", "outside"), ("0.80001", "four decimals"),
     ("high", "not a number"), ("nan", "not a number"), ("inf", "not a number"), ("", "not a number"),
     ("0,8", "not a number")],
)  # fmt: skip
def test_a_threshold_that_cannot_be_names_itself_and_the_rule(text: str, rule: str) -> None:
    with pytest.raises(SettingsError, match=rule) as caught:
        ten_thousandths(text, "threshold")
    assert text in str(caught.value) and "\n" not in str(caught.value)


def test_a_number_that_cannot_be_is_refused_with_an_example_of_its_own() -> None:
    for text in ("high", "2"):
        with pytest.raises(SettingsError, match=r"the recall .* such as 0\.99$"):
            ten_thousandths(text, "the recall", "0.99")


def test_more_bands_and_rows_than_hashes_are_refused_with_the_way_out() -> None:
    with pytest.raises(SettingsError, match=r"30 bands × 6 rows need 180 hashes.*128.*--num-perm 180"):
        Settings(banding=ByHand(30, 6))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Settings(threshold=0),
        lambda: Settings(threshold=10_001),
        lambda: Settings(verify="maybe"),  # type: ignore[arg-type]
        lambda: Settings(clusters="flat"),  # type: ignore[arg-type]
        lambda: Settings(keep="best"),  # type: ignore[arg-type]
        lambda: Normalising(unicode_form="nfd"),  # type: ignore[arg-type]
        lambda: Shingling(k=0),
        lambda: Shingling(kind="line"),  # type: ignore[arg-type]
        lambda: Sketching(num_perm=0),
        lambda: Sketching(num_perm=65_536),
        lambda: Sketching(seed=2**32),
        lambda: Sketching(seed=-1),
        lambda: Sketching(family="slow"),  # type: ignore[arg-type]
        lambda: ByRecall(0),
        lambda: ByHand(0, 4),
        lambda: parse_shingling("char"),
        lambda: parse_shingling("char:"),
        lambda: parse_shingling("char:٥"),
        lambda: parse_shingling("byte:5"),
        lambda: parse_shingling("word:-1"),
    ],
)
def test_a_value_outside_its_range_is_refused_in_one_line(make: object) -> None:
    with pytest.raises(SettingsError) as caught:
        make()  # type: ignore[operator]
    assert "\n" not in str(caught.value)


def test_settings_travel_as_json_and_come_back_equal() -> None:
    settings = Settings(
        banding=ByHand(20, 5), shingling=parse_shingling("word:3"), normalising=Normalising(fold_accents=True)
    )
    assert msgspec.json.decode(msgspec.json.encode(settings), type=Settings) == settings
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"treshold": 8000}', type=Settings)
