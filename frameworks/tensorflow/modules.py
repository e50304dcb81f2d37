"""The layers that Keras does not have, or not in every version, written as one writes a layer of one's own."""

from __future__ import annotations

import math
from typing import Any

import numpy
import tensorflow as tf

layers = tf.keras.layers


class ConstantPadding(tf.keras.layers.Layer):  # type: ignore[misc]
    """``[batch, h, w, c]`` padded with the lowest number of its type, which never wins a maximum."""

    def __init__(self, sides: list[list[int]]) -> None:
        super().__init__()
        self.sides = [[0, 0], *sides, [0, 0]]

    def call(self, x: Any) -> Any:
        return tf.pad(x, self.sides, constant_values=x.dtype.min)


class AverageInside(tf.keras.layers.Layer):  # type: ignore[misc]
    """Averages of whole windows over zero-padded ``[batch, h, w, c]``, turned into averages over the cells inside the image."""

    def __init__(self, factors: numpy.ndarray) -> None:
        super().__init__()
        self.factors = factors

    def build(self, shape: Any) -> None:
        self.factor = tf.constant(self.factors[None, :, :, None], self.compute_dtype)

    def call(self, x: Any) -> Any:
        return x * self.factor


class PositionEmbedding(tf.keras.layers.Layer):  # type: ignore[misc]
    """Adds a trained vector to each position: ``[batch, n, c]`` with ``n <= length``."""

    def __init__(self, length: int, name: str | None) -> None:
        super().__init__(name=name)
        self.length = length

    def build(self, shape: Any) -> None:
        self.table = self.add_weight(name="table", shape=(self.length, shape[-1]), initializer="zeros")

    def call(self, x: Any) -> Any:
        return x + self.table[: x.shape[1]]


class ClassToken(tf.keras.layers.Layer):  # type: ignore[misc]
    """Puts a trained token before the others: ``[batch, n, c]`` to ``[batch, n + 1, c]``."""

    def build(self, shape: Any) -> None:
        self.token = self.add_weight(name="token", shape=(shape[-1],), initializer="zeros")

    def call(self, x: Any) -> Any:
        token = tf.cast(tf.convert_to_tensor(self.token), x.dtype)
        return tf.concat([tf.broadcast_to(token, [tf.shape(x)[0], 1, x.shape[-1]]), x], axis=1)


class RMSNormalization(tf.keras.layers.Layer):  # type: ignore[misc]
    """``scale x / sqrt(mean(x^2) + eps)`` over the last axis, in float32 or wider; for a Keras that has none of its own."""

    def __init__(self, epsilon: float, name: str | None) -> None:
        super().__init__(name=name)
        self.epsilon = epsilon

    def build(self, shape: Any) -> None:
        self.scale = self.add_weight(name="scale", shape=(shape[-1],), initializer="ones")

    def call(self, x: Any) -> Any:
        wide = tf.cast(x, tf.float64 if x.dtype == tf.float64 else tf.float32)
        normal = wide * tf.math.rsqrt(tf.reduce_mean(tf.square(wide), axis=-1, keepdims=True) + self.epsilon)
        return tf.cast(normal, x.dtype) * self.scale


