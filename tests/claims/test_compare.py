"""Which cell stands beside a figure, and what keeps them from being compared."""

from __future__ import annotations

import dataclasses

import pytest

from runner.claims.compare import Comparison, compare
from runner.claims.computations import Library
from runner.claims.model import Claim
from runner.claims.reading import load_all
from runner.records import Machine
from tests.claims.made import LINUX, MAC, ON_LINUX, ON_MAC, Made, Workloads, around, compared, run, source

CLAIMS = source().claims
FIRST = CLAIMS[0]


def beside(claim: Claim, *cells: Made, machine: Machine = MAC, checks: bool = True) -> Comparison:
    one = dataclasses.replace(source(), claims=(claim,))
    (found,) = compare((one,), run(cells, machine, checks), Workloads()).beside
    return found


def shorts(found: Comparison) -> list[str]:
    return [reason.short for reason in found.reasons]


def test_a_figure_of_the_same_work_on_the_same_machine_is_compared() -> None:
    found = beside(FIRST, *ON_MAC)
    assert (found.verdict, found.chip, found.versions, found.reasons) == ("reproduced", "same", "same", ())
    assert found.measured is not None and found.measured.value == pytest.approx(100.0)
    assert found.ratio is not None and found.ratio.value == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"batch": 32}, "batch"),
        ({"device": "cpu"}, "device"),
        ({"precision": "mixed_float16"}, "precision"),
        ({"measured": "tf32"}, "precision"),
        ({"execution": "inductor"}, "execution"),
        ({"variant": {"size": 128}}, "input"),
        ({"computation": "0123"}, "another workload"),
        ({"status": "wrong_result"}, "wrong result here"),
    ],
)
def test_whatever_differs_forbids_it_and_gives_no_ratio(change: dict[str, object], reason: str) -> None:
    found = beside(FIRST, dataclasses.replace(ON_MAC[0], **change))  # type: ignore[arg-type]
    assert (found.verdict, found.ratio, shorts(found)) == ("not comparable", None, [reason])
    assert found.said == f"not comparable: {reason}"


@pytest.mark.parametrize("reason", ["batch", "input", "another workload"])
def test_other_work_has_no_measured_figure_beside_it(reason: str) -> None:
    changes = {"batch": {"batch": 32}, "input": {"variant": {"size": 128}}, "another workload": {"computation": "0123"}}
    assert beside(FIRST, dataclasses.replace(ON_MAC[0], **changes[reason])).measured is None  # type: ignore[arg-type]


def test_an_exact_cell_is_preferred_to_others() -> None:
    others = [dataclasses.replace(ON_MAC[0], batch=32), ON_MAC[1], dataclasses.replace(ON_MAC[0], precision="float16")]
    assert beside(FIRST, *others, ON_MAC[0]).cells == (f"{3:016x}",)


def test_the_machine_forbids_it() -> None:
    assert shorts(beside(FIRST, ON_MAC[0], machine=LINUX)) == ["chip"]
    assert shorts(beside(FIRST, ON_MAC[0], machine=dataclasses.replace(MAC, gpu="Apple M1 Max, 24 GPU cores"))) == ["chip"]
    assert shorts(beside(FIRST, ON_MAC[0], machine=dataclasses.replace(MAC, translated=True))) == ["Rosetta"]


def test_a_run_without_proof_or_with_one_round_says_nothing() -> None:
    assert shorts(beside(FIRST, ON_MAC[0], checks=False)) == ["unverified"]
    assert shorts(beside(FIRST, dataclasses.replace(ON_MAC[0], seconds=(0.64,)))) == ["one round"]
    assert shorts(beside(FIRST, dataclasses.replace(ON_MAC[0], seconds=around(0.64, 0.2)))) == ["at the limit"]


def test_other_versions_do_not_forbid_it() -> None:
    found = beside(dataclasses.replace(FIRST, versions={"torch": "1.11"}), ON_MAC[0])
    assert (found.verdict, found.versions) == ("reproduced", "other")


@pytest.mark.parametrize("code", ["no_wait", "data_loading", "evaluation", "doubtful"])
def test_a_protocol_can_forbid_it(code: str) -> None:
    found = beside(dataclasses.replace(FIRST, differences={code: "so it is"}), ON_MAC[0])
    assert found.verdict == "not comparable" and [reason.text for reason in found.reasons] == ["so it is"]


