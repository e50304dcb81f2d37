"""The loop over a plan: rounds of rivals that take turns, each result written the moment it is there."""

from __future__ import annotations

import dataclasses
import itertools
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from frameworks.contract import CellFailure, Job, to_json
from runner import diagnosis, effort, environment, precision, statistics
from runner.launch import Child, Limits
from runner.machine import conditions
from runner.plan import BLOCKS, Cell, Comparison, Plan
from runner.probe import Found
from runner.progress import Progress
from runner.records import Block, Note, Record, Round, Started

SAVING = 4.0  # the most by which a step may beat a large product: Winograd's F(4x4, 3x3) needs a fourth of a convolution's multiplications
NEAR = 0.25  # the share of a processor's ceiling from which that product is measured; a GPU's ceiling says less, and there it costs little
ROOM = 1.3  # a rival is given this many times the memory of the first before it is started beside it

GIVEN_UP = CellFailure("interrupted", "the whole run ended twice while this was measured", "it may take the machine down: run it by itself")


@dataclass
class Contestant:
    """One cell in one round: its child while that lives, and what is known of it so far."""

    cell: Cell
    position: int
    alone: bool
    child: Child | None = None
    failure: CellFailure | None = None
    prepare: dict[str, float] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    loss: dict[str, float | None] = field(default_factory=lambda: {"first": None, "last": None})
    memory: dict[str, int | None] = field(default_factory=lambda: {"device_peak": None, "process_peak": None})
    parity: Mapping[str, float] | None = None
    measured_precision: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    placement: dict[str, Any] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    conditions: Mapping[str, Any] = field(default_factory=dict)
    resident: int | None = None
    slept: int = 0

    @property
    def running(self) -> bool:
        return self.child is not None and self.failure is None

    @property
    def timed_seconds(self) -> float:
        return sum(block.seconds for block in self.blocks)

    def note(self, code: str, text: str) -> None:
        self.notes.append(Note(code, text))


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
        self.ceiling = ceiling  # operations per second that a device cannot exceed
        self._began = time.monotonic()
        self._crowded: set[str] = set()  # comparisons whose rivals do not fit beside each other
        self._failed: set[str] = set()  # cells that are not tried again
        self._seconds: dict[str, dict[int, float]] = {}  # of a step, by cell and round
        self._measured: dict[tuple[str, ...], Mapping[str, Any]] = {}  # what was found once for all cells of a kind

    def run(self, done: Mapping[str, Mapping[int, float | None]], failed: Iterable[str], given_up: Set[tuple[str, int]]) -> None:
        """All rounds, each over all comparisons, so that a run that is stopped has treated them alike.

        ``done`` holds the rounds already measured, by cell, with the seconds of a step, ``failed`` cells that have failed, ``given_up``
        rounds of a comparison during which the runner itself was killed twice.
        """
        self._failed.update(failed)
        for cell, rounds in done.items():
            self._seconds[cell] = {number: seconds for number, seconds in rounds.items() if seconds is not None}
        for number in itertools.count():
            wanted = [comparison for comparison in self.plan.comparisons if self._wants_round(comparison, number)]
            if not wanted:
                return
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
        speeds = [self._seconds[cell.id] for cell in comparison.cells if cell.id not in self._failed and cell.id in self._seconds]
        if settings.precision_goal is None or number >= settings.max_rounds or len(speeds) < 2:
            return False
        first, *others = speeds
        ratios = [statistics.speed_ratio(first, other, statistics.ADDED_CONFIDENCE) for other in others]
        return not all(effort.enough(ratio, settings.precision_goal, settings.max_rounds) for ratio in ratios)

    def _round(self, comparison: Comparison, cells: list[Cell], number: int, given_up: bool) -> None:
        contestants = [Contestant(cell, position, self._is_alone(comparison)) for position, cell in enumerate(cells)]
        for contestant in contestants:
            contestant.failure = foreseen(contestant.cell, self.found[contestant.cell.framework])
            if contestant.failure is None and given_up:
                contestant.failure = GIVEN_UP
        startable = [contestant for contestant in contestants if contestant.failure is None]
        for contestant in contestants:
            if contestant.failure is not None:
                self._record(contestant, number, None)
        if not startable:
            return
        self.write(Started(comparison.id, number, tuple(contestant.cell.id for contestant in startable)))
        private = Path(tempfile.mkdtemp(prefix="h2h-"))
        try:
            waiting = startable
            while waiting:
                waiting = self._together(comparison, waiting, number, private)
        finally:
            for contestant in startable:
                if contestant.child is not None:
                    contestant.child.close()
            shutil.rmtree(private, ignore_errors=True)

    def _together(self, comparison: Comparison, contestants: list[Contestant], number: int, private: Path) -> list[Contestant]:
        """Prepare and measure as many as fit beside each other; returns those that must have a turn of their own."""
        ready: list[Contestant] = []
        later: list[Contestant] = []
        for contestant in contestants:
            crowded = bool(ready) and (self._is_alone(comparison) or not self._room(ready))
            if crowded:
                self._crowded.add(comparison.id)
                later.append(contestant)
                continue
            self._prepare(contestant, number, private)
            if ready and contestant.failure is not None and contestant.failure.status == "out_of_memory":
                self._crowded.add(comparison.id)
                self._end(contestant)
                contestant.failure = None
                later.append(contestant)
            elif contestant.running:
                ready.append(contestant)
            else:
                self._record(contestant, number, self._end(contestant))
        for contestant in (*ready, *later):
            contestant.alone = self._is_alone(comparison)
        self._take_turns(ready, number)
        for contestant in ready:
            self._finish(contestant, number)
        return later

    def _is_alone(self, comparison: Comparison) -> bool:
        return self.plan.settings.alone or comparison.id in self._crowded

    def _room(self, ready: list[Contestant]) -> bool:
        needed = max((contestant.resident or 0) for contestant in ready) * ROOM
        available = conditions.now()["memory_available"]
        return available is None or available > needed

    # --- one contestant ------------------------------------------------------------------------------------------------

    def _prepare(self, contestant: Contestant, number: int, private: Path) -> None:
        cell = contestant.cell
        found = self.found[cell.framework]
        folder = private / f"{contestant.position}-{cell.id}"
        variables = environment.build(folder, environment.of(found.facts, cell.job.fallback), cell.job.threads, self.extra_environment)
        contestant.conditions = conditions.now()
        try:
            contestant.child = Child(
                {"job": to_json(_job(cell, number))},
                folder=folder,
                log=self._log(cell, number),
                environment=variables,
                python=found.python,
                limits=self.limits,
            )
            self._follow(contestant, number)
        except CellFailure as failure:
            contestant.failure = failure

    def _follow(self, contestant: Contestant, number: int) -> None:
        """Take in the events of the preparation until the child is ready."""
        assert contestant.child is not None
        while True:
            event = contestant.child.event()
            data = event.data
            if event.kind == "phase":
                self.progress.doing(contestant.cell, number, data["name"])
            elif event.kind == "imported":
                contestant.prepare["import"] = data["seconds"]
            elif event.kind == "built":
                contestant.prepare["build"] = data["seconds"]
                contestant.facts = data["facts"]
            elif event.kind == "first_step":
                contestant.prepare["first_step"] = data["seconds"]
                contestant.loss["first"] = data["loss"]
            elif event.kind == "warm_up_block":
                self.progress.doing(contestant.cell, number, "warm-up")
            elif event.kind == "ready":
                contestant.prepare["warm_up"] = data["seconds"]
                contestant.resident = data["resident"]
                if not data["steady"]:
                    contestant.note("not_steady", f"speed had not settled after {data['seconds']:.0f} s of warm-up")
                return

    def _take_turns(self, ready: list[Contestant], number: int) -> None:
        """One block at a time, A B B A, until each has its blocks and its budget."""
        turn = 0
        while any(self._wants_more(contestant) for contestant in ready):
            for contestant in ready if turn % 2 == 0 else reversed(ready):
                if contestant.running:
                    self._block(contestant, number)
            turn += 1

    def _wants_more(self, contestant: Contestant) -> bool:
        enough = len(contestant.blocks) >= BLOCKS and contestant.timed_seconds >= self.plan.settings.budget
        return contestant.running and not enough

    def _block(self, contestant: Contestant, number: int) -> None:
        assert contestant.child is not None
        self.progress.doing(contestant.cell, number, f"block {len(contestant.blocks) + 1}")
        try:
            contestant.child.order("block")
            data = contestant.child.expect("block").data
        except CellFailure as failure:
            contestant.failure = failure
            return
        if data["slept"]:
            contestant.slept += 1
            return
        at = round(time.monotonic() - self._began, 3)
        contestant.blocks.append(Block(data["steps"], data["seconds"], at))
        contestant.loss["last"] = data["loss"]

    def _finish(self, contestant: Contestant, number: int) -> None:
        if contestant.running:
            assert contestant.child is not None
            try:
                data = contestant.child.finish().data
                contestant.facts = data["facts"]
                contestant.placement = data["placement"]
                contestant.memory = {"device_peak": data["device_peak"], "process_peak": data["process_peak"]}
                if _job(contestant.cell, number).golden is not None:
                    self.progress.doing(contestant.cell, number, "comparison with the golden curve")
                    contestant.parity = contestant.child.expect("parity").data
                self._plausible(contestant)
                self._measure_precision(contestant, number)
            except CellFailure as failure:
                contestant.failure = failure
        if contestant.slept:
            blocks = "a block" if contestant.slept == 1 else f"{contestant.slept} blocks"
            contestant.note("slept", f"the machine slept or its clock was set during {blocks}, which were measured again")
        status = self._end(contestant)
        self._record(contestant, number, status)

    def _plausible(self, contestant: Contestant) -> None:
        """Refuse a speed that the device cannot have.

        Two bounds, and both must hold. The ceiling comes from outside, so that an adapter whose every time is wrong cannot raise it; but it
        must hold for every machine with such a chip, which makes it loose. The rate of a large product in the same framework and
        precision is close to what can be had; it finds work that is left out of this cell alone. It is only asked for where it can decide.
        """
        cell = contestant.cell
        passes = 3 if cell.mode == "train" else 1  # a backward pass is two products for each of the forward pass
        operations = cell.case.computation.operations() * (cell.case.computation.batch or 1) * passes
        fastest = max(block.steps * operations / block.seconds for block in contestant.blocks)
        bound, what = self.ceiling(cell.device), "this device can do"
        if fastest <= bound and self.plan.settings.checks and fastest > (NEAR * bound if cell.device == "cpu" else 0.0):
            rate = self._probed(contestant, "rate", "rate").get("operations_per_second")
            if rate is not None:
                bound, what = SAVING * rate, f"{cell.title} can do here, whose large products of matrices run at {rate / 1e12:,.2f} TFLOP/s"
        if fastest > bound:
            raise CellFailure(
                "suspect",
                f"{fastest / 1e12:,.2f} TFLOP/s is above what {what} (at most {bound / 1e12:,.2f}): not all was computed",
                "the adapter's step or wait leaves work out",
            )

    def _measure_precision(self, contestant: Contestant, number: int) -> None:
        """What precision the cell's operators really have."""
        cell = contestant.cell
        if not self.plan.settings.checks:
            return
        self.progress.doing(cell, number, "precision")
        for operator in precision.operators(cell.case.computation):
            found = self._probed(contestant, operator, "precision")
            if found:
                contestant.measured_precision[operator] = found
        text = precision.note(cell.precision, contestant.measured_precision)
        if text is not None:
            contestant.note("precision", text)

    def _probed(self, contestant: Contestant, order: str, answer: str) -> Mapping[str, Any]:
        """What the child finds on an order after its cell was measured, once in a run for its framework, device, precision and execution.

        Nothing where the child is over meanwhile: its result is there, and how it ended is told with it.
        """
        cell = contestant.cell
        key = (cell.framework, cell.device, cell.precision, cell.execution, order)
        if key not in self._measured:
            assert contestant.child is not None
            try:
                contestant.child.order(order)
                self._measured[key] = contestant.child.expect(answer).data
            except CellFailure as failure:
                if failure.status == "wrong_result":
                    raise
                return {}
        return self._measured[key]

    def _end(self, contestant: Contestant) -> int | None:
        if contestant.child is None:
            return 0
        child, contestant.child = contestant.child, None
        return child.close()

    def _record(self, contestant: Contestant, number: int, exit_status: int | None) -> None:
        """Write one line. The result comes first: what happened at exit is a note on it and not a reason to lose it."""
        cell, failure = contestant.cell, contestant.failure
        if failure is not None:
            self._failed.add(cell.id)
        else:
            steps = [block.seconds / block.steps for block in contestant.blocks]
            self._seconds.setdefault(cell.id, {})[number] = statistics.median_of(steps)
            if (at_exit := diagnosis.at_exit(exit_status)) is not None:
                contestant.note("exit_crash", at_exit)
        contestant.conditions = {**(contestant.conditions or conditions.now()), "after": conditions.now()}
        log = self._log(cell, number)
        self.write(
            Round(
                cell=cell.id,
                round=number,
                position=contestant.position,
                alone=contestant.alone,
                status="ok" if failure is None else failure.status,
                reason="" if failure is None else failure.reason,
                remedy="" if failure is None else failure.remedy,
                notes=tuple(contestant.notes),
                prepare=contestant.prepare,
                blocks=tuple(contestant.blocks),
                memory=contestant.memory,
                loss=contestant.loss,
                parity=contestant.parity,
                measured_precision=contestant.measured_precision,
                facts=contestant.facts,
                placement=contestant.placement,
                conditions=contestant.conditions,
                log=f"{log.parent.name}/{log.name}" if log.exists() else None,
            )
        )
        self.progress.finished(cell)

    def _log(self, cell: Cell, number: int) -> Path:
        return self.logs / f"{cell.case.workload}-{cell.mode}-{cell.name}-{cell.id}-{number + 1}.log"


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
