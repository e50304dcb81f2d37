# NumPy types the arithmetic of arrays as Any.
# mypy: disable-error-code="no-any-return"
"""Comparisons whose truth is known, made up with the kinds of noise that machines have.

Sizes of noise follow measurements of a shared two-core machine: processes of one program differ by 4 % (standard deviation), the ratio
of a round has a standard error of about 2 %. NumPy draws the block times; everything after them is what a
report does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, get_args

from runner import statistics
from runner.calibration.outcome import Outcome, compare, covers, outcome_of

if TYPE_CHECKING:
    import numpy as np

Kind = Literal["white", "drift", "two_speed", "heavy_tails", "correlated", "swings"]
KINDS: tuple[Kind, ...] = get_args(Kind)

PROCESS = 0.04  # standard deviation between processes
BLOCK = 0.05  # and between blocks of one
SPEEDS = 2.4  # how many times as slow a process of the slow kind is: 12 ms against 5 ms


def simulate(
    kind: Kind, comparisons: int, rounds: int, blocks: int, true_ratio: float = 1.0, seed: int = 0, goal: float | None = None
) -> Outcome:
    """Compare two cells ``comparisons`` times, the second ``true_ratio`` times as fast as the first.

    With a ``goal``, rounds are added from three on until :func:`runner.effort.enough` says so, at most ``rounds``.
    """
    judged = [compare(first, other, goal) for first, other in round_times(kind, comparisons, rounds, blocks, true_ratio, seed)]
    return outcome_of(judged, true_ratio)


def simulate_means(kind: Kind, means: int, rows: int, rounds: int, blocks: int, seed: int = 0) -> float:
    """The share of geometric means over ``rows`` A/A comparisons whose interval holds 1."""
    ratios = [compare(first, other) for first, other in round_times(kind, means * rows, rounds, blocks, 1.0, seed)]
    found = [statistics.geometric_mean(ratios[place : place + rows]) for place in range(0, len(ratios), rows)]
    return sum(covers(mean.low, mean.high, 1.0) for mean in found) / means


def round_times(
    kind: Kind, comparisons: int, rounds: int, blocks: int, true_ratio: float, seed: int
) -> list[tuple[list[list[float]], list[list[float]]]]:
    """For each comparison the blocks of the first side's rounds and of the other's, in seconds per step."""
    import numpy as np

    logs = block_logs(kind, comparisons, rounds, blocks, seed)
    logs[:, 1] -= math.log(true_ratio)
    return [(first, other) for first, other in np.exp(logs).tolist()]


def block_logs(kind: Kind, comparisons: int, rounds: int, blocks: int, seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Logarithms of step times of two equal sides, [comparisons, 2, rounds, blocks].

    All kinds begin with processes and blocks that differ normally. ``drift``: the machine slows by up to 30 % in a round and each
    process by a few percent of its own. ``two_speed``: each process tosses a coin. ``heavy_tails``: processes by Student's t with two
    degrees, which has no variance, and every tenth block much too long. ``correlated``: blocks AR(1) with coefficient 0.8. ``swings``: the
    whole machine swings by 10 to 40 %, with periods from a third of a round to three.
    """
    import numpy as np

    draw = np.random.default_rng([seed, KINDS.index(kind)])
    sides = (comparisons, 2, rounds)
    once = (comparisons, 1, rounds, 1)
    process = draw.normal(0, PROCESS, (*sides, 1))
    noise = draw.normal(0, BLOCK, (*sides, blocks))
    turn = np.arange(blocks)
    order = np.stack([2 * turn + turn % 2, 2 * turn + 1 - turn % 2])  # A B, B A
    at = (order / (2 * blocks))[:, None, :]
    if kind == "drift":
        return process + noise + (draw.uniform(0, 0.3, once) + draw.normal(0, 0.03, (*sides, 1))) * at
    if kind == "two_speed":
        return draw.normal(0, PROCESS / 4, (*sides, 1)) + noise + math.log(SPEEDS) * draw.integers(0, 2, (*sides, 1))
    if kind == "heavy_tails":
        hit = draw.random(noise.shape) < 0.1
        return PROCESS * draw.standard_t(2, (*sides, 1)) + noise + np.where(hit, draw.exponential(0.5, noise.shape), 0.0)
    if kind == "correlated":
        for block in range(1, blocks):
            noise[..., block] = 0.8 * noise[..., block - 1] + 0.6 * noise[..., block]
    if kind == "swings":
        size, period, phase = draw.uniform(0.1, 0.4, once), draw.uniform(1 / 3, 3, once), draw.uniform(0, 2 * math.pi, once)
        noise = noise + size * np.sin(2 * math.pi * at / period + phase)
    return process + noise
