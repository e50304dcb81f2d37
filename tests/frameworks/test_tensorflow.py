"""The TensorFlow adapter against plain NumPy, and what it says about itself."""

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

tf = pytest.importorskip("tensorflow")

from frameworks.tensorflow import device, layers, modules  # noqa: E402 - they need tensorflow
from frameworks.tensorflow.adapter import TensorFlowAdapter, TensorFlowSession  # noqa: E402

ADAPTER = TensorFlowAdapter()
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


def build(what: Computation, mode: Any = "train", precision: str = "float64", execution: str = "eager", **more: Any) -> TensorFlowSession:
    return ADAPTER.build(Job("tensorflow", what, mode, "cpu", precision, execution, **more))


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


@pytest.mark.parametrize("execution", ["graph", "eager", "xla"])
@pytest.mark.parametrize("nesterov", [False, True])
def test_three_steps_of_sgd(nesterov: bool, execution: str) -> None:
    what = small(
        {"dense": {"units": 2, "bias": False}},
        optimizer={"sgd": {"learning_rate": 0.1, "momentum": 0.9, "nesterov": nesterov, "weight_decay": 0.01}},
    )
    session = build(what, execution=execution)
    w, u = data.parameter_values(what)["dense_1.kernel"].astype(float), 0.0
    for batch in data.batches(what, 3):
        x, target = batch.inputs["x"].astype(float), batch.target
        session.step()
        assert session.loss() == pytest.approx(float(numpy.mean((x @ w - target) ** 2)), rel=1e-6)
        g = x.T @ (2 * (x @ w - target) / target.size) + 0.01 * w
        u = 0.9 * u + g
        w = w - 0.1 * (g + 0.9 * u if nesterov else u)
    numpy.testing.assert_allclose(session.parameters()["dense_1.kernel"], w, rtol=1e-6)  # Keras rounds the momentum to float32


def test_weight_decay_is_coupled_under_loss_scaling_too() -> None:
    """With a gradient of zero, one step takes ``learning_rate * weight_decay`` of the weight away, whatever the scale."""
    what = small({"dense": {"units": 2}}, "relu", optimizer={"sgd": {"learning_rate": 0.5, "weight_decay": 0.5}})
    session = build(what, precision="mixed_float16")
    kernel = session.parameters()["dense_1.kernel"]
    session.load({"dense_1.bias": numpy.full(2, -100.0)})
    session.step()
    numpy.testing.assert_allclose(session.parameters()["dense_1.kernel"], 0.75 * kernel, rtol=1e-6)


def test_adam_adds_epsilon_before_bias_correction_and_says_so() -> None:
    what = small({"dense": {"units": 1, "bias": False}}, shape=(1,), optimizer={"adam": {"learning_rate": 0.1, "eps": 1.0}})
    session = build(what)
    gradient = float(session.gradients()["dense_1.kernel"][0, 0])
    before = session.parameters()["dense_1.kernel"][0, 0]
    session.step()
    moved = before - session.parameters()["dense_1.kernel"][0, 0]
    root = 0.001**0.5
    assert moved == pytest.approx(0.1 * gradient * root / (root * abs(gradient) + 1.0), rel=1e-4)
    assert any("epsilon" in sentence for sentence in session.facts()["deviations"])


def test_adam_moves_rows_of_a_table_that_a_step_does_not_use() -> None:
    what = computation(
        {
            "inputs": {"x": {"shape": [1], "fill": "integers", "below": 50}},
            "network": [{"embedding": {"vocabulary": 50, "units": 2}}],
            "target": {"fill": "normal"},
            "loss": "mean_squared_error",
            "optimizer": {"adam": {"learning_rate": 0.1, "eps": 1e-8}},
            "batch": 1,
        }
    )
    session = build(what)
    first = int(data.batches(what, 1)[0].inputs["x"][0, 0])
    session.step()
    after_one = session.parameters()["embedding_1.table"][first]
    session.step()
    assert int(data.batches(what, 2)[1].inputs["x"][0, 0]) != first
    assert numpy.all(session.parameters()["embedding_1.table"][first] != after_one)


LAYERS = {case.layer: case for case in reversed(list(cases()))}


