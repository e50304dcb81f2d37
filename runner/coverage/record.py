"""The operators of every step asked about, recorded in one child process for each framework."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frameworks import registry
from frameworks.contract import CellFailure, Computation, Job, to_json
from runner import environment
from runner.launch import Child, Limits
from runner.progress import note_line
from runner.spec.workload import Workload, digest

EXECUTIONS = {"pytorch": "eager", "tensorflow": "graph"}  # the usual ones, in which operators can be recorded
SILENCE = 1800.0
BATCH = 32  # more than the few numbers that are the host's work (runner.coverage.judge), since each sample has some of its own


@dataclass(frozen=True)
class Step:
    """A workload's step in one mode and precision, in one framework; ``optimizer`` is its kind, ``momentum`` for an ``sgd`` that has some,
    ``none`` in ``infer``."""

    workload: str
    mode: str
    precision: str
    framework: str
    optimizer: str


@dataclass(frozen=True)
class Recorded:
    """``operators`` as :meth:`frameworks.contract.Adapter.operators` gives them, of all variants of the workload together."""

    step: Step
    operators: tuple[Mapping[str, Any], ...]
    failure: CellFailure | None = None


@dataclass(frozen=True)
class Recording:
    """All steps, and the versions of the frameworks that recorded them by framework."""

    steps: tuple[Recorded, ...]
    versions: Mapping[str, str]


def record(
    workloads: Sequence[Workload], frameworks: Sequence[str], modes: Sequence[str], precisions: Sequence[str], pythons: Mapping[str, str]
) -> Recording:
    """What every step calls, in the order of workloads, modes, precisions and frameworks."""
    found: dict[Step, Recorded] = {}
    order: list[Step] = []
    versions: dict[str, str] = {}
    for framework in frameworks:
        jobs = _jobs(workloads, framework, modes, precisions)
        for step, recorded in _ask(framework, jobs, pythons, versions):
            before = found.get(step)
            found[step] = recorded if before is None else _joined(before, recorded)
    for workload in workloads:
        steps = [step for step in found if step.workload == workload.name]
        order += sorted(steps, key=lambda s: (modes.index(s.mode), precisions.index(s.precision), frameworks.index(s.framework)))
    return Recording(tuple(found[step] for step in order), versions)


def _jobs(workloads: Sequence[Workload], framework: str, modes: Sequence[str], precisions: Sequence[str]) -> list[tuple[Step, Job]]:
    jobs = []
    for workload in workloads:
        seen = set()
        for variant in workload.variants():
            computation = _sized(workload.resolve(**variant))  # type: ignore[arg-type]
            if digest(computation) in seen:
                continue
            seen.add(digest(computation))
            for mode in modes:
                if mode in workload.modes:
                    for precision in precisions:
                        step = Step(workload.name, mode, precision, framework, _optimizer(computation) if mode == "train" else "none")
                        job = Job(framework, computation, mode, "cpu", precision, EXECUTIONS[framework], batches=1)
                        jobs.append((step, job))
    return jobs


def _sized(computation: Computation) -> Computation:
    return computation if computation.batch is None else dataclasses.replace(computation, batch=BATCH)


def _optimizer(computation: Computation) -> str:
    kind = str(computation.optimizer["kind"])
    return "momentum" if kind == "sgd" and computation.optimizer["momentum"] else kind


def _joined(one: Recorded, other: Recorded) -> Recorded:
    operators = list(one.operators)
    operators += [operator for operator in other.operators if operator not in operators]
    return Recorded(one.step, tuple(operators), one.failure or other.failure)


def _ask(
    framework: str, jobs: Sequence[tuple[Step, Job]], pythons: Mapping[str, str], versions: dict[str, str]
) -> list[tuple[Step, Recorded]]:
    facts = registry.framework(framework)
    done: list[tuple[Step, Recorded]] = []
    with tempfile.TemporaryDirectory(prefix="h2h-") as folder, note_line() as say:
        private, child = Path(folder), None
        try:
            child = Child(
                {"operators": {"framework": framework, "jobs": [to_json(job) for _, job in jobs]}},
                folder=private,
                log=private / "log",
                environment=environment.build(private, facts.environment, 1, {}),
                python=pythons.get(facts.name, sys.executable),
                limits=Limits(silence=SILENCE, total=10 * SILENCE),
            )
            versions[framework] = child.expect("imported").data["versions"].get(facts.package, "")
            for step, _ in jobs:
                say(f"{facts.title}: {step.workload} {step.mode} {step.precision}")
                event = child.event()
                if event.kind == "operators":
                    done.append((step, Recorded(step, tuple(event.data["operators"]))))
                else:
                    done.append((step, Recorded(step, (), CellFailure(**event.data))))
            child.release()
        except CellFailure as failure:
            done += [(step, Recorded(step, (), failure)) for step, _ in jobs[len(done) :]]
        finally:
            if child is not None:
                child.close()
    return done
