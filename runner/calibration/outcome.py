"""Whether the statistics keep their word: what many comparisons of a known truth came to. Pure functions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from runner import effort, statistics, steadiness
from runner.statistics import Ratio, Times, Verdict


@dataclass(frozen=True)
class Outcome:
    """What became of many comparisons whose truth is known: shares of them, but for ``half_width``, the median one (relative), and
    ``rounds``, the mean number. ``covered``: the interval held the truth."""

    comparisons: int
    rounds: float
    true_ratio: float
    covered: float
    half_width: float
    verdicts: Mapping[Verdict, float]

    @property
    def false_verdicts(self) -> float:
        """The share of verdicts that contradict the truth."""
        faster, slower, same = (self.verdicts[word] for word in ("faster", "slower", "same"))
        beyond = abs(math.log(self.true_ratio)) > math.log1p(statistics.THRESHOLD)
        return (0.0 if beyond and self.true_ratio > 1 else faster) + (0.0 if beyond and self.true_ratio < 1 else slower) + beyond * same


def outcome_of(judged: Sequence[Ratio], true_ratio: float) -> Outcome:
    """Sum up comparisons of which each should have found ``true_ratio``. Raises ``ValueError`` without any."""
    if not judged:
        raise ValueError("no outcome of no comparisons")
    verdicts = Counter(ratio.verdict for ratio in judged)
    widths = [half for ratio in judged if (half := effort.half_width(ratio)) is not None]
    return Outcome(
        comparisons=len(judged),
        rounds=sum(ratio.rounds for ratio in judged) / len(judged),
        true_ratio=true_ratio,
        covered=sum(covers(ratio.low, ratio.high, true_ratio) for ratio in judged) / len(judged),
        half_width=statistics.median_of(widths) if widths else math.inf,
        verdicts={word: verdicts[word] / len(judged) for word in get_args(Verdict)},
    )


def covers(low: float | None, high: float | None, truth: float) -> bool:
    """Whether an interval holds the truth; one without bounds does."""
    return low is None or high is None or low <= truth <= high


def compare(first: Sequence[Times], other: Sequence[Times], goal: float | None = None) -> Ratio:
    """The ratio as a report of these rounds has it; with a ``goal``, of as many of the rounds as would have been measured."""
    start = statistics.VERDICT_ROUNDS if goal is not None else len(first)
    for count in range(start, len(first) + 1):
        ratio = _ratio(first[:count], other[:count], statistics.CONFIDENCE if goal is None else statistics.ADDED_CONFIDENCE)
        if goal is None or effort.enough(ratio, goal, len(first)):
            break
    return ratio


def _ratio(first: Sequence[Times], other: Sequence[Times], confidence: float) -> Ratio:
    ratio = steadiness.judged_ratio(dict(enumerate(first)), dict(enumerate(other)), confidence)
    assert ratio is not None
    return ratio
