"""A verdict says what the interval allows, the same in every unit."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from runner.claims.model import Claim, Figure
from runner.claims.units import Interval
from runner.claims.verdicts import TOLERANCE, judge
from tests.claims.made import source

ANY = source().claims[0]
RATIO = next(claim for claim in source().claims if claim.against_device)
values = st.floats(min_value=1e-3, max_value=1e6)
shares = st.floats(min_value=0.0, max_value=0.5)


def exact(value: float) -> Figure:
    return Figure(value, value, 0.0, str(value))


def verdict(claim: Claim, figure: Figure, low: float, high: float) -> str | None:
    return judge(claim, figure, Interval((low + high) / 2, low, high)).verdict


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (99.0, 101.0, "reproduced"),
        (92.0, 109.0, "reproduced"),
        (92.0, 120.0, None),
        (80.0, 95.0, None),
        (112.0, 130.0, "faster now"),
        (50.0, 89.0, "slower now"),
        (50.0, 200.0, None),
    ],
)
def test_the_whole_interval_decides(low: float, high: float, said: str | None) -> None:
    assert verdict(ANY, exact(100.0), low, high) == said


def test_one_round_decides_nothing() -> None:
    judged = judge(ANY, exact(100.0), Interval(100.0, None, None))
    assert judged.verdict is None and judged.ratio == Interval(1.0, None, None)


def test_a_figure_may_be_off_by_half_of_its_last_digit() -> None:
    twice = Figure(2.0, 2.0, 1.0, "2")
    assert verdict(RATIO, twice, 2.6, 2.7) == "reproduced"
    assert verdict(RATIO, twice, 2.8, 2.9) == "faster now"
    assert verdict(RATIO, Figure(2.0, 2.0, 0.01, "2.00"), 2.6, 2.7) == "faster now"


def test_a_range_is_reproduced_within_it() -> None:
    claim = dataclasses.replace(ANY, unit="ms")
    assert verdict(claim, Figure(46.0, 47.0, 1.0, "46–47"), 43.0, 51.0) == "reproduced"
    assert verdict(claim, Figure(46.0, 47.0, 1.0, "46–47"), 30.0, 40.0) == "faster now"


def test_a_lower_bound_is_never_passed() -> None:
    least = Figure(8.0, 8.0, 1.0, "8", at_least=True)
    assert verdict(ANY, least, 20.0, 21.0) == "reproduced"
    assert verdict(ANY, least, 3.0, 4.0) == "slower now"


@given(values, values, shares)
def test_a_time_and_its_rate_are_judged_alike(figure: float, middle: float, share: float) -> None:
    low, high = middle * (1 - share), middle * (1 + share)
    limits = (figure / (1 + TOLERANCE), figure * (1 + TOLERANCE))
    assume(all(abs(end / limit - 1) > 1e-9 for end in (low, high) for limit in limits))
    as_time = dataclasses.replace(ANY, unit="s", steps=1.0)
    assert verdict(ANY, exact(figure), low, high) == verdict(as_time, exact(1 / figure), 1 / high, 1 / low)


@given(values, shares, st.floats(min_value=1.0, max_value=100.0))
def test_what_is_faster_is_never_judged_slower(figure: float, share: float, gain: float) -> None:
    order = ["slower now", None, "reproduced", None, "faster now"]
    first = verdict(ANY, exact(figure), figure * (1 - share), figure * (1 + share))
    later = verdict(ANY, exact(figure), figure * (1 - share) * gain, figure * (1 + share) * gain)
    if first is not None and later is not None:
        assert order.index(later) >= order.index(first)


@given(values, values, shares)
def test_the_ratio_is_that_of_speeds(figure: float, middle: float, share: float) -> None:
    measured = Interval(middle, middle * (1 - share), middle * (1 + share))
    rate, time = judge(ANY, exact(figure), measured).ratio, judge(dataclasses.replace(ANY, unit="s"), exact(figure), measured).ratio
    assert rate.value == pytest.approx(middle / figure) and time.value == pytest.approx(figure / middle)
    for ratio in (rate, time):
        assert ratio.low is not None and ratio.high is not None
        assert ratio.low <= ratio.value * (1 + 1e-9) and ratio.value <= ratio.high * (1 + 1e-9)


def test_thirty_percent_faster_is_a_ratio() -> None:
    claim = dataclasses.replace(RATIO, unit="%")
    judged = judge(claim, exact(30.0), Interval(30.0, 29.0, 31.0))
    assert judged.verdict == "reproduced" and judged.ratio.value == pytest.approx(1.0)
    assert judge(claim, exact(30.0), Interval(160.0, 159.0, 161.0)).ratio.value == pytest.approx(2.0)
