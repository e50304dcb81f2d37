"""The loop over a plan: rounds of rivals that take turns, each result written the moment it is there."""

from __future__ import annotations

import dataclasses
import itertools
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Set
from pathlib import Path

import psutil

from frameworks.contract import CellFailure, Job
from runner import effort, statistics
from runner.contestant import Contestant
from runner.launch import Limits
from runner.machine import conditions
from runner.machine.canary import Canary
from runner.plan import BLOCKS, Cell, Comparison, Plan
from runner.probe import Found
from runner.progress import Progress
from runner.proofs import Proofs
from runner.records import Record, Started
from runner.statistics import Ratio, Times

MOST_BLOCKS = 5 * BLOCKS  # of a round, however much they differ
ROOM = 1.3  # a rival is given this many times the memory of the first before it is started beside it

GIVEN_UP = CellFailure("interrupted", "the whole run ended twice while this was measured", "it may take the machine down: run it by itself")


class Runner:
    """Carries out a plan. ``write`` appends a record to the run file and returns when it is on the disk."""

    def __init__(
        self,
        plan: Plan,
        found: Mapping[str, Found],
        write: Callable[[Record], None],
        progress: Progress,
        logs: Path,
        limits: Limits,
        extra_environment: Mapping[str, str],
        ceiling: Callable[[str], float],
    ) -> None:
        self.plan, self.found, self.write, self.progress = plan, found, write, progress
        self.logs, self.limits, self.extra_environment = logs, limits, extra_environment
        self.proofs = Proofs(ceiling, plan.settings.checks)
        self.canary = Canary()
        self._began = time.monotonic()
        self._crowded: set[str] = set()  # comparisons whose rivals do not fit beside each other
        self._failed: set[str] = set()  # cells that are not tried again
        self._times: dict[str, dict[int, Times]] = {}  # of steps, by cell and round
        self._costs: dict[str, effort.Costs] = {}  # of a round, by cell

    def run(self, done: Mapping[str, Mapping[int, Times]], failed: Iterable[str], given_up: Set[tuple[str, int]]) -> None:
        """All rounds, each over all comparisons, so that a run that is stopped has treated them alike.

        ``done`` holds the rounds already measured, by cell, with their blocks, ``failed`` cells that have failed, ``given_up``
        rounds of a comparison during which the runner itself was killed twice.
        """
        self._failed.update(failed)
        for cell, rounds in done.items():
            self._times[cell] = {number: times for number, times in rounds.items() if times}
        for number in itertools.count():
            wanted = [comparison for comparison in self.plan.comparisons if self._wants_round(comparison, number)]
            if not wanted:
                return
            self.progress.expect(self._left(done))
            for comparison in wanted:
                cells = [
                    cell
                    for cell in self.plan.turns(comparison, number)
                    if cell.id not in self._failed and number not in done.get(cell.id, ())
                ]
                if cells:
                    self._round(comparison, cells, number, (comparison.id, number) in given_up)

    def _wants_round(self, comparison: Comparison, number: int) -> bool:
        """The rounds asked for and, with a goal, more until every ratio to the first rival is known so well."""
        settings = self.plan.settings
        if number < settings.rounds:
            return True
        if settings.precision_goal is None or number >= settings.max_rounds:
            return False
        return not all(effort.enough(ratio, settings.precision_goal, settings.max_rounds) for ratio in self._ratios(comparison))

    def _ratios(self, comparison: Comparison) -> list[Ratio | None]:
        """Of the rivals to the first of them, as far as they are known."""
        sides = [self._times[cell.id] for cell in comparison.cells if cell.id not in self._failed and cell.id in self._times]
        return [statistics.speed_ratio(sides[0], other, statistics.ADDED_CONFIDENCE) for other in sides[1:]]

    def _left(self, done: Mapping[str, Mapping[int, Times]]) -> int:
        """How many rounds of cells are probably to come, by what is known so far."""
        settings, left = self.plan.settings, 0
        for comparison in self.plan.comparisons:
            rounds = settings.rounds
            if settings.precision_goal is not None:
                needed = (effort.rounds_needed(ratio, settings.precision_goal, settings.max_rounds) for ratio in self._ratios(comparison))
                rounds = max([rounds, *needed])
            for cell in comparison.cells:
                measured = len({*self._times.get(cell.id, ()), *done.get(cell.id, ())})
                left += 0 if cell.id in self._failed else max(0, rounds - measured)
        return left

    def _round(self, comparison: Comparison, cells: list[Cell], number: int, given_up: bool) -> None:
        contestants = [self._contestant(cell, number, position) for position, cell in enumerate(cells)]
        for contestant in contestants:
            contestant.failure = foreseen(contestant.cell, self.found[contestant.cell.served]) or (GIVEN_UP if given_up else None)
            if contestant.failure is not None:
                self._record(contestant)
        startable = [contestant for contestant in contestants if contestant.failure is None]
        if not startable:
            return
        rested = self.canary.rest()
        canary = {"canary": self.canary.seconds(), "rested": rested}
        for contestant in startable:
            contestant.conditions |= canary
        self.write(Started(comparison.id, number, tuple(contestant.cell.id for contestant in startable)))
        private = Path(tempfile.mkdtemp(prefix="h2h-"))
        try:
            waiting = startable
            while waiting:
                waiting = self._together(comparison, waiting, private)
        finally:
            for contestant in startable:
                contestant.end()
            shutil.rmtree(private, ignore_errors=True)

    def _contestant(self, cell: Cell, number: int, position: int) -> Contestant:
        log = self.logs / f"{cell.case.workload}-{cell.mode}-{cell.name}-{cell.id}-{number + 1}.log"
        return Contestant(cell, number, position, False, log, lambda what: self.progress.doing(cell, number, what))

    def _together(self, comparison: Comparison, contestants: list[Contestant], private: Path) -> list[Contestant]:
        """Prepare and measure as many as fit beside each other; returns those that must have a turn of their own."""
        ready: list[Contestant] = []
        later: list[Contestant] = []
        for contestant in contestants:
            if ready and (self._is_alone(comparison) or not self._room(ready)):
                self._crowded.add(comparison.id)
                later.append(contestant)
                continue
            cell = contestant.cell
            folder = private / f"{contestant.position}-{cell.id}"
            contestant.start(_job(cell, contestant.round), self.found[cell.served], folder, self.limits, self.extra_environment)
            if ready and contestant.failure is not None and contestant.failure.status == "out_of_memory":
                self._crowded.add(comparison.id)
                contestant.again()
                later.append(contestant)
            elif contestant.running:
                ready.append(contestant)
            else:
                contestant.end()
                self._record(contestant)
        for contestant in (*ready, *later):
            contestant.alone = self._is_alone(comparison)
        others = conditions.Others(contestant.pid for contestant in ready)
        self._take_turns(ready, self._blocks(comparison))
        for contestant in ready:
            if contestant.running:
                contestant.measure_apart()
        used, canary = others.used(), self.canary.seconds()
        for contestant in ready:
            contestant.conditions |= {**used, "after": {"canary": canary}}
            self._finish(contestant)
        return later

    def _is_alone(self, comparison: Comparison) -> bool:
        return self.plan.settings.alone or comparison.id in self._crowded

    def _room(self, ready: list[Contestant]) -> bool:
        needed = max(contestant.resident for contestant in ready) * ROOM
        return psutil.virtual_memory().available > needed

    def _blocks(self, comparison: Comparison) -> int:
        """How many blocks each rival is given: ten, and more where what is known so far says that they serve better than more rounds."""
        known = [self._costs[cell.id] for cell in comparison.cells if cell.id in self._costs]
        return max((costs.blocks(least=BLOCKS, most=MOST_BLOCKS) for costs in known), default=BLOCKS)

    def _take_turns(self, ready: list[Contestant], blocks: int) -> None:
        """One block at a time, A B B A, until each has its blocks and its budget."""
        turn = 0
        while any(contestant.wants_more(self.plan.settings.budget, blocks) for contestant in ready):
            for contestant in ready if turn % 2 == 0 else reversed(ready):
                if contestant.running:
                    contestant.take_turn(self._began)
            turn += 1

    def _finish(self, contestant: Contestant) -> None:
        if contestant.running:
            try:
                contestant.finish(golden=_job(contestant.cell, contestant.round).golden is not None)
                self.proofs.rate(contestant)
                self.proofs.plausible(contestant)
                self.proofs.precision(contestant)
            except CellFailure as failure:
                contestant.failure = failure
        contestant.end()
        self._record(contestant)

    def _record(self, contestant: Contestant) -> None:
        cell = contestant.cell
        if contestant.failure is not None:
            self._failed.add(cell.id)
        else:
            steps = [block.seconds / block.steps for block in contestant.blocks]
            self._times.setdefault(cell.id, {})[contestant.round] = steps
            start = sum(seconds for seconds in contestant.prepare.values())
            self._costs.setdefault(cell.id, effort.Costs()).add(steps, start, sum(block.seconds for block in contestant.blocks))
        self.write(contestant.record())
        self.progress.finished(cell)


def foreseen(cell: Cell, found: Found) -> CellFailure | None:
    """Why a cell need not be started at all."""
    if found.failure is not None:
        return found.failure
    if cell.execution not in found.facts.executions:
        have = ", ".join(found.facts.executions)
        return CellFailure("unsupported", f"{cell.title} has no execution {cell.execution}", f"it has {have}")
    if cell.device not in found.devices:
        have = ", ".join(found.devices) or "none"
        return CellFailure("unsupported", f"{cell.title} finds no device {cell.device} on this machine", f"it finds {have}")
    return None


def _job(cell: Cell, number: int) -> Job:
    """The job of a round; the first one proves that the cell computes what the workload says."""
    if number:
        return dataclasses.replace(cell.job, proven=True)
    return dataclasses.replace(cell.job, golden=cell.case.golden) if cell.job.checks else cell.job
