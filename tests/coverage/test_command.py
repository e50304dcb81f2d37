"""``h2h coverage`` from the command line, with real frameworks recording: small networks always, the whole library slowly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from runner.cli import app
from runner.coverage import metal, mps
from runner.coverage.judge import judge
from runner.coverage.record import Recording, record
from runner.errors import UserError
from runner.spec import catalog
from runner.spec.workload import load_workload

WORKLOAD = """\
name: mine
inputs:
  tokens: {shape: [6], fill: integers, below: 9}
target: {fill: integers, below: 3}
batch: 4
network:
  - embedding: {vocabulary: 9, units: 8}
  - lstm: {units: 8, sequences: false}
  - dense: {units: 3}
loss: softmax_cross_entropy
optimizer: {adam: {learning_rate: 0.01, eps: 1e-7}}
"""


def h2h(*words: object) -> Result:
    return CliRunner().invoke(app, ["coverage", *(str(word) for word in words)])


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("coverage") / "mine.yaml"
    path.write_text(WORKLOAD)
    return path


@pytest.fixture(scope="module")
def pytorch(workload: Path) -> Recording:
    pytest.importorskip("torch")
    return record([load_workload(workload)], ("pytorch",), ("train", "infer"), ("float32", "mixed_float16"), {})


@pytest.fixture(scope="module")
def tensorflow(workload: Path) -> Recording:
    pytest.importorskip("tensorflow")
    return record([load_workload(workload)], ("tensorflow",), ("train",), ("float32",), {})


def test_what_pytorch_calls_is_recorded_after_autograd_without_computing(pytorch: Recording) -> None:
    assert pytorch.versions["pytorch"]
    train, mixed, infer, _ = ({operator["name"] for operator in each.operators} for each in pytorch.steps)
    assert {"lstm", "embedding", "embedding_dense_backward", "_log_softmax", "update:addcdiv_", "update:lerp_.Scalar"} <= train
    assert "_amp_foreach_non_finite_check_and_unscale_" in mixed
    assert "update:addcdiv_" in mixed, "a step whose gradients overflow would have no update"
    assert {"lstm", "embedding", "addmm"} <= infer
    assert "linear" not in infer, "what is made of others arrives as those, also where no gradients are kept"
    assert not any("backward" in name or name.startswith("update:") for name in infer)


@pytest.mark.parametrize("version", mps.known())
def test_no_operator_of_pytorch_is_unknown_in_any_version(pytorch: Recording, version: str) -> None:
    for each in pytorch.steps:
        assert judge(each, mps.torch(version), metal.plugin("1.2.0")).unknown == ()


def test_tensorflow_is_recorded_as_it_is_where_there_is_a_gpu(tensorflow: Recording) -> None:
    (step,) = tensorflow.steps
    kernels = {operator["name"]: operator for operator in step.operators}
    assert {"CudnnRNNV3", "CudnnRNNBackpropV3"} <= set(kernels)
    assert kernels["MatMul"] == {"name": "MatMul", "types": {"T": "float"}, "every_device": False, "numbers": 256}
    assert kernels["Reshape"]["every_device"] is True
    assert "CudnnRNNV3(float)" not in judge(step, mps.torch("2.13.0"), metal.plugin("1.2.0")).falls_back


def test_a_framework_that_does_not_answer_is_a_row(workload: Path, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 7\n")
    python.chmod(0o755)
    done = h2h(workload, "--framework", "pytorch", "--mode", "infer", "--python", f"pytorch={python}", "--format", "json")
    assert done.exit_code == 1, done.output
    (row,) = json.loads(done.stdout)
    assert (row["status"], row["whole"], row["operators"]) == ("broken_import", False, 0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--framework", "pytorhc"], "did you mean `pytorch`?"),
        (["--precision", "float64"], "the GPU of a Mac has no float64; it has float32"),
        (["--precision", "float23"], "did you mean `float32`?"),
        (["--mode", "training"], "did you mean `train`?"),
        (["--torch", "1.0"], "nothing is known of torch 1.0"),
        (["--plugin", "9"], "nothing is known of tensorflow-metal 9"),
        (["lenet6-mnist"], "did you mean `lenet5-mnist`?"),
    ],
)
def test_a_wrong_request_is_a_plain_message(words: list[str], message: str) -> None:
    done = h2h(*words)
    assert isinstance(done.exception, UserError)
    assert message in str(done.exception)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("framework", ["pytorch", "tensorflow"])
def test_the_whole_library_has_no_unknown_operator(framework: str) -> None:
    workloads = [load_workload(path) for path in catalog.all_workloads()]
    found = record(workloads, (framework,), ("train", "infer"), ("float32",), {})
    assert {each.step.workload for each in found.steps} == {workload.name for workload in workloads}
    for each in found.steps:
        assert each.failure is None, (each.step, each.failure)
        for version in mps.known():
            assert judge(each, mps.torch(version), metal.plugin("1.2.0")).unknown == (), each.step
