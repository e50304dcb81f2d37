"""What a comparison of two runs is made of. Frozen, unrounded and flat, whatever the format. The runs are called A and B."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from frameworks.contract import Status
from runner.report.model import Column, Report
from runner.statistics import Verdict

Kind = Literal["machines", "workloads", "precisions"]
ACROSS: tuple[Kind, ...] = ("machines", "workloads", "precisions")


@dataclass(frozen=True)
class Difference:
    """One recorded fact that is not the same in both runs, as text; empty where a run does not have it. ``cells`` are those of B that it is
    about, none where it is about the whole run."""

    subject: str
    name: str
    a: str
    b: str
    cells: tuple[str, ...] = ()


class Where(NamedTuple):
    """What makes two cells the same one: all but the run."""

    workload: str
    variant: tuple[tuple[str, Any], ...]
    batch: int | None
    mode: str
    precision: str
    framework: str
    device: str
    execution: str
    era: str


@dataclass(frozen=True, kw_only=True)
class Side:
    """A cell in one of the runs, with the names of :class:`runner.report.model.CellRow`."""

    cell: str
    computation: str
    precision: str
    device: str
    status: Status
    reason: str
    rounds: int
    seconds_per_step: float | None
    seconds_per_step_low: float | None
    seconds_per_step_high: float | None
    samples_per_second: float | None
    samples_per_second_low: float | None
    samples_per_second_high: float | None
    spread: float | None


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The same cell in both runs. ``ratio`` says how many times as fast B is as A, None where either has no number; ``ratio_error`` is the
    standard error of its logarithm, ``ratio_freedom`` its degrees of freedom, ``ratio_rounds`` the rounds of the side that has fewer.
    ``across`` names what should be the same and is not, in words: empty unless that was asked for."""

    workload: str
    variant: dict[str, Any]
    batch: int | None
    mode: str
    framework: str
    execution: str
    era: str
    unit: str
    a: Side
    b: Side
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    ratio_error: float | None
    ratio_freedom: float | None
    ratio_rounds: int | None
    verdict: Verdict | None
    across: tuple[str, ...]

    @property
    def column(self) -> Column:
        return Column(self.framework, self.b.device, self.execution, self.era)

    @property
    def lost(self) -> bool:
        """Whether A has a number and B has none."""
        return self.a.seconds_per_step is not None and self.b.seconds_per_step is None


@dataclass(frozen=True, kw_only=True)
class MeanOfPairs:
    """The geometric mean of the ratios of one framework, device and execution in one mode at one precision (that of A),
    over ``finished`` of ``of`` cells."""

    mode: str
    precision: str
    framework: str
    device: str
    execution: str
    era: str
    ratio: float
    ratio_low: float | None
    ratio_high: float | None
    verdict: Verdict
    finished: int
    of: int


@dataclass(frozen=True, kw_only=True)
class Source:
    """One of the two runs: its name, its report cut down to the cells that are compared, and the cells that only it has."""

    name: str
    report: Report
    alone: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All that the three formats print. ``across`` are the kinds of difference that were asked for and found."""

    a: Source
    b: Source
    across: tuple[Kind, ...]
    differences: tuple[Difference, ...]
    pairs: tuple[Pair, ...]
    means: tuple[MeanOfPairs, ...]
    confidence: float
    threshold: float

    def slower(self) -> list[Pair]:
        """Those whose verdict it is, and those that had a number in A and have none in B."""
        return [pair for pair in self.pairs if pair.verdict == "slower" or pair.lost]

    def sources(self) -> Iterable[tuple[str, Source]]:
        """Both runs with their letters."""
        return (("A", self.a), ("B", self.b))
