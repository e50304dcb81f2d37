"""What a measured interval says about a published figure: a pure function, and the tolerance that it uses."""

from __future__ import annotations

from typing import Literal, NamedTuple

from runner.claims.model import Claim, Figure
from runner.claims.units import Interval, as_ratio, more_is_better

Verdict = Literal["reproduced", "faster now", "slower now", "not comparable"]

TOLERANCE = 0.10
"""How far, as a share, a measured speed may lie from a published one and still be its reproduction.

Published figures come without intervals, so this is how far honest repetitions of one script on one chip lie apart in print: 1.02 and 1.04
between two commits of one README (tf-metal-experiments, RTX 3090), 1.03 between two M1 Pro (mac-ml-speed-test), 1.04 between three people's
M1 (an MNIST script), 1.05 to 1.07 between two tables of one author (MLX on an M1). Differences that have a cause are larger: low power mode
costs 39 %, and a new system or framework has halved or doubled speeds. See ``reports/claims/README.md``.
"""


class Judged(NamedTuple):
    """``ratio`` says how many times as fast as published. ``verdict`` is None where the interval lies across a limit, or there is none."""

    ratio: Interval
    verdict: Verdict | None


def judge(claim: Claim, figure: Figure, measured: Interval) -> Judged:
    """Compare a measurement in the claim's own unit with its figure, as speeds (as speed-ups, for ratios).

    The published range is widened by half of the last printed digit (``2`` may have been 1.5 to 2.5) and by :data:`TOLERANCE` both ways.
    ``reproduced``: the whole measured interval lies within; ``faster now`` and ``slower now``: the whole interval lies beyond.
    """
    low, high = (_speed(claim, value) for value in _range(figure))
    low, high = min(low, high) / (1 + TOLERANCE), max(low, high) * (1 + TOLERANCE)
    if figure.at_least:
        high = float("inf")
    middle = _speed(claim, (figure.low + figure.high) / 2)
    ends = [None if end is None else _speed(claim, end) for end in (measured.low, measured.high)]
    known = sorted(end for end in ends if end is not None)
    ratio = Interval(_speed(claim, measured.value), *(known if len(known) == 2 else (None, None))).scaled(1 / middle)
    if len(known) < 2:
        return Judged(ratio, None)
    if known[0] > high:
        return Judged(ratio, "faster now")
    if known[1] < low:
        return Judged(ratio, "slower now")
    return Judged(ratio, "reproduced" if low <= known[0] and known[1] <= high else None)


def _range(figure: Figure) -> tuple[float, float]:
    """What was measured, before it was rounded to what was printed; positive."""
    return max(figure.low - figure.digit / 2, figure.low / 10), figure.high + figure.digit / 2


def _speed(claim: Claim, value: float) -> float:
    """A figure as a number that is larger where the machine is faster."""
    if claim.against_device or claim.against_machine:
        return as_ratio(claim, value)
    return value if more_is_better(claim.unit) else 1 / value
