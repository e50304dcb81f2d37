"""Whether a number is one number: trends within a round, two speeds among processes, rounds far apart. Pure functions.

What is found here is named in a report and changes no number; two speeds ask for more before there is a verdict.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from runner.statistics import BIMODAL_CONFIDENCE, Ratio, Times, median_of, speed_ratio

TREND_BLOCKS = 9  # thirds of at least three
TREND = 0.05
STRONG_TREND = 0.10  # named even if it befell one round only
BIMODAL_ROUNDS = 4
GAP = 0.10  # between two speeds, at least
APART = 2.0  # how many times as wide as either group the gap between them must be
NOISY, UNRELIABLE = 0.10, 0.25  # spreads over rounds

_RARE = NormalDist().inv_cdf(1 - 0.01 / 2)


@dataclass(frozen=True)
class TwoSpeeds:
    """Rounds in two groups: how many there are in the fast and the slow one, and each one's median."""

    fast_rounds: int
    fast: float
    slow_rounds: int
    slow: float


@dataclass(frozen=True)
class Trend:
    """The median ``change`` over those rounds of a cell, ``rounds`` in number, whose blocks grew slower (above 0) or faster (below)."""

    change: float
    rounds: int


def trend(values: Sequence[float]) -> float | None:
    """How much longer the blocks of a round's last third took than those of its first, relative; None without a trend.

    ``values`` are seconds per step in the order of the blocks. A trend is a change of the thirds' medians by 5 % or more, in a series of
    nine blocks or more that a rank test finds ordered with an error of 1 %: Mann, "Nonparametric tests against trend", Econometrica 13
    (1945), by the normal approximation of Kendall, *Rank Correlation Methods* (1975), whose allowance for ties is left out, since it
    could only name more. Noise that lasts for blocks is named too if it moved the round by so much: it did become slower.
    """
    count = len(values)
    if count < TREND_BLOCKS:
        return None
    third = count // 3
    change = median_of(values[-third:]) / median_of(values[:third]) - 1
    if abs(change) < TREND:
        return None
    rises = _rises(values)
    deviation = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    return change if (abs(rises) - 1) / deviation > _RARE and rises * change > 0 else None


def _rises(values: Sequence[float]) -> int:
    """Kendall's S: of all pairs, how many more rise than fall."""
    rises = 0
    before: list[float] = []
    for value in values:
        rises += bisect_left(before, value) + bisect_right(before, value) - len(before)
        insort(before, value)
    return rises


def cell_trend(trends: Sequence[float | None]) -> Trend | None:
    """The trend of a cell from those of its rounds: one that half of them share, or a strong one of any; None otherwise."""
    for found in ([t for t in trends if t is not None and t > 0], [t for t in trends if t is not None and t < 0]):
        if found and (2 * len(found) >= len(trends) > 1 or max(map(abs, found)) >= STRONG_TREND):
            return Trend(median_of(found), len(found))
    return None


def two_speeds(values: Sequence[float]) -> TwoSpeeds | None:
    """The two groups into which processes of one cell fall, from their seconds per step; None for one group or too few rounds.

    Four rounds or more, parted at the largest gap between logarithms, if that is 10 % or more and at least twice as wide as the wider
    group. The largest gap as a sign of two modes: Hartigan, "Distribution problems in clustering", in *Classification and Clustering*,
    1977; the dip test (Hartigan and Hartigan, Annals of Statistics 13, 1985) finds little in so few values. Of cells whose rounds have
    a standard deviation of 4 % and one speed, it names 2 in 100 if there are four rounds, and 1 in 1000 if there are ten.
    """
    if len(values) < BIMODAL_ROUNDS:
        return None
    ordered = sorted(values)
    gaps = [math.log(b / a) for a, b in itertools.pairwise(ordered)]
    gap = max(gaps)
    place = gaps.index(gap) + 1
    fast, slow = ordered[:place], ordered[place:]
    if gap < math.log1p(GAP) or gap < APART * max(math.log(group[-1] / group[0]) for group in (fast, slow)):
        return None
    return TwoSpeeds(len(fast), median_of(fast), len(slow), median_of(slow))


def judged_ratio(first: Mapping[int, Times], other: Mapping[int, Times], confidence: float) -> Ratio | None:
    """The ratio of two cells as reports have it: :func:`runner.statistics.speed_ratio`, its verdict at :data:`BIMODAL_CONFIDENCE` where the
    processes of a side have two speeds. Every round has blocks."""
    bimodal = any(two_speeds([median_of(times) for times in side.values()]) for side in (first, other))
    return speed_ratio(first, other, confidence, BIMODAL_CONFIDENCE if bimodal else confidence)
