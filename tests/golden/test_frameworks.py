"""Both frameworks against golden curves: the library's, in process; and a person's own, from the command line."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from frameworks import parity, registry
from frameworks.contract import CellFailure, Computation, Job
from runner import golden, write_golden
from runner.spec import catalog
from runner.spec.workload import load_workload
from runner.write_golden import Computed
from tests.golden.test_files import OWN

FRAMEWORKS = {"pytorch": "torch", "tensorflow": "tensorflow"}


def quiet(what: str) -> None:
    pass


def cell(framework: str, name: str, mode: str, precision: str, execution: str = "") -> Job:
    """A cell of the library with its curve, at the workload's own batch."""
    pytest.importorskip(FRAMEWORKS[framework])
    workload = load_workload(name)
    computation = workload.resolve()
    facts = registry.framework(framework)
    curve = golden.find(workload.path, computation)
    assert curve is not None
    chosen = execution or facts.executions[0]
    return Job(framework, computation, mode, "cpu", precision, chosen, golden=curve)  # type: ignore[arg-type]


@pytest.mark.parametrize("precision", ["float64", "float32", "mixed_bfloat16"])
@pytest.mark.parametrize("mode", ["train", "infer"])
@pytest.mark.parametrize("name", ["mlp-mnist", "lenet5-mnist"])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_small_ones_follow_their_curves(framework: str, name: str, mode: str, precision: str) -> None:
    found = parity.check(registry.adapter(framework), cell(framework, name, mode, precision), quiet)
    assert 0 <= found.error <= found.tolerance
    assert found.steps == (1 if mode == "infer" else 5)


@pytest.mark.parametrize("execution", ["eager", "xla"])
def test_other_executions_of_tensorflow_follow_them_too(execution: str) -> None:
    parity.check(registry.adapter("tensorflow"), cell("tensorflow", "lenet5-mnist", "train", "float32", execution), quiet)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_adam_follows_the_curve_of_the_formula_that_is_declared(framework: str) -> None:
    found = parity.check(registry.adapter(framework), cell(framework, "lstm-text", "train", "float32"), quiet)
    assert found.error < 1e-6


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("path", catalog.all_workloads(), ids=lambda path: path.stem)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_workload_of_the_library_follows_its_curve(framework: str, path: Path) -> None:
    for mode in load_workload(path).modes:
        parity.check(registry.adapter(framework), cell(framework, path.stem, mode, "float32"), quiet)


def changed(job: Job, **optimizer: Any) -> Job:
    computation: Computation = dataclasses.replace(job.computation, optimizer={**job.computation.optimizer, **optimizer})
    return dataclasses.replace(job, computation=computation)


@pytest.mark.parametrize("wrong", [{"momentum": 0.89}, {"learning_rate": 0.0101}, {"weight_decay": 1e-2}, {"nesterov": True}])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_that_was_given_another_optimizer_is_found_in_float32(framework: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(CellFailure, match="wrong_result"):
        parity.check(registry.adapter(framework), changed(cell(framework, "lenet5-mnist", "train", "float32"), **wrong), quiet)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_precision_too_narrow_for_the_numbers_is_no_pass(framework: str) -> None:
    with pytest.raises(CellFailure) as failure:
        parity.check(registry.adapter(framework), cell(framework, "lstm-text", "train", "float16"), quiet)
    assert failure.value.status in ("wrong_result", "nan", "unsupported")


# --- making curves ------------------------------------------------------------------------------------------------------


def computed(**changes: Any) -> Computed:
    curve: dict[str, Any] = {
        "losses": [2.0, 1.0],
        "deviating": None,
        "sensitivity": {"float32": [1e-7, 1e-2], "half": [0.1, 0.1]},
        "shape": [2, 1],
        "values": [1.0, 4.0],
        "rounds": False,
    }
    return Computed("some", {}, {**curve, **changes})


def test_frameworks_that_part_give_no_curve_and_are_told_where() -> None:
    assert write_golden.agreement("mine", computed(), computed(losses=[2.0, 1.0 + 1e-9])) == pytest.approx(1e-9, rel=1e-3)
    for other, words in (
        (computed(losses=[2.0 + 4e-9, 1.0]), "part at the loss of step 1: 2.0 and 2.000000004"),
        (computed(values=[1.0 + 8e-9, 4.0]), "part at output 1: 1.0 and 1.000000008"),
        (computed(shape=[1, 2]), r"\[2, 1\] and \[1, 2\]"),
    ):
        with pytest.raises(golden.GoldenError, match=words):
            write_golden.agreement("mine", computed(), other)


def test_what_may_part_further_is_declared_rounding_and_a_curve_that_multiplies_it() -> None:
    assert write_golden.agreement("mine", computed(), computed(values=[1.0 + 8e-9, 4.0], rounds=True)) == pytest.approx(2e-9, rel=1e-3)
    assert write_golden.agreement("mine", computed(), computed(losses=[2.0, 1.0 + 1e-7])) == pytest.approx(1e-7, rel=1e-3)
    with pytest.raises(golden.GoldenError):
        write_golden.agreement("mine", computed(), computed(losses=[2.0, 1.0 + 1e-6]))


def h2h(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parent.parent.parent
    code = f"import sys; sys.path.insert(0, {str(root)!r}); from runner.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_persons_own_workload_is_written_checked_and_noticed_when_it_changes(tmp_path: Path) -> None:
    for package in FRAMEWORKS.values():
        pytest.importorskip(package)
    (tmp_path / "mine.yaml").write_text(OWN)
    before = h2h(tmp_path, "check", "./mine.yaml", "--mode", "train", "--format", "json")
    assert (before.returncode, {row["status"] for row in json.loads(before.stdout)}) == (1, {"unverified"})
    written = h2h(tmp_path, "check", "--write", "./mine.yaml")
    assert written.returncode == 0, written.stderr
    assert "mine.golden.json: curves of mine, on which pytorch and tensorflow differ by" in written.stdout
    after = h2h(tmp_path, "check", "./mine.yaml", "--mode", "train", "--format", "json")
    rows = json.loads(after.stdout)
    assert (after.returncode, [row["status"] for row in rows], {row["steps"] for row in rows}) == (0, ["ok", "ok"], {5})
    (tmp_path / "mine.yaml").write_text(OWN.replace("0.1}", "0.2}"))
    changed = h2h(tmp_path, "check", "./mine.yaml", "--mode", "train", "--format", "json")
    assert (changed.returncode, {row["status"] for row in json.loads(changed.stdout)}) == (1, {"unverified"})
