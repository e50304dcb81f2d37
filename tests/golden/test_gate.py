"""The gate in a run: a cell off its curve is a wrong result, one on it says so once, and one without a curve counts and says that."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from frameworks import data
from frameworks.reference import network
from runner import check
from runner.launch import Limits
from runner.plan import BLOCKS, Choice, Settings, make_plan
from runner.probe import probe
from runner.progress import Progress
from runner.records import Record, Round
from runner.request import Request
from runner.run import Runner
from tests.runner.conftest import case, computation, fake

pytestmark = pytest.mark.alone

SETTINGS = Settings(rounds=2, budget=0.02, block_seconds=0.02, warmup_seconds=2.0)

SMALL = dataclasses.replace(computation(), batch=2)
OUTPUTS = network.outputs(SMALL, data.parameter_values(SMALL), data.batches(SMALL, 1)[0], False)

# What the fakes compute that are not wrong on purpose.
CURVE: dict[str, Any] = {
    "computation": "0123456789abcdef",
    "batch": 2,
    "seed": 0,
    "losses": [1.0, 0.5, 1 / 3, 0.25, 0.2],
    "deviating": None,
    "sensitivity": {"float32": [0.0] * 5, "half": [0.0] * 5},
    "outputs": {"shape": [2, 3], "values": OUTPUTS.reshape(-1).tolist(), "moved": None},
}

Play = Callable[..., list[Round]]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Run one fake with a golden curve and return its rounds."""

    def run(name: str, mode: str = "train", curve: dict[str, Any] | None = CURVE, settings: Settings = SETTINGS) -> list[Round]:
        references = (fake(name),)
        found = probe(references, {}, {}, tmp_path / "logs", sys.executable, Limits())
        facts = {reference: framework.facts for reference, framework in found.items()}
        chosen = Choice(references, modes=(mode,), devices=("cpu",))
        plan = make_plan([(dataclasses.replace(case(), golden=curve), chosen)], facts, {}, settings)
        records: list[Record] = []
        Runner(plan, found, records.append, Progress(), tmp_path / "logs", Limits(), {}, lambda device: 1e18).run({}, [], set())
        return [record for record in records if isinstance(record, Round)]

    return run


def test_five_percent_off_in_training_is_a_wrong_result_and_ends_the_cell(play: Play) -> None:
    (bad,) = play("wrong5")
    assert bad.status == "wrong_result"
    assert bad.reason == "step 1: loss 1.05, the golden curve has 1, 5 % off; float32 allows 0.0005 %"
    assert bad.parity is None
    assert len(bad.blocks) >= BLOCKS, "the proof comes when nothing is left to be disturbed by it"


def test_five_percent_off_in_inference_too(play: Play) -> None:
    (bad,) = play("wrong5", mode="infer")
    assert bad.status == "wrong_result"
    worst = float(max(OUTPUTS.reshape(-1), key=abs))
    assert f"of 6 outputs one is {1.05 * worst:.5g}, the golden one {worst:.5g}, 5 % of the largest off" in bad.reason


@pytest.mark.parametrize(("mode", "steps", "values"), [("train", 5, 5), ("infer", 1, 6)])
def test_the_first_round_proves_it_and_no_other(play: Play, mode: str, steps: int, values: int) -> None:
    first, second = play("blocking20", mode=mode)
    assert (first.status, second.status) == ("ok", "ok")
    assert first.parity is not None
    assert (first.parity["steps"], first.parity["values"], first.parity["error"]) == (steps, values, pytest.approx(0.0, abs=1e-6))
    assert first.parity["seconds"] >= 0.02 * steps, "real steps"
    assert second.parity is None
    assert Round.from_json(first.to_json()) == first


def test_without_a_curve_and_without_checks_nothing_is_held_against_anything(play: Play) -> None:
    for bad in (play("wrong5", curve=None), play("wrong5", settings=dataclasses.replace(SETTINGS, checks=False))):
        assert [(each.status, each.parity) for each in bad] == [("ok", None)] * 2


def test_outputs_of_another_shape_are_a_wrong_result(play: Play) -> None:
    (bad,) = play("blocking20", mode="infer", curve={**CURVE, "outputs": {"shape": [6, 1], "values": [1.0] * 6, "moved": None}})
    assert (bad.status, bad.reason) == ("wrong_result", "the outputs are [2, 3], the golden ones [6, 1]")


def test_an_interrupted_check_prints_what_it_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def asked(request: Request) -> Iterator[check.Checked]:
        yield check.Checked("tiny", "train", "float32", "PyTorch", "cpu", "eager", "ok", "", "", 1.84e-7, 2e-5, 5, 5, 0.5)
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "check", asked)
    assert check.run(Request(workloads=("tiny",)), False, "markdown") == 130
    said = capsys.readouterr()
    assert "1 of 1 cells" in said.out and "not listed were not checked" in said.err


def test_the_check_prints_cells_reasons_and_remedies() -> None:
    good = check.Checked("tiny", "train", "float32", "PyTorch", "cpu", "eager", "ok", "", "", 1.84e-7, 2e-5, 5, 5, 0.5)
    bad = dataclasses.replace(good, status="wrong_result", reason="5 % off", remedy="mend it", error=None, tolerance=None, steps=None)
    text = check.render([good, bad], "markdown")
    assert ["5 steps", "2e-7", "2e-5"] in [[word.strip() for word in line.split("|")[6:9]] for line in text.splitlines()]
    assert "1 of 2 cells" in text
    assert "- tiny train float32 PyTorch cpu eager: 5 % off. Remedy: mend it." in text
    assert check.render([good], "csv").splitlines()[1] == "tiny,train,float32,PyTorch,cpu,eager,ok,,,1.84e-07,2e-05,5,5,0.5"
    assert '"error": 1.84e-07' in check.render([good], "json")
