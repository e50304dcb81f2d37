"""What is proven of a cell beside its speed: that it is plausible, at which precision it was, and that no block was slept through."""

from __future__ import annotations

import pytest

from runner import precision
from runner.plan import BLOCKS, Settings
from runner.spec import catalog
from runner.spec.workload import load_workload
from tests.runner.conftest import Play, computation

pytestmark = pytest.mark.alone

TWO = Settings(rounds=2, budget=0.02, block_seconds=0.02)

FAULTS = {
    "no_wait": ("bad_wait", "wait() returns before the work is done"),
    "waits_for_one": ("bad_wait", "wait() returns before"),
    "lazy_update": ("bad_wait", "wait() returns before the work is done"),
    "remembers": ("wrong_result", "nothing is updated, or steps are remembered"),
    "one_for_all": ("wrong_result", "distinct batches in a row gave the same result"),
    "loss_only": ("wrong_result", "nothing is updated, or steps are remembered"),
    "wrong_product": ("wrong_result", "which no rounding explains"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_cell_that_leaves_work_out_is_not_ranked(play: Play, name: str) -> None:
    (bad,) = play(name).rounds
    status, words = FAULTS[name]
    assert (bad.status, words in bad.reason) == (status, True), bad


@pytest.mark.parametrize(("name", "kind"), [("blocking20", "float32"), ("tf32_as_single", "tf32"), ("half_as_single", "float16")])
def test_the_measured_precision_is_in_every_round_and_noted_where_it_is_another(play: Play, name: str, kind: str) -> None:
    outcome = play(name, settings=TWO)
    assert [result.status for result in outcome.rounds] == ["ok", "ok"]
    for result in outcome.rounds:
        assert {operator: found["class"] for operator, found in result.measured_precision.items()} == {"matmul": kind}
        notes = [note.text for note in result.notes if note.code == "precision"]
        assert notes == [] if kind == "float32" else f"asked for float32, measured: matmul {kind}" in notes[0]


def test_nothing_is_measured_beside_speed_without_checks(play: Play) -> None:
    (result,) = play("half_as_single", settings=Settings(rounds=1, budget=0.02, block_seconds=0.02, checks=False)).rounds
    assert (result.status, result.measured_precision, result.notes) == ("ok", {}, ())


def test_work_left_out_of_one_cell_alone_is_suspect(play: Play) -> None:
    work = computation(operations=10**8)  # in a millisecond: far above four times the 18 GFLOP/s of the product
    (bad,) = play("leaves_out", work=work, ceiling=4e12).rounds
    assert bad.status == "suspect"
    assert "large products of matrices run at 0.02 TFLOP/s" in bad.reason


def test_a_speed_far_from_the_ceiling_is_not_looked_into(play: Play) -> None:
    (result,) = play("leaves_out", work=computation(operations=10**8), ceiling=1e17).rounds
    assert result.status == "ok"


def test_blocks_slept_through_are_measured_again(play: Play) -> None:
    (result,) = play("sleeper").rounds
    assert (result.status, [note.code for note in result.notes]) == ("ok", ["slept"])
    assert len(result.blocks) >= BLOCKS
    assert all(block.seconds < 1.0 for block in result.blocks)


def test_operators_are_those_that_a_workload_has() -> None:
    def of(name: str) -> tuple[str, ...]:
        return precision.operators(load_workload(catalog.find(name)).resolve())

    assert of("lenet5-mnist") == ("matmul", "convolution")
    assert of("bert-base") == of("softmax") == of("matmul") == ("matmul",)
    assert of("conv2d") == ("convolution",)


def test_ratios_need_the_same_class_in_what_both_have() -> None:
    single = {"matmul": {"class": "float32"}, "convolution": {"class": "float32"}}
    mixed = {"matmul": {"class": "float32"}, "convolution": {"class": "tf32"}}
    assert precision.comparable(single, single)
    assert not precision.comparable(single, mixed)
    assert precision.comparable(single, {})
    assert precision.comparable({**single, "convolution": {"reason": "no kernel"}}, mixed)


def test_notes_say_what_was_found() -> None:
    good = {"error": 3e-7, "class": "float32", "execution": "eager"}
    low = {"error": 2.9e-4, "class": "tf32", "execution": "eager"}
    assert precision.note("float32", {"matmul": good}) is None
    assert precision.note("mixed_bfloat16", {"matmul": {**low, "class": "bfloat16"}}) is None
    assert precision.note("float32", {"matmul": good, "convolution": low}) == (
        "asked for float32, measured: matmul float32 (relative error 3e-07), convolution tf32 (relative error 3e-04); "
        "there is no ratio to what was measured at another precision"
    )
    assert precision.note("float16", {"matmul": {"reason": "no kernel"}}) == "asked for float16, measured: matmul not known (no kernel)"
