"""How much to measure: blocks against rounds, and rounds until a ratio is known well enough. Pure functions.

After Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, median, stdev

from runner.statistics import ADDED_CONFIDENCE, VERDICT_ROUNDS, Ratio, student_quantile

PRECISION_GOAL = 0.05
MAXIMUM_ROUNDS = 20


@dataclass(frozen=True)
class Variances:
    """Of the logarithm of a time: ``between`` processes and ``within`` one, from block to block."""

    between: float
    within: float


def variances(round_deviation: float, block_deviations: Sequence[float], blocks: float) -> Variances:
    """What of the deviation of round values is the processes' own.

    ``round_deviation`` is the standard deviation of the logarithms of round values (:func:`runner.statistics.spread`),
    ``block_deviations`` those within each round, relative, ``blocks`` how many each round has. Rounds differ by their
    processes and by what is left of the noise of their blocks; the latter, pi / 2 times the variance by the number of blocks for a median
    (Kenney and Keeping, *Mathematics of Statistics*, 1962), is subtracted, down to 0. Raises ``ValueError`` without rounds.
    """
    if not block_deviations:
        raise ValueError("variances need at least one round")
    within = math.fsum(deviation**2 for deviation in block_deviations) / len(block_deviations)
    return Variances(max(0.0, round_deviation**2 - math.pi / 2 * within / blocks), within)


def optimal_blocks(found: Variances, start_seconds: float, block_seconds: float, *, least: int, most: int) -> int:
    """The blocks of a round that make a ratio most precise in a given time, between ``least`` and ``most``.

    ``start_seconds`` is what a round costs before its first block (import, build, warm-up), ``block_seconds`` what each block adds: the
    square root of the ratio of costs times that of variances, as Kalibera and Jones derive it for each level of repetition.
    """
    if found.between <= 0:
        return most
    ideal = math.sqrt(start_seconds / block_seconds * found.within / found.between)
    return max(least, min(math.ceil(ideal), most))


def half_width(ratio: Ratio) -> float | None:
    """Half the width of a ratio's interval, relative: 0.05 for 1.00 [0.952, 1.05]. None for one round."""
    if ratio.low is None or ratio.high is None:
        return None
    return math.expm1(math.log(ratio.high / ratio.low) / 2)


def enough(ratio: Ratio | None, goal: float = PRECISION_GOAL, most: int = MAXIMUM_ROUNDS) -> bool:
    """Whether no more rounds are worth adding: the interval is within ``goal`` of the ratio either way, or ``most`` rounds are done.

    The ratio must be the one that is reported, at :data:`runner.statistics.ADDED_CONFIDENCE`. Three rounds at the least. What is asked is
    how narrow the interval is and never what it says: to stop as soon as it says something would find differences where there are none.
    """
    if ratio is None:
        return False
    half = half_width(ratio)
    return ratio.rounds >= most or (half is not None and ratio.rounds >= VERDICT_ROUNDS and half <= goal)


def rounds_needed(ratio: Ratio | None, goal: float = PRECISION_GOAL, most: int = MAXIMUM_ROUNDS) -> int:
    """How many rounds there will probably be when :func:`enough` says so, at most ``most``: for an estimate of the time left.

    The first number for which the interval is narrow enough if rounds go on to differ as they did (Stein, "A two-sample test for a linear
    hypothesis whose power is independent of the variance", Annals of Mathematical Statistics 16, 1945). ``most`` where one round is all,
    the fewest there can be where there is none.
    """
    if ratio is None:
        return VERDICT_ROUNDS
    if ratio.error is None:
        return most
    deviation = ratio.error * math.sqrt(ratio.rounds)
    for rounds in range(max(ratio.rounds, VERDICT_ROUNDS), most):
        if student_quantile((1 + ADDED_CONFIDENCE) / 2, rounds - 1) * deviation / math.sqrt(rounds) <= math.log1p(goal):
            return rounds
    return most


@dataclass
class Costs:
    """What the rounds of a cell have cost and how they differ, for the choice of what to do more of."""

    logs: list[float] = field(default_factory=list)  # of the rounds' medians
    deviations: list[float] = field(default_factory=list)  # of the blocks within each, relative
    start_seconds: list[float] = field(default_factory=list)
    blocks_done: int = 0
    block_seconds: float = 0.0  # of all of them

    def add(self, step_seconds: Sequence[float], start_seconds: float, timed_seconds: float) -> None:
        """One more round, by the seconds per step of its blocks."""
        logs = [math.log(seconds) for seconds in step_seconds]
        self.logs.append(median(logs))
        self.deviations.append(stdev(logs) if len(logs) > 1 else 0.0)
        self.start_seconds.append(start_seconds)
        self.blocks_done += len(logs)
        self.block_seconds += timed_seconds

    def blocks(self, *, least: int, most: int) -> int:
        """:func:`optimal_blocks` by the rounds so far; ``least`` until there are three."""
        if len(self.logs) < VERDICT_ROUNDS:
            return least
        found = variances(stdev(self.logs), self.deviations, self.blocks_done / len(self.logs))
        return optimal_blocks(found, fmean(self.start_seconds), self.block_seconds / self.blocks_done, least=least, most=most)
