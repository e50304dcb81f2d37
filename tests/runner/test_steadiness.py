"""Trends, two speeds: found where they are, and rarely where they are not."""

from __future__ import annotations

import math
import random

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from runner import steadiness
from runner.steadiness import Trend, TwoSpeeds


def noise(draw: random.Random, count: int, deviation: float) -> list[float]:
    return [math.exp(draw.gauss(0, deviation)) for _ in range(count)]


def test_a_throttling_process_is_slowing() -> None:
    # 1 % a block over sixty: the medians of the thirds are 1.095 and 1.495
    assert steadiness.trend([1 + 0.01 * block for block in range(60)]) == pytest.approx(1.495 / 1.095 - 1)


def test_a_process_that_warms_up_is_speeding_up() -> None:
    assert steadiness.trend([2.0, 1.9, 1.8, 1.7, 1.6, 1.5, 1.4, 1.3, 1.2]) == pytest.approx(1.3 / 1.9 - 1)


@pytest.mark.parametrize(
    "values",
    [
        [1.0] * 20,
        [1 + 0.004 * block for block in range(12)],  # ordered, but by less than 5 %
        [1.0, 1.2] * 10,  # far apart, but in no order
        [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7],  # too few to tell
        [1.0] * 19 + [3.0],
    ],
)
def test_no_trend(values: list[float]) -> None:
    assert steadiness.trend(values) is None


@given(st.lists(st.integers(0, 50), min_size=9, max_size=30))
def test_the_count_of_rises_is_that_of_all_pairs(values: list[int]) -> None:
    pairs = sum((b > a) - (b < a) for place, a in enumerate(values) for b in values[place + 1 :])
    assert steadiness._rises(values) == pairs


@given(st.integers(0, 10**6), st.floats(0, 0.06), st.integers(9, 30))
def test_the_rank_test_is_near_the_one_of_scipy(seed: int, slope: float, count: int) -> None:
    draw = random.Random(seed)
    values = [each * (1 + slope * place) for place, each in enumerate(noise(draw, count, 0.05))]
    probability = scipy.stats.kendalltau(range(count), values, method="exact").pvalue
    found = steadiness.trend(values)
    if probability > 0.013:
        assert found is None
    third = count // 3
    change = steadiness.median_of(values[-third:]) / steadiness.median_of(values[:third]) - 1
    if probability < 0.007 and change >= steadiness.TREND:
        assert found == pytest.approx(change)


def test_blocks_that_only_differ_seldom_have_a_trend() -> None:
    draw = random.Random(5)
    found = [steadiness.trend(noise(draw, 10, 0.05)) for _ in range(2000)]
    assert sum(each is not None for each in found) < 20


def test_the_trend_of_a_cell() -> None:
    assert steadiness.cell_trend([0.06, 0.08, None]) == Trend(pytest.approx(0.07), 2)
    assert steadiness.cell_trend([-0.06, None]) == Trend(-0.06, 1)
    assert steadiness.cell_trend([0.06, None, None]) is None  # weak, and in one round of three
    assert steadiness.cell_trend([None, None, 0.12]) == Trend(0.12, 1)  # strong: not averaged away
    assert steadiness.cell_trend([0.06]) is None
    assert steadiness.cell_trend([0.12, -0.12, 0.3]) == Trend(pytest.approx(0.21), 2)
    assert steadiness.cell_trend([]) is None


def test_a_coin_in_each_process_shows_as_two_speeds() -> None:
    assert steadiness.two_speeds([5.0, 12.0, 5.1, 11.9, 5.05]) == TwoSpeeds(3, 5.05, 2, pytest.approx(11.95))
    assert steadiness.two_speeds([5.0, 5.1, 12.0, 5.05]) == TwoSpeeds(3, 5.05, 1, 12.0)


@pytest.mark.parametrize(
    "values",
    [
        [5.0, 12.0, 5.0],  # too few rounds
        [5.0, 5.0, 5.0, 5.0],
        [5.0, 5.0, 5.4, 5.4],  # apart, but not by 10 %
        [5.0, 6.0, 7.0, 8.0, 9.0],  # far apart, but in no groups
        [],
    ],
)
def test_one_speed(values: list[float]) -> None:
    assert steadiness.two_speeds(values) is None


@pytest.mark.parametrize(("rounds", "most"), [(4, 0.04), (10, 0.005)])
def test_rounds_that_only_differ_seldom_have_two_speeds(rounds: int, most: float) -> None:
    draw = random.Random(6)
    found = [steadiness.two_speeds(noise(draw, rounds, 0.04)) for _ in range(2000)]
    assert sum(each is not None for each in found) < 2000 * most
