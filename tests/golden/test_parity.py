"""The comparison itself, in process: the reference passes, and each fault that it is made to have is found."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy
import pytest

from frameworks import parity
from frameworks.conformance import build
from frameworks.contract import CellFailure, Computation, Job, Node, to_json
from frameworks.reference import layers
from tests.fakes.reference_adapter.adapter import Mutation, ReferenceAdapter, ReferenceSession

ADAM = {"adam": {"learning_rate": 1e-2, "eps": 1e-4}}
MOMENTUM = {"sgd": {"learning_rate": 0.1, "momentum": 0.9}}


def workload(optimizer: Mapping[str, Any], *layers: Any) -> Computation:
    """A small network that the reference differentiates in a moment."""
    return build.computation(
        {
            "inputs": {"x": {"shape": [4], "fill": "normal"}},
            "network": [{"dense": {"units": 3, "bias": True}}, *layers, {"tanh": {}}, {"dense": {"units": 2, "bias": True}}],
            "target": {"fill": "normal"},
            "loss": "mean_squared_error",
            "optimizer": optimizer,
            "batch": 2,
        }
    )


def quiet(what: str) -> None:
    pass


def golden(computation: Computation) -> dict[str, Any]:
    """The curve of a computation by the reference, as a golden file would hand it over."""
    curve = parity.curve(ReferenceAdapter(), job(computation), quiet)
    said: dict[str, Any] = to_json(curve)
    return {**said, "batch": computation.batch, "seed": 0, "outputs": {key: said[key] for key in ("shape", "values", "moved")}}


def job(computation: Computation, precision: str = "float32", **changes: Any) -> Job:
    return dataclasses.replace(Job("reference", computation, "train", "cpu", precision, "eager"), **changes)


def held(computation: Computation, mutation: Mutation | None = None, precision: str = "float32", **changes: Any) -> parity.Parity:
    """The verdict about a session that computes with this mutation, measured at a batch of its own."""
    measured = dataclasses.replace(computation, batch=3)
    return parity.check(ReferenceAdapter(mutation), job(measured, precision, golden=golden(computation), **changes), quiet)


@pytest.mark.parametrize("optimizer", [ADAM, MOMENTUM], ids=["adam", "momentum"])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_what_is_right_passes(optimizer: Mapping[str, Any], precision: str) -> None:
    found = held(workload(optimizer, {"layer_norm": {"eps": 1e-3}}), precision=precision)
    assert (found.steps, found.values) == (5, 5)
    assert found.error < 1e-12
    found = held(workload(optimizer), precision=precision, mode="infer")
    assert (found.steps, found.values) == (1, 4)
    assert found.error < 1e-7


def test_the_curve_is_that_of_the_references_own_training() -> None:
    computation = workload(ADAM)
    session = ReferenceAdapter().build(job(computation, "float64"))
    losses = []
    for _ in range(parity.STEPS):
        session.step()
        losses.append(session.loss())
    found = golden(computation)
    assert found["losses"] == pytest.approx(losses, rel=1e-13)
    assert len(set(losses)) == parity.STEPS
    assert found["deviating"][0] == found["losses"][0]
    assert found["deviating"][2] != pytest.approx(found["losses"][2], rel=1e-6)


def rebuilt(change: Callable[[Node], Node]) -> Mutation:
    """A network of which each node was changed."""

    def everywhere(node: Node) -> Node:
        return change(dataclasses.replace(node, children=tuple(everywhere(child) for child in node.children)))

    return Mutation(computation=lambda computation: dataclasses.replace(computation, network=everywhere(computation.network)))


def with_eps(node: Node) -> Node:
    return dataclasses.replace(node, attributes={**node.attributes, "eps": 1e-5}) if node.kind == "layer_norm" else node


def optimizer(**settings: Any) -> Mutation:
    return Mutation(computation=lambda c: dataclasses.replace(c, optimizer={**c.optimizer, **settings}))


FAULTS = {
    "another epsilon in a layer": (rebuilt(with_eps), 1),
    "a bias left out": (Mutation(load=lambda name, value: value * 0 if name.endswith("dense_2.bias") else value), 1),
    "a kernel transposed in part": (Mutation(load=lambda name, value: value[::-1] if name.endswith("dense_1.kernel") else value), 1),
    "another rate": (optimizer(learning_rate=0.101), 2),
    "no momentum": (optimizer(momentum=0.0), 3),
    "nesterov": (optimizer(nesterov=True), 2),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_in_float32_at_its_step(fault: str) -> None:
    mutation, step = FAULTS[fault]
    with pytest.raises(CellFailure) as failure:
        held(workload(MOMENTUM, {"layer_norm": {"eps": 1e-3}}), mutation)
    assert failure.value.status == "wrong_result"
    assert failure.value.reason.startswith(f"step {step}: loss ")


@pytest.mark.parametrize("fault", ["another epsilon in a layer", "a bias left out"])
def test_a_fault_of_the_forward_pass_is_found_in_inference(fault: str) -> None:
    with pytest.raises(CellFailure, match="wrong_result: step 1: of 4 outputs one is"):
        held(workload(MOMENTUM, {"layer_norm": {"eps": 1e-3}}), FAULTS[fault][0], mode="infer")


def test_the_same_batch_over_and_over_is_found() -> None:
    def first_batch(session: Any) -> None:
        session.steps = 0
        type(session).__mro__[1].step(session)

    with pytest.raises(CellFailure, match="step 2: loss"):
        held(workload(MOMENTUM), Mutation(session={"step": first_batch}))


def test_the_other_formula_passes_where_it_is_declared_and_only_there() -> None:
    computation = workload(ADAM)
    declared = Mutation(deviating=True, deviations=("it adds Adam's epsilon elsewhere",))
    assert held(computation, declared).error < 1e-12
    for silent in (Mutation(deviating=True), Mutation(deviating=True, deviations=("two biases",))):
        with pytest.raises(CellFailure, match="wrong_result"):
            held(computation, silent)
    assert held(computation, Mutation(deviations=("it says epsilon and does not do so",))).error < 1e-12


@pytest.mark.parametrize("mode", ["train", "infer"])
def test_what_is_no_number_is_nan(mode: str) -> None:
    broken = Mutation(load=lambda name, value: value * math.nan if name.endswith("dense_1.bias") else value)
    with pytest.raises(CellFailure) as failure:
        held(workload(MOMENTUM), broken, mode=mode)
    assert failure.value.status == "nan"


def test_another_structure_is_not_equivalent() -> None:
    def fewer(session: Any) -> dict[str, Any]:
        return dict(list(session.values.items())[:-1])

    with pytest.raises(CellFailure) as failure:
        held(workload(MOMENTUM), Mutation(session={"parameters": fewer}))
    assert (failure.value.status, "dense_2.bias" in failure.value.reason) == ("not_equivalent", True)


def test_dropout_is_off_whatever_the_measured_session_does() -> None:
    computation = workload(MOMENTUM, {"dropout": {"rate": 0.5}})
    assert held(computation, dropout=True).error < 1e-12


# --- tolerances --------------------------------------------------------------------------------------------------------


def compared(losses: list[float], sensitivity: list[float], precision: str = "float32") -> parity.Parity:
    """The verdict about these losses where the curve is 1 throughout."""

    class Session:
        steps = 0

        def step(self) -> None:
            self.steps += 1

        def wait(self) -> None:
            pass

        def loss(self) -> float:
            return losses[self.steps - 1]

        def facts(self) -> dict[str, Any]:
            return {}

        def parameters(self) -> dict[str, numpy.ndarray]:
            taken = self.steps if precision == "float32" or self.steps < 3 else 2
            return {name: numpy.full(p.shape, taken) for name, p in workload(MOMENTUM).network.all_parameters()}

    curve = {"losses": [1.0] * 5, "deviating": None, "sensitivity": {"float32": sensitivity, "half": sensitivity}}
    session: Any = Session()
    return parity._trained(job(workload(MOMENTUM), precision), session, curve, quiet)


def test_a_curve_that_multiplies_rounding_allows_for_it_from_there_on() -> None:
    off = [1.0, 1.0, 1.0, 1.005, 1.005]
    with pytest.raises(CellFailure, match=r"step 4: loss 1\.005, the golden curve has 1, 0\.5 % off; float32 allows 0\.005 %"):
        compared(off, [0.0] * 5)
    found = compared(off, [0.0, 0.0, 2e-3, 0.0, 0.0])
    assert (found.steps, found.error, found.tolerance) == (5, pytest.approx(5e-3), pytest.approx(5e-5 + parity.ROOM * 2e-3))


def test_the_sensitivity_is_that_of_steps_whose_weights_are_moved_anew_and_put_back() -> None:
    computation = workload(ADAM)
    session = ReferenceAdapter().build(job(computation))
    plain = []
    for _ in range(parity.STEPS):
        session.step()
        plain.append(session.loss())
    draw = numpy.random.RandomState(0)
    assert parity._unsteady(ReferenceAdapter(), job(computation), 0.0, draw, quiet) == pytest.approx(plain, rel=1e-6), "moved by nothing"
    unsteady = parity._unsteady(ReferenceAdapter(), job(computation), 1e-3, draw, quiet)
    moved = [abs(loss / still - 1) for loss, still in zip(unsteady, plain, strict=True)]
    assert 0 < moved[0] < 1e-2
    assert max(moved) < 2e-2, "moves do not add up"
    golden = parity.curve(ReferenceAdapter(), job(computation), quiet)
    assert golden.sensitivity is not None
    assert max(golden.sensitivity["float32"]) < max(golden.sensitivity["half"])
    assert parity.curve(ReferenceAdapter(), job(computation), quiet, sensitivity=False).sensitivity is None


def test_the_sensitivity_is_the_most_of_some_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = [[1.0, 1.1, 1.0], [1.0, 1.0, 1.3], [1.0, 1.2, 1.0]]
    moves: list[float] = []

    def unsteady(adapter: Any, job: Job, move: float, draw: Any, say: Any) -> list[float]:
        moves.append(move)
        return [1.0] * 3 if move == 0 else drawn[moves.count(move) - 1]

    monkeypatch.setattr(parity, "_unsteady", unsteady)
    monkeypatch.setattr(parity, "MOVES", {"float32": (1e-7, 3), "half": (1e-3, 1)})
    found = parity._sensitivity(ReferenceAdapter(), job(workload(ADAM)), [1.0] * 3, quiet)
    assert found == {"float32": pytest.approx((0.0, 0.2, 0.3)), "half": pytest.approx((0.0, 0.1, 0.0))}


def test_comparing_ends_where_nothing_would_be_proved() -> None:
    found = compared([1.0, 1.0, 3.0, 3.0, 3.0], [0.0, 0.0, 0.1, 0.0, 0.0])
    assert found.steps == 2


def test_an_update_left_out_for_overflow_ends_the_comparison() -> None:
    assert compared([1.0, 1.0, 1.0, 3.0, 3.0], [0.0] * 5, "mixed_float16").steps == 3


def test_every_precision_has_a_tolerance_that_a_coarser_one_does_not_undercut() -> None:
    from frameworks.contract import PRECISIONS

    assert set(parity.TOLERANCES) == set(PRECISIONS)
    order = ["float64", "float32", "tf32", "float16", "bfloat16"]
    firsts = [parity.TOLERANCES[precision].first for precision in order]
    assert firsts == sorted(firsts)


class Narrow(ReferenceAdapter):
    """The reference, whatever precision it is asked for."""

    def build(self, job: Job) -> ReferenceSession:
        return super().build(dataclasses.replace(job, precision="float32"))


def test_outputs_are_allowed_what_moved_weights_do_to_them() -> None:
    computation = workload(MOMENTUM)
    curve = golden(computation)
    assert 0 < curve["outputs"]["moved"]["float32"] < 1e-5 < curve["outputs"]["moved"]["half"] < 1e-2
    values = numpy.array(curve["outputs"]["values"])

    def held(off: float, moved: float | None) -> parity.Parity:
        outputs = {**curve["outputs"], "values": values + off * abs(values).max(), "moved": moved and {"float32": 0.0, "half": moved}}
        return parity.check(Narrow(), job(computation, "bfloat16", mode="infer", golden={**curve, "outputs": outputs}), quiet)

    with pytest.raises(CellFailure, match="bfloat16 allows 3 %"):
        held(0.04, None)
    assert held(0.04, 4e-3).tolerance == pytest.approx(3e-2 + parity.ROOM * 4e-3)
    with pytest.raises(CellFailure, match="bfloat16 allows 20 %"):
        held(0.4, 0.1)


def test_nothing_is_said_of_outputs_that_cannot_move() -> None:
    inputs = {"x": {"shape": [50, 16], "fill": "normal"}}
    without_weights = build.computation({"operator": {"softmax": {"axis": 0}}, "inputs": inputs, "batch": 2})
    assert parity.curve(ReferenceAdapter(), job(without_weights, mode="infer"), quiet).moved is None


@pytest.mark.parametrize(("wrong", "passes"), [(0, ("float32", "bfloat16")), (3, ("bfloat16",)), (16, ())])
def test_integers_are_right_or_wrong_and_half_precision_may_have_ties(wrong: int, passes: tuple[str, ...]) -> None:
    said = {"operator": {"argmax": {"axis": 0}}, "inputs": {"x": {"shape": [50, 16], "fill": "normal"}}, "batch": 2}
    computation = build.computation(said)
    curve = parity.curve(ReferenceAdapter(), job(computation, mode="infer"), quiet)
    wanted = {**to_json(curve), "batch": 2, "seed": 0, "outputs": {"shape": curve.shape, "values": curve.values, "moved": curve.moved}}

    def argmax(x: numpy.ndarray, attributes: Mapping[str, Any], own: Any, training: bool) -> numpy.ndarray:
        found = layers.argmax(x, attributes, own, training)
        found.reshape(-1)[:wrong] += 1
        return found

    for precision in ("float32", "bfloat16"):
        cell = job(computation, precision, mode="infer", golden=wanted)
        adapter = Narrow(Mutation(layers={"argmax": argmax}))
        if precision in passes:
            assert parity.check(adapter, cell, quiet).error == pytest.approx(wrong / 32)
        else:
            with pytest.raises(CellFailure, match=f"of 32 outputs one is .* {100 * wrong / 32:.2g} % of them off"):
                parity.check(adapter, cell, quiet)


def test_the_sample_is_whole_where_it_is_small_and_the_same_for_ever_where_not() -> None:
    small = numpy.arange(6.0).reshape(2, 3)
    assert parity.sampled(small).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    large = parity.sampled(numpy.arange(1e6).reshape(1000, 1000))
    assert large.shape == (64,)
    assert large[:3].tolist() == [985772.0, 305711.0, 435829.0]
