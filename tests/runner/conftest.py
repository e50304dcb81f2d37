"""A small computation and a way to run it by adapters that misbehave."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from frameworks import registry
from frameworks.contract import Computation, Node, Parameter, Tensor
from runner.launch import Limits
from runner.plan import Case, Choice, Plan, Settings, digest, make_plan
from runner.probe import probe
from runner.progress import Progress
from runner.records import Record, Round
from runner.run import Runner

FAKES = Path(__file__).parent.parent / "fakes"


def fake(name: str) -> str:
    return registry.portable(f"{FAKES}:{name}")


def computation(operations: int = 24, batch: int | None = 8) -> Computation:
    dense = Node(
        kind="dense",
        name="dense_1",
        takes=((4,),),
        gives=(3,),
        attributes={"units": 3, "bias": True},
        parameters=(Parameter("kernel", (4, 3), True, 0.0, 0.5), Parameter("bias", (3,), True, 0.0, 0.02)),
        operations=operations,
    )
    return Computation(
        network=Node("sequence", "", ((4,),), (3,), children=(dense,)),
        inputs=(Tensor("x", (4,), "normal"),),
        target=Tensor("target", (), "integers", below=3),
        loss="softmax_cross_entropy",
        optimizer={"kind": "sgd", "learning_rate": 0.1, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0},
        batch=batch,
    )


def case(work: Computation | None = None, name: str = "tiny") -> Case:
    work = work or computation()
    return Case(name, "samples", {}, work, ("train", "infer"), digest(work))


QUICK = Settings(rounds=1, budget=0.05, block_seconds=0.02, warmup_seconds=5.0)


@dataclasses.dataclass
class Outcome:
    plan: Plan
    records: list[Record]

    @property
    def rounds(self) -> list[Round]:
        return [record for record in self.records if isinstance(record, Round)]

    def of(self, name: str) -> list[Round]:
        ids = {cell.id for cell in self.plan.cells if cell.name == name}
        return [record for record in self.rounds if record.cell in ids]


Play = Callable[..., Outcome]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Run named fakes against each other and return what was written."""

    def run(
        *names: str,
        settings: Settings = QUICK,
        limits: Limits | None = None,
        environment: dict[str, str] | None = None,
        work: Computation | None = None,
        progress: Progress | None = None,
        write: Callable[[Record], None] | None = None,
        ceiling: float = 1e18,
        **choice: tuple[str, ...],
    ) -> Outcome:
        references = tuple(fake(name) for name in names)
        extra = environment or {}
        found = probe(references, {}, extra, tmp_path / "logs", sys.executable, limits or Limits(start=60.0))
        facts = {name: framework.facts for name, framework in found.items()}
        chosen = Choice(references, **{"modes": ("train",), "devices": ("cpu",), **choice})
        plan = make_plan([(case(work), chosen)], facts, {}, settings)
        records: list[Record] = []
        runner = Runner(
            plan,
            found,
            write or records.append,
            progress or Progress(),
            tmp_path / "logs",
            limits or Limits(start=60.0),
            extra,
            lambda device: ceiling,
        )
        runner.run({}, [], set())
        return Outcome(plan, records)

    return run
