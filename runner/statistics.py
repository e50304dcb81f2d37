"""How blocks become a number, and numbers a ratio with its interval and verdict. Pure functions; times in seconds.

The unit of repetition is the round, a fresh process: blocks within one share its luck and are no independent samples of it
(Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013). So blocks only ever give their round one value,
and every interval is taken over rounds. How often intervals and verdicts are right is measured in :mod:`runner.calibration`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["faster", "slower", "same", "unclear"]
Times = Sequence[float]
"""Seconds per step of a round's blocks, in the order of time."""

CONFIDENCE = 0.95
ADDED_CONFIDENCE = 0.975  # nominal, where rounds were added until the interval was narrow: see speed_ratio
BIMODAL_CONFIDENCE = 0.99  # for a verdict where processes have two speeds: see speed_ratio
THRESHOLD = 0.02  # differences up to this share are not told from none
VERDICT_ROUNDS = 3


@dataclass(frozen=True)
class Estimate:
    """A cell's ``value`` with its interval, which one round cannot give; all None without any."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Ratio:
    """``value`` with its interval, which one round cannot give, over ``rounds`` pairs, or that many of the side that has fewer where they
    are not paired; ``error`` is the standard error of its logarithm and ``freedom`` what it has degrees of, ``rounds - 1`` where None."""

    value: float
    low: float | None
    high: float | None
    rounds: int
    error: float | None
    verdict: Verdict
    freedom: float | None = None


@dataclass(frozen=True)
class Aggregate:
    """A geometric mean over the ``finished`` of ``of`` ratios; None where none was finished, or none has an interval."""

    value: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    finished: int
    of: int


def median_of(values: Sequence[float]) -> float:
    """The median, or the mean of the middle two: over the blocks of a round it is the round's number, over rounds the cell's.

    What disturbs a block (another process, a page fault) only ever makes it longer, and up to half of them may be hit before the median
    breaks down (Huber and Ronchetti, *Robust Statistics*, 2nd ed. 2009). Raises ``ValueError`` without values.
    """
    if not values:
        raise ValueError("no median of no values")
    ordered = sorted(values)
    middle = len(ordered) // 2
    return float(ordered[middle]) if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def estimate(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """A cell from its rounds' values, all positive: their median, with Student's t interval for the mean of their logarithms.

    Where the median lies outside that interval, as it can when rounds are few and lopsided, the interval reaches up to it.
    """
    if not values:
        return Estimate(None, None, None)
    middle = median_of(values)
    if len(values) < 2:
        return Estimate(middle, None, None)
    mean, error = _mean_and_error([math.log(value) for value in values])
    half = student_quantile((1 + confidence) / 2, len(values) - 1) * error
    return Estimate(middle, min(middle, _exp(mean - half)), max(middle, _exp(mean + half)))


def spread(values: Sequence[float]) -> float | None:
    """How far the rounds of a cell lie apart: the standard deviation of their logarithms, so relative; None for fewer than two.

    Unlike a range it does not grow with the number of rounds, and unlike quartiles it tells of a single round that lies apart.
    """
    if len(values) < 2:
        return None
    return _mean_and_error([math.log(value) for value in values])[1] * math.sqrt(len(values))


def round_ratio(first: Times, other: Times) -> float:
    """How many times as fast ``other`` is as ``first`` in one round: the median over the turns, in each of which both had one block.

    Blocks of one turn lie next to each other in time, so that what slows the machine then slows both and cancels, which it does not in
    the ratio of two medians: Bulej et al., "Duet benchmarking: improving measurement accuracy in the cloud", ICPE 2020. Blocks of the
    side that went on alone have no partner and do not count. Raises ``ValueError`` without blocks.
    """
    return _exp(median_of([math.log(one / two) for one, two in zip(first, other, strict=False)]))


def speed_ratio(
    first: Mapping[int, Times], other: Mapping[int, Times], confidence: float = CONFIDENCE, verdict_confidence: float | None = None
) -> Ratio | None:
    """How many times as fast ``other`` is as ``first``, from the blocks by round; None without a common round.

    Each common round gives one ratio (:func:`round_ratio`). The value is their geometric mean, the interval that of Student's t for the
    mean of their logarithms:
    Alf and Grossberg, "The geometric mean: confidence limits and significance tests", Perception & Psychophysics 26 (1979). Each
    comparison stands on its own rounds. To borrow the variance of the other rows (moderated t: Smyth, Statistical Applications in
    Genetics and Molecular Biology 3, 2004) would narrow most intervals, but leave a row that is noisier than its neighbours with
    seven intervals in ten that hold the truth.

    Two cases ask for another nominal level than 95 %. Rounds that were added until the interval was narrow stop when it is narrow by
    chance (Starr, "The performance of a sequential procedure for the fixed-width interval estimation of the mean", Annals of
    Mathematical Statistics 37, 1966), so that :data:`ADDED_CONFIDENCE` is needed for 95 %. Where processes have two speeds, ratios take
    few values, to which t is no good approximation: such a row is judged at ``verdict_confidence`` = :data:`BIMODAL_CONFIDENCE`.
    """
    common = sorted(first.keys() & other.keys())
    if not common:
        return None
    logs = [math.log(round_ratio(first[number], other[number])) for number in common]
    count = len(logs)
    if count == 1:
        return Ratio(_exp(logs[0]), None, None, 1, None, "unclear")
    mean, error = _mean_and_error(logs)
    half = student_quantile((1 + confidence) / 2, count - 1) * error
    judged = _verdict(mean, error, count - 1, verdict_confidence or confidence) if count >= VERDICT_ROUNDS else "unclear"
    return Ratio(_exp(mean), _exp(mean - half), _exp(mean + half), count, error, judged)


def unpaired_ratio(
    first: Sequence[float],
    other: Sequence[float],
    confidence: float = CONFIDENCE,
    verdict_confidence: float | None = None,
    threshold: float = THRESHOLD,
) -> Ratio | None:
    """How many times as fast ``other`` is as ``first``, from the seconds per step of rounds that were not measured in turns, as those of
    two runs; None where a side has none.

    The value is the ratio of geometric means, the interval that of Welch for the difference of the means of logarithms, which does not
    ask that both sides be equally noisy: "The generalization of 'Student's' problem when several different population variances are
    involved", Biometrika 34 (1947), with Satterthwaite's degrees of freedom, but no fewer than the side with fewer rounds has. It covers
    what differs from process to process, not what changed on the machine from one run to the other. Of simulated intervals 93 to 97 in
    100 hold the truth where both sides have 3 to 8 rounds, and 92 where 3 meet 20.
    """
    if not first or not other:
        return None
    sides = [[math.log(seconds) for seconds in side] for side in (first, other)]
    means = [math.fsum(logs) / len(logs) for logs in sides]
    difference, rounds = means[0] - means[1], min(map(len, sides))
    if rounds == 1:
        return Ratio(_exp(difference), None, None, 1, None, "unclear")
    errors = [_mean_and_error(logs)[1] for logs in sides]
    error = math.hypot(*errors)
    parts = math.fsum(e**4 / (len(logs) - 1) for e, logs in zip(errors, sides, strict=True))
    freedom = max(error**4 / parts, rounds - 1) if parts > 0 else rounds - 1
    half = student_quantile((1 + confidence) / 2, freedom) * error
    judged = _verdict(difference, error, freedom, verdict_confidence or confidence, threshold) if rounds >= VERDICT_ROUNDS else "unclear"
    return Ratio(_exp(difference), _exp(difference - half), _exp(difference + half), rounds, error, judged, freedom)


def geometric_mean(ratios: Sequence[Ratio | None], confidence: float = CONFIDENCE, threshold: float = THRESHOLD) -> Aggregate:
    """The geometric mean of the ratios that exist, and how many of all do.

    The only mean of ratios that does not depend on which side was the reference: Fleming and Wallace, "How not to lie with statistics:
    the correct way to summarize benchmark results", Communications of the ACM 29 (1986). Its interval is that of these rows' measurement,
    and says nothing of other workloads; degrees of freedom are those of Satterthwaite, "An approximate distribution of
    estimates of variance components", Biometrics Bulletin 2 (1946). No interval where a ratio has none.
    """
    known = [ratio for ratio in ratios if ratio is not None]
    if not known:
        return Aggregate(None, None, None, "unclear", 0, len(ratios))
    mean = math.fsum(math.log(ratio.value) for ratio in known) / len(known)
    errors = [ratio.error for ratio in known if ratio.error is not None]
    if len(errors) < len(known):
        return Aggregate(_exp(mean), None, None, "unclear", len(known), len(ratios))
    error = math.sqrt(math.fsum(e**2 for e in errors)) / len(known)
    parts = math.fsum((e / len(known)) ** 4 / (ratio.freedom or ratio.rounds - 1) for e, ratio in zip(errors, known, strict=True))
    fewest = min(ratio.rounds for ratio in known) - 1
    freedom = max(error**4 / parts, fewest) if parts > 0 else fewest
    half = student_quantile((1 + confidence) / 2, freedom) * error
    judged = _verdict(mean, error, freedom, confidence, threshold) if fewest >= VERDICT_ROUNDS - 1 else "unclear"
    return Aggregate(_exp(mean), _exp(mean - half), _exp(mean + half), judged, len(known), len(ratios))


def _verdict(mean: float, error: float, freedom: float, confidence: float, threshold: float = THRESHOLD) -> Verdict:
    """What the logarithm of a ratio and its standard error allow to say, with a margin of ``threshold`` around none.

    ``faster`` and ``slower``: the whole interval lies beyond the margin. ``same``: two one-sided tests, each at the level of the
    interval, find it within the margin (Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for
    assessing the equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15, 1987). Else ``unclear``.
    """
    margin = math.log1p(threshold)
    half = student_quantile((1 + confidence) / 2, freedom) * error
    if mean - half > margin:
        return "faster"
    if mean + half < -margin:
        return "slower"
    if abs(mean) + student_quantile(confidence, freedom) * error < margin:
        return "same"
    return "unclear"


def _mean_and_error(logs: Sequence[float]) -> tuple[float, float]:
    """The mean of two or more values and its standard error."""
    mean = math.fsum(logs) / len(logs)
    return mean, math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / (len(logs) - 1) / len(logs))


def _exp(value: float) -> float:
    """Finite whatever the interval: two wildly different rounds must not end a report."""
    return math.exp(max(-700.0, min(value, 700.0)))


@functools.cache
def student_quantile(probability: float, freedom: float) -> float:
    """The value that Student's t with ``freedom`` degrees (from 1, not only whole) stays below with ``probability`` (between 0 and 1)."""
    if not (0 < probability < 1 and freedom >= 1):
        raise ValueError(f"no quantile for probability {probability} with {freedom} degrees of freedom")
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))
