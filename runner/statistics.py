"""How blocks become a number, and numbers a ratio with its interval. Pure functions; times in seconds.

The unit of repetition is the round, a fresh process: blocks within one share its luck and are no independent samples of it
(Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013). So blocks only ever give their round one value,
and every interval is taken over rounds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

CONFIDENCE = 0.95
ENOUGH_FOR_QUARTILES = 8


@dataclass(frozen=True)
class Ratio:
    """``value`` with its interval at the level :data:`CONFIDENCE`, which one round cannot give, over ``rounds`` pairs."""

    value: float
    low: float | None
    high: float | None
    rounds: int


@dataclass(frozen=True)
class Aggregate:
    """A geometric mean over the ``finished`` of ``of`` values; None where none was finished."""

    value: float | None
    finished: int
    of: int


def seconds_per_step(blocks: Sequence[tuple[int, float]]) -> float:
    """One round's time: the median over its blocks, each ``(steps, seconds)``, of seconds by steps.

    The median, because what disturbs a block (another process, a page fault) only ever makes it longer; up to half of them may be hit
    (its breakdown point: Huber and Ronchetti, *Robust Statistics*, 2nd ed. 2009). Raises ``ValueError`` without blocks.
    """
    return median_of([seconds / steps for steps, seconds in blocks])


def median_of(values: Sequence[float]) -> float:
    """The median, or the mean of the middle two; over rounds it is the number of a cell. Raises ``ValueError`` without values."""
    return float(median(values))


def spread(values: Sequence[float]) -> float | None:
    """How far the rounds of a cell lie apart: half a range, relative to their median; None for fewer than two.

    The range is the one between the quartiles, which one bad round does not widen. With fewer than eight rounds a quartile would be
    interpolated from the two outermost values at either side, so the range is then the whole one, from least to greatest. Quartiles are
    number 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50 (1996), as in NumPy and R.
    """
    if len(values) < 2:
        return None
    if len(values) < ENOUGH_FOR_QUARTILES:
        low, high = min(values), max(values)
    else:
        low, high = _quantile(values, 0.25), _quantile(values, 0.75)
    return (high - low) / 2 / median_of(values)


def _quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def speed_ratio(first: Mapping[int, float], other: Mapping[int, float]) -> Ratio | None:
    """How many times as fast ``other`` is as ``first``, from seconds per step by round; None without a common round.

    Rivals are measured in turns within a round, so each common round gives one ratio from which the disturbances of that time have
    cancelled. The value is their geometric mean, the interval that of Student's t for the mean of their logarithms:
    Alf and Grossberg, "The geometric mean: confidence limits and significance tests", Perception & Psychophysics 26 (1979).
    """
    common = sorted(first.keys() & other.keys())
    if not common:
        return None
    logs = [math.log(first[number]) - math.log(other[number]) for number in common]
    count = len(logs)
    mean = math.fsum(logs) / count
    if count == 1:
        return Ratio(math.exp(mean), None, None, 1)
    variance = math.fsum((log - mean) ** 2 for log in logs) / (count - 1)
    half = student_quantile((1 + CONFIDENCE) / 2, count - 1) * math.sqrt(variance / count)
    return Ratio(math.exp(mean), _exp(mean - half), _exp(mean + half), count)


def _exp(value: float) -> float:
    """Finite whatever the interval: two wildly different rounds must not end a report."""
    return math.exp(max(-700.0, min(value, 700.0)))


def geometric_mean(values: Sequence[float | None]) -> Aggregate:
    """The geometric mean of the ratios that exist, and how many of all do.

    The only mean of ratios that does not depend on which side was the reference: Fleming and Wallace, "How not to lie with statistics:
    the correct way to summarize benchmark results", Communications of the ACM 29 (1986).
    """
    logs = [math.log(value) for value in values if value is not None]
    return Aggregate(math.exp(math.fsum(logs) / len(logs)) if logs else None, len(logs), len(values))


@functools.cache
def student_quantile(probability: float, freedom: int) -> float:
    """The value that Student's t with ``freedom`` degrees stays below with ``probability`` (0.5 up to, not including, 1).

    Found by bisection of the distribution function, which is a finite sum for whole degrees.
    """
    if not (0.5 <= probability < 1 and freedom >= 1):
        raise ValueError(f"no quantile for probability {probability} with {freedom} degrees of freedom")
    low, high = 0.0, 1.0
    while _student_between(high, freedom) < 2 * probability - 1:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        if _student_between(middle, freedom) < 2 * probability - 1:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _student_between(value: float, freedom: int) -> float:
    """The probability of lying between ``-value`` and ``value``: Abramowitz and Stegun, *Handbook*, 26.7.3 and 26.7.4."""
    angle = math.atan(value / math.sqrt(freedom))
    square = math.cos(angle) ** 2
    odd = freedom % 2 == 1
    term = math.cos(angle) if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= square * (k - 1) / k
        total += term
    if odd:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total
