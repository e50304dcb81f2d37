"""Eras beside each other in a run: rivals of one comparison, each served by its own interpreter, named with its era in the table."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from frameworks import registry
from runner import probe as probes
from runner.eras import contestants
from runner.eras.environments import Environment
from runner.launch import Limits
from runner.plan import Choice, Plan, Settings, make_plan
from runner.probe import Found
from runner.records import End, FrameworkState, named
from runner.report import render
from runner.request import Request
from runner.runfile import RunFile, read
from runner.spec.problems import SpecError
from tests.report import recorded
from tests.report.test_rows import timed
from tests.runner.conftest import case

ERAS = ("2022-05", "current")


def plan(**choice: tuple[str, ...]) -> Plan:
    chosen = Choice(("pytorch", "tensorflow"), modes=("train",), **choice)
    facts = {named(name, era): registry.framework(name) for era in chosen.eras for name in chosen.frameworks}
    return make_plan([(case(), chosen)], facts, {}, Settings())


def test_eras_are_rivals_of_one_comparison() -> None:
    (comparison,) = plan(eras=ERAS).comparisons
    assert [cell.title for cell in comparison.cells] == ["PyTorch 2022-05", "TensorFlow 2022-05", "PyTorch current", "TensorFlow current"]
    assert [cell.job.framework for cell in comparison.cells] == ["pytorch", "tensorflow"] * 2
    assert [cell.record().era for cell in comparison.cells] == ["2022-05", "2022-05", "current", "current"]
    assert len({cell.id for cell in comparison.cells}) == 4


def test_without_eras_nothing_is_named_otherwise() -> None:
    cells = plan().cells
    assert [(cell.title, cell.era, cell.served) for cell in cells] == [("PyTorch", "", "pytorch"), ("TensorFlow", "", "tensorflow")]
    assert not {cell.id for cell in cells} & {cell.id for cell in plan(eras=("current",)).cells}
    assert {cell.comparison for cell in cells} == {cell.comparison for cell in plan(eras=ERAS).cells}


def test_the_gpu_is_chosen_where_every_era_finds_one() -> None:
    chosen = Choice(("pytorch",), modes=("train",), eras=ERAS)
    facts = {named("pytorch", era): registry.framework("pytorch") for era in ERAS}
    for gpus, devices in (
        ({"pytorch 2022-05": "mps", "pytorch current": "mps"}, ["mps", "mps"]),
        ({"pytorch current": "mps"}, ["cpu"] * 2),
    ):
        assert [cell.device for cell in make_plan([(case(), chosen)], facts, gpus, Settings()).cells] == devices


def test_each_era_is_asked_by_its_own_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def serving(environment: Environment) -> tuple[str | None, str]:
        return (
            (None, f"{environment.title} is not installed") if environment.framework == "tensorflow" else (f"/{environment.era.name}", "")
        )

    def probe(references: list[str], pythons: object, extra: object, logs: Path, python: str, limits: Limits) -> dict[str, Found]:
        asked.append((*references, python, logs.name))
        return {name: Found(registry.framework(name), python, {"torch": "1"}, {"cpu": "a processor"}) for name in references}

    monkeypatch.setattr(contestants, "serving", serving)
    monkeypatch.setattr(contestants, "environments", lambda era, names: [Environment(era, name, None, tmp_path) for name in names])
    monkeypatch.setattr(probes, "probe", probe)
    found = contestants.probe(["pytorch", "tensorflow"], ERAS, {}, tmp_path, Limits())
    assert asked == [("pytorch", "/2022-05", "2022-05"), ("pytorch", "/current", "current")]
    assert list(found) == ["pytorch 2022-05", "tensorflow 2022-05", "pytorch current", "tensorflow current"]
    assert found["pytorch current"].state().title == "PyTorch current"
    failure = found["tensorflow 2022-05"].failure
    assert failure is not None
    assert (failure.status, failure.reason) == ("not_installed", "TensorFlow of 2022-05 is not installed")
    assert failure.remedy == "h2h env create 2022-05 --framework tensorflow"


def test_a_framework_that_an_era_has_not_costs_its_row(tmp_path: Path) -> None:
    fake = registry.portable(f"{Path(__file__).parent.parent / 'fakes'}:blocking20")
    (found,) = contestants.probe([fake], ["current"], {}, tmp_path, Limits()).values()
    assert found.failure is not None
    assert (found.failure.status, found.failure.reason) == ("unsupported", "the era current has no blocking20")


def test_a_table_of_two_eras(tmp_path: Path) -> None:
    whole = recorded.header()
    cells = tuple(
        dataclasses.replace(cell, id=f"{cell.id}{era}", era=era) for era in ERAS for cell in whole.cells[:2]
    )  # one row of two rivals, twice
    states = {
        f"{name} {era}": FrameworkState(f"{title} {era}", "ok", versions={name: version})
        for name, title in (("pytorch", "PyTorch"), ("tensorflow", "TensorFlow"))
        for era, version in (("2022-05", "old"), ("current", "new"))
    }
    header = dataclasses.replace(whole, cells=cells, frameworks=states)
    with RunFile.create(tmp_path / "run.jsonl", header) as file:
        for number in range(3):
            for at, cell in enumerate(cells):
                file.append(timed(cell.id, number, 0.08 / (at + 1)))
        file.append(End("complete"))
    text = render(read(tmp_path / "run.jsonl"), "markdown")
    (heading,) = [line for line in text.splitlines() if line.startswith("| workload ") and "÷" in line]
    assert [word.strip() for word in heading.strip("|").split("|")][2:] == [
        "PyTorch 2022-05 cpu eager",
        "TensorFlow 2022-05 cpu graph",
        "TensorFlow 2022-05 ÷ PyTorch 2022-05",
        "PyTorch current cpu eager",
        "PyTorch current ÷ PyTorch 2022-05",
        "TensorFlow current cpu graph",
        "TensorFlow current ÷ PyTorch 2022-05",
    ]
    assert "- PyTorch 2022-05: pytorch old\n" in text
    assert "- PyTorch current: pytorch new\n" in text


def test_a_request_is_read_back_with_its_eras() -> None:
    assert Request.from_json({"eras": ["2022-05", "current"]}).eras == ERAS


def test_an_era_that_there_is_not() -> None:
    from runner.request import resolve

    with pytest.raises(SpecError, match="there is no era of this name; did you mean `2022-05`"):
        resolve(Request(suites=("quick",), eras=("2022-06",)), ["pytorch"])


def h2h(*words: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[2]
    return subprocess.run([sys.executable, "-m", "runner", *words], capture_output=True, text=True, check=False, cwd=root)


def test_an_era_and_an_interpreter_contradict_each_other(tmp_path: Path) -> None:
    done = h2h("run", "--suite", "quick", "--era", "current", "--python", f"pytorch={sys.executable}", "--into", str(tmp_path))
    assert done.returncode == 2 and "--era says which interpreter serves each framework" in done.stderr, done.stderr


def test_a_plan_of_two_eras_in_words() -> None:
    done = h2h("run", "mlp-mnist", "--mode", "train", "--era", "2022-05,current", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "mlp-mnist batch 128 train float32 TensorFlow 2022-05 cpu graph" in done.stdout
    assert "4 cells in 1 comparisons" in done.stdout
