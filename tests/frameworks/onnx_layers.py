"""ONNX operators computed by the reference: arrays and attributes as ONNX has them, in and out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from frameworks.reference import optimizers, sequences
from frameworks.reference.layers import LAYERS
from frameworks.reference.losses import LOSSES
from frameworks.reference.normalization import running_statistics

Array = numpy.ndarray
Said = dict[str, Any]


class Untranslatable(Exception):
    """The operator, as it is used here, has no counterpart in the workload language."""


def ours(operator: str, said: Said, inputs: list[Array | None]) -> list[Array]:
    """The outputs of an ONNX operator, as many as have a counterpart. Raises :class:`Untranslatable`."""
    if operator not in OPERATORS:
        raise Untranslatable(operator)
    given = [None if value is None else value.astype(numpy.float64) if value.dtype.kind == "f" else value for value in inputs]
    return OPERATORS[operator](dict(said), given)


def need(*conditions: Any) -> None:
    if not all(conditions):
        raise Untranslatable


def layer(kind: str, x: Array, attributes: Said | None = None, training: bool = False, **parameters: Array | None) -> Array:
    own = {name: value for name, value in parameters.items() if value is not None}
    return LAYERS[kind](x, attributes or {}, own, training)


def last(x: Array) -> Array:
    return numpy.moveaxis(x, 1, -1)


def first(x: Array) -> Array:
    return numpy.moveaxis(x, -1, 1)


def sides(said: Said, dims: int) -> list[list[int]]:
    pads = said.get("pads", [0] * 2 * dims)
    return [[pads[i], pads[dims + i]] for i in range(dims)]


def conv(said: Said, inputs: list[Array]) -> list[Array]:
    x, w, *b = inputs
    dims = x.ndim - 2
    need(dims in (1, 2), said.get("auto_pad", "NOTSET") in ("NOTSET", "VALID"))
    attributes = {
        "stride": said.get("strides", [1] * dims),
        "padding": sides(said, dims),
        "dilation": said.get("dilations", [1] * dims),
        "groups": said.get("group", 1),
    }
    if dims == 1:
        attributes |= {key: attributes[key][0] for key in ("stride", "padding", "dilation")}
    kernel = numpy.moveaxis(w, (0, 1), (-1, -2))
    results = [first(layer(f"conv{dims}d", last(x), attributes, kernel=kernel, bias=b[0] if b else None))]
    if dims == 2 and attributes["groups"] == x.shape[1]:
        multiplier = w.shape[0] // x.shape[1]
        depthwise = kernel[:, :, 0].reshape(*w.shape[2:], x.shape[1], multiplier)
        result = first(layer("depthwise_conv2d", last(x), attributes, kernel=depthwise, bias=b[0] if b else None))
        assert numpy.allclose(result, results[0], rtol=1e-12, atol=1e-12)
    return results


def conv_transpose(said: Said, inputs: list[Array]) -> list[Array]:
    x, w, *b = inputs
    need(x.ndim == 4, said.get("group", 1) == 1, "output_shape" not in said, said.get("auto_pad", "NOTSET") == "NOTSET")
    need(said.get("dilations", [1, 1]) == [1, 1])
    attributes = {
        "stride": said.get("strides", [1, 1]),
        "padding": sides(said, 2),
        "output_padding": said.get("output_padding", [0, 0]),
    }
    return [first(layer("conv2d_transpose", last(x), attributes, kernel=w.transpose(2, 3, 1, 0), bias=b[0] if b else None))]


def pool(kind: str) -> Callable[[Said, list[Array]], list[Array]]:
    def translate(said: Said, inputs: list[Array]) -> list[Array]:
        (x,) = inputs
        need(x.ndim == 4, x.dtype.kind == "f", not said.get("ceil_mode"), said.get("auto_pad", "NOTSET") in ("NOTSET", "VALID"))
        need(said.get("dilations", [1, 1]) == [1, 1])
        attributes = {
            "size": said["kernel_shape"],
            "stride": said.get("strides", [1, 1]),
            "padding": sides(said, 2),
            "count_padding": bool(said.get("count_include_pad", 0)),
        }
        return [first(layer(kind, last(x), attributes))]

    return translate


def batch_norm(said: Said, inputs: list[Array]) -> list[Array]:
    x, scale, offset, mean, variance = inputs
    training = bool(said.get("training_mode", 0))
    attributes = {"eps": said.get("epsilon", 1e-5), "keep": said.get("momentum", 0.9)}
    own = {"scale": scale, "offset": offset, "mean": mean, "variance": variance}
    result = first(layer("batch_norm", last(x), attributes, training, **own))
    if not training:
        return [result]
    running = running_statistics(last(x), attributes, own, unbiased=False)
    return [result, running["mean"], running["variance"]]


def layer_norm(said: Said, inputs: list[Array]) -> list[Array]:
    x, scale, *offset = inputs
    need(said.get("axis", -1) in (-1, x.ndim - 1), scale.shape == x.shape[-1:])
    return [layer("layer_norm", x, {"eps": said.get("epsilon", 1e-5)}, scale=scale, offset=offset[0] if offset else numpy.zeros(()))]


def rms_norm(said: Said, inputs: list[Array]) -> list[Array]:
    x, scale = inputs
    need(said.get("axis", -1) in (-1, x.ndim - 1), scale.shape == x.shape[-1:])
    return [layer("rms_norm", x, {"eps": said.get("epsilon", 1e-5)}, scale=scale)]


def group_norm(said: Said, inputs: list[Array]) -> list[Array]:
    x, scale, offset = inputs
    need(scale.shape == (x.shape[1],))
    attributes = {"groups": said["num_groups"], "eps": said.get("epsilon", 1e-5)}
    return [first(layer("group_norm", last(x), attributes, scale=scale, offset=offset))]


def gates(weights: Array, order: str) -> Array:
    """ONNX's gate-major rows as columns in our order, given as places in ONNX's."""
    return numpy.concatenate([numpy.split(weights, len(order))[int(place)] for place in order], axis=0).T


def recurrent(kind: str, order: str) -> Callable[[Said, list[Array]], list[Array]]:
    def translate(said: Said, inputs: list[Array | None]) -> list[Array]:
        x, w, r, *rest = inputs
        assert x is not None and w is not None and r is not None
        need(said.get("direction", "forward") == "forward", not said.get("layout"), "clip" not in said, "activations" not in said)
        need(all(value is None for value in rest[1:]), kind == "lstm" or said.get("linear_before_reset"))
        units = said["hidden_size"]
        bias = numpy.zeros(2 * len(order) * units) if not rest or rest[0] is None else rest[0][0]
        of_input, of_state = (gates(part, order) for part in numpy.split(bias, 2))
        own = {"kernel": gates(w[0], order), "recurrent_kernel": gates(r[0], order)}
        own |= {"bias": of_input + of_state} if kind == "lstm" else {"bias": of_input, "recurrent_bias": of_state}
        y = layer(kind, x.swapaxes(0, 1), {"units": units, "sequences": True}, **own)
        h = layer(kind, x.swapaxes(0, 1), {"units": units, "sequences": False}, **own)
        return [y.swapaxes(0, 1)[:, None], h[None]]

    return translate


def softmax(said: Said, inputs: list[Array]) -> list[Array]:
    (x,) = inputs
    need(said.get("axis", -1) in (-1, x.ndim - 1))
    return [layer("softmax", x)]


def resize(said: Said, inputs: list[Array | None]) -> list[Array]:
    x, _, scales, *rest = inputs
    assert x is not None
    mode, coordinates = said.get("mode", "nearest"), said.get("coordinate_transformation_mode", "half_pixel")
    need(x.ndim == 4, scales is not None, not rest, "axes" not in said, not said.get("antialias"))
    assert scales is not None
    rows, columns = scales[2:]
    need(rows == columns, rows == int(rows), rows >= 1)
    if mode == "nearest":  # with whole factors, the nearest pixel is the same in both of these
        need((coordinates, said.get("nearest_mode")) in (("asymmetric", "floor"), ("half_pixel", None)))
    else:
        need(mode == "linear", coordinates == "half_pixel")
    return [first(layer("upsample2d", last(x), {"factor": int(rows), "method": "nearest" if mode == "nearest" else "bilinear"}))]


def gemm(said: Said, inputs: list[Array]) -> list[Array]:
    a, b, *c = inputs
    need(said.get("alpha", 1.0) == 1.0, said.get("beta", 1.0) == 1.0, not said.get("transA"), not c or c[0].ndim == 1)
    return [layer("dense", a, kernel=b.T if said.get("transB") else b, bias=c[0] if c else None)]


def attention(said: Said, inputs: list[Array]) -> list[Array]:
    """Three inputs as slices of one, cut out again by the projections."""
    need(len(inputs) == 3, set(said) <= {"is_causal"}, inputs[0].ndim == 4)
    q, k, v = inputs
    (batch, heads, length, units), kv_heads = q.shape, k.shape[1]
    need(k.shape == v.shape == (batch, kv_heads, length, units))
    x = numpy.concatenate([part.swapaxes(1, 2).reshape(batch, length, -1) for part in inputs], axis=-1)
    everything, cut = numpy.eye(x.shape[-1]), [heads * units, (heads + kv_heads) * units]
    kernels = dict(zip(("query_kernel", "key_kernel", "value_kernel"), numpy.split(everything, cut, axis=1), strict=True))
    attributes = {"heads": heads, "kv_heads": kv_heads, "head_units": units, "causal": bool(said.get("is_causal")), "rotary": None}
    joined = layer("attention", x, attributes, output_kernel=numpy.eye(heads * units), **kernels)
    return [joined.reshape(batch, length, heads, units).swapaxes(1, 2)]


def rotary_embedding(said: Said, inputs: list[Array]) -> list[Array]:
    """Compared where the caches hold the angles of base 10000 from position 0."""
    x, cosines, sines, *rest = inputs
    need(x.ndim == 4, not rest, not said.get("interleaved"), not said.get("rotary_embedding_dim"))
    angles = numpy.arange(x.shape[2])[:, None] * 10000.0 ** (-2 * numpy.arange(x.shape[3] // 2) / x.shape[3])
    need(numpy.allclose(cosines, numpy.cos(angles)), numpy.allclose(sines, numpy.sin(angles)))
    return [sequences.rotate(x, 10000.0)]


def cross_entropy(said: Said, inputs: list[Array]) -> list[Array]:
    y, target, *weights = inputs
    need(not weights, said.get("reduction", "mean") == "mean", "ignore_index" not in said)
    return [LOSSES["softmax_cross_entropy"](last(y), target)]


def momentum(said: Said, inputs: list[Array]) -> list[Array]:
    """ONNX's step ``t`` counts from 0, and its first one weighs the gradient by 1 as we always do."""
    need(len(inputs) == 5)
    rate, step, weights, gradient, velocity = inputs
    need(said["beta"] == 1.0 or step == 0)
    settings = {
        "kind": "sgd",
        "learning_rate": rate,
        "momentum": said["alpha"],
        "nesterov": said["mode"] == "nesterov",
        "weight_decay": said["norm_coefficient"],
    }
    state = optimizers.State(1, {"w": velocity}, {})
    changed, after = optimizers.update(settings, {"w": weights}, {"w": gradient}, state)
    return [changed["w"], after.first["w"]]


