from __future__ import annotations

from fractions import Fraction

import datasketch
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_text as naive
from neardup import curve
from neardup.curve import areas, best_eight, by_recall, by_weights, candidate_probability, chosen, steepest
from neardup.errors import SettingsError
from neardup.settings import MAX_PERMUTATIONS, ByHand, ByRecall, ByWeights, Settings, Sketching, parse_weights

ten_thousandths = st.integers(1, 10_000)


def settings_of(threshold: int = 8_000, banding: ByRecall | ByHand | None = None, num_perm: int = 128) -> Settings:
    return Settings(threshold=threshold, banding=banding or ByRecall(), sketching=Sketching(num_perm=num_perm))


def reaching_by_trial(threshold: int, recall: int, num_perm: int) -> list[tuple[Fraction, int, int]]:
    """(FP, −r, b) of each r's least b that reaches the recall, in exact rational numbers."""
    t, wish = Fraction(threshold, 10_000), Fraction(recall, 10_000)
    found = []
    for rows in range(1, num_perm + 1):
        enough = (b for b in range(1, num_perm // rows + 1) if naive.probability(t, b, rows) >= wish)
        if bands := next(enough, 0):
            found.append((naive.areas(bands, rows, t)[0], -rows, bands))
    return sorted(found)


@settings(max_examples=200, deadline=None)
@given(ten_thousandths, st.integers(1, 60), st.integers(1, 12))
def test_the_curve_is_exact_even_where_it_is_next_to_0_or_1(s, bands, rows):
    exact = naive.probability(Fraction(s, 10_000), bands, rows)

    p = candidate_probability(s / 10_000, bands, rows)

    assert isinstance(p, float)
    assert p == pytest.approx(float(exact), rel=1e-12, abs=1e-300)


def test_the_curve_begins_at_0_and_ends_at_1_and_takes_arrays():
    s = np.linspace(0, 1, 101)

    p = candidate_probability(s, 16, 6)

    assert p[0] == 0 and p[-1] == 1 and (np.diff(p) >= 0).all()
    assert p.tolist() == [candidate_probability(float(one), 16, 6) for one in s]
    assert candidate_probability(1e-60, 1, 5) == pytest.approx(1e-300)
    assert candidate_probability(np.array(0.5), np.array([1, 2]), np.array([1, 1])).tolist() == [0.5, 0.75]


@pytest.mark.parametrize(("bands", "rows"), [(16, 6), (9, 13), (35, 3), (2, 2), (5, 1), (1, 7)])
def test_the_curve_is_steepest_where_it_rises_most_from_step_to_step(bands, rows):
    s = np.linspace(0, 1, 100_001)
    rise = np.diff(candidate_probability(s, bands, rows))

    assert steepest(bands, rows) == pytest.approx((s[:-1] + s[1:])[rise.argmax()] / 2, abs=2e-3)


def test_the_sketched_curve_of_16_by_6_is_steepest_at_0_612():
    assert f"{steepest(16, 6):.3f}" == "0.612"
    assert steepest(128, 1) == 0 and steepest(1, 1) == 0


@pytest.mark.parametrize("threshold", [1, 300, 5_000, 8_000, 9_900, 9_999, 10_000])
@pytest.mark.parametrize(("bands", "rows"), [(16, 6), (1, 1), (35, 3), (128, 1), (1, 128), (11, 10), (2, 64), (18, 7)])
def test_both_areas_are_exact(bands, rows, threshold):
    fp, fn = naive.areas(bands, rows, Fraction(threshold, 10_000))

    assert areas(bands, rows, threshold, 128) == (
        pytest.approx(float(fp), rel=1e-11, abs=1e-300), pytest.approx(float(fn), rel=1e-11, abs=1e-300)
    )  # fmt: skip


@pytest.mark.parametrize("num_perm", [127, 4_094, 4_095, 4_096, MAX_PERMUTATIONS])
@pytest.mark.parametrize("t", [0.01, 0.5, 0.9, 0.9999])
def test_areas_of_the_longest_curves_equal_their_closed_forms(t, num_perm):
    threshold = round(10_000 * t)
    n = num_perm

    fp_of_one_band, _ = areas(1, n, threshold, n)
    fp_of_one_row, fn_of_one_row = areas(n, 1, threshold, n)

    assert fp_of_one_band == pytest.approx(t ** (n + 1) / (n + 1), rel=1e-9, abs=1e-300)
    assert fn_of_one_row == pytest.approx((1 - t) ** (n + 1) / (n + 1), rel=1e-9, abs=1e-300)
    assert fp_of_one_row == pytest.approx(t - (1 - (1 - t) ** (n + 1)) / (n + 1), rel=1e-9)


@pytest.mark.parametrize(
    ("t", "bands", "rows"), [(5_000, 35, 3), (8_000, 16, 6), (9_000, 11, 10), (10_000, 1, 128)]
)
def test_the_default_wish_at_128_hashes_chooses_the_documented_bands(t, bands, rows):
    banding = chosen(settings_of(t))

    assert (banding.bands, banding.rows) == (bands, rows)


def test_the_rule_says_how_the_bands_came_about():
    assert chosen(settings_of()).rule == "wished recall 0.99 at t = 0.8"
    assert chosen(settings_of(8_525, ByRecall(9_505))).rule == "wished recall 0.9505 at t = 0.8525"
    assert chosen(settings_of(banding=ByHand(20, 5))) == curve.Banding(20, 5, "by hand")


@settings(max_examples=120, deadline=None)
@given(ten_thousandths, ten_thousandths, st.integers(1, 40))
def test_the_choice_by_recall_is_the_one_that_trying_all_finds(threshold, recall, num_perm):
    best = reaching_by_trial(threshold, recall, num_perm)
    if not best:
        with pytest.raises(SettingsError):
            by_recall(threshold, recall, num_perm)
        return

    choice = by_recall(threshold, recall, num_perm)

    fp, minus_rows, bands = best[0]
    assert (choice.bands, choice.rows) == (bands, -minus_rows)
    assert choice.fp == pytest.approx(float(fp), rel=1e-9)
    assert choice.p_at_threshold >= recall / 10_000 - 1e-12


@pytest.mark.parametrize(
    ("threshold", "recall", "num_perm", "bands", "rows"),
    [
        (9_000, 9_900, 2, 2, 1),  # 1 − 0.1² is 0.99, and 0.9899999999999999 in floats
        (9_000, 8_100, 3, 1, 2),
        (6_000, 3_600, 2, 1, 2),
        (8_000, 6_400, 2, 1, 2),
        (5_000, 9_375, 4, 4, 1),
        (9_000, 9_990, 3, 3, 1),
        (9_000, 9_999, 4, 4, 1),
        (1_000, 1_000, 1, 1, 1),
        (7_000, 7_000, 1, 1, 1),
    ],
)
def test_a_recall_that_is_reached_exactly_is_reached(threshold, recall, num_perm, bands, rows):
    choice = by_recall(threshold, recall, num_perm)

    assert (choice.bands, choice.rows) == (bands, rows)


def test_a_recall_that_is_missed_by_less_than_a_billionth_is_missed():
    t, wish = Fraction(5_472, 10_000), Fraction(7_010, 10_000)
    assert 0 < wish - naive.probability(t, 24, 5) < Fraction(1, 10**9)

    choice = by_recall(5_472, 7_010, 125)

    assert (choice.bands, choice.rows) == (25, 5)


@pytest.mark.parametrize(("threshold", "recall"), [(8_000, 9_900), (9_800, 9_000), (9_990, 500), (50, 10)])
def test_the_longest_signatures_are_chosen_for_as_short_ones_are(threshold, recall):
    # ∫₀ᵗ (1 − s^r)^b by parts: FP_b = (t·P_b(t) + b·r·FP_(b−1))/(1 + b·r). Nothing cancels.
    t, best = threshold / 10_000, (2.0, 0, 0)
    for rows in range(1, MAX_PERMUTATIONS + 1):
        fp = p = 0.0
        bands = 0
        while p < recall / 10_000 and (bands + 1) * rows <= MAX_PERMUTATIONS:
            bands += 1
            p = 1 - (1 - t**rows) ** bands
            fp = (t * p + bands * rows * fp) / (1 + bands * rows)
        if p < recall / 10_000:
            break
        best = min(best, (fp, -rows, bands))

    choice = by_recall(threshold, recall, MAX_PERMUTATIONS)

    assert (choice.bands, choice.rows) == (best[2], -best[1])
    assert choice.fp == pytest.approx(best[0], rel=1e-8)


def test_a_recall_out_of_reach_names_the_best_and_the_number_of_hashes_that_would_do():
    with pytest.raises(SettingsError, match=r"0\.99 at t = 0\.01 .*128 hashes.*0\.7237.*--num-perm 459 .*--recall"):
        chosen(settings_of(100))

    assert chosen(settings_of(100, num_perm=459)).bands == 459
    with pytest.raises(SettingsError):
        chosen(settings_of(100, num_perm=458))


def test_a_recall_that_no_number_of_hashes_reaches_is_said_to_be_so():
    with pytest.raises(SettingsError, match="65,535 would not do"):
        chosen(settings_of(1, ByRecall(9_999)))
    with pytest.raises(SettingsError, match=r"only pairs at t = 1 .*0\.9999"):
        chosen(settings_of(8_000, ByRecall(10_000)))
    assert chosen(settings_of(10_000, ByRecall(10_000))).rows == 128


def test_the_table_at_0_8_is_the_one_of_the_documentation():
    table = best_eight(settings_of())

    assert [(row.choice.bands, row.choice.rows) for row in table] == [
        (16, 6), (17, 6), (18, 6), (12, 5), (9, 4), (7, 3), (5, 2), (3, 1), (18, 7)
    ]  # fmt: skip
    assert [row.chosen for row in table] == [True] + [False] * 8
    assert [row.below_wish for row in table] == [False] * 8 + [True]
    first = table[0].choice
    assert (f"{first.p_at_threshold:.3f}", f"{first.fn:.4f}", f"{first.fp:.3f}") == ("0.992", "0.0002", "0.219")


@settings(max_examples=40, deadline=None)
@given(st.integers(500, 10_000), ten_thousandths, st.integers(1, 30))
def test_the_table_lists_each_rs_least_b_then_further_ones_then_the_next_r(threshold, recall, num_perm):
    t = Fraction(threshold, 10_000)
    least = reaching_by_trial(threshold, recall, num_perm)
    if not least:
        return
    mains = [(bands, -minus) for _, minus, bands in least][:8]
    others = sorted(
        (naive.areas(more, -minus, t)[0], minus, more)
        for _, minus, bands in least
        for more in range(bands + 1, num_perm // -minus + 1)
    )
    fill = [(bands, -minus) for _, minus, bands in others][: 8 - len(mains)]
    eight = sorted(mains + fill, key=lambda choice: (naive.areas(*choice, t)[0], -choice[1]))
    beyond = len(least) + 1

    table = best_eight(settings_of(threshold, ByRecall(recall), num_perm))

    listed = [(row.choice.bands, row.choice.rows) for row in table]
    assert listed == eight + [(num_perm // beyond, beyond)] * (beyond <= num_perm)
    assert [row.below_wish for row in table] == [False] * len(eight) + [True] * (beyond <= num_perm)
    assert listed[0] == (chosen(settings_of(threshold, ByRecall(recall), num_perm)).bands, eight[0][1])


def test_bands_set_by_hand_are_marked_in_the_table_of_the_default_wish():
    among = best_eight(settings_of(banding=ByHand(12, 5)))
    apart = best_eight(settings_of(banding=ByHand(20, 5)))
    cheap = best_eight(settings_of(banding=ByHand(18, 7)))

    assert [row.chosen for row in among] == [False, False, False, True] + [False] * 5
    assert apart[0].chosen and apart[0].choice.bands == 20 and not apart[0].below_wish
    assert [row.choice for row in apart[1:]] == [row.choice for row in best_eight(settings_of())]
    assert cheap[-1].chosen and cheap[-1].below_wish


def test_bands_set_by_hand_have_a_table_where_the_default_wish_is_out_of_reach():
    table = best_eight(settings_of(100, ByHand(16, 6)))

    assert [(row.choice.bands, row.choice.rows, row.chosen) for row in table] == [(16, 6, True), (128, 1, False)]
    assert all(row.below_wish for row in table)
    with pytest.raises(SettingsError):
        best_eight(settings_of(100))


@pytest.mark.parametrize("num_perm", [128, 256])
@pytest.mark.parametrize("weights", ["0.5:0.5", "0.1:0.9", "0.9:0.1"])
@pytest.mark.parametrize("threshold", [5_000, 6_000, 7_000, 8_000, 9_000, 9_500])
def test_by_weights_is_what_datasketch_takes(threshold, weights, num_perm):
    theirs = datasketch.MinHashLSH(threshold / 10_000, num_perm, weights=tuple(map(float, weights.split(":"))))

    ours = by_weights(threshold, parse_weights(weights), num_perm)[0]

    assert (ours.bands, ours.rows) == (theirs.b, theirs.r)


@settings(max_examples=30, deadline=None)
@given(ten_thousandths, st.integers(1, 1_000), st.integers(1, 1_000), st.sampled_from([1, 2, 3, 5, 16, 24]))
def test_the_eight_by_weights_are_the_least_of_all_in_rational_numbers(threshold, fp, fn, num_perm):
    weights = parse_weights(f"{fp}:{fn}")
    t = Fraction(threshold, 10_000)
    errors = {}
    for rows in range(1, num_perm + 1):
        for bands in range(1, num_perm // rows + 1):
            below, above = naive.areas(bands, rows, t)
            errors[bands, rows] = float((weights.fp * below + weights.fn * above) / (weights.fp + weights.fn))

    eight = [(one.bands, one.rows) for one in by_weights(threshold, weights, num_perm)]

    assert len(set(eight)) == len(eight) == min(8, len(errors))
    assert [errors[one] for one in eight] == pytest.approx(sorted(errors.values())[:8], abs=2e-12)


def test_the_search_by_weights_looks_at_all_that_may_be_least():
    """Against every choice there is, where there are more than it looks at one by one."""
    random = np.random.default_rng(2)
    for num_perm in [64, 200, 500] * 5:
        threshold, weights = int(random.integers(1, 10_001)), ByWeights(int(random.integers(1, 99)) * 2 + 1, 2)
        rows = np.concatenate([np.full(num_perm // r, r) for r in range(1, num_perm + 1)])
        bands = np.concatenate([np.arange(1, num_perm // r + 1) for r in range(1, num_perm + 1)])
        error = np.round(curve._error(bands, rows, threshold, weights, num_perm), 12)
        best = np.lexsort((rows, bands, error))[:8]
        eight = [(one.bands, one.rows) for one in by_weights(threshold, weights, num_perm)]
        assert eight == list(zip(bands[best].tolist(), rows[best].tolist(), strict=True))


def test_weights_choose_and_rank():
    settings = settings_of(banding=ByWeights())
    assert chosen(settings) == curve.Banding(9, 13, "least error at t = 0.8, weights 0.5:0.5")
    ranked = best_eight(settings)
    assert len(ranked) == 8
    assert [one.chosen for one in ranked] == [True] + [False] * 7 and not any(one.below_wish for one in ranked)


@pytest.mark.parametrize(
    ("text", "read", "written"),
    [("0.5:0.5", (1, 1), "0.5:0.5"), ("1:9", (1, 9), "0.1:0.9"), ("0.3333:0.6667", (3_333, 6_667), "0.3333:0.6667"),
     ("1:2", (1, 2), "1:2"), ("10000:0.0001", (10**8, 1), "100000000:1")],
)  # fmt: skip
def test_weights_are_read_as_shares(text, read, written):
    weights = parse_weights(text)
    assert (weights.fp, weights.fn) == read
    assert str(weights) == written


@pytest.mark.parametrize("text", ["", "0.5", "1:2:3", "0:1", "1:0", "-1:2", "a:b", "nan:1", "0.00001:1", "10001:1"])
def test_weights_that_cannot_be_are_refused_with_the_range(text):
    with pytest.raises(SettingsError, match=r"above 0 and up to 10,000.*0\.5:0\.5"):
        parse_weights(text)


def test_weights_not_in_lowest_terms_are_refused():
    with pytest.raises(SettingsError, match="give 1:2"):
        ByWeights(2, 4)
