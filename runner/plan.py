"""Cells, the comparisons they belong to, and the order in which they run: a pure stage from a request to a plan."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from frameworks.contract import Computation, Framework, Job, to_json
from runner import records

PASSES = {"train": 3, "infer": 1}
BLOCKS = 10  # at the least, of each cell in each round


@dataclass(frozen=True)
class Case:
    """A workload resolved for one batch and one set of parameters, ready to be run in its modes; ``golden`` is its curve, if it has one."""

    workload: str
    unit: str
    variant: Mapping[str, Any]
    computation: Computation
    modes: tuple[str, ...]
    digest: str
    golden: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Choice:
    """Along which lines the cases are multiplied. ``devices`` empty: decided from what was found; ``executions`` empty: each
    framework's own default. ``frameworks`` are references, ``eras`` names; one that is empty stands for what is installed."""

    frameworks: tuple[str, ...]
    modes: tuple[str, ...] = ("train", "infer")
    devices: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ("float32",)
    executions: tuple[str, ...] = ()
    eras: tuple[str, ...] = ("",)

    @property
    def contestants(self) -> tuple[tuple[str, str], ...]:
        """Each framework of each era, era by era."""
        return tuple((reference, era) for era in self.eras for reference in self.frameworks)


@dataclass(frozen=True)
class Settings:
    """How cells are measured; part of a cell's identity where it changes the number. ``budget`` is seconds a cell and round."""

    rounds: int = 3
    precision_goal: float | None = None  # half the width of a ratio's interval until which rounds are added
    max_rounds: int = 20
    budget: float = 1.0
    alone: bool = False
    threads: int | None = None
    seed: int = 0
    checks: bool = True
    fallback: bool = False
    block_seconds: float = 0.1
    warmup_seconds: float = 20.0


@dataclass(frozen=True)
class Cell:
    """One number in a table. ``id`` is the digest of all that decides it, ``comparison`` that of its rivals."""

    id: str
    comparison: str
    case: Case
    mode: str
    framework: str  # reference
    title: str
    name: str
    device: str
    precision: str
    execution: str
    job: Job
    era: str = ""

    @property
    def served(self) -> str:
        """The name of what serves it, among all that was found."""
        return records.named(self.framework, self.era)

    @property
    def operations_per_step(self) -> int:
        """Of all samples; a backward pass is counted as two forward passes, since it is two products for each of theirs."""
        computation = self.case.computation
        return computation.operations() * (computation.batch or 1) * PASSES[self.mode]

    def label(self) -> str:
        """The cell in words, for progress and messages."""
        return " ".join((case_label(self.case), self.mode, self.precision, self.title, self.device, self.execution))

    def record(self) -> records.Cell:
        """The cell as the run file holds it."""
        computation = self.case.computation
        trainable = computation.parameter_count(trainable_only=True)
        return records.Cell(
            id=self.id,
            comparison=self.comparison,
            workload=self.case.workload,
            variant=self.case.variant,
            batch=computation.batch,
            mode=self.job.mode,
            precision=self.precision,
            framework=self.name,
            device=self.device,
            execution=self.execution,
            unit=self.case.unit,
            computation=self.case.digest,
            parameters=trainable,
            not_trained=computation.parameter_count() - trainable,
            operations=computation.operations(),
            era=self.era,
        )


@dataclass(frozen=True)
class Comparison:
    """The rivals of one table row: they differ in framework, era, device or execution only."""

    id: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Plan:
    comparisons: tuple[Comparison, ...]
    settings: Settings
    skipped: tuple[str, ...] = field(default=())  # modes and the like that a workload does not have, in words

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(cell for comparison in self.comparisons for cell in comparison.cells)

    def turns(self, comparison: Comparison, round_number: int) -> list[Cell]:
        """The order in which the rivals of one round start and take their first turn; seeded, so that it can be had again."""
        cells = list(comparison.cells)
        random.Random(f"{self.settings.seed}/{comparison.id}/{round_number // 2}").shuffle(cells)
        return cells[::-1] if round_number % 2 else cells  # A B, then B A: each is early as often as late


def case_label(case: Case) -> str:
    """The case in words: name, variant and batch."""
    variant = ", ".join(f"{name} {value}" for name, value in case.variant.items())
    batch = "" if case.computation.batch is None else f" batch {case.computation.batch}"
    return case.workload + (f" ({variant})" if variant else "") + batch


