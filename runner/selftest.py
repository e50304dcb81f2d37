# NumPy types the arithmetic of arrays as Any.
# mypy: disable-error-code="no-any-return"
"""Whether the statistics keep their word: comparisons whose truth is known, made up with the kinds of noise that machines have.

An A/A comparison measures one thing against itself; whoever finds a difference is wrong. Sizes of noise follow measurements of a shared
two-core machine: processes of one program differ by 4 % (standard deviation), the ratio of two medians of blocks has a standard error of
about 2 % within a round. NumPy draws the block times; everything after them is what a report does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from runner import effort, statistics, steadiness
from runner.statistics import Ratio, Verdict

if TYPE_CHECKING:
    import numpy as np

Kind = Literal["white", "drift", "two_speed", "heavy_tails", "correlated", "swings"]
KINDS: tuple[Kind, ...] = get_args(Kind)

PROCESS = 0.04  # standard deviation between processes
BLOCK = 0.05  # and between blocks of one
SPEEDS = 2.4  # how many times as slow a process of the slow kind is: 12 ms against 5 ms


@dataclass(frozen=True)
class Outcome:
    """What became of many simulated comparisons: shares of them, but for ``half_width``, the median one (relative), and ``rounds``,
    the mean number. ``covered``: the interval held the truth."""

    kind: Kind
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


def simulate(
    kind: Kind, comparisons: int, rounds: int, blocks: int, true_ratio: float = 1.0, seed: int = 0, goal: float | None = None
) -> Outcome:
    """Compare two cells ``comparisons`` times, the second ``true_ratio`` times as fast as the first.

    With a ``goal``, rounds are added from three on until :func:`runner.effort.enough` says so, at most ``rounds``.
    """
    judged = [compare(first, other, goal) for first, other in round_times(kind, comparisons, rounds, blocks, true_ratio, seed)]
    verdicts = Counter(ratio.verdict for ratio in judged)
    widths = [half for ratio in judged if (half := effort.half_width(ratio)) is not None]
    return Outcome(
        kind=kind,
        comparisons=comparisons,
        rounds=sum(ratio.rounds for ratio in judged) / comparisons,
        true_ratio=true_ratio,
        covered=sum(covers(ratio.low, ratio.high, true_ratio) for ratio in judged) / comparisons,
        half_width=statistics.median_of(widths) if widths else math.inf,
        verdicts={word: verdicts[word] / comparisons for word in get_args(Verdict)},
    )


def simulate_means(kind: Kind, means: int, rows: int, rounds: int, blocks: int, seed: int = 0) -> float:
    """The share of geometric means over ``rows`` A/A comparisons whose interval holds 1."""
    ratios = [compare(first, other) for first, other in round_times(kind, means * rows, rounds, blocks, 1.0, seed)]
    found = [statistics.geometric_mean(ratios[place : place + rows]) for place in range(0, len(ratios), rows)]
    return sum(covers(mean.low, mean.high, 1.0) for mean in found) / means


def covers(low: float | None, high: float | None, truth: float) -> bool:
    """Whether an interval holds the truth; one without bounds does."""
    return low is None or high is None or low <= truth <= high


def compare(first: Sequence[float], other: Sequence[float], goal: float | None = None) -> Ratio:
    """The ratio as a report of these rounds' times has it; with a ``goal``, of as many of the rounds as would have been measured."""
    start = statistics.VERDICT_ROUNDS if goal is not None else len(first)
    for count in range(start, len(first) + 1):
        ratio = _ratio(first[:count], other[:count], statistics.CONFIDENCE if goal is None else statistics.ADDED_CONFIDENCE)
        if goal is None or effort.enough(ratio, goal, len(first)):
            break
    return ratio


def _ratio(first: Sequence[float], other: Sequence[float], confidence: float) -> Ratio:
    bimodal = any(steadiness.two_speeds(side) for side in (first, other))
    level = statistics.BIMODAL_CONFIDENCE if bimodal else confidence
    ratio = statistics.speed_ratio(dict(enumerate(first)), dict(enumerate(other)), confidence, level)
    assert ratio is not None
    return ratio


def round_times(
    kind: Kind, comparisons: int, rounds: int, blocks: int, true_ratio: float, seed: int
) -> list[tuple[list[float], list[float]]]:
    """For each comparison the seconds per step of the first side's rounds and of the other's."""
    import numpy as np

    logs = block_logs(kind, comparisons, rounds, blocks, seed)
    logs[:, 1] -= math.log(true_ratio)
    medians = np.exp(np.median(logs, axis=-1))
    return [(first, other) for first, other in medians.tolist()]


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


def tables(comparisons: int = 2000, seed: int = 20261130) -> str:
    """The figures of ``reports/calibration.md`` as markdown: what intervals, verdicts and added rounds are worth on each kind of noise."""
    import tabulate

    sizes = (3, 4, 5, 6, 8, 10, 15)
    equal = {(kind, rounds): simulate(kind, comparisons, rounds, 10, 1.0, seed) for kind in KINDS for rounds in sizes}
    apart = {(kind, rounds): simulate(kind, comparisons, rounds, 10, 1.1, seed + 1) for kind in KINDS for rounds in sizes}
    added = {kind: simulate(kind, comparisons, effort.MAXIMUM_ROUNDS, 10, 1.0, seed + 2, effort.PRECISION_GOAL) for kind in KINDS}

    def grid(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        sides = ("left", *["right"] * (len(headers) - 1))
        return tabulate.tabulate(rows, headers=headers, tablefmt="pipe", colalign=sides, disable_numparse=True)

    def by_rounds(text: Callable[[Kind, int], str]) -> str:
        headers = ["noise", *(f"{rounds} rounds" for rounds in sizes)]
        return grid(headers, [[kind.replace("_", " "), *(text(kind, rounds) for rounds in sizes)] for kind in KINDS])

    parts = [
        "### A/A: intervals that hold 1.00",
        by_rounds(lambda kind, rounds: f"{equal[kind, rounds].covered:.1%}"),
        "### A/A: verdicts that find a difference",
        by_rounds(lambda kind, rounds: f"{equal[kind, rounds].false_verdicts:.1%}"),
        "### A/A: half the width of the interval, median",
        by_rounds(lambda kind, rounds: f"{equal[kind, rounds].half_width:.1%}"),
        "### 10 % faster: called faster",
        by_rounds(lambda kind, rounds: f"{apart[kind, rounds].verdicts['faster']:.0%}"),
        f"### A/A: rounds added until within {effort.PRECISION_GOAL:.0%}, at most {effort.MAXIMUM_ROUNDS}",
        grid(
            ["noise", "rounds, mean", "intervals that hold 1.00", "false verdicts", "half width, median"],
            [
                [kind.replace("_", " "), f"{o.rounds:.1f}", f"{o.covered:.1%}", f"{o.false_verdicts:.1%}", f"{o.half_width:.1%}"]
                for kind, o in added.items()
            ],
        ),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(tables(), end="")
