"""Each way of not doing the work is found, and honest adapters are let through however busy the machine is."""

from __future__ import annotations

import dataclasses

import pytest

from frameworks import reality, registry, timing
from frameworks.contract import GLIMPSE, CellFailure, Computation, Node, Tensor
from tests.frameworks.simulated import Clock, job, simulate, stepped

pytestmark = pytest.mark.alone

HONEST = ("blocking20", "async20", "lazy", "compile500", "shape_compile", "coin", "cached", "takes_turns")
MODES = ("train", "infer")

FAULTS = {
    ("early_wait", "train"): ("bad_wait", "read-back right after wait"),
    ("no_wait", "train"): ("bad_wait", "read-back right after wait"),
    ("waits_for_one", "train"): ("bad_wait", "wait() returns before"),
    ("waits_for_one", "infer"): ("bad_wait", "wait() returns before"),
    ("lazy_update", "train"): ("bad_wait", "read-back right after wait"),
    ("remembers", "train"): ("wrong_result", "nothing is updated, or steps are remembered"),
    ("remembers", "infer"): ("wrong_result", "they are remembered"),
    ("one_for_all", "train"): ("wrong_result", "4 distinct batches in a row gave the same result"),
    ("one_for_all", "infer"): ("wrong_result", "4 distinct batches in a row gave the same result"),
    ("loss_only", "train"): ("wrong_result", "nothing is updated, or steps are remembered"),
}


def copy(fill: str = "normal") -> Computation:
    """An operator, which has neither loss nor parameters."""
    node = Node("copy", "", ((4, 3),), (4, 3))
    return Computation(node, (Tensor("a", (4, 3), fill),), None, None, {"kind": "none"}, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "mode"), FAULTS)
@pytest.mark.parametrize("busy", [0.0, 0.05])
def test_a_fault_is_found(monkeypatch: pytest.MonkeyPatch, name: str, mode: str, busy: float) -> None:
    status, words = FAULTS[name, mode]
    for seed in range(20):
        simulate(monkeypatch, Clock(busy, seed))
        session, asked = stepped(name, job(name, mode=mode))
        with pytest.raises(CellFailure) as failure:
            reality.check(session, asked)
        assert (failure.value.status, words in failure.value.reason) == (status, True), failure.value


def test_a_wait_for_the_first_of_many_is_told_by_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, Clock())
    session, asked = stepped("waits_for_one")
    with pytest.raises(CellFailure, match=r"4 times as many steps took 1\.00 times as long"):
        reality.check(session, asked)


@pytest.mark.parametrize("mode", MODES)
def test_a_wait_for_nothing_is_found_where_a_step_takes_a_millisecond(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    for seed in range(20):
        simulate(monkeypatch, Clock(0.005, seed))
        session, asked = stepped("no_wait_of_short_steps", job("no_wait_of_short_steps", mode=mode))
        with pytest.raises(CellFailure, match="read-back right after wait"):
            reality.check(session, asked)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_adapter_passes_on_a_busy_machine(monkeypatch: pytest.MonkeyPatch, name: str, mode: str) -> None:
    for seed in range(50):
        simulate(monkeypatch, Clock(0.05, seed))
        session, asked = stepped(name, job(name, mode=mode))
        reality.check(session, asked)


def test_steps_that_become_slower_are_no_fault_of_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, Clock())
    session, asked = stepped("drift")
    reality.check(session, asked)


@pytest.mark.parametrize("name", ["blocking20", "async20"])
def test_an_honest_adapter_passes_in_real_time(name: str) -> None:
    for _ in range(20):
        session, asked = stepped(name)
        reality.check(session, asked)


def test_an_operator_without_loss_and_parameters_is_read_by_its_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, Clock())
    session, asked = stepped("blocking20", job("blocking20", copy(), mode="infer"))
    reality.check(session, asked)
    session, asked = stepped("one_for_all", job("one_for_all", copy(), mode="infer"))
    with pytest.raises(CellFailure, match="distinct batches"):
        reality.check(session, asked)


def test_batches_that_are_equal_by_the_workload_may_give_equal_results(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, Clock())
    session, asked = stepped("one_for_all", job("one_for_all", copy("linspace"), mode="infer"))
    reality.check(session, asked)


def test_half_precision_may_give_equal_losses_in_a_second_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, Clock())
    for precision in ("float16", "bfloat16", "mixed_float16", "mixed_bfloat16"):
        session, asked = stepped("loss_only", job("loss_only", precision=precision))
        reality.check(session, asked)


def test_parameters_are_as_they_were_after_inference(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, Clock())
    session, asked = stepped("blocking20", job(mode="infer"))
    before = {name: value.copy() for name, value in session.parameters().items()}
    reality.check(session, asked)
    after = session.parameters()
    assert {name: value.tolist() for name, value in before.items()} == {name: value.tolist() for name, value in after.items()}


@pytest.mark.parametrize(("name", "mode", "words"), [("nan", "train", "loss is nan"), ("nan_output", "infer", "outputs are not finite")])
def test_a_result_that_is_no_number_is_told_as_such(monkeypatch: pytest.MonkeyPatch, name: str, mode: str, words: str) -> None:
    simulate(monkeypatch, Clock())
    session, asked = stepped(name, job(name, mode=mode))
    with pytest.raises(CellFailure, match=words) as failure:
        reality.check(session, asked)
    assert failure.value.status == "nan"


def test_its_cost_is_a_small_part_of_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    simulate(monkeypatch, clock)
    session, asked = stepped("compile500")  # 5 ms a step once its three slow ones are over
    timing.run_steps(session, 2, read_loss=False)
    before = clock.now
    reality.check(session, asked)
    assert clock.now - before < 0.5


@pytest.mark.parametrize("name", ["pytorch", "tensorflow"])
@pytest.mark.parametrize("extent", [4, 300])
def test_a_glimpse_is_of_the_outputs_and_small(name: str, extent: int) -> None:
    pytest.importorskip({"pytorch": "torch"}.get(name, name))
    shape = (extent, extent)
    work = Computation(Node("copy", "", (shape,), shape), (Tensor("a", shape, "normal"),), None, None, {"kind": "none"}, None)
    asked = dataclasses.replace(job("blocking20", work, mode="infer"), framework=name)
    session = registry.adapter(name).build(asked)
    session.step()
    session.wait()
    glimpse = session.glimpse()
    assert 0 < glimpse.size <= GLIMPSE
    assert set(glimpse.flat) <= set(session.outputs().flat)
    session.close()