def make_plan(cases: Sequence[tuple[Case, Choice]], facts: Mapping[str, Framework], gpus: Mapping[str, str], settings: Settings) -> Plan:
    """All cells of a request.

    ``facts`` holds each framework by reference and era (:func:`runner.records.named`); ``gpus`` likewise the GPU's backend (``mps``,
    ``metal``, ``cuda``) where one was found. Without a choice of device, all run on the GPU if every framework has one and on the CPU
    otherwise.
    """
    comparisons: dict[str, list[Cell]] = {}
    skipped: list[str] = []
    for case, choice in cases:
        names = [records.named(*contestant) for contestant in choice.contestants]
        devices = choice.devices or (("gpu",) if gpus and all(name in gpus for name in names) else ("cpu",))
        for mode in choice.modes:
            if mode not in case.modes:
                skipped.append(f"{case.workload} has no mode {mode}")
                continue
            for precision in choice.precisions:
                for cell in _rivals(case, choice, mode, precision, devices, facts, gpus, settings):
                    rivals = comparisons.setdefault(cell.comparison, [])
                    if all(cell.id != other.id for other in rivals):
                        rivals.append(cell)
    return Plan(tuple(Comparison(name, tuple(cells)) for name, cells in comparisons.items()), settings, tuple(dict.fromkeys(skipped)))


def _rivals(
    case: Case,
    choice: Choice,
    mode: str,
    precision: str,
    devices: Iterable[str],
    facts: Mapping[str, Framework],
    gpus: Mapping[str, str],
    settings: Settings,
) -> Iterable[Cell]:
    for device in devices:
        for reference, era in choice.contestants:
            framework = facts[records.named(reference, era)]
            backend = _backend(device, framework, gpus.get(records.named(reference, era)))
            if backend is None:
                continue
            for execution in _executions(choice, framework):
                yield _cell(case, mode, precision, reference, era, framework, backend, execution, settings)


def _executions(choice: Choice, framework: Framework) -> tuple[str, ...]:
    """Those asked for that the framework has. One that it has not stays in the plan, so that its row can say so."""
    if not choice.executions:
        return framework.executions[:1]
    return tuple(name for name in choice.executions if name in framework.executions) or choice.executions[:1]


def _backend(device: str, framework: Framework, found: str | None) -> str | None:
    """``gpu`` in the framework's own word. A backend named outright concerns only the frameworks that have it."""
    if device == "gpu":
        return found or next((name for name in framework.devices if name != "cpu"), "gpu")
    return device if device in framework.devices else None


def _cell(
    case: Case,
    mode: str,
    precision: str,
    reference: str,
    era: str,
    framework: Framework,
    device: str,
    execution: str,
    settings: Settings,
) -> Cell:
    job = Job(
        framework=reference,
        computation=case.computation,
        mode=mode,  # type: ignore[arg-type]
        device=device,
        precision=precision,
        execution=execution,
        threads=settings.threads,
        seed=settings.seed,
        block_seconds=settings.block_seconds,
        warmup_seconds=settings.warmup_seconds,
        checks=settings.checks,
        fallback=settings.fallback,
    )
    identity = {
        "computation": case.digest,
        "variant": dict(case.variant),
        "workload": case.workload,
        "mode": mode,
        "precision": precision,
        "threads": settings.threads,
        "seed": settings.seed,
        "budget": settings.budget,
        "block_seconds": settings.block_seconds,
        "checks": settings.checks,
        "fallback": settings.fallback,
    }
    comparison = digest(identity)
    rival = {**identity, "framework": framework.name, "device": device, "execution": execution, **({"era": era} if era else {})}
    title = records.named(framework.title, era)
    return Cell(digest(rival), comparison, case, mode, reference, title, framework.name, device, precision, execution, job, era)


def digest(value: Any) -> str:
    """Sixteen hexadecimal digits of the SHA-256 of a value's canonical JSON."""
    text = json.dumps(to_json(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def estimated_seconds(plan: Plan) -> float:
    """A rough time for the whole plan: starts, warm-up and the timed part, none of it measured yet."""
    start, warm_up = 6.0, 2.0
    timed = max(plan.settings.budget, BLOCKS * 1.5 * plan.settings.block_seconds)
    return len(plan.cells) * plan.settings.rounds * (start + warm_up + timed)
