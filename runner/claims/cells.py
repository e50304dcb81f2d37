"""Which cell of a run belongs to a published figure, in what they differ, and the cell's figure in the claim's unit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runner import statistics
from runner.claims.computations import Computations
from runner.claims.differences import DIFFERENCES
from runner.claims.model import Claim, Target
from runner.claims.units import UNITS, Interval, from_ratio, measured
from runner.precision import CLASSES
from runner.report.model import CellRow
from runner.report.rows import report
from runner.runreader import Run
from runner.statistics import Times


@dataclass(frozen=True)
class Reason:
    """Why a figure and a cell cannot be compared; ``short`` stands in a table, ``text`` says it with its particulars."""

    short: str
    text: str


@dataclass(frozen=True)
class _Candidate:
    """The cell that comes nearest to a figure, and what it differs in."""

    cell: CellRow
    reasons: tuple[Reason, ...]

    @property
    def same_work(self) -> bool:
        return not {"batch", "input", "another workload"} & {reason.short for reason in self.reasons}


class Cells:
    """A run's cells, to be asked for those that belong to a figure."""

    def __init__(self, run: Run, computations: Computations) -> None:
        self.computations = computations
        self.cells = report(run).cells()
        self.times: dict[str, dict[int, Times]] = {}
        for one in run.rounds:
            if one.ok and one.times:
                self.times.setdefault(one.cell, {})[one.round] = one.times

    def lacking(self, claim: Claim) -> str:
        """Why no cell stands beside a figure at all; empty where one does."""
        if not claim.workloads:
            return "about a network that is no workload of the library"
        cells = [cell for cell in self.cells if cell.workload in claim.workloads]
        if not cells:
            return "about a workload that this run does not have"
        cells = [cell for cell in cells if cell.mode == claim.mode]
        if not cells:
            return "about a mode that this run does not have"
        return "" if any(cell.framework == claim.framework for cell in cells) else "about a framework that this run does not have"

    def of(self, claim: Claim) -> tuple[list[CellRow], Interval | None, list[Reason]]:
        """The cells nearest to a figure that does not lack all, what they measured in its unit, and how they differ from it."""
        return self._ratio(claim) if claim.against_device else self._single(claim)

    # --- which cell ---------------------------------------------------------------------------------------------------

    def _nearest(self, claim: Claim, target: Target) -> _Candidate | None:
        """The cell of a workload that differs least from what a figure is about; the fastest of those alike, for a sweep."""
        cells = [
            cell for cell in self.cells if (cell.workload, cell.mode, cell.framework) == (target.workload, claim.mode, claim.framework)
        ]
        found = [_Candidate(cell, tuple(self._differences(claim, target, cell))) for cell in cells]
        return min(found, key=lambda one: (_distance(one.reasons), -_speed(claim, one.cell)), default=None)

    def _differences(self, claim: Claim, target: Target, cell: CellRow) -> Iterable[Reason]:
        device = _kind(cell.device)
        if claim.device != device:
            yield Reason("device", f"{claim.backend or claim.device}, and the run has {cell.device}")
        if claim.precision not in (cell.precision, "unknown"):
            yield Reason("precision", f"{claim.precision}, and the run has {cell.precision}")
        elif claim.precision == "unknown":
            yield Reason("precision not stated", DIFFERENCES["unknown_precision"].meaning)
        elif not _as_asked(cell):
            yield Reason("precision", f"{cell.device} was measured at another precision than {cell.precision}")
        yield from self._work_differences(claim, target, cell)
        if claim.execution and claim.execution != cell.execution:
            yield Reason("execution", f"{claim.execution}, and the run has {cell.execution}")

    def _work_differences(self, claim: Claim, target: Target, cell: CellRow) -> Iterable[Reason]:
        own = self.computations.digest(cell.workload, cell.batch, cell.variant)
        if own != cell.computation:
            yield Reason("another workload", f"the run's {cell.workload} is not the one of this library")
        elif claim.sweep:
            outside = [name for name, (low, high) in claim.sweep.items() if not low <= cell.variant.get(name, low - 1) <= high]
            if outside:
                yield Reason("input", f"{', '.join(outside)} beyond those of the figure")
        elif self.computations.digest(cell.workload, cell.batch, target.parameters) != cell.computation:
            wanted = ", ".join(f"{name} {value}" for name, value in target.parameters.items())
            yield Reason("input", f"{wanted or 'the usual parameters'}, and the run has others")
        if target.batch is None and cell.batch is not None:
            yield Reason("batch not stated", "the batch is not stated")
        elif target.batch is not None and target.batch != cell.batch:
            yield Reason("batch", f"{target.batch}, and the run has {cell.batch}")

    # --- its figure ---------------------------------------------------------------------------------------------------

    def _single(self, claim: Claim) -> tuple[list[CellRow], Interval | None, list[Reason]]:
        assert claim.workload is not None
        near = self._nearest(claim, Target(claim.workload, claim.batch, claim.parameters))
        assert near is not None
        reasons = list(near.reasons)
        value = measured(claim, near.cell) if near.same_work else None
        if claim.against_machine is not None:
            return [near.cell], None, reasons
        if UNITS[claim.unit][0] == "other":
            reasons.append(Reason("not measured", f"headtohead does not measure what is given in {claim.unit}"))
        elif value is None and near.same_work and near.cell.seconds_per_step is not None:
            reasons.append(Reason("unit", f"the source does not say how many steps or samples took so many {claim.unit}"))
        return [near.cell], value, reasons

    def _ratio(self, claim: Claim) -> tuple[list[CellRow], Interval | None, list[Reason]]:
        """The highest ratio of the cells that belong to a figure to their counterparts on the device that it is against."""
        targets = claim.best_of or tuple(Target(name, claim.batch, claim.parameters) for name in claim.workloads)
        cells: list[CellRow] = []
        ratios: list[Interval] = []
        reasons: list[Reason] = []
        for target in targets:
            near = self._nearest(claim, target)
            if near is None:
                reasons.append(Reason(f"no {target.workload}", f"the highest is over {target.workload} too, which this run does not have"))
                continue
            cells.append(near.cell)
            reasons += near.reasons
            partner = self._partner(claim, near.cell)
            if partner is None:
                short = f"no {claim.against_device} cell"
                reasons.append(Reason(short, f"the run has no cell on the {claim.against_device} beside {near.cell.workload}"))
                continue
            cells.append(partner)
            found = statistics.speed_ratio(self.times.get(partner.cell, {}), self.times.get(near.cell.cell, {}))
            if not _as_asked(partner):
                reasons.append(Reason("precision", f"{partner.device} was measured at another precision than {partner.precision}"))
            elif found is not None and near.same_work and _kind(near.cell.device) == claim.device:
                ratios.append(Interval(found.value, found.low, found.high))
        if not ratios or len(ratios) < len(targets):
            return cells, None, reasons
        return cells, from_ratio(claim, max(ratios, key=lambda ratio: ratio.value)), reasons

    def _partner(self, claim: Claim, cell: CellRow) -> CellRow | None:
        """The same cell on the device that a ratio divides by, in the same execution if there is one."""
        found = [
            other
            for other in self.cells
            if (other.comparison, other.framework) == (cell.comparison, cell.framework) and _kind(other.device) == claim.against_device
        ]
        others = [other for other in found if other.cell != cell.cell]
        return min(others, key=lambda other: other.execution != cell.execution, default=None)


_WEIGHTS = ("device", "another workload", "precision", "input", "batch", "execution")


def _distance(reasons: Sequence[Reason]) -> tuple[bool, ...]:
    """How far a cell is from a figure: what weighs most comes first."""
    shorts = {reason.short for reason in reasons}
    return tuple(weight in shorts for weight in _WEIGHTS)


def _speed(claim: Claim, cell: CellRow) -> float:
    """Orders cells that are equally near: for a sweep the one with the most operations per second, else those that were measured."""
    if cell.seconds_per_step is None:
        return 0.0
    return cell.operations * (cell.batch or 1) / cell.seconds_per_step if claim.sweep else 1.0


def _kind(device: str) -> str:
    return "cpu" if device == "cpu" else "gpu"


def _as_asked(cell: CellRow) -> bool:
    """Whether each operator whose precision is known was measured at the one that the cell asks for."""
    asked = CLASSES.get(cell.precision, cell.precision)
    return all(one.get("class", asked) == asked for one in cell.measured_precision.values())
