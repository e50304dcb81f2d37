"""Statistics against figures worked out by hand, taken from printed tables, or computed by SciPy's own tests."""

from __future__ import annotations

import math
import random
import subprocess
import sys

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from runner import statistics
from runner.statistics import Aggregate, Estimate, Ratio

times = st.floats(1e-6, 1e3)


def rounds(*seconds: float) -> dict[int, list[float]]:
    """Rounds of one block each."""
    return {number: [each] for number, each in enumerate(seconds)}


def ratio_of(*ratios: float, confidence: float = statistics.CONFIDENCE) -> Ratio:
    """The ratio of rounds in which the second side was so many times as fast as the first."""
    found = statistics.speed_ratio(rounds(*ratios), rounds(*[1.0] * len(ratios)), confidence)
    assert found is not None
    return found


@pytest.mark.parametrize(("values", "middle"), [([3, 1, 2], 2), ([4, 1, 3, 2], 2.5), ([1] * 9 + [500], 1), ([7], 7)])
def test_median(values: list[float], middle: float) -> None:
    assert statistics.median_of(values) == middle


def test_no_median_of_nothing() -> None:
    with pytest.raises(ValueError):
        statistics.median_of([])


def test_estimate_is_the_median_in_the_interval_of_the_mean_of_logarithms() -> None:
    # logarithms 0, ln 2, ln 4: mean ln 2, deviation ln 2, and t(0.975, 2) = 4.30265
    found = statistics.estimate([4.0, 1.0, 2.0])
    half = 4.30265 * math.log(2) / math.sqrt(3)
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2 * math.exp(-half), 2 * math.exp(half)), rel=1e-5)


def test_estimate_of_one_round_has_no_interval() -> None:
    assert statistics.estimate([2.0]) == Estimate(2.0, None, None)
    assert statistics.estimate([]) == Estimate(None, None, None)


@given(st.lists(times, min_size=2, max_size=12))
def test_the_interval_of_an_estimate_holds_it(values: list[float]) -> None:
    found = statistics.estimate(values)
    assert found.low is not None and found.value is not None and found.high is not None
    assert 0 < found.low <= found.value <= found.high < math.inf


def test_spread_is_the_deviation_of_logarithms() -> None:
    assert statistics.spread([1.0, 2.0, 4.0]) == pytest.approx(math.log(2))
    assert statistics.spread([1.0]) is None
    assert statistics.spread([]) is None


def test_ratio_of_paired_rounds_by_hand() -> None:
    # log ratios ln 1 and ln 4: mean ln 2, standard error ln 2, and t(0.975, 1) = 12.706
    ratio = statistics.speed_ratio({0: [1.0], 1: [4.0], 2: [5.0]}, {0: [1.0], 1: [1.0], 7: [3.0]})
    assert ratio is not None
    assert (ratio.value, ratio.rounds, ratio.error) == (pytest.approx(2.0), 2, pytest.approx(math.log(2)))
    assert ratio.low == pytest.approx(2 ** (1 - 12.7062), rel=1e-4)
    assert ratio.high == pytest.approx(2 ** (1 + 12.7062), rel=1e-4)


@given(st.lists(st.floats(0.1, 10), min_size=3, max_size=12, unique=True))
def test_ratio_is_the_one_sample_t_test_of_scipy(ratios: list[float]) -> None:
    expected = scipy.stats.ttest_1samp([math.log(ratio) for ratio in ratios], 0.0).confidence_interval(0.95)
    found = ratio_of(*ratios)
    assert found.low is not None and found.high is not None
    assert (math.log(found.low), math.log(found.high)) == pytest.approx((expected.low, expected.high), rel=1e-6, abs=1e-9)


def test_pairing_cancels_what_both_sides_suffered() -> None:
    ratio = statistics.speed_ratio(rounds(1.0, 10.0, 3.0), rounds(2.0, 20.0, 6.0))
    assert ratio is not None
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((0.5, 0.5, 0.5))


def test_blocks_of_one_turn_cancel_what_slowed_the_machine_then() -> None:
    slowed = [1.0, 1.0, 3.0, 3.0, 3.0, 1.0, 1.0]
    first, other = slowed, [2.0 * factor for factor in slowed]
    other[1] *= 40  # a block that was hit by itself is one of many
    assert statistics.round_ratio(first, other) == pytest.approx(0.5)
    assert statistics.median_of(first) / statistics.median_of(other) == pytest.approx(0.5 / 3), "medians take blocks of different turns"


def test_blocks_without_a_partner_do_not_count() -> None:
    assert statistics.round_ratio([1.0, 1.0], [2.0, 2.0, 900.0, 900.0, 900.0]) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="no values"):
        statistics.round_ratio([], [1.0])


def test_one_common_round_gives_a_ratio_without_interval() -> None:
    assert statistics.speed_ratio(rounds(2.0, 1.0), rounds(1.0)) == Ratio(pytest.approx(2.0), None, None, 1, None, "unclear")


def test_no_common_round_gives_no_ratio() -> None:
    assert statistics.speed_ratio({0: [2.0]}, {1: [1.0]}) is None


