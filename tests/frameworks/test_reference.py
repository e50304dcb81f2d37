"""The reference against values worked out by hand, and its derivatives against finite differences."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from frameworks.conformance import Case, cases
from frameworks.data import batches, parameter_values
from frameworks.reference import network, optimizers, sequences
from frameworks.reference.elementwise import erf
from frameworks.reference.layers import LAYERS, OPERATORS
from frameworks.reference.losses import LOSSES
from frameworks.reference.normalization import running_statistics

Array = numpy.ndarray


def layer(kind: str, x: Any, attributes: dict[str, Any] | None = None, training: bool = False, **parameters: Any) -> Array:
    own = {name: numpy.asarray(value, dtype=float) for name, value in parameters.items()}
    return LAYERS[kind](numpy.asarray(x), attributes or {}, own, training)


def image(rows: list[list[float]]) -> Array:
    return numpy.array(rows, dtype=float)[None, :, :, None]


def window(size: Any = None, padding: Any = ((0, 0), (0, 0)), stride: Any = (1, 1), **more: Any) -> dict[str, Any]:
    return {"size": size, "stride": list(stride), "padding": [list(side) for side in padding], "dilation": [1, 1], **more}


def test_conv2d_is_a_correlation_with_zeros_around() -> None:
    kernel = numpy.arange(1.0, 5.0).reshape(2, 2, 1, 1)
    result = layer("conv2d", image([[1, 2], [3, 4]]), window(padding=((1, 0), (0, 1)), groups=1), kernel=kernel, bias=[10])
    assert result[0, :, :, 0].tolist() == [[10 + 3 + 8, 10 + 6], [10 + 1 + 4 + 9 + 16, 10 + 2 + 12]]


def test_conv1d_strides_over_its_padding() -> None:
    x = numpy.array([0.0, 1, 0, 0])[None, :, None]
    for padding, wanted in (([0, 1], [1, 0]), ([1, 1], [1, 1])):
        attributes = {"stride": 2, "padding": padding, "dilation": 1, "groups": 1}
        assert layer("conv1d", x, attributes, kernel=numpy.ones((3, 1, 1)))[0, :, 0].tolist() == wanted


def test_groups_and_multipliers_are_consecutive() -> None:
    x = numpy.array([1.0, 10, 100, 1000]).reshape(1, 1, 1, 4)
    grouped = layer("conv2d", x, window(groups=2), kernel=numpy.ones((1, 1, 2, 4)))
    assert grouped.ravel().tolist() == [11, 11, 1100, 1100]
    deep = layer("depthwise_conv2d", x, window(), kernel=numpy.array([[1, 2], [3, 4], [5, 6], [7, 8]]).reshape(1, 1, 4, 2))
    assert deep.ravel().tolist() == [1, 2, 30, 40, 500, 600, 7000, 8000]


def test_conv2d_transpose_spreads() -> None:
    kernel = numpy.arange(1.0, 4.0).reshape(1, 3, 1, 1)
    attributes = {"stride": [1, 2], "padding": [[0, 0], [1, 0]], "output_padding": [0, 1]}
    assert layer("conv2d_transpose", image([[1, 10]]), attributes, kernel=kernel).ravel().tolist() == [2, 3 + 10, 20, 30, 0]


def test_pooling_at_the_edge() -> None:
    x = image([[-1, -2, -3], [-4, -5, -6], [-7, -8, -9]])
    said = window([2, 2], padding=((1, 0), (1, 0)), stride=(2, 2))
    assert layer("max_pool2d", x, said)[0, :, :, 0].tolist() == [[-1, -2], [-4, -5]]
    assert layer("avg_pool2d", x, {**said, "count_padding": False})[0, :, :, 0].tolist() == [[-1, -2.5], [-5.5, -7]]
    assert layer("avg_pool2d", x, {**said, "count_padding": True})[0, :, :, 0].tolist() == [[-0.25, -1.25], [-2.75, -7]]


def test_upsampling() -> None:
    x = image([[0, 4]])
    assert layer("upsample2d", x, {"factor": 2, "method": "nearest"})[0, 0, :, 0].tolist() == [0, 0, 4, 4]
    assert layer("upsample2d", x, {"factor": 2, "method": "bilinear"})[0, 1, :, 0].tolist() == [0, 1, 3, 4]


def test_batch_norm_and_its_running_statistics() -> None:
    x = numpy.array([0.0, 0, 2, 2])[:, None]
    own = {"scale": [2], "offset": [1], "mean": [5], "variance": [1]}
    attributes = {"eps": 3.0, "keep": 0.9}
    assert layer("batch_norm", x, attributes, True, **own).ravel().tolist() == [0, 0, 2, 2]
    assert layer("batch_norm", x, attributes, False, **own).ravel().tolist() == [-4, -4, -2, -2]
    arrays = {name: numpy.array(value, dtype=float) for name, value in own.items()}
    for unbiased, variance in ((False, 1.0), (True, 0.9 + 0.1 * 4 / 3)):
        after = running_statistics(x, attributes, arrays, unbiased=unbiased)
        assert after["mean"].item() == pytest.approx(4.6) and after["variance"].item() == pytest.approx(variance)


def test_normalisation_by_hand() -> None:
    assert layer("layer_norm", [[1.0, 3.0]], {"eps": 3.0}, scale=[2, 4], offset=[0, 1]).tolist() == [[-1, 3]]
    assert layer("rms_norm", [[1.0, 7.0]], {"eps": 11.0}, scale=[6, 12]).tolist() == [[1, 14]]
    grouped = layer("group_norm", [[1.0, 3, 10, 10]], {"groups": 2, "eps": 3.0}, scale=[1] * 4, offset=[0] * 4)
    assert grouped.tolist() == [[-0.5, 0.5, 0, 0]]


def test_activations_by_hand() -> None:
    x = numpy.array([-4.0, -1, 0, 1, 7])
    assert layer("relu", x).tolist() == [0, 0, 0, 1, 7]
    assert layer("relu6", x).tolist() == [0, 0, 0, 1, 6]
    assert layer("leaky_relu", x, {"slope": 0.5}).tolist() == [-2, -0.5, 0, 1, 7]
    assert layer("hard_swish", x).tolist() == pytest.approx([0, -1 / 3, 0, 2 / 3, 7])
    assert layer("silu", x)[3] == pytest.approx(1 / (1 + math.exp(-1)))
    assert layer("gelu", [3.0], {"form": "erf"}).item() == pytest.approx(2.995950, abs=1e-6)
    assert layer("gelu", [3.0], {"form": "tanh"}).item() == pytest.approx(2.996363, abs=1e-6)
    assert layer("softmax", [[0.0, math.log(3), 1000 * -1.0]]).ravel().tolist() == pytest.approx([0.25, 0.75, 0])
    assert layer("polynomial", [2.0], coefficients=[1, 10, 100]).item() == 421


def test_operators_by_hand() -> None:
    x = numpy.array([[[3.0, 1, 3], [0, 5, 5]]])
    assert layer("argmax", x, {"axis": 1}).tolist() == [[0, 1]]
    assert layer("argmax", x, {"axis": 0}).tolist() == [[0, 1, 1]]
    assert layer("sort", x, {"axis": 1}).tolist() == [[[1, 3, 3], [0, 5, 5]]]
    assert layer("sort", x, {"axis": 0}).tolist() == [[[0, 1, 3], [3, 5, 5]]]
    joined = OPERATORS["concat"]([x, x[:, :1]], {"axis": 0})
    assert joined.tolist() == [[[3, 1, 3], [0, 5, 5], [3, 1, 3]]]
    query, keys = numpy.array([[[2.0, 0, 0, 0]]]), numpy.array([[[math.log(3), 0, 0, 0], [0, 9, 9, 9]]])
    assert OPERATORS["dot_product_attention"]([query, keys, numpy.array([[[4.0], [8.0]]])], {}).item() == pytest.approx(5)


def test_tables_and_tokens() -> None:
    table = numpy.arange(6.0).reshape(3, 2)
    assert layer("embedding", [[2, 0]], table=table).tolist() == [[[4, 5], [0, 1]]]
    assert layer("unembedding", [[[1.0, 10.0]]], table=table).tolist() == [[[10, 32, 54]]]
    assert layer("unembedding", [[[1.0, 10.0]]], table=table, bias=[1, 2, 3]).tolist() == [[[11, 34, 57]]]
    x = numpy.zeros((1, 2, 2))
    assert layer("position_embedding", x, table=table).tolist() == [[[0, 1], [2, 3]]]
    assert layer("class_token", x, token=[7, 8]).tolist() == [[[7, 8], [0, 0], [0, 0]]]
    tokens = layer("tokens", numpy.arange(12.0).reshape(1, 2, 3, 2))
    assert tokens.shape == (1, 6, 2) and tokens[0, 3].tolist() == [6, 7]
    assert layer("select_token", tokens, {"index": -1}).tolist() == [[10, 11]]
    assert layer("mean_tokens", tokens).tolist() == [[5, 6]]
    assert layer("transpose", tokens)[0, 1].tolist() == [1, 3, 5, 7, 9, 11]
    assert layer("reshape", tokens, {"shape": [3, 4]})[0, 1].tolist() == [4, 5, 6, 7]


def test_attention_by_hand() -> None:
    """With keys of zero every visible position weighs the same, so the result is a running mean of the values."""
    x = numpy.array([2.0, 4, 9])[None, :, None]
    kernels = {"query_kernel": [[1]], "key_kernel": [[0]], "value_kernel": [[1]], "output_kernel": [[10]], "output_bias": [1]}
    attributes = {"heads": 1, "kv_heads": 1, "head_units": 1, "causal": True, "rotary": None}
    assert layer("attention", x, attributes, **kernels).ravel().tolist() == pytest.approx([21, 31, 51])
    assert layer("attention", x, {**attributes, "causal": False}, **kernels).ravel().tolist() == pytest.approx([51, 51, 51])


def test_attention_scales_by_the_root_of_the_units_of_a_head() -> None:
    x = numpy.array([[[2.0, 0], [0, 0]]])
    kernels = dict.fromkeys(("query_kernel", "key_kernel", "value_kernel", "output_kernel"), numpy.eye(2))
    attributes = {"heads": 1, "kv_heads": 1, "head_units": 2, "causal": False, "rotary": None}
    share = math.exp(4 / math.sqrt(2))
    assert layer("attention", x, attributes, **kernels)[0, 0, 0] == pytest.approx(2 * share / (share + 1))


def test_rotation_pairs_halves() -> None:
    x = numpy.zeros((2, 4))
    x[1] = [1, 0, 0, 1]
    turned = sequences.rotate(x, 100.0)
    assert turned[0].tolist() == [0, 0, 0, 0]
    assert turned[1].tolist() == pytest.approx([math.cos(1), -math.sin(0.1), math.sin(1), math.cos(0.1)])


def test_lstm_gates_in_order() -> None:
    """Gates that are fully open or shut show which is which: input open, forget open, candidate tanh, output open."""
    big = 1000.0
    attributes = {"units": 1, "sequences": True}
    own = {"kernel": [[0, 0, 1, 0]], "recurrent_kernel": [[0, 0, 0, 0]], "bias": [big, big, 0, big]}
    first, second = math.tanh(0.5), math.tanh(0.5) + math.tanh(0.25)
    result = layer("lstm", [[[0.5], [0.25]]], attributes, **own)
    assert result.ravel().tolist() == pytest.approx([math.tanh(first), math.tanh(second)])


def test_gru_resets_after_the_recurrent_product() -> None:
    attributes = {"units": 1, "sequences": True}
    own = {"kernel": [[0, 0, 1]], "recurrent_kernel": [[0, 0, 2]], "bias": [0, 0, 0.1], "recurrent_bias": [0, 0, 0.4]}
    first = 0.5 * math.tanh(1 + 0.1 + 0.5 * 0.4)
    second = 0.5 * math.tanh(3 + 0.1 + 0.5 * (2 * first + 0.4)) + 0.5 * first
    assert layer("gru", [[[1.0], [3.0]]], attributes, **own).ravel().tolist() == pytest.approx([first, second])


def test_losses_by_hand() -> None:
    y = numpy.array([[0.0, math.log(3)], [1.0, 1.0]])
    off = numpy.array([[1, 2], [3, 4]])
    assert LOSSES["softmax_cross_entropy"](y, numpy.array([1, 0])) == pytest.approx((math.log(4 / 3) + math.log(2)) / 2)
    assert LOSSES["mean_squared_error"](y, y + off) == pytest.approx(7.5)
    assert LOSSES["sum_squared_error"](y, y + off) == pytest.approx(30)
    assert LOSSES["binary_cross_entropy"](numpy.array([math.log(3), -800.0]), numpy.array([1.0, 0.25])) == pytest.approx(
        (math.log(4 / 3) + 200) / 2
    )


def steps(settings: dict[str, Any], gradients: list[float], deviating: bool = False) -> list[float]:
    weights, state, seen = {"w": numpy.array(1.0)}, optimizers.State(), []
    for gradient in gradients:
        weights, state = optimizers.update(settings, weights, {"w": numpy.array(gradient)}, state, deviating=deviating)
        seen.append(float(weights["w"]))
    return seen


def test_sgd_by_hand() -> None:
    plain = {"kind": "sgd", "learning_rate": 0.1, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0}
    assert steps(plain, [1, 2]) == pytest.approx([0.9, 0.7])
    assert steps({**plain, "momentum": 0.5}, [1, 2]) == pytest.approx([0.9, 0.65])
    assert steps({**plain, "momentum": 0.5, "nesterov": True}, [1, 2]) == pytest.approx([0.85, 0.525])
    assert steps({**plain, "momentum": 0.5, "weight_decay": 0.2}, [1, 2]) == pytest.approx([0.88, 0.88 - 0.1 * (0.6 + 2 + 0.176)])
    assert steps({**plain, "weight_decay": 0.2}, [1], deviating=True) == pytest.approx([0.88])


def test_adam_by_hand() -> None:
    settings = {"kind": "adam", "learning_rate": 1.0, "beta1": 0.9, "beta2": 0.999, "eps": 1e-7}
    assert steps(settings, [1e-7]) == pytest.approx([0.5])
    assert steps({**settings, "eps": 1e-8}, [1e-7]) == pytest.approx([1 - 10 / 11])
    root = math.sqrt(0.001)
    assert steps(settings, [1e-7], deviating=True) == pytest.approx([1 - root / (root + 1)])
    m, v = (0.9 * 0.1 * 2 + 0.1 * 1) / 0.19, (0.999 * 0.001 * 4 + 0.001 * 1) / (1 - 0.999**2)
    assert steps({**settings, "eps": 0.5}, [2, 1])[1] == pytest.approx(1 - 2 / 2.5 - m / (math.sqrt(v) + 0.5))


def test_adamw_decays_apart() -> None:
    settings = {"kind": "adamw", "learning_rate": 0.1, "beta1": 0.9, "beta2": 0.999, "eps": 0.0, "weight_decay": 0.5}
    assert steps(settings, [3]) == pytest.approx([0.95 - 0.1])


def test_integers_stay_integers() -> None:
    x = numpy.array([[2**53 + 1, 1]])
    assert layer("copy", x).dtype == x.dtype
    assert layer("reduce_sum", x, {"axes": [0]}).tolist() == [2**53 + 2]


def test_erf_is_exact() -> None:
    x = numpy.linspace(-3, 3, 7)
    assert erf(x).tolist() == [math.erf(each) for each in x]
    assert erf(x + 1e-30j).imag.tolist() == pytest.approx((2 / math.sqrt(math.pi) * numpy.exp(-(x**2)) * 1e-30).tolist(), rel=1e-14)


def trained() -> list[Case]:
    """One case of each layer, loss and structure that has a loss."""
    chosen = {case.layer: case for case in cases() if case.check == "values" and case.computation.loss is not None}
    return list(chosen.values())


@pytest.mark.parametrize("case", trained(), ids=lambda case: case.name)
def test_derivatives_are_those_of_finite_differences(case: Case) -> None:
    """Along a random direction over all parameters and inputs at once, and through the single gradients."""
    computation = case.computation
    weights = {name: value.astype(float) for name, value in parameter_values(computation).items()}
    batch = batches(computation, 1)[0]
    gradients = network.gradients(computation, weights, batch)
    stream = numpy.random.RandomState(0)
    direction = {name: stream.standard_normal(value.shape) for name, value in gradients.items()}
    exact = network.directional_derivative(computation, weights, batch, direction)
    assert exact == pytest.approx(sum(float((gradients[name] * direction[name]).sum()) for name in gradients), rel=1e-9, abs=1e-12)

    def moved(by: float) -> float:
        there = {name: value + by * direction.get(name, 0.0) for name, value in weights.items()}
        inputs = dict(batch.inputs)
        inputs |= {name: inputs[name] + by * direction[f"inputs/{name}"] for name in inputs if f"inputs/{name}" in direction}
        return network.loss(computation, there, type(batch)(inputs, batch.target), True)

    h = 1e-6
    assert exact == pytest.approx((moved(h) - moved(-h)) / (2 * h), rel=1e-5, abs=1e-7)
