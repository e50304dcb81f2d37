"""Published figures beside the cells of a run: which cell belongs to which figure, and what keeps the two from being compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runner.claims import machines
from runner.claims.cells import Cells, Reason
from runner.claims.computations import Computations
from runner.claims.differences import DIFFERENCES
from runner.claims.machines import Match
from runner.claims.model import Claim, Source
from runner.claims.units import Interval
from runner.claims.verdicts import Verdict, judge
from runner.records import Header
from runner.report.model import CellRow
from runner.runreader import Run


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A published figure beside what the run has for it.

    ``cells`` are the ids of the cells that were held against it, ``measured`` their figure in the claim's unit where it is of the same
    work. ``ratio`` says how many times as fast as published, where the two can be compared at all. ``notes`` are differences that do not
    forbid it.
    """

    claim: Claim
    cells: tuple[str, ...]
    measured: Interval | None
    ratio: Interval | None
    chip: Match
    versions: Match
    reasons: tuple[Reason, ...]
    notes: tuple[Reason, ...]
    verdict: Verdict

    @property
    def said(self) -> str:
        """The verdict with its reasons: ``not comparable: chip, data loading``."""
        reasons = ", ".join(dict.fromkeys(reason.short for reason in self.reasons))
        return f"{self.verdict}: {reasons}" if reasons else self.verdict


@dataclass(frozen=True)
class Comparisons:
    """All figures that have a cell beside them, and how many have none, by why."""

    header: Header
    sources: tuple[Source, ...]
    beside: tuple[Comparison, ...]
    absent: Mapping[str, int]


def compare(sources: Sequence[Source], run: Run, computations: Computations) -> Comparisons:
    """Hold every figure against the run. Nothing but the run, the files and the library's workloads decides the result."""
    table = _Table(run, computations)
    beside: list[Comparison] = []
    absent: Counter[str] = Counter()
    for source in sources:
        for claim in source.claims:
            lacking = table.cells.lacking(claim)
            if lacking:
                absent[lacking] += 1
            else:
                beside.append(table.compared(claim))
    return Comparisons(run.header, tuple(sources), tuple(beside), dict(absent.most_common()))


class _Table:
    """A run, to be held against one figure after another."""

    def __init__(self, run: Run, computations: Computations) -> None:
        self.run = run
        self.cells = Cells(run, computations)

    def compared(self, claim: Claim) -> Comparison:
        cells, value, reasons = self.cells.of(claim)
        state = self.run.header.frameworks.get(claim.framework)
        chip = self._chip(claim)
        forbidding = [
            *_of_figure(claim),
            *self._of_machine(claim, chip),
            *reasons,
            *_of_protocol(claim, forbids=True),
            *self._of_run(cells),
        ]
        notes = [*_of_protocol(claim, forbids=False), *_told(claim, cells)]
        ratio: Interval | None = None
        verdict: Verdict = "not comparable"
        if not forbidding and claim.figure is not None and value is not None:
            ratio, found = judge(claim, claim.figure, value)
            if found is not None:
                verdict = found
            elif ratio.low is None:
                forbidding.append(Reason("one round", "one round has no interval; run with --rounds 3 or more"))
            else:
                forbidding.append(Reason("at the limit", "the interval lies across the limit of the tolerance; more rounds may tell"))
        return Comparison(
            claim=claim,
            cells=tuple(cell.cell for cell in cells),
            measured=value,
            ratio=ratio,
            chip=chip,
            versions=machines.versions(claim.versions, state.versions if state else {}),
            reasons=tuple(forbidding),
            notes=tuple(notes),
            verdict=verdict,
        )

    # --- what forbids it ----------------------------------------------------------------------------------------------

    def _chip(self, claim: Claim) -> Match:
        header = self.run.header
        state = header.frameworks.get(claim.framework)
        devices = state.devices if state else {}
        gpu = devices.get("cuda") or ((header.machine.gpu or "").split(", ")[0] or None)
        return machines.chip(claim.machine, header.machine, gpu, claim.device)

    def _of_machine(self, claim: Claim, chip: Match) -> Iterable[Reason]:
        if chip == "other":
            yield Reason("chip", f"{claim.machine.title} is not the machine of this run")
        elif chip == "not stated":
            yield Reason("chip not stated", "the source does not name the chip")
        if claim.against_machine is not None:
            yield Reason("two machines", f"it compares with {claim.against_machine.title}, and a run has one machine")
        if self.run.header.machine.translated:
            yield Reason("Rosetta", "Python ran under Rosetta")

    def _of_run(self, cells: Sequence[CellRow]) -> Iterable[Reason]:
        for cell in cells:
            if cell.status != "ok":
                yield Reason(f"{cell.status.replace('_', ' ')} here", cell.reason)
        if self.run.header.settings.get("checks") is False:
            yield Reason("unverified", "the run was made with --no-check")


def _of_figure(claim: Claim) -> Iterable[Reason]:
    if claim.figure is None:
        yield Reason(claim.missing, f"there is no figure: {claim.missing}")


def _of_protocol(claim: Claim, *, forbids: bool) -> Iterable[Reason]:
    for code, text in claim.differences.items():
        if DIFFERENCES[code].forbids is forbids:
            yield Reason(DIFFERENCES[code].short, text)


def _told(claim: Claim, cells: Sequence[CellRow]) -> Iterable[Reason]:
    if claim.device == "gpu" and claim.machine.gpu is None and claim.machine.chip and claim.machine.gpu_cores is None:
        yield Reason("GPU cores not stated", "the chip exists with several numbers of GPU cores")
    if any(cell.status == "ok" and cell.verified_steps is None for cell in cells):
        yield Reason("unverified", "there was no golden curve to hold the cell against")
    metal = {cell.device for cell in cells if cell.device != "cpu"}
    if claim.backend and metal and claim.backend not in metal:
        yield Reason("backend", f"{claim.backend} then, {', '.join(sorted(metal))} now")