@given(st.lists(st.tuples(times, times), min_size=2, max_size=12))
def test_swapping_sides_inverts_ratio_and_interval(pairs: list[tuple[float, float]]) -> None:
    first, other = (rounds(*(pair[side] for pair in pairs)) for side in (0, 1))
    forth, back = statistics.speed_ratio(first, other), statistics.speed_ratio(other, first)
    assert forth is not None and back is not None and forth.low is not None and forth.high is not None and back.high is not None
    assert forth.low <= forth.value * (1 + 1e-9) and forth.value <= forth.high * (1 + 1e-9)
    assert math.log(forth.value) == pytest.approx(-math.log(back.value), abs=1e-9)
    assert math.log(forth.low) == pytest.approx(-math.log(back.high), abs=1e-6)
    assert {forth.verdict, back.verdict} in ({"faster", "slower"}, {"same"}, {"unclear"})


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((1.03, 1.03, 1.03), "faster"),
        ((1.015, 1.015, 1.015), "same"),  # surely above 1, but by less than the threshold
        ((1 / 1.03, 1 / 1.03, 1 / 1.03), "slower"),
        ((1.10, 1.12, 1.11), "faster"),
        ((1.02, 1.04, 1.06), "unclear"),  # the interval ends below 1.02
        ((0.9, 1.1, 1.0), "unclear"),
        ((2.0, 2.0), "unclear"),  # two processes may share their luck
        ((2.0,), "unclear"),
    ],
)
def test_verdict(ratios: tuple[float, ...], verdict: str) -> None:
    assert ratio_of(*ratios).verdict == verdict


def test_same_is_two_one_sided_tests_of_scipy() -> None:
    draw = random.Random(1)
    margin, seen = math.log1p(statistics.THRESHOLD), set()
    for _ in range(300):
        logs = [draw.gauss(0, 0.01) for _ in range(5)]
        below = scipy.stats.ttest_1samp(logs, -margin, alternative="greater").pvalue
        above = scipy.stats.ttest_1samp(logs, margin, alternative="less").pvalue
        same = ratio_of(*map(math.exp, logs)).verdict == "same"
        assert same == (max(below, above) < 0.05)
        seen.add(same)
    assert seen == {True, False}


def test_a_verdict_may_ask_for_more_than_the_interval() -> None:
    first, other = rounds(1.06, 1.09, 1.06, 1.09, 1.06), rounds(*[1.0] * 5)
    plain, careful = statistics.speed_ratio(first, other), statistics.speed_ratio(first, other, verdict_confidence=0.9999)
    assert plain is not None and careful is not None
    assert (plain.verdict, careful.verdict) == ("faster", "unclear")
    assert (plain.low, plain.high) == (careful.low, careful.high)


positive = st.lists(st.floats(0.1, 10), min_size=2, max_size=9, unique=True)


@given(positive, positive)
def test_the_ratio_of_unpaired_rounds_is_the_test_of_welch_in_scipy(first: list[float], other: list[float]) -> None:
    logs = [[math.log(value) for value in side] for side in (first, other)]
    expected = scipy.stats.ttest_ind(*logs, equal_var=False).confidence_interval(0.95)
    found = statistics.unpaired_ratio(first, other)
    assert found is not None and found.low is not None and found.high is not None and found.freedom is not None
    assert math.log(found.value) == pytest.approx(math.fsum(logs[0]) / len(first) - math.fsum(logs[1]) / len(other), abs=1e-9)
    assert found.rounds - 1 <= found.freedom <= len(first) + len(other) - 2 + 1e-6
    assert (math.log(found.low), math.log(found.high)) == pytest.approx((expected.low, expected.high), rel=1e-6, abs=1e-9)


def test_unpaired_rounds_by_hand() -> None:
    # Logarithms 0, ln 2, ln 4 on both sides, the other halved: error ln 2 sqrt(2/3), 4 degrees, t(0.975, 4) = 2.77645
    found = statistics.unpaired_ratio([1.0, 2.0, 4.0], [0.5, 1.0, 2.0])
    half = 2.77645 * math.log(2) * math.sqrt(2 / 3)
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2 * math.exp(-half), 2 * math.exp(half)), rel=1e-5)
    assert (found.rounds, found.freedom, found.verdict) == (3, pytest.approx(4.0), "unclear")


@pytest.mark.parametrize(
    ("first", "other", "verdict"),
    [
        ([1.0] * 3, [0.95] * 3, "faster"),
        ([1.0] * 3, [1.05] * 3, "slower"),
        ([1.0] * 3, [1.01] * 3, "same"),
        ([1.0] * 3, [1.05] * 2, "unclear"),
        ([1.0, 1.3, 0.8], [1.05] * 3, "unclear"),
    ],
)
def test_verdict_of_unpaired_rounds(first: list[float], other: list[float], verdict: str) -> None:
    found = statistics.unpaired_ratio(first, other)
    assert found is not None and found.verdict == verdict