def test_a_small_difference_is_a_note() -> None:
    found = beside(dataclasses.replace(FIRST, differences={"head": "8 outputs"}), ON_MAC[0])
    assert found.verdict == "reproduced" and [note.text for note in found.notes] == ["8 outputs"]


def test_a_speed_up_needs_both_cells() -> None:
    (claim,) = [each for each in CLAIMS if each.basis == "secondhand"]
    both = beside(claim, ON_MAC[0], ON_MAC[1])
    assert both.verdict == "reproduced" and both.measured is not None and both.measured.value == pytest.approx(4.0)
    assert len(both.cells) == 2
    assert shorts(beside(claim, ON_MAC[0])) == ["no cpu cell"]
    assert "device" in shorts(beside(claim, ON_MAC[1]))
    assert shorts(beside(claim, ON_MAC[0], dataclasses.replace(ON_MAC[1], measured="bfloat16"))) == ["precision"]


def test_the_paired_rounds_make_the_interval_of_a_speed_up() -> None:
    """Both sides drift by the same 20 %, so that their ratio is known well although neither time is."""
    (claim,) = [each for each in CLAIMS if each.basis == "secondhand"]
    drift = (1.0, 1.1, 1.2, 1.1, 1.0)
    gpu = dataclasses.replace(ON_MAC[0], seconds=[0.64 * each for each in drift])
    cpu = dataclasses.replace(ON_MAC[1], seconds=[2.56 * each for each in drift])
    found = beside(claim, gpu, cpu)
    assert found.verdict == "reproduced" and found.measured is not None
    assert found.measured.high is not None and found.measured.high == pytest.approx(4.0)


def test_the_highest_of_several_needs_all_of_them() -> None:
    claim, other = (each for each in CLAIMS if each.best_of)
    found = beside(claim, *ON_MAC)
    assert found.measured is not None and found.measured.value == pytest.approx(8.0)  # vgg16's 8, not resnet50's 4
    assert shorts(beside(claim, *ON_MAC[:2])) == ["no vgg16"]
    assert shorts(beside(other, *ON_MAC)) == ["no bert-base"]


def test_a_sweep_takes_the_fastest_within_its_range() -> None:
    (claim,) = [each for each in CLAIMS if each.sweep]
    small, large = ON_MAC[-2:]
    beyond = dataclasses.replace(large, variant={"size": 8192}, seconds=around(1e-6))
    found = beside(claim, small, dataclasses.replace(large, seconds=around(1.4e-3)), beyond)
    assert found.cells == (f"{1:016x}",) and found.verdict == "reproduced"
    assert shorts(beside(claim, beyond)) == ["input"]


@pytest.mark.parametrize("unit", ["W", "GB", "tok/s", "points"])
def test_what_a_run_does_not_measure_is_not_compared(unit: str) -> None:
    found = beside(dataclasses.replace(FIRST, unit=unit), ON_MAC[0])
    assert shorts(found) == ["not measured"] and found.measured is None


def test_a_batch_that_is_not_stated_is_not_guessed() -> None:
    assert shorts(beside(dataclasses.replace(FIRST, batch=None), ON_MAC[0])) == ["batch not stated"]


def test_figures_without_a_cell_are_counted_by_why() -> None:
    found = compared(ON_LINUX, LINUX)
    assert sum(found.absent.values()) + len(found.beside) == len(CLAIMS)
    assert found.absent["about a network that is no workload of the library"] == 1
    assert {each.verdict for each in found.beside} == {"not comparable"}
    assert all("chip" in each.said for each in found.beside)


@pytest.fixture(scope="module")
def real() -> list[Comparison]:
    """All published figures beside a Linux run of real workloads on the CPU."""
    library = Library()
    cells = [
        Made(name, around(1.0), framework, "cpu", mode, batch, execution=execution, computation=library.digest(name, batch, {}) or "")
        for name, batch in (("resnet50", 128), ("vgg16", 64), ("lenet5-mnist", 128), ("bert-base", 64))
        for framework, execution in (("pytorch", "eager"), ("tensorflow", "graph"))
        for mode in ("train", "infer")
    ]
    return list(compare(load_all(), run(cells, LINUX), library).beside)


def test_on_a_linux_cpu_no_published_figure_is_comparable(real: list[Comparison]) -> None:
    assert len(real) > 200
    assert {each.verdict for each in real} == {"not comparable"}
    assert {each.chip for each in real} == {"other", "not stated"}
    assert all(each.ratio is None for each in real)
    assert any(each.measured is not None for each in real)