def adam(said: Said, inputs: list[Array]) -> list[Array]:
    """ONNX adds epsilon before it corrects the bias, which is the deviating formula here; its step counts those that were taken."""
    need(len(inputs) == 6)
    rate, step, weights, gradient, first_moment, second_moment = inputs
    need(said.get("norm_coefficient", 0.0) == 0.0, said.get("norm_coefficient_post", 0.0) == 0.0, step > 0)
    settings = {"kind": "adam", "learning_rate": rate, "beta1": said["alpha"], "beta2": said["beta"], "eps": said["epsilon"]}
    state = optimizers.State(int(step) - 1, {"w": first_moment}, {"w": second_moment})
    changed, after = optimizers.update(settings, {"w": weights}, {"w": gradient}, state, deviating=True)
    return [changed["w"], after.first["w"], after.second["w"]]


def element_by_element(kind: str, **names: tuple[str, Any]) -> Callable[[Said, list[Array]], list[Array]]:
    def translate(said: Said, inputs: list[Array]) -> list[Array]:
        return [layer(kind, inputs[0], {ours: said.get(theirs, default) for ours, (theirs, default) in names.items()})]

    return translate


def gelu(said: Said, inputs: list[Array]) -> list[Array]:
    return [layer("gelu", inputs[0], {"form": "tanh" if said.get("approximate", "none") == "tanh" else "erf"})]