def test_the_threshold_of_a_verdict_can_be_chosen() -> None:
    first, other = [1.0, 1.001, 1.0], [1.05, 1.051, 1.05]
    for threshold, verdict in ((0.02, "slower"), (0.10, "same")):
        found = statistics.unpaired_ratio(first, other, threshold=threshold)
        assert found is not None and found.verdict == verdict
        assert statistics.geometric_mean([found, found], threshold=threshold).verdict == verdict


def test_an_unpaired_side_of_one_round_has_no_interval_and_one_of_none_no_ratio() -> None:
    assert statistics.unpaired_ratio([2.0, 2.0, 2.0], [1.0]) == Ratio(pytest.approx(2.0), None, None, 1, None, "unclear")
    assert statistics.unpaired_ratio([2.0], []) is None
    assert statistics.unpaired_ratio([], [2.0]) is None


@pytest.mark.parametrize(("rounds", "share"), [((3, 3), 0.93), ((6, 6), 0.93), ((3, 8), 0.92)])
def test_intervals_of_unpaired_rounds_hold_the_truth_about_as_often_as_they_say(rounds: tuple[int, int], share: float) -> None:
    draw, held, wrong, times = random.Random(7), 0, 0, 2000
    for _ in range(times):
        # One side is four times as noisy as the other: at 3 against 8 a pooled variance would hold the truth in 75 of 100
        first, other = ([math.exp(draw.gauss(0, noise)) for _ in range(n)] for n, noise in zip(rounds, (0.08, 0.02), strict=True))
        found = statistics.unpaired_ratio(first, other)
        assert found is not None and found.low is not None and found.high is not None
        held += found.low <= 1 <= found.high
        wrong += found.verdict in ("faster", "slower")
    assert held / times >= share
    assert wrong / times <= 0.05


def test_a_geometric_mean_uses_the_degrees_of_freedom_of_its_ratios() -> None:
    # Two rows of equal errors e and 4 degrees each: error e / sqrt 2 with 8 degrees, t(0.975, 8) = 2.306
    found = statistics.unpaired_ratio([1.0, 2.0, 4.0], [0.5, 1.0, 2.0])
    mean = statistics.geometric_mean([found, found])
    half = 2.3060 * math.log(2) * math.sqrt(2 / 3) / math.sqrt(2)
    assert (mean.value, mean.high) == pytest.approx((2.0, 2 * math.exp(half)), rel=1e-4)


def test_geometric_mean_counts_what_is_missing() -> None:
    mean = statistics.geometric_mean([ratio_of(2.0), None, ratio_of(8.0)])
    assert mean == Aggregate(pytest.approx(4.0), None, None, "unclear", 2, 3)
    assert statistics.geometric_mean([None]) == Aggregate(None, None, None, "unclear", 0, 1)


def test_the_interval_of_a_geometric_mean_by_hand() -> None:
    # Two rows of equal errors e and 2 degrees each: error e / sqrt 2 with Satterthwaite's 4 degrees, t(0.975, 4) = 2.77645
    rows = [ratio_of(1.0, 2.0, 4.0), ratio_of(4.0, 8.0, 16.0)]
    mean = statistics.geometric_mean(rows)
    half = 2.77645 * math.log(2) / math.sqrt(3) / math.sqrt(2)
    assert (mean.value, mean.low, mean.high) == pytest.approx((4.0, 4 * math.exp(-half), 4 * math.exp(half)), rel=1e-5)


def test_a_geometric_mean_of_rows_without_noise_is_exact() -> None:
    mean = statistics.geometric_mean([ratio_of(2.0, 2.0, 2.0), ratio_of(8.0, 8.0, 8.0)])
    assert (mean.value, mean.low, mean.high, mean.verdict) == (*map(pytest.approx, (4.0, 4.0, 4.0)), "faster")


def test_a_geometric_mean_is_no_clearer_than_its_rows_have_rounds() -> None:
    mean = statistics.geometric_mean([ratio_of(2.0, 2.0), ratio_of(2.0, 2.01, 2.0)])
    assert mean.low is not None and mean.verdict == "unclear"


@pytest.mark.parametrize(
    ("probability", "freedom", "value"),
    # Student's t as printed in statistical tables
    [(0.975, 1, 12.706), (0.975, 2, 4.303), (0.975, 3, 3.182), (0.975, 9, 2.262), (0.975, 30, 2.042), (0.95, 4, 2.132), (0.995, 5, 4.032)],
)
def test_student_quantile(probability: float, freedom: int, value: float) -> None:
    assert statistics.student_quantile(probability, freedom) == pytest.approx(value, abs=5e-4)


@pytest.mark.parametrize(("probability", "freedom"), [(1.0, 3), (0.0, 3), (0.9, 0)])
def test_student_quantile_refuses_what_has_none(probability: float, freedom: int) -> None:
    with pytest.raises(ValueError):
        statistics.student_quantile(probability, freedom)


def test_nothing_heavy_is_imported_with_it() -> None:
    code = "import sys, runner.statistics, runner.steadiness, runner.effort, runner.runreader; print({'scipy', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
