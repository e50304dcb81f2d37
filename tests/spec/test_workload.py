"""A workload as the program uses it: resolving, variants, digests, training parts, what was expected."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from frameworks.contract import Tensor, computation_from_json, to_json
from runner.spec.problems import SpecError
from runner.spec.workload import digest, load_workload
from tests.spec.written import TINY, bare, changed, compute, problems, read

SWEPT = bare("[dense: {units: $units}]", "[$n]", "parameters: {units: 2, n: 3}\nsweep: {batch: [1, 8], n: [3, 5]}\n")


def test_what_a_file_says() -> None:
    workload = read(changed("name: tiny", "name: tiny\ntitle: A title\nsource: A paper\ndescription: More\nunit: rows"))
    said = (workload.name, workload.title, workload.source, workload.description, workload.unit, workload.batch, workload.modes)
    assert said == ("tiny", "A title", "A paper", "More", "rows", 2, ("train", "infer"))


def test_what_a_file_leaves_out() -> None:
    workload = read(bare("[relu]"))
    assert (workload.title, workload.unit, workload.modes, workload.read_loss) == ("bare", "samples", ("infer",), "never")
    assert (workload.parameters, workload.sweep, workload.variants()) == ({}, {}, [{}])


def test_variants_are_the_combinations_of_the_sweep() -> None:
    workload = read(SWEPT)
    assert workload.variants() == [{"batch": 1, "n": 3}, {"batch": 1, "n": 5}, {"batch": 8, "n": 3}, {"batch": 8, "n": 5}]
    resolved = [workload.resolve(**variant) for variant in workload.variants()]
    assert [(c.batch, c.inputs[0].shape, c.network.gives) for c in resolved] == [
        (1, (3,), (2,)),
        (1, (5,), (2,)),
        (8, (3,), (2,)),
        (8, (5,), (2,)),
    ]


def test_resolve_takes_the_usual_values_and_others() -> None:
    workload = read(SWEPT)
    assert (workload.resolve().batch, workload.resolve().network.gives) == (2, (2,))
    assert workload.resolve(batch=5, units=9).network.gives == (9,)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"batch": 0}, "w.yaml: `batch` must be a whole number of at least 1, got 0"),
        ({"batch": True}, "w.yaml: `batch` must be a whole number of at least 1, got True"),
        ({"unit": 3}, "w.yaml: bare has no parameter `unit`; with unit = 3; did you mean `units`?"),
        ({"units": "3"}, "w.yaml: the parameter `units` must be a number, got '3'; with units = 3"),
        ({"units": 2.5}, "w.yaml:4:26: `units` must be a whole number of at least 1, got the number 2.5 (from `$units`); with units = 2.5"),
    ],
)
def test_values_that_do_not_fit(values: dict[str, int], message: str) -> None:
    with pytest.raises(SpecError) as caught:
        read(SWEPT).resolve(**values)
    assert str(caught.value) == message


def test_what_only_one_variant_of_the_sweep_gets_wrong_is_found() -> None:
    text = bare("[reshape: {shape: [2, 2]}]", "[$n]", "parameters: {n: 4}\nsweep: {n: [4, 5]}\n")
    assert problems(text) == ["4:11: reshape_1: [5] has 5 elements, [2, 2] has 4; with n = 5"]


def test_a_sweep_is_bounded() -> None:
    text = bare("[dense: {units: $n}]", "[3]", f"parameters: {{n: 4}}\nsweep: {{n: {list(range(1, 102))}}}\n")
    assert problems(text) == ["6:8: `sweep` makes 101 variants, and may make 100"]


def test_digests_tell_computations_apart_and_stay_equal() -> None:
    same = digest(compute(TINY))
    assert same == digest(compute("# a comment\n" + TINY.replace("0.1", "1e-1"))) and len(same) == 16
    others = [compute(TINY, batch=3), compute(TINY.replace("0.1", "0.2")), compute(TINY.replace("normal", "uniform"))]
    assert len({same, *map(digest, others)}) == 4


def test_a_digest_is_the_same_in_every_process() -> None:
    code = "from tests.spec.written import *; from runner.spec.workload import digest; print(digest(compute(TINY)))"
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == digest(compute(TINY))


def test_a_computation_survives_json() -> None:
    computation = compute(TINY)
    assert digest(computation_from_json(to_json(computation))) == digest(computation)


@pytest.mark.parametrize(
    ("loss", "target", "network", "tensor"),
    [
        ("softmax_cross_entropy", "integers, below: 3", "[dense: {units: 3}]", Tensor("target", (4,), "integers", below=3)),
        ("mean_squared_error", "normal", "[dense: {units: 3}]", Tensor("target", (4, 3), "normal")),
        ("sum_squared_error", "sin, of: x", "[relu]", Tensor("target", (4, 2), "sin", of="x")),
        ("sum_squared_error", "linspace, low: -1, high: 2", "[relu]", Tensor("target", (4, 2), "linspace", -1.0, 2.0)),
        ("binary_cross_entropy", "uniform", "[dense: {units: 1}]", Tensor("target", (4, 1), "uniform")),
    ],
)
def test_the_targets_shape_follows_from_the_loss(loss: str, target: str, network: str, tensor: Tensor) -> None:
    computation = compute(bare(network, "[4, 2]", f"loss: {loss}\ntarget: {{fill: {target}}}\n"))
    assert (computation.loss, computation.target) == (loss, tensor)


@pytest.mark.parametrize(
    ("loss", "target", "message"),
    [
        ("binary_cross_entropy", "normal", "binary_cross_entropy compares with numbers from 0 to 1, and the target's fill is `normal`"),
        ("binary_cross_entropy", "uniform, high: 2", "and the target's fill is `uniform` from 0 to 2"),
        ("binary_cross_entropy", "integers, below: 2", "and the target's fill is `integers`"),
        ("sum_squared_error", "sin, of: y", "the fill sin is of an input, and `y` is none before it; there is only `x`"),
    ],
)
def test_targets_that_do_not_fit(loss: str, target: str, message: str) -> None:
    found = problems(bare("[relu]", "[4, 2]", f"loss: {loss}\ntarget: {{fill: {target}}}\n"))
    assert len(found) == 1 and message in found[0]


def test_a_target_cannot_hold_the_sines_of_another_shape() -> None:
    (found,) = problems(bare("[dense: {units: 3}]", "[4]", "loss: mean_squared_error\ntarget: {fill: sin, of: x}\n"))
    assert "the target is [3], and cannot hold the sines of `x`, which is [4]" in found


@pytest.mark.parametrize(
    ("optimizer", "settings"),
    [
        ("{sgd: {learning_rate: 1}}", {"kind": "sgd", "learning_rate": 1.0, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0}),
        ("{adam: {learning_rate: 1e-3, eps: 1e-8}}", {"kind": "adam", "learning_rate": 0.001, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8}),
        (
            "{adamw: {learning_rate: 1e-3, eps: 1e-8, weight_decay: 0.01, beta2: 0.95}}",
            {"kind": "adamw", "learning_rate": 0.001, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.01},
        ),
        ("none", {"kind": "none"}),
    ],
)
def test_optimizers_come_with_every_setting(optimizer: str, settings: dict[str, object]) -> None:
    workload = read(changed("{sgd: {learning_rate: 0.1}}", optimizer))
    assert workload.resolve().optimizer == settings
    assert workload.modes == (("infer",) if optimizer == "none" else ("train", "infer"))


def test_expect_compares_all_four_counts() -> None:
    network = "[dense: {units: 3}, batch_norm: {eps: 1e-5, keep: 0.9}]"
    right = "expect: {parameters: 21, not_trained: 6, operations: 24, output: [3]}\n"
    assert problems(bare(network, "[4]", right)) == []
    wrong = "expect: {parameters: 22, not_trained: 7, operations: 25, output: [4]}\n"
    assert problems(bare(network, "[4]", wrong)) == [
        "5:22: `parameters` should be 22, and is 21",
        "5:39: `not_trained` should be 7, and is 6",
        "5:54: `operations` should be 25, and is 24",
        "5:66: `output` should be [4], and is [3]",
    ]


def test_loading_by_path_and_by_name() -> None:
    by_name = load_workload("vgg16")
    assert load_workload(by_name.path).name == load_workload(str(by_name.path)).name == "vgg16"


def test_the_language_loads_neither_numpy_nor_a_framework() -> None:
    code = "import sys, runner.spec.validate, runner.spec.show; print({'numpy', 'torch', 'tensorflow'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
