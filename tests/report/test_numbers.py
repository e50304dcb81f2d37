"""Numbers as text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.report import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12_345.6, "12,300"),
        (999.6, "1,000"),
        (99.96, "100"),
        (9.996, "10.0"),
        (1, "1.00"),
        (0.012345, "0.0123"),
        (0.00000123, "0.00000123"),
        (1.5e9, "1,500,000,000"),
        (0, "0"),
        (-4.5678, "-4.57"),
        (None, "n/a"),
        (math.nan, "n/a"),
        (math.inf, "n/a"),
    ],
)
def test_three_significant_digits(value: float | None, text: str) -> None:
    assert numbers.significant(value) == text


@given(st.floats(1e-9, 1e12))
def test_what_is_shown_is_within_half_a_unit_of_the_third_digit(value: float) -> None:
    text = numbers.significant(value)
    assert "e" not in text
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.00501)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.8, "0.80"),
        (1.0, "1.00"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (0.0999, "0.0999"),
        (0.01234, "0.0123"),
        (123.4, "123"),
        (None, "n/a"),
    ],
)
def test_ratio(value: float | None, text: str) -> None:
    assert numbers.ratio(value) == text


@pytest.mark.parametrize(("share", "text"), [(0.031, "3 %"), (0.0099, "1.0 %"), (0.004, "0.4 %"), (0.0, "0.0 %"), (12.5, "1,250 %")])
def test_percent(share: float, text: str) -> None:
    assert numbers.percent(share) == text


def test_a_column_of_times_has_one_unit() -> None:
    assert numbers.time_unit([2.0, 0.5, None]) is numbers.SECONDS
    unit = numbers.time_unit([2.0, 0.0005, None])
    assert [unit.text(value) for value in (2.0, 0.0005, None)] == ["2,000", "0.500", "n/a"]
    assert numbers.time_unit([None]) is numbers.SECONDS


def test_a_column_of_memory_has_one_unit() -> None:
    assert numbers.memory_unit([2**30, 2**34]) is numbers.GIBIBYTES
    unit = numbers.memory_unit([2**30, 2**20, None])
    assert [unit.text(value) for value in (2**30, 2**20, None)] == ["1,020", "1.00", "n/a"]
    assert numbers.memory_unit([None]) is numbers.MEBIBYTES
    assert numbers.memory_text(2**34) == "16.0 GiB"


def test_span() -> None:
    assert numbers.span([3, 3]) == "3"
    assert numbers.span([1200, 3]) == "3–1,200"
    assert numbers.span([0.25, 1.5]) == "0.250–1.50"


def test_whole() -> None:
    assert (numbers.whole(61706), numbers.whole(None)) == ("61,706", "n/a")