@pytest.mark.parametrize("layer", sorted(LAYERS))
def test_first_case_of_each_layer_conforms(layer: str) -> None:
    findings = check_case(ADAPTER, LAYERS[layer], "cpu", "float64", "eager")
    assert findings
    assert [finding for finding in findings if not finding.ok or finding.status == "unsupported"] == []


@pytest.mark.parametrize("execution", ["graph", "xla"])
@pytest.mark.parametrize("layer", ["network", "branches", "attention", "gru"])
def test_compiled_executions_conform(layer: str, execution: str) -> None:
    findings = check_case(ADAPTER, LAYERS[layer], "cpu", "float32", execution)
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


def test_both_biases_of_gru_are_rows_of_one_variable() -> None:
    session = build(small({"gru": {"units": 2, "sequences": False}}, shape=(3, 2)))
    before = session.parameters()
    session.load({"gru_1.recurrent_bias": numpy.arange(6.0)})
    after = session.parameters()
    numpy.testing.assert_array_equal(after["gru_1.recurrent_bias"], numpy.arange(6.0))
    numpy.testing.assert_array_equal(after["gru_1.bias"], before["gru_1.bias"])


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
    assert [tuple(variable.shape) for variable in build(what)._trained] == [(7, 2)]


# --- the model ---------------------------------------------------------------------------------------------------------


def layer_names(*network: Any, shape: tuple[int, ...]) -> list[str]:
    model = layers.model(small(*network, shape=shape), "float32", "eager", True)[2]
    return [type(layer).__name__ for layer in model.layers[1:]]


def window(stride: int, padding: Any) -> dict[str, Any]:
    return {"conv2d": {"filters": 2, "kernel": 3, "stride": stride, "padding": padding}}


@pytest.mark.parametrize(
    ("layer", "extent", "wanted"),
    [
        (window(1, 0), 6, ["Conv2D"]),
        (window(1, 1), 6, ["Conv2D"]),
        (window(2, 1), 7, ["Conv2D"]),  # of an odd extent, SAME pads one on each side
        (window(2, 1), 6, ["ZeroPadding2D", "Conv2D"]),  # of an even extent, it would pad at the end alone
        ({"max_pool2d": {"size": 3, "stride": 2, "padding": 1}}, 6, ["ConstantPadding", "MaxPooling2D"]),
        ({"avg_pool2d": {"size": 3, "stride": 1, "padding": 1, "count_padding": False}}, 6, ["AveragePooling2D"]),
        ({"conv2d_transpose": {"filters": 2, "kernel": 4, "stride": 2, "padding": 1}}, 6, ["Conv2DTranspose"]),
        ({"conv2d_transpose": {"filters": 2, "kernel": 3, "stride": 2, "padding": 1}}, 6, ["Conv2DTranspose", "Cropping2D"]),
    ],
)
def test_padding_is_a_layer_of_its_own_only_where_keras_has_no_word_for_it(layer: Any, extent: int, wanted: list[str]) -> None:
    assert layer_names(layer, shape=(extent, extent, 1)) == wanted


def test_attention_is_that_of_keras_where_it_can_be() -> None:
    def name(**attributes: Any) -> str:
        return layer_names({"attention": {"heads": 2, **attributes}}, shape=(3, 4))[-1]

    assert name() == "MultiHeadAttention"
    assert name(rotary=100.0) == "Attention"
    assert name(kv_heads=1) == getattr(tf.keras.layers, "GroupQueryAttention", modules.Attention).__name__


def test_grouped_convolutions_that_fail_when_they_run_are_refused_when_they_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> Any:
        raise tf.errors.UnimplementedError(None, None, "no grouped convolution here")

    monkeypatch.setattr(device, "compiled", lambda function, execution: missing)
    with pytest.raises(Unsupported, match="no convolution with 2 groups here: no grouped"):
        layer_names({"conv2d": {"filters": 2, "kernel": 1, "groups": 2}}, shape=(3, 3, 2))


# --- the step ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("execution", ["graph", "eager", "xla"])
@pytest.mark.parametrize("precision", CPU_PRECISIONS)
@pytest.mark.parametrize("mode", ["train", "infer"])
def test_every_precision_and_execution_of_the_cpu(precision: str, mode: str, execution: str) -> None:
    wanted, session = build(LENET, mode), build(LENET, mode, precision, execution)
    wanted.step()
    session.step()
    session.wait()
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


