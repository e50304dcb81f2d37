# NumPy types the arithmetic of arrays as Any.
# mypy: disable-error-code="no-any-return"
"""Every layer of the language by name: ``layer(x, attributes, parameters, training) -> y``, the batch as the first axis.

``parameters`` are the layer's own, in the canonical layout; ``attributes`` are those of ``contract.Node``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy

from frameworks.reference import elementwise, normalization, sequences, windows
from frameworks.reference.elementwise import Array, Attributes, Parameters

Layer = Callable[[Array, Attributes, Parameters, bool], Array]


def dense(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """Over the last axis: ``x kernel + bias``."""
    return x @ parameters["kernel"] + parameters.get("bias", 0.0)


def flatten(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """To one axis, in channels-last order."""
    return x.reshape(len(x), -1)


def reshape(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """The same elements, in channels-last order."""
    return x.reshape(len(x), *attributes["shape"])


def tokens(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """``[h, w, c]`` to ``[h * w, c]``, rows first."""
    return x.reshape(len(x), -1, x.shape[-1])


def copy(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """A new array with the same values."""
    return x.copy()


def reduce_sum(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """Axes are counted without the batch."""
    return numpy.asarray(x.sum(axis=tuple(axis + 1 for axis in attributes["axes"])))


def argmax(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """The place of the largest value along an axis, the first among equals."""
    return x.argmax(axis=attributes["axis"] + 1)


def sort(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """In ascending order along an axis."""
    return numpy.sort(x, axis=attributes["axis"] + 1)


def matmul(inputs: Sequence[Array], attributes: Attributes) -> Array:
    """``[..., m, k]`` by ``[..., k, n]``."""
    first, second = inputs
    return first @ second


def dot_product_attention(inputs: Sequence[Array], attributes: Attributes) -> Array:
    """``softmax(q k^T / sqrt(d)) v``."""
    query, key, value = inputs
    return elementwise.softmax_of(query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])) @ value


def concat(inputs: Sequence[Array], attributes: Attributes) -> Array:
    """One after the other along an axis."""
    return numpy.concatenate(inputs, axis=attributes["axis"] + 1)


LAYERS: dict[str, Layer] = {
    "conv1d": windows.conv1d,
    "conv2d": windows.conv2d,
    "depthwise_conv2d": windows.depthwise_conv2d,
    "conv2d_transpose": windows.conv2d_transpose,
    "dense": dense,
    "embedding": sequences.embedding,
    "position_embedding": sequences.position_embedding,
    "class_token": sequences.class_token,
    "batch_norm": normalization.batch_norm,
    "layer_norm": normalization.layer_norm,
    "rms_norm": normalization.rms_norm,
    "group_norm": normalization.group_norm,
    "relu": elementwise.relu,
    "relu6": elementwise.relu6,
    "sigmoid": elementwise.sigmoid,
    "tanh": elementwise.tanh,
    "leaky_relu": elementwise.leaky_relu,
    "gelu": elementwise.gelu,
    "silu": elementwise.silu,
    "hard_swish": elementwise.hard_swish,
    "softmax": elementwise.softmax,
    "max_pool2d": windows.max_pool2d,
    "avg_pool2d": windows.avg_pool2d,
    "global_avg_pool2d": windows.global_avg_pool2d,
    "upsample2d": windows.upsample2d,
    "dropout": elementwise.dropout,
    "flatten": flatten,
    "reshape": reshape,
    "tokens": tokens,
    "transpose": sequences.transpose,
    "select_token": sequences.select_token,
    "mean_tokens": sequences.mean_tokens,
    "attention": sequences.attention,
    "unembedding": sequences.unembedding,
    "lstm": sequences.lstm,
    "gru": sequences.gru,
    "polynomial": elementwise.polynomial,
    "copy": copy,
    "reduce_sum": reduce_sum,
    "argmax": argmax,
    "sort": sort,
}

OPERATORS: dict[str, Callable[[Sequence[Array], Attributes], Array]] = {
    "matmul": matmul,
    "dot_product_attention": dot_product_attention,
    "concat": concat,
}
"""What takes several values, each with the batch as its first axis."""
