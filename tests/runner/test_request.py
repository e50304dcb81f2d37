"""What a request stands for: the suite that is meant where nothing is named, and what the library's suites ask for."""

from __future__ import annotations

import pytest

from frameworks import registry
from runner.request import ON_A_MAC, Request, resolve, with_usual_suite
from runner.spec import catalog
from runner.spec.suite import load_suite


def test_a_mac_that_is_told_nothing_runs_its_suite() -> None:
    asked = Request(rounds=1, frameworks=("pytorch",))
    found = with_usual_suite(asked, "Darwin", "arm64")
    assert (found.suites, found.rounds, found.frameworks) == ((ON_A_MAC,), 1, ("pytorch",))
    suite = load_suite(catalog.find_suite(ON_A_MAC))
    assert {device for cell in suite.cells for device in cell.devices} == {"gpu"}


@pytest.mark.parametrize("place", [("Linux", "x86_64"), ("Linux", "arm64"), ("Darwin", "x86_64"), ("Windows", "AMD64")])
def test_elsewhere_nothing_is_chosen(place: tuple[str, str]) -> None:
    assert with_usual_suite(Request(), *place) == Request()


@pytest.mark.parametrize("named", [Request(workloads=("lenet5-mnist",)), Request(suites=("quick",))])
def test_what_is_named_stays(named: Request) -> None:
    assert with_usual_suite(named, "Darwin", "arm64") == named


@pytest.mark.parametrize("path", catalog.all_suites(), ids=lambda path: path.stem)
def test_every_cell_of_the_librarys_suites_can_be_asked_for(path: object) -> None:
    suite = load_suite(path)  # type: ignore[arg-type]
    asked = resolve(Request(suites=(suite.name,), checks=False), registry.names())
    assert len(asked.cases) == len({case.digest for case, _ in asked.cases})
    assert {case.workload for case, _ in asked.cases} == {cell.workload for cell in suite.cells}
    assert (asked.rounds, asked.budget) == (suite.rounds, suite.budget)


def test_the_full_suite_leaves_no_workload_out() -> None:
    suite = load_suite("full")
    assert {cell.workload for cell in suite.cells} == {path.stem for path in catalog.all_workloads()}


# What the announcement of May 2022 measured: workload, batch, words.
LAUNCH = {("resnet50", 128, (224, 224, 3)), ("bert-base-mlm", 64, (512,)), ("vgg16", 64, (224, 224, 3))}


def test_the_suite_of_the_announcement_has_its_batches_and_sizes() -> None:
    asked = resolve(Request(suites=("pytorch-mps-launch",), checks=False), ["pytorch"])
    assert {(case.workload, case.computation.batch, case.computation.inputs[0].shape) for case, _ in asked.cases} == LAUNCH
    assert {(choice.modes, choice.devices) for _, choice in asked.cases} == {(("train", "infer"), ("gpu", "cpu"))}