@pytest.mark.parametrize("execution", ["graph", "xla"])
def test_a_compiled_step_computes_the_same_and_is_traced_once(execution: str) -> None:
    eager, compiled = build(LENET), build(LENET, execution=execution)
    for _ in range(5):
        eager.step()
        compiled.step()
    assert compiled.loss() == pytest.approx(eager.loss(), rel=1e-9)
    for name, value in eager.parameters().items():
        numpy.testing.assert_allclose(compiled.parameters()[name], value, rtol=1e-9, atol=1e-12)
    assert (compiled.facts()["compilations"], compiled.facts()["graph_breaks"]) == (1, 0)
    assert (eager.facts()["compilations"], eager.facts()["graph_breaks"]) == (0, None)


@pytest.mark.parametrize("execution", ["graph", "eager", "xla"])
def test_copy_is_a_new_buffer(execution: str) -> None:
    what = computation({"operator": "copy", "inputs": {"a": {"shape": [64, 64], "fill": "uniform", "low": 0, "high": 1}}})
    session = build(what, "infer", execution=execution, batches=1)
    session.step()
    numpy.testing.assert_array_equal(session.outputs(), data.batches(what, 1)[0].inputs["a"].astype(float))
    assert not numpy.shares_memory(session._result.numpy(), session._batches[0][0].numpy())


def test_batches_are_cycled() -> None:
    session = build(small({"dense": {"units": 2}}), "infer", batches=2)
    seen = []
    for _ in range(3):
        session.step()
        seen.append(session.outputs())
    assert not numpy.array_equal(seen[0], seen[1])
    numpy.testing.assert_array_equal(seen[0], seen[2])


@pytest.mark.parametrize("execution", ["graph", "eager", "xla"])
def test_dropout_draws_a_new_mask_each_step_and_can_be_switched_off(execution: str) -> None:
    still = {"sgd": {"learning_rate": 0.0}}
    what = small({"dropout": {"rate": 0.5}}, {"dense": {"units": 50}}, shape=(50,), optimizer=still)
    losses = {}
    for dropout in (True, False):
        session = build(what, execution=execution, batches=1, dropout=dropout)
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


def test_gradients_in_inference_use_batch_statistics() -> None:
    session, training = build(LENET, "infer"), build(LENET)
    for name, value in training.gradients().items():
        numpy.testing.assert_allclose(session.gradients()[name], value, rtol=1e-9, atol=1e-15)


def test_gradients_that_overflow_at_the_scale_of_the_loss_are_still_told() -> None:
    what = small({"dense": {"units": 2}}, loss="sum_squared_error")
    wanted, session = build(what).gradients(), build(what, precision="mixed_float16").gradients()
    assert max(abs(value).max() for value in wanted.values()) > 65504 / 2**15
    for name, value in wanted.items():
        numpy.testing.assert_allclose(session[name], value, rtol=0.01, atol=0.01)


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
    session = build(LENET, precision="float32")
    facts = session.facts()
    assert facts["optimizer"].endswith("SGD")
    assert facts["layout"] == "channels last"
    assert facts["threads"] >= 1
    assert facts["deviations"] == []
    assert facts["switches"]["tensor_float_32_execution"] is False
    assert facts["switches"]["soft_device_placement"] is False
    assert facts["switches"]["ONEDNN_DEFAULT_FPMATH_MODE"] == "STRICT"
    assert session.memory() is None
    assert build(LENET, "infer").facts()["optimizer"] is None
    assert any("LossScaleOptimizer" in sentence for sentence in build(LENET, precision="mixed_float16").facts()["deviations"])


def test_warnings_are_recorded_until_the_session_is_closed() -> None:
    session = build(LENET)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        show = warnings.showwarning
        warnings.warn("slow path", UserWarning, stacklevel=1)
        tf.get_logger().warning("falling back")
        assert session.facts()["warnings"] == ["UserWarning: slow path", "WARNING: falling back"]
        session.close()
        assert warnings.showwarning != show
    tf.get_logger().warning("too late")
    assert "WARNING: too late" not in session.facts()["warnings"]


