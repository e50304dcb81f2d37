"""The PyTorch adapter against plain NumPy, and what it says about itself."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from frameworks import data
from frameworks.conformance import cases, check_case
from frameworks.conformance.build import computation
from frameworks.contract import CellFailure, Computation, Job, Unsupported

torch = pytest.importorskip("torch")

from frameworks.pytorch import device, layers, weights  # noqa: E402 - they need torch
from frameworks.pytorch.adapter import PyTorchAdapter, PyTorchSession, deviations  # noqa: E402

ADAPTER = PyTorchAdapter()
CPU_PRECISIONS = ("float32", "float64", "bfloat16", "float16", "mixed_bfloat16", "mixed_float16")

LENET = computation(
    {
        "inputs": {"image": {"shape": [8, 8, 1], "fill": "normal"}},
        "network": [
            {"conv2d": {"filters": 3, "kernel": 3, "padding": 1}},
            {"batch_norm": {"eps": 1e-5, "keep": 0.9}},
            "relu",
            {"max_pool2d": {"size": 2}},
            {"conv2d": {"filters": 4, "kernel": 3}},
            "relu",
            "flatten",
            {"dense": {"units": 5}},
        ],
        "target": {"fill": "integers", "below": 5},
        "loss": "softmax_cross_entropy",
        "optimizer": {"sgd": {"learning_rate": 0.1, "momentum": 0.9}},
        "batch": 4,
    }
)


def small(*network: Any, shape: tuple[int, ...] = (3,), optimizer: Any = None, loss: str = "mean_squared_error") -> Computation:
    return computation(
        {
            "inputs": {"x": {"shape": list(shape), "fill": "normal"}},
            "network": list(network),
            "target": {"fill": "normal"},
            "loss": loss,
            "optimizer": optimizer or {"sgd": {"learning_rate": 0.1}},
            "batch": 4,
        }
    )


def build(what: Computation, mode: Any = "train", precision: str = "float64", execution: str = "eager", **more: Any) -> PyTorchSession:
    return ADAPTER.build(Job("pytorch", what, mode, "cpu", precision, execution, **more))


@pytest.fixture(autouse=True)
def same_warnings() -> Iterator[None]:
    show = warnings.showwarning
    yield
    warnings.showwarning = show


# --- values ---------------------------------------------------------------------------------------------------------


def test_outputs_and_loss_of_dense() -> None:
    what = small({"dense": {"units": 2}})
    session = build(what, "infer")
    start, batch = data.parameter_values(what), data.batches(what, 1)[0]
    session.step()
    wanted = batch.inputs["x"].astype(float) @ start["dense_1.kernel"] + start["dense_1.bias"]
    numpy.testing.assert_allclose(session.outputs(), wanted, rtol=1e-12)
    assert batch.target is not None
    assert session.loss() == pytest.approx(float(numpy.mean((wanted - batch.target) ** 2)), rel=1e-12)


@pytest.mark.parametrize("nesterov", [False, True])
def test_three_steps_of_sgd(nesterov: bool) -> None:
    what = small(
        {"dense": {"units": 2, "bias": False}},
        optimizer={"sgd": {"learning_rate": 0.1, "momentum": 0.9, "nesterov": nesterov, "weight_decay": 0.01}},
    )
    session = build(what)
    w, u = data.parameter_values(what)["dense_1.kernel"].astype(float), 0.0
    for batch in data.batches(what, 3):
        x, target = batch.inputs["x"].astype(float), batch.target
        assert target is not None
        session.step()
        assert session.loss() == pytest.approx(float(numpy.mean((x @ w - target) ** 2)), rel=1e-12)
        g = x.T @ (2 * (x @ w - target) / target.size) + 0.01 * w
        u = 0.9 * u + g
        w = w - 0.1 * (g + 0.9 * u if nesterov else u)
    numpy.testing.assert_allclose(session.parameters()["dense_1.kernel"], w, rtol=1e-12)


def test_adam_adds_epsilon_after_bias_correction() -> None:
    """With a gradient as small as epsilon, the order decides: the first step is half the learning rate."""
    what = small({"dense": {"units": 1, "bias": False}}, shape=(1,), optimizer={"adam": {"learning_rate": 0.1, "eps": 1.0}})
    session = build(what)
    gradient = float(session.gradients()["dense_1.kernel"][0, 0])
    before = session.parameters()["dense_1.kernel"][0, 0]
    session.step()
    moved = before - session.parameters()["dense_1.kernel"][0, 0]
    assert moved == pytest.approx(0.1 * gradient / (abs(gradient) + 1.0), rel=1e-6)


LAYERS = {case.layer: case for case in reversed(list(cases()))}


@pytest.mark.parametrize("layer", sorted(LAYERS))
def test_first_case_of_each_layer_conforms(layer: str) -> None:
    findings = check_case(ADAPTER, LAYERS[layer], "cpu", "float64", "eager")
    assert findings
    assert [finding for finding in findings if not finding.ok or finding.status == "unsupported"] == []


# --- weights -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", sorted(LAYERS))
def test_weights_come_back_as_they_were_loaded(layer: str) -> None:
    what = LAYERS[layer].computation
    session = build(what, "infer")
    random = numpy.random.RandomState(0)
    given = {name: random.random_sample(parameter.shape) for name, parameter in what.network.all_parameters()}
    session.load(given)
    found = session.parameters()
    assert list(found) == list(given)
    for name in given:
        numpy.testing.assert_array_equal(found[name], given[name])


def test_load_refuses_unknown_names_and_other_shapes() -> None:
    session = build(small({"dense": {"units": 2}}))
    with pytest.raises(KeyError, match=r"dense_9\.kernel"):
        session.load({"dense_9.kernel": numpy.zeros((3, 2))})
    with pytest.raises(ValueError, match=r"dense_1\.kernel is \[3, 2\], not \[2, 3\]"):
        session.load({"dense_1.kernel": numpy.zeros((2, 3))})


def test_gates_of_gru_are_swapped_and_swapped_back() -> None:
    conversion = weights.gru(weights.AS_IT_IS)
    numpy.testing.assert_array_equal(conversion.native(numpy.arange(6)), [2, 3, 0, 1, 4, 5])
    numpy.testing.assert_array_equal(conversion.canonical(conversion.native(numpy.arange(6))), numpy.arange(6))


def test_second_bias_of_lstm_stays_zero_and_is_declared() -> None:
    session = build(small({"lstm": {"units": 2, "sequences": False}}, shape=(3, 2)))
    for _ in range(2):
        session.step()
    (lstm,) = [module for module in session._module.modules() if isinstance(module, torch.nn.LSTM)]
    assert not lstm.bias_hh_l0.any()
    assert any("second bias" in sentence for sentence in session.facts()["deviations"])


def test_unembedding_shares_the_table() -> None:
    what = computation(
        {
            "inputs": {"x": {"shape": [3], "fill": "integers", "below": 7}},
            "network": [{"embedding": {"name": "words", "vocabulary": 7, "units": 2}}, {"unembedding": {"of": "words"}}],
            "target": {"fill": "integers", "below": 7},
            "loss": "softmax_cross_entropy",
            "optimizer": {"sgd": {"learning_rate": 0.1}},
            "batch": 2,
        }
    )
    session = build(what)
    assert [tuple(parameter.shape) for parameter in session._module.parameters()] == [(7, 2)]


# --- channels first ----------------------------------------------------------------------------------------------------


def module_names(what: Computation) -> list[str]:
    model = layers.build(what, dropout=True, grouped_attention=True)
    return [type(module).__name__ for module in model.module.modules()]


def test_a_convolutional_net_moves_no_data() -> None:
    assert module_names(LENET) == ["Sequential", "Conv2d", "BatchNorm2d", "ReLU", "MaxPool2d", "Conv2d", "ReLU", "Flatten", "Linear"]


@pytest.mark.parametrize("channels", [1, 3])
def test_images_have_the_strides_of_channels_first(channels: int) -> None:
    """With one channel, a transposed view would count as channels last, and PyTorch would run the network so."""
    session = build(small({"conv2d": {"filters": 3, "kernel": 1}}, shape=(4, 5, channels)), "infer")
    (image,), _ = session._batches[0]
    assert image.shape == (4, channels, 4, 5)
    assert image.stride() == (20 * channels, 20, 5, 1)
    session.step()
    assert session._outputs is not None
    assert session._outputs.stride() == (60, 20, 5, 1)


def test_rows_of_dense_after_flatten_are_permuted_through_elementwise_layers() -> None:
    what = small(
        {"conv2d": {"filters": 3, "kernel": 1}}, "flatten", "relu", {"dropout": {"rate": 0.5}}, {"dense": {"units": 2}}, shape=(2, 2, 1)
    )
    assert "Permute" not in module_names(what)
    session = build(what, "infer")
    session.step()
    start, x = data.parameter_values(what), data.batches(what, 1)[0].inputs["x"].astype(float)
    flat = numpy.maximum(x @ start["conv2d_1.kernel"][0, 0] + start["conv2d_1.bias"], 0.0).reshape(4, -1)
    numpy.testing.assert_allclose(session.outputs(), flat @ start["dense_1.kernel"] + start["dense_1.bias"], rtol=1e-12)


@pytest.mark.parametrize("last", ["softmax", {"batch_norm": {"eps": 1e-5, "keep": 0.9}}, {"reshape": {"shape": [6, 2]}}])
def test_flatten_before_other_layers_is_in_channels_last_order(last: Any) -> None:
    convolution = {"conv2d": {"filters": 3, "kernel": 1}}
    session = build(small(convolution, "flatten", last, shape=(2, 2, 1)), "infer")
    plain = build(small(convolution, shape=(2, 2, 1)), "infer")
    session.step()
    plain.step()
    flat = plain.outputs().reshape(4, -1)
    if last == "softmax":
        wanted = numpy.exp(flat) / numpy.exp(flat).sum(-1, keepdims=True)
    elif "reshape" in last:
        wanted = flat.reshape(4, 6, 2)
    else:
        start = {name: value.astype(float) for name, value in session.parameters().items()}
        scaled = (flat - start["batch_norm_1.mean"]) / numpy.sqrt(start["batch_norm_1.variance"] + 1e-5)
        wanted = start["batch_norm_1.scale"] * scaled + start["batch_norm_1.offset"]
    numpy.testing.assert_allclose(session.outputs(), wanted, rtol=1e-12)


def test_flatten_as_the_output_is_read_and_compared_in_channels_last_order() -> None:
    convolution = {"conv2d": {"filters": 3, "kernel": 1}}
    session, plain = (build(small(convolution, *end, shape=(2, 2, 1)), "infer") for end in (["flatten"], []))
    session.step()
    plain.step()
    numpy.testing.assert_array_equal(session.outputs(), plain.outputs().reshape(4, -1))
    target = data.batches(small(convolution, "flatten", shape=(2, 2, 1)), 1)[0].target
    assert session.loss() == pytest.approx(float(numpy.mean((session.outputs() - target) ** 2)), rel=1e-12)


# --- the step ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", CPU_PRECISIONS)
@pytest.mark.parametrize("mode", ["train", "infer"])
def test_every_precision_of_the_cpu(precision: str, mode: str) -> None:
    wanted = build(LENET, mode)
    session = build(LENET, mode, precision)
    for each in (wanted, session):
        each.step()
        each.wait()
    assert session.loss() == pytest.approx(wanted.loss(), rel=1e-5 if precision == "float32" else 0.03)
    placement = session.placement()
    kept = "float32" if precision.startswith("mixed") else precision
    assert placement["parameters"] == {"devices": ["cpu"], "types": [kept]}
    assert placement["inputs"]["devices"] == ["cpu"]
    if mode == "train":
        assert placement["gradients"] == {"devices": ["cpu"], "types": [kept]}
        assert placement["outputs"]["types"] == ["float64" if precision == "float64" else "float32"]
    else:
        assert placement["outputs"]["types"] == [precision.removeprefix("mixed_")]


def test_inductor_computes_the_same_and_tells_what_it_compiled() -> None:
    eager, compiled = build(LENET), build(LENET, execution="inductor")
    for _ in range(3):
        eager.step()
        compiled.step()
    assert compiled.loss() == pytest.approx(eager.loss(), rel=1e-9)
    for name, value in eager.parameters().items():
        numpy.testing.assert_allclose(compiled.parameters()[name], value, rtol=1e-9, atol=1e-12)
    assert compiled.facts()["compilations"] >= 2
    assert compiled.facts()["graph_breaks"] == 0
    assert (eager.facts()["compilations"], eager.facts()["graph_breaks"]) == (0, None)


def test_batches_are_cycled() -> None:
    what = small({"dense": {"units": 2}})
    session = build(what, "infer", batches=2)
    seen = []
    for _ in range(3):
        session.step()
        seen.append(session.outputs())
    assert not numpy.array_equal(seen[0], seen[1])
    numpy.testing.assert_array_equal(seen[0], seen[2])


def test_dropout_draws_a_new_mask_each_step_and_can_be_switched_off() -> None:
    still = {"sgd": {"learning_rate": 0.0}}
    what = small({"dropout": {"rate": 0.5}}, {"dense": {"units": 50}}, shape=(50,), optimizer=still)
    losses: dict[bool, set[float]] = {}
    for dropout in (True, False):
        session = build(what, batches=1, dropout=dropout)
        losses[dropout] = set()
        for _ in range(3):
            session.step()
            losses[dropout].add(session.loss())
    assert (len(losses[True]), len(losses[False])) == (3, 1)


def test_gradients_change_nothing() -> None:
    session, untouched = build(LENET), build(LENET)
    before = session.parameters()
    first = session.gradients()
    again = session.gradients()
    for name, value in session.parameters().items():
        numpy.testing.assert_array_equal(value, before[name])
    for name, value in first.items():
        numpy.testing.assert_array_equal(again[name], value)
    for _ in range(2):
        session.step()
        untouched.step()
    for name, value in untouched.parameters().items():
        numpy.testing.assert_array_equal(session.parameters()[name], value)
    assert set(first) == {*(name for name, p in LENET.network.all_parameters() if p.trainable), "inputs/image"}


def test_gradients_in_inference_use_batch_statistics_and_leave_inference_behaviour() -> None:
    session, training = build(LENET, "infer"), build(LENET)
    for name, value in training.gradients().items():
        numpy.testing.assert_allclose(session.gradients()[name], value, rtol=1e-9, atol=1e-15)
    assert not session._module.training


def test_running_statistics_follow_training_alone() -> None:
    training, inference = build(LENET), build(LENET, "infer")
    for session in (training, inference):
        before = session.parameters()["batch_norm_1.mean"]
        session.step()
        assert numpy.array_equal(session.parameters()["batch_norm_1.mean"], before) == (session is inference)


def test_a_read_back_before_any_step_is_refused() -> None:
    with pytest.raises(RuntimeError, match="no step was done"):
        build(LENET).loss()


# --- what it says about itself -------------------------------------------------------------------------------------------


def test_facts() -> None:
    session = build(LENET, precision="float32", threads=1)
    facts = session.facts()
    assert facts["optimizer"] == "torch.optim.sgd.SGD"
    assert facts["layout"] == "channels first"
    assert facts["threads"] == 1
    assert facts["deviations"] == []
    assert facts["switches"]["float32_matmul_precision"] == "highest"
    assert facts["switches"]["cudnn.allow_tf32"] is False
    assert session.memory() is None
    assert build(LENET, "infer").facts()["optimizer"] is None


def test_deviations_are_named_where_they_are_used() -> None:
    what = small({"dense": {"units": 2}}, "hard_swish")
    module = build(what)._module
    job = Job("pytorch", what, "train", "cuda", "float64", "eager")
    assert [sentence.split(" ")[0] for sentence in deviations(job, module)] == ["nn.Hardswish"]
    assert deviations(dataclasses.replace(job, precision="float32"), module) == []
    scaled = dataclasses.replace(job, precision="mixed_float16")
    assert [sentence.split(" ")[0] for sentence in deviations(scaled, module)] == ["torch.amp.GradScaler"]
    assert deviations(dataclasses.replace(scaled, mode="infer"), module) == []


def test_warnings_are_recorded_until_the_session_is_closed() -> None:
    session = build(LENET)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        show = warnings.showwarning
        warnings.warn("slow path", UserWarning, stacklevel=1)
        assert session.facts()["warnings"] == ["UserWarning: slow path"]
        session.close()
        assert warnings.showwarning != show


def test_devices_and_versions() -> None:
    assert ADAPTER.devices()["cpu"]
    assert ADAPTER.versions()["torch"] == torch.__version__


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"device": "mps", "precision": "float64"}, "MPS has no float64"),
        ({"device": "cpu", "precision": "tf32"}, "TensorFloat-32 exists only on CUDA"),
        ({"device": "metal"}, "finds no working metal"),
    ],
)
def test_what_is_not_supported_is_refused(changes: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_computes", lambda name: name in ("cpu", "mps"))
    job = dataclasses.replace(Job("pytorch", LENET, "train", "cpu", "float32", "eager"), **changes)
    with pytest.raises(Unsupported, match=reason) as caught:
        ADAPTER.build(job)
    assert caught.value.remedy


def test_old_versions_have_no_inductor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch, "compile")
    with pytest.raises(Unsupported, match=r"PyTorch 2\.0"):
        build(LENET, execution="inductor")


def test_training_needs_loss_and_optimizer() -> None:
    with pytest.raises(Unsupported, match="no optimizer"):
        build(dataclasses.replace(LENET, optimizer={"kind": "none"}))
    with pytest.raises(Unsupported, match="no loss"):
        build(dataclasses.replace(LENET, loss=None, target=None))


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (
            RuntimeError("MPS backend out of memory (MPS allocated: 5.00 GB, other allocations: 1.00 GB, max allowed: 6.00 GB)."),
            "out_of_memory",
        ),
        (
            RuntimeError("[enforce fail at alloc_cpu.cpp:73] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."),
            "out_of_memory",
        ),
        (RuntimeError("Invalid buffer size: 12.00 GB"), "out_of_memory"),
        (MemoryError(), "out_of_memory"),
        (NotImplementedError("The operator 'aten::_foo' is not currently implemented for the MPS device."), "unsupported"),
        (RuntimeError("\"addmm_impl_cpu_\" not implemented for 'Half'"), "unsupported"),
        (RuntimeError("No working C++ compiler found in torch._inductor.config.cpp.cxx: (None, 'g++')"), "unsupported"),
    ],
)
def test_exceptions_of_pytorch_are_explained(error: Exception, status: str) -> None:
    failure = ADAPTER.failure(error)
    assert isinstance(failure, CellFailure)
    assert failure.status == status
    assert failure.remedy
    wrapper = RuntimeError("backend='inductor' raised")
    wrapper.__cause__ = error
    outer = ADAPTER.failure(wrapper)
    assert outer is not None
    assert outer.status == status


def test_unknown_exceptions_are_not_explained() -> None:
    assert ADAPTER.failure(RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)")) is None
    assert ADAPTER.failure(ValueError("no")) is None
