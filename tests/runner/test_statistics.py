"""Statistics against figures worked out by hand or taken from printed tables."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner import statistics

times = st.floats(1e-6, 1e3)


def test_seconds_per_step_is_the_median_of_blocks_by_their_own_length() -> None:
    assert statistics.seconds_per_step([(10, 1.0), (20, 6.0), (5, 1.0)]) == pytest.approx(0.2)


def test_seconds_per_step_is_not_moved_by_one_slow_block() -> None:
    assert statistics.seconds_per_step([(10, 1.0)] * 9 + [(10, 500.0)]) == pytest.approx(0.1)


def test_seconds_per_step_needs_a_block() -> None:
    with pytest.raises(ValueError):
        statistics.seconds_per_step([])


def test_spread_of_few_rounds_is_half_the_whole_range() -> None:
    assert statistics.spread([9.0, 10.0, 13.0]) == pytest.approx(0.2)


def test_spread_of_many_rounds_leaves_the_outermost_out() -> None:
    # Quartiles of 1..8 and 1000 by Hyndman and Fan's number 7: 3 and 7; the median is 5.
    assert statistics.spread([1, 2, 3, 4, 5, 6, 7, 8, 1000]) == pytest.approx(0.4)


def test_spread_of_one_round_is_unknown() -> None:
    assert statistics.spread([1.0]) is None
    assert statistics.spread([]) is None


def test_ratio_of_paired_rounds_by_hand() -> None:
    # log ratios ln 1 and ln 4: mean ln 2, standard error ln 2, and t(0.975, 1) = 12.706
    ratio = statistics.speed_ratio({0: 1.0, 1: 4.0, 2: 5.0}, {0: 1.0, 1: 1.0, 7: 3.0})
    assert ratio is not None
    assert ratio.value == pytest.approx(2.0)
    assert ratio.rounds == 2
    assert ratio.low == pytest.approx(2 ** (1 - 12.7062), rel=1e-4)
    assert ratio.high == pytest.approx(2 ** (1 + 12.7062), rel=1e-4)


def test_pairing_cancels_what_both_sides_suffered() -> None:
    ratio = statistics.speed_ratio({0: 1.0, 1: 10.0, 2: 3.0}, {0: 2.0, 1: 20.0, 2: 6.0})
    assert ratio is not None
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((0.5, 0.5, 0.5))


def test_one_common_round_gives_a_ratio_without_interval() -> None:
    assert statistics.speed_ratio({0: 2.0, 1: 1.0}, {0: 1.0}) == statistics.Ratio(pytest.approx(2.0), None, None, 1)


def test_no_common_round_gives_no_ratio() -> None:
    assert statistics.speed_ratio({0: 2.0}, {1: 1.0}) is None


@given(st.lists(st.tuples(times, times), min_size=2, max_size=12))
def test_swapping_sides_inverts_ratio_and_interval(pairs: list[tuple[float, float]]) -> None:
    first, other = ({n: pair[side] for n, pair in enumerate(pairs)} for side in (0, 1))
    forth, back = statistics.speed_ratio(first, other), statistics.speed_ratio(other, first)
    assert forth is not None and back is not None and forth.low is not None and forth.high is not None and back.high is not None
    assert forth.low <= forth.value * (1 + 1e-9) and forth.value <= forth.high * (1 + 1e-9)
    assert math.log(forth.value) == pytest.approx(-math.log(back.value), abs=1e-9)
    assert math.log(forth.low) == pytest.approx(-math.log(back.high), abs=1e-6)


def test_geometric_mean_counts_what_is_missing() -> None:
    assert statistics.geometric_mean([2.0, None, 8.0]) == statistics.Aggregate(pytest.approx(4.0), 2, 3)
    assert statistics.geometric_mean([None]) == statistics.Aggregate(None, 0, 1)


@pytest.mark.parametrize(
    ("probability", "freedom", "value"),
    # Student's t as printed in statistical tables
    [(0.975, 1, 12.706), (0.975, 2, 4.303), (0.975, 3, 3.182), (0.975, 9, 2.262), (0.975, 30, 2.042), (0.95, 4, 2.132), (0.995, 5, 4.032)],
)
def test_student_quantile(probability: float, freedom: int, value: float) -> None:
    assert statistics.student_quantile(probability, freedom) == pytest.approx(value, abs=5e-4)


def test_student_quantile_approaches_the_normal_one() -> None:
    assert statistics.student_quantile(0.975, 2001) == pytest.approx(1.96, abs=2e-3)


@pytest.mark.parametrize(("probability", "freedom"), [(1.0, 3), (0.2, 3), (0.9, 0)])
def test_student_quantile_refuses_what_has_none(probability: float, freedom: int) -> None:
    with pytest.raises(ValueError):
        statistics.student_quantile(probability, freedom)