def test_devices_and_versions() -> None:
    assert ADAPTER.devices()["cpu"]
    assert ADAPTER.versions()["tensorflow"] == tf.__version__
    assert ADAPTER.versions()["keras"] == tf.keras.__version__


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"device": "metal", "precision": "float64"}, "Metal has no float64"),
        ({"precision": "tf32"}, "TensorFloat-32 exists only on CUDA"),
        ({"device": "cuda"}, "finds no CUDA device here"),
    ],
)
def test_what_is_not_supported_is_refused(changes: dict[str, str], reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if changes.get("device") == "metal":
        monkeypatch.setattr(device, "_GPU", "metal")
        monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["a GPU"])
    job = Job("tensorflow", LENET, "train", "cpu", "float32", "graph")
    with pytest.raises(Unsupported, match=reason) as caught:
        ADAPTER.build(dataclasses.replace(job, **changes))
    assert caught.value.remedy


def test_soft_placement_is_left_on_for_metal_alone_and_names_what_runs_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    session = build(small("tanh", {"dense": {"units": 2}}))
    session.step()
    assert session.facts()["switches"]["soft_device_placement"] is False
    place = device.place
    monkeypatch.setattr(device, "place", lambda name, building: place("metal", building))
    session = build(small("tanh", {"dense": {"units": 2}}), execution="graph")
    assert session.facts()["fallbacks"] == []
    session.step()
    facts = session.facts()
    place("cpu", False)
    assert facts["switches"]["soft_device_placement"] is True
    assert facts["compilations"] == 1
    if not tf.test.is_built_with_cuda():  # then nothing but shared kernels is registered for a GPU
        assert {"MatMul", "Tanh"} <= set(facts["fallbacks"])
        assert not {"Identity", *device.HOST_WORK} & set(facts["fallbacks"])


def test_interpolation_in_float64_is_refused_since_it_would_be_float32() -> None:
    with pytest.raises(Unsupported, match="interpolates in float32"):
        build(small({"upsample2d": {"factor": 2, "method": "bilinear"}}, shape=(3, 3, 1)))


def test_threads_are_refused_once_tensorflow_has_started() -> None:
    with pytest.raises(CellFailure, match="has already started"):
        build(LENET, threads=device.thread_count() + 1)


def test_training_needs_loss_and_optimizer() -> None:
    with pytest.raises(Unsupported, match="no optimizer"):
        build(dataclasses.replace(LENET, optimizer={"kind": "none"}))
    with pytest.raises(Unsupported, match="no loss"):
        build(dataclasses.replace(LENET, loss=None, target=None))


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor"), "out_of_memory"),
        (tf.errors.InternalError(None, None, "CUDA_ERROR_OUT_OF_MEMORY"), "out_of_memory"),
        (tf.errors.UnimplementedError(None, None, "no such kernel"), "unsupported"),
        (tf.errors.InvalidArgumentError(None, None, "No OpKernel was registered to support Op 'Erfinv'"), "unsupported"),
        (tf.errors.InvalidArgumentError(None, None, "Could not satisfy explicit device specification"), "unsupported"),
        (tf.errors.NotFoundError(None, None, "could not find registered compiler for platform METAL"), "unsupported"),
        (TypeError("Value passed to parameter 'input' has DataType bfloat16 not in list of allowed values: float32"), "unsupported"),
        (Unsupported("no such layer"), "unsupported"),
    ],
)
def test_what_exceptions_mean(error: BaseException, status: str) -> None:
    wrapped = RuntimeError("while calling a layer")
    wrapped.__cause__ = error
    for each in (error, wrapped):
        failure = ADAPTER.failure(each)
        assert failure is not None
        assert failure.status == status


def test_an_unknown_exception_stays_unknown() -> None:
    assert ADAPTER.failure(ValueError("a bug of ours")) is None
    assert ADAPTER.failure(tf.errors.InvalidArgumentError(None, None, "Incompatible shapes")) is None


def test_adam_in_a_type_in_which_it_changes_nothing_is_unsupported() -> None:
    def adam(beta2: float) -> Computation:
        settings = {"learning_rate": 0.001, "beta1": 0.9, "beta2": beta2, "eps": 1e-8}
        return small({"dense": {"units": 2}}, optimizer={"adam": settings})

    with pytest.raises(Unsupported, match=r"beta2 0\.999 is 1") as raised:
        build(adam(0.999), precision="bfloat16")
    assert raised.value.remedy == "use --precision mixed_bfloat16"
    build(adam(0.999), precision="mixed_bfloat16")
    build(adam(0.999), "infer", precision="bfloat16")
    build(adam(0.99), precision="bfloat16")