def swish(said: Said, inputs: list[Array]) -> list[Array]:
    need(said.get("alpha", 1.0) == 1.0)
    return [layer("silu", inputs[0])]


OPERATORS: dict[str, Callable[[Said, list[Any]], list[Array]]] = {
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "MaxPool": pool("max_pool2d"),
    "AveragePool": pool("avg_pool2d"),
    "GlobalAveragePool": lambda said, inputs: [layer("global_avg_pool2d", last(inputs[0]))[:, :, None, None]],
    "BatchNormalization": batch_norm,
    "LayerNormalization": layer_norm,
    "RMSNormalization": rms_norm,
    "GroupNormalization": group_norm,
    "LSTM": recurrent("lstm", "0231"),
    "GRU": recurrent("gru", "012"),
    "Softmax": softmax,
    "Resize": resize,
    "Gemm": gemm,
    "Attention": attention,
    "RotaryEmbedding": rotary_embedding,
    "SoftmaxCrossEntropyLoss": cross_entropy,
    "Momentum": momentum,
    "Adam": adam,
    "Relu": element_by_element("relu"),
    "Sigmoid": element_by_element("sigmoid"),
    "Tanh": element_by_element("tanh"),
    "HardSwish": element_by_element("hard_swish"),
    "LeakyRelu": element_by_element("leaky_relu", slope=("alpha", 0.01)),
    "Gelu": gelu,
    "Swish": swish,
}
