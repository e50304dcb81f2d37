"""Recorded operators translated and judged: what the versions have, what they lack, and what nobody knows."""

from __future__ import annotations

import json

import pytest

from frameworks.contract import CellFailure
from runner.coverage import command, metal, mps
from runner.coverage.judge import Judged, judge
from runner.coverage.record import Recorded, Step
from runner.coverage.translate import on_mps

OLD, TWO, NEW = (mps.torch(version) for version in ("1.12.1", "2.0.1", "2.13.0"))
METAL = metal.plugin("1.2.0")


def step(framework: str, optimizer: str = "none") -> Step:
    return Step("mine", "train" if optimizer != "none" else "infer", "float32", framework, optimizer)


def pytorch(*names: str, optimizer: str = "none", torch: mps.Torch = NEW) -> Judged:
    return judge(Recorded(step("pytorch", optimizer), tuple({"name": name} for name in names)), torch, METAL)


def tensorflow(name: str, every_device: bool = False, optimizer: str = "none", numbers: int | None = 1000, **types: str) -> Judged:
    operator = {"name": name, "types": types, "every_device": every_device, "numbers": numbers}
    return judge(Recorded(step("tensorflow", optimizer), (operator,)), NEW, METAL)


def test_an_operator_known_to_be_missing_is_named() -> None:
    found = pytorch("add.Tensor", "cumsum", torch=OLD)
    assert (found.whole, found.falls_back, found.unknown) == (False, ("cumsum",), ())
    assert pytorch("add.Tensor", "cumsum").whole


def test_a_gap_of_metal_is_named_with_its_type() -> None:
    assert tensorflow("Relu", T="float").whole
    assert tensorflow("Elu", T="float").falls_back == ("Elu(float)",)
    assert tensorflow("AddV2", T="int64").falls_back == ("AddV2(int64)",)
    assert tensorflow("AddV2", every_device=True, T="int32").whole
    assert not tensorflow("AddV2", numbers=None, T="int64").whole


def test_a_counter_on_the_host_is_no_gap() -> None:
    found = tensorflow("AddV2", numbers=1, T="int64")
    assert (found.whole, found.falls_back, found.on_host) == (True, (), ("AddV2(int64)",))
    assert not tensorflow("Elu", numbers=1, T="float").whole, "a single number of the workload is"


@pytest.mark.parametrize(
    ("recorded", "torch", "called"),
    [
        ("convolution", OLD, {"_mps_convolution"}),
        ("convolution_backward[transposed]", NEW, {"mps_convolution_transpose_backward"}),
        ("addmm", OLD, {"addmm", "_mps_linear", "mps_linear_backward"}),
        ("addmm", TWO, {"addmm", "linear", "linear_backward"}),
        ("max_pool2d_with_indices", OLD, {"_mps_max_pool2d"}),
        ("max_pool2d_with_indices_backward", NEW, {"max_pool2d_backward"}),
        ("lstm", TWO, {"_lstm_mps", "lstm_mps_backward"}),
        ("_scaled_dot_product_flash_attention_for_cpu", TWO, {"bmm", "_softmax", "mul.Scalar"}),
        ("_safe_softmax", OLD, {"_softmax"}),
        ("update:lerp_.Scalar", TWO, {"mul_.Tensor", "add_.Tensor"}),
        ("update:lerp_.Scalar", NEW, {"lerp_.Scalar"}),
        ("lift_fresh", OLD, set()),
    ],
)
def test_mps_goes_its_own_way_in_each_version(recorded: str, torch: mps.Torch, called: set[str]) -> None:
    assert set(on_mps([recorded], torch)) == called
    assert None not in on_mps([recorded], torch).values()


def test_an_operator_that_nobody_knows_is_unknown_and_not_whole() -> None:
    found = pytorch("add.Tensor", "invented_yesterday")
    assert (found.whole, found.unknown) == (False, ("invented_yesterday",))


def test_fused_updates_by_optimizer_and_version() -> None:
    assert [pytorch("add.Tensor", optimizer=kind).fused for kind in ("sgd", "momentum", "adam", "adamw", "none")] == [True] * 4 + [None]
    assert pytorch("add.Tensor", optimizer="adam", torch=TWO).fused is False
    assert pytorch("add.Tensor", optimizer="adam", torch=OLD).fused is False
    assert tensorflow("Relu", optimizer="adam", T="float").fused is True
    assert tensorflow("Relu", optimizer="adamw", T="float").fused is False


def test_the_table_in_every_format() -> None:
    failed = Recorded(step("pytorch"), (), CellFailure("not_installed", "there is no package torch", "pip install torch"))
    results = [pytorch("cumsum", optimizer="adam", torch=OLD), tensorflow("Relu", T="float"), judge(failed, NEW, METAL)]
    versions = {"tensorflow": "2.21.0"}
    table = command.render(results, versions, "markdown")
    lines = [" ".join(line.split()) for line in table.splitlines()]
    assert "| mine | train | float32 | MPS, torch 1.12.1 | 1 | on the CPU: cumsum | no |" in lines
    assert "| mine | infer | float32 | Metal, plug-in 1.2.0 | 1 | whole | |" in lines
    assert "| mine | infer | float32 | MPS, torch 2.13.0 | 0 | not_installed: there is no package torch | |" in lines
    assert "1 of 3 steps run whole on the GPU." in table
    assert "What this cannot see" in table
    figures = json.loads(command.render(results, versions, "json"))
    assert [figure["whole"] for figure in figures] == [False, True, False]
    assert figures[0]["falls_back"] == ["cumsum"]
    header, first, *_ = command.render(results, versions, "csv").splitlines()
    assert header.startswith("workload,mode,precision,framework,gpu,operators,falls_back")
    assert first.startswith('mine,train,float32,pytorch,"MPS, torch 1.12.1",1,cumsum,,,False,ok,,False')