class GroupNormalization(tf.keras.layers.Layer):  # type: ignore[misc]
    """Normalisation over all positions and the channels of a group; for a Keras that has none of its own (before 2.11)."""

    def __init__(self, groups: int, epsilon: float, name: str | None) -> None:
        super().__init__(name=name)
        self.groups, self.epsilon = groups, epsilon

    def build(self, shape: Any) -> None:
        self.gamma = self.add_weight(name="gamma", shape=(shape[-1],), initializer="ones")
        self.beta = self.add_weight(name="beta", shape=(shape[-1],), initializer="zeros")

    def call(self, x: Any) -> Any:
        wide = tf.cast(x, tf.float64 if x.dtype == tf.float64 else tf.float32)
        grouped = tf.reshape(wide, [tf.shape(x)[0], -1, self.groups, x.shape[-1] // self.groups])
        mean, variance = tf.nn.moments(grouped, axes=[1, 3], keepdims=True)
        normal = (grouped - mean) * tf.math.rsqrt(variance + self.epsilon)
        return tf.cast(tf.reshape(normal, tf.shape(x)), x.dtype) * self.gamma + self.beta


class Attention(tf.keras.layers.Layer):  # type: ignore[misc]
    """Self-attention over ``[batch, n, c]`` with fewer key heads than query heads, or with rotary positions."""

    def __init__(
        self,
        heads: int,
        kv_heads: int,
        head_units: int,
        causal: bool,
        rotary: float | None,
        bias: bool,
        dropout: float,
        name: str | None,
    ) -> None:
        super().__init__(name=name)
        self.heads, self.kv_heads, self.head_units = heads, kv_heads, head_units
        self.causal, self.rotary, self.bias = causal, rotary, bias
        self.query_dense = layers.Dense(heads * head_units, use_bias=bias, name="query")
        self.key_dense = layers.Dense(kv_heads * head_units, use_bias=bias, name="key")
        self.value_dense = layers.Dense(kv_heads * head_units, use_bias=bias, name="value")
        self.dropout = layers.Dropout(dropout)

    def build(self, shape: Any) -> None:
        length, channels = shape[1], shape[2]
        self.output_dense = layers.Dense(channels, use_bias=self.bias, name="output")
        for projection in (self.query_dense, self.key_dense, self.value_dense):
            projection.build(shape)
        self.output_dense.build((*shape[:-1], self.heads * self.head_units))
        if self.causal:
            lowest = tf.as_dtype(self.compute_dtype).min
            self.mask = tf.constant(numpy.triu(numpy.full((length, length), lowest, numpy.float64), 1), self.compute_dtype)
        if self.rotary is not None:
            frequency = self.rotary ** (-2.0 * numpy.arange(self.head_units // 2) / self.head_units)
            angle = numpy.arange(length)[:, None] * frequency
            self.cos, self.sin = tf.constant(numpy.cos(angle), self.compute_dtype), tf.constant(numpy.sin(angle), self.compute_dtype)

    def call(self, x: Any, training: bool | None = None) -> Any:
        query = self._heads(self.query_dense(x), self.heads)
        key = self._heads(self.key_dense(x), self.kv_heads)
        value = self._heads(self.value_dense(x), self.kv_heads)
        if self.rotary is not None:
            query, key = self._turn(query), self._turn(key)
        if self.kv_heads != self.heads:
            key, value = (tf.repeat(each, self.heads // self.kv_heads, axis=1) for each in (key, value))
        scores = tf.matmul(query * self.head_units**-0.5, key, transpose_b=True)
        if self.causal:
            scores = tf.maximum(scores + self.mask, scores.dtype.min)
        weights = self.dropout(tf.nn.softmax(scores), training=training)
        joined = tf.transpose(tf.matmul(weights, value), [0, 2, 1, 3])
        return self.output_dense(tf.reshape(joined, [-1, x.shape[1], self.heads * self.head_units]))

    def _heads(self, x: Any, heads: int) -> Any:
        """``[batch, n, heads * d]`` to ``[batch, heads, n, d]``."""
        return tf.transpose(tf.reshape(x, [-1, x.shape[1], heads, self.head_units]), [0, 2, 1, 3])

    def _turn(self, x: Any) -> Any:
        first, second = tf.split(x, 2, axis=-1)
        return tf.concat([first * self.cos - second * self.sin, second * self.cos + first * self.sin], axis=-1)


class Unembedding(tf.keras.layers.Layer):  # type: ignore[misc]
    """Scores of every row of an embedding's table: ``[batch, ..., units]`` to ``[batch, ..., vocabulary]``."""

    def __init__(self, embedding: Any, use_bias: bool, name: str | None) -> None:
        super().__init__(name=name)
        self.embedding, self.use_bias = embedding, use_bias
        self.bias: Any = None

    def build(self, shape: Any) -> None:
        if self.use_bias:
            self.bias = self.add_weight(name="bias", shape=(self.embedding.input_dim,), initializer="zeros")

    def call(self, x: Any) -> Any:
        table = tf.cast(tf.convert_to_tensor(self.embedding.embeddings), x.dtype)
        flat = tf.matmul(tf.reshape(x, [-1, x.shape[-1]]), table, transpose_b=True)
        scores = tf.reshape(flat, [-1, *x.shape[1:-1], table.shape[0]])
        return scores if self.bias is None else scores + self.bias


class Polynomial(tf.keras.layers.Layer):  # type: ignore[misc]
    """``c[0] + c[1] x + c[2] x^2 + ...``, element by element."""

    def __init__(self, degree: int, name: str | None) -> None:
        super().__init__(name=name)
        self.degree = degree

    def build(self, shape: Any) -> None:
        self.coefficients = self.add_weight(name="coefficients", shape=(self.degree + 1,), initializer="zeros")

    def call(self, x: Any) -> Any:
        coefficients = tf.unstack(tf.cast(tf.convert_to_tensor(self.coefficients), x.dtype))
        total = coefficients[0] + coefficients[1] * x
        for power in range(2, self.degree + 1):
            total += coefficients[power] * x**power
        return total


def gelu_erf(x: Any) -> Any:
    """``x / 2 (1 + erf(x / sqrt 2))`` with its constant in the type of ``x``."""
    return x * tf.math.erfc(-x * tf.constant(math.sqrt(0.5), x.dtype)) / 2


def gelu_tanh(x: Any) -> Any:
    """``x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`` with its constants in the type of ``x``."""
    root, cubic = (tf.constant(value, x.dtype) for value in (math.sqrt(2 / math.pi), 0.044715))
    return x * (1 + tf.tanh(root * (x + cubic * x**3))) / 2
