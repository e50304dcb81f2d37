"""One cell in one round: its child process while that lives, and what is known of it so far."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from frameworks.contract import CellFailure, Job, to_json
from runner import diagnosis, environment, statistics
from runner.launch import Child, Limits
from runner.machine import conditions, energy, nvidia
from runner.plan import BLOCKS, Cell
from runner.probe import Found
from runner.records import Block, Note, Round

Doing = Callable[[str], None]


@dataclass
class Contestant:
    """``position`` is its place among the rivals of the round; ``alone`` says that it is measured beside none of them."""

    cell: Cell
    round: int
    position: int
    alone: bool
    log: Path
    doing: Doing  # told what goes on
    child: Child | None = None
    failure: CellFailure | None = None
    prepare: dict[str, float] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    loss: dict[str, float | None] = field(default_factory=lambda: {"first": None, "last": None})
    memory: dict[str, int | None] = field(default_factory=lambda: {"device_peak": None, "process_peak": None})
    parity: Mapping[str, float] | None = None
    latency: Mapping[str, Any] | None = None
    energy: Mapping[str, Any] | None = None
    matmul_rate: float | None = None
    measured_precision: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    placement: dict[str, Any] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    conditions: dict[str, Any] = field(default_factory=conditions.now)
    gpu: list[nvidia.Sample] = field(default_factory=list)
    resident: int = 0
    slept: int = 0

    @property
    def running(self) -> bool:
        return self.child is not None and self.failure is None

    @property
    def pid(self) -> int:
        """Of its process, while it has one."""
        assert self.child is not None
        return self.child.pid

    def note(self, code: str, text: str) -> None:
        """Add what a reader of the number must know."""
        self.notes.append(Note(code, text))

    def start(self, job: Job, found: Found, folder: Path, limits: Limits, extra_environment: Mapping[str, str]) -> None:
        """Start the child and follow it until it is ready to be timed, or has failed."""
        asked = environment.of(found.facts, job.fallback)
        try:
            self.child = Child(
                {"job": to_json(job)},
                folder=folder,
                log=self.log,
                environment=environment.build(folder, asked, job.threads, extra_environment),
                python=found.python,
                limits=limits,
            )
            self._follow(self.child)
        except CellFailure as failure:
            self.failure = failure

    def _follow(self, child: Child) -> None:
        while True:
            event = child.event()
            data = event.data
            if event.kind == "phase":
                self.doing(data["name"])
            elif event.kind == "imported":
                self.prepare["import"] = data["seconds"]
            elif event.kind == "built":
                self.prepare["build"] = data["seconds"]
                self.facts = data["facts"]
            elif event.kind == "first_step":
                self.prepare["first_step"] = data["seconds"]
                self.loss["first"] = data["loss"]
            elif event.kind == "warm_up_block":
                self.doing("warm-up")
            elif event.kind == "ready":
                self.prepare["warm_up"] = data["seconds"]
                self.resident = data["resident"] or 0
                if not data["steady"]:
                    self.note("not_steady", f"speed had not settled after {data['seconds']:.0f} s of warm-up")
                return

    def wants_more(self, budget: float, blocks: int = BLOCKS) -> bool:
        """Whether it has yet to reach so many blocks, or ``budget`` seconds."""
        enough = len(self.blocks) >= blocks and sum(block.seconds for block in self.blocks) >= budget
        return self.running and not enough

    def take_turn(self, began: float) -> None:
        """Time one block; ``began`` is the monotonic time at which the run did."""
        assert self.child is not None
        self.doing(f"block {len(self.blocks) + 1}")
        try:
            self.child.order("block")
            data = self.child.expect("block").data
        except CellFailure as failure:
            self.failure = failure
            return
        if data["slept"]:
            self.slept += 1
            return
        self.blocks.append(Block(data["steps"], data["seconds"], round(time.monotonic() - began, 3)))
        self.loss["last"] = data["loss"]
        if self.cell.device == "cuda" and (sample := nvidia.sample()) is not None:
            self.gpu.append(sample)

    def measure_apart(self) -> None:
        """What must not share a clock with the blocks: single inferences, and the energy of a longer row of steps."""
        assert self.child is not None
        try:
            if self.cell.mode == "infer":
                self.doing("latency")
                self.child.order("latency")
                self.latency = self.child.expect("latency").data
            self._measure_energy(self.child)
        except CellFailure as failure:
            self.failure = failure

    def _measure_energy(self, child: Child) -> None:
        """Read the meters around steps that take long enough for them; both readings come when the device has nothing to do."""
        if not energy.read(self.cell.device):
            return
        self.doing("energy")
        step = min(block.seconds / block.steps for block in self.blocks)
        before = energy.read(self.cell.device)
        child.order("long", steps=max(1, math.ceil(energy.SECONDS / step)))
        data = child.expect("long").data
        joules = energy.between(before, energy.read(self.cell.device))
        if joules:
            self.energy = {"joules": joules, "seconds": data["seconds"], "steps": data["steps"]}

    def finish(self, golden: bool) -> None:
        """The child's last checks and facts and, with ``golden``, its comparison with the golden curve. Raises :class:`CellFailure`."""
        assert self.child is not None
        data = self.child.finish().data
        self.facts, self.placement = data["facts"], data["placement"]
        self.memory = {"device_peak": data["device_peak"], "process_peak": data["process_peak"]}
        if self.slept:
            blocks = "a block" if self.slept == 1 else f"{self.slept} blocks"
            self.note("slept", f"the machine slept or its clock was set during {blocks}, which were measured again")
        if golden:
            self.doing("comparison with the golden curve")
            self.parity = self.child.expect("parity").data

    def end(self) -> None:
        """End the child. A crash after the result was there is a note on it and not a reason to lose it."""
        if self.child is None:
            return
        child, self.child = self.child, None
        at_exit = diagnosis.at_exit(child.close())
        if self.failure is None and at_exit is not None:
            self.note("exit_crash", at_exit)

    def again(self) -> None:
        """Forget an attempt that failed for want of room beside others."""
        self.end()
        self.failure = None

    def record(self) -> Round:
        """What one line of the run file says of it."""
        failure = self.failure
        return Round(
            cell=self.cell.id,
            round=self.round,
            position=self.position,
            alone=self.alone,
            status="ok" if failure is None else failure.status,
            reason="" if failure is None else failure.reason,
            remedy="" if failure is None else failure.remedy,
            notes=tuple(self.notes),
            prepare=self.prepare,
            blocks=tuple(self.blocks),
            memory=self.memory,
            loss=self.loss,
            latency=self.latency,
            energy=self.energy,
            matmul_rate=self.matmul_rate,
            parity=self.parity,
            measured_precision=self.measured_precision,
            facts=self.facts,
            placement=self.placement,
            conditions={**self.conditions, **self._gpu(), "after": {**self.conditions.get("after", {}), **conditions.now()}},
            log=f"{self.log.parent.name}/{self.log.name}" if self.log.exists() else None,
        )

    def _gpu(self) -> dict[str, Any]:
        """The looks at the GPU between blocks in one: the median and lowest clock, the highest temperature, all that held clocks down."""
        if not self.gpu:
            return {}
        clocks = [sample.clock for sample in self.gpu if sample.clock is not None]
        temperatures = [sample.temperature for sample in self.gpu if sample.temperature is not None]
        return {
            "gpu": {
                "clock": statistics.median_of(clocks) if clocks else None,
                "clock_lowest": min(clocks, default=None),
                "clock_highest": self.gpu[0].clock_highest,
                "temperature": max(temperatures, default=None),
                "held_down": sorted({word for sample in self.gpu for word in sample.held_down}),
            }
        }
