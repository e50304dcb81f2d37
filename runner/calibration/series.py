"""Real processes compared with themselves: one long run of a framework beside its copies, cut into comparisons whose truth is known.

Such a run is one as any other, of the rivals ``NAME``, ``NAME-again`` (the same) and ``NAME-slowed`` (a tenth more work), which
``frameworks/copies`` offers. Its rounds are fresh processes and so independent; a comparison takes some of them, and no two share one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import frameworks
from frameworks import registry
from frameworks.copies import SLOWED
from runner import effort, statistics
from runner.calibration.outcome import Outcome, compare, outcome_of
from runner.request import Request
from runner.runreader import Run
from runner.statistics import Ratio, Times

WORKLOAD, BATCH = "lenet5-mnist", 4  # steps so short that a block has many, of which a tenth is a tenth, and processes that differ little


@dataclass(frozen=True)
class Series:
    """The blocks by round of the original and its copies; rounds in which one of them failed are left out."""

    title: str
    device: str
    alone: bool
    itself: Mapping[int, Times]
    again: Mapping[int, Times]
    slowed: Mapping[int, Times]

    @property
    def turns(self) -> str:
        return "one after the other" if self.alone else "in turns"


def request(framework: str, device: str, rounds: int, alone: bool) -> Request:
    """What to run for a series; ``framework`` is built in. No checks: the slowed copy takes other steps than it is asked for."""
    folder = Path(frameworks.__file__).parent / "copies"
    copies = tuple(registry.portable(f"{folder}:{framework}-{suffix}") for suffix in ("again", "slowed"))
    return Request(
        workloads=(WORKLOAD,),
        frameworks=(framework, *copies),
        devices=(device,),
        modes=("train",),
        batches=(BATCH,),
        rounds=rounds,
        alone=alone,
        threads=1,  # a second one waits for whatever else runs on its core, and the series then measures that
        checks=False,
    )


def of(run: Run) -> list[Series]:
    """The series that a run holds: one for each comparison that has a framework and its equal copy, with the slowed one or without."""
    by_comparison: dict[str, dict[str, str]] = {}
    for cell in run.header.cells:
        by_comparison.setdefault(cell.comparison, {})[cell.framework] = cell.id
    found = []
    for cells in by_comparison.values():
        for name, id in cells.items():
            if f"{name}-again" in cells:
                sides = [_blocks(run, cells.get(name + end)) for end in ("", "-again", "-slowed")]
                title = run.header.frameworks[name].title
                device = next(cell.device for cell in run.header.cells if cell.id == id)
                found.append(Series(title, device, any(m.alone for m in run.rounds if m.cell == id), *sides))
    return found


def _blocks(run: Run, cell: str | None) -> dict[int, Times]:
    return {m.round: m.times for m in run.rounds if m.cell == cell and m.ok and m.times}


def equal(series: Series, rounds: int | None) -> Outcome | None:
    """A/A: the original against its copy in disjoint comparisons of so many rounds, where None is said of as many as the usual goal asks
    for; None where there are too few."""
    return _outcome(series.itself, series.again, rounds, 1.0)


def slower(series: Series, rounds: int | None) -> Outcome | None:
    """The same with the copy that works a tenth more."""
    return _outcome(series.itself, series.slowed, rounds, 1 / SLOWED)


def _outcome(first: Mapping[int, Times], other: Mapping[int, Times], rounds: int | None, truth: float) -> Outcome | None:
    judged = list(_until(first, other, effort.PRECISION_GOAL) if rounds is None else _cut(first, other, rounds))
    return outcome_of(judged, truth) if judged else None


def ratio_deviation(series: Series) -> float | None:
    """The standard deviation of the logarithm of one round's ratio, A/A: what turns make small."""
    common = series.itself.keys() & series.again.keys()
    return statistics.spread([statistics.round_ratio(series.itself[number], series.again[number]) for number in sorted(common)])


def _cut(first: Mapping[int, Times], other: Mapping[int, Times], rounds: int) -> Iterator[Ratio]:
    common = sorted(first.keys() & other.keys())
    for start in range(0, len(common) - rounds + 1, rounds):
        chosen = common[start : start + rounds]
        yield compare([first[number] for number in chosen], [other[number] for number in chosen])


def _until(first: Mapping[int, Times], other: Mapping[int, Times], goal: float) -> Iterator[Ratio]:
    """Comparisons that end by themselves; the last one, which the series may have cut off, does not count."""
    common = sorted(first.keys() & other.keys())
    while common:
        chosen = common[: effort.MAXIMUM_ROUNDS]
        if len(chosen) < statistics.VERDICT_ROUNDS:
            return
        ratio = compare([first[number] for number in chosen], [other[number] for number in chosen], goal)
        if not effort.enough(ratio, goal):
            return
        yield ratio
        common = common[ratio.rounds :]
