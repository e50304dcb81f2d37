"""The units of published figures, and a cell's figure in each of them: pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from runner.claims.model import Claim
from runner.report.model import CellRow

Kind = Literal["samples", "steps", "time", "ratio", "operations", "other"]

UNITS: dict[str, tuple[Kind, float]] = {
    "img/s": ("samples", 1.0),
    "seq/s": ("samples", 1.0),
    "samples/s": ("samples", 1.0),
    "it/s": ("steps", 1.0),
    "ms": ("time", 1e-3),
    "s": ("time", 1.0),
    "min": ("time", 60.0),
    "x": ("ratio", 1.0),
    "%": ("ratio", 0.01),
    "TFLOPS": ("operations", 1e12),
    "TOPS": ("operations", 1e12),
    "tok/s": ("other", 1.0),
    "GB/s": ("other", 1.0),
    "W": ("other", 1.0),
    "GB": ("other", 1.0),
    "points": ("other", 1.0),
}
"""What each unit counts, and its size in samples, steps or operations per second, in seconds, or in ratios. ``other`` is what no run
measures: power, memory as another program counts it, tokens of a generation, points."""


@dataclass(frozen=True)
class Interval:
    """A value with its interval; None where one round gave none."""

    value: float
    low: float | None
    high: float | None

    def scaled(self, factor: float) -> Interval:
        return Interval(self.value * factor, *(None if end is None else end * factor for end in (self.low, self.high)))

    def inverse(self) -> Interval:
        """The interval of one over the value, its ends in order again."""
        return Interval(1 / self.value, *(None if end is None else 1 / end for end in (self.high, self.low)))


def more_is_better(unit: str) -> bool:
    """Whether a larger figure in this unit is a faster machine."""
    return UNITS[unit][0] != "time"


def seconds(cell: CellRow) -> Interval | None:
    """A cell's time for a step."""
    if cell.seconds_per_step is None:
        return None
    return Interval(cell.seconds_per_step, cell.seconds_per_step_low, cell.seconds_per_step_high)


def measured(claim: Claim, cell: CellRow) -> Interval | None:
    """What a cell measured, in the claim's unit; None where nothing was measured or the unit counts what a cell does not."""
    step = seconds(cell)
    if step is None:
        return None
    kind, size = UNITS[claim.unit]
    samples = cell.batch or 1
    if kind == "samples":
        return step.inverse().scaled(samples / size)
    if kind == "steps":
        return step.inverse().scaled(1 / size)
    if kind == "operations":
        return step.inverse().scaled(cell.operations * samples / size) if cell.mode == "infer" else None
    if kind == "time":
        steps = claim.steps if claim.steps is not None else None if claim.samples is None else claim.samples / samples
        return None if steps is None else step.scaled(steps / size)
    return None


def as_ratio(claim: Claim, value: float) -> float:
    """A published ratio as a plain one: ``30 %`` faster is 1.3 times as fast."""
    return 1 + value * UNITS["%"][1] if claim.unit == "%" else value


def from_ratio(claim: Claim, ratio: Interval) -> Interval:
    """A measured ratio in the claim's unit."""
    if claim.unit != "%":
        return ratio
    gains = [None if end is None else (end - 1) / UNITS["%"][1] for end in (ratio.low, ratio.high)]
    return Interval((ratio.value - 1) / UNITS["%"][1], *gains)
