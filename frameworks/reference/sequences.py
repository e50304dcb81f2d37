# NumPy types the arithmetic of arrays as Any.
# mypy: disable-error-code="no-any-return"
"""Layers over sequences ``[batch, positions, channels]``: tables, tokens, attention and recurrences."""

from __future__ import annotations

import math

import numpy

from frameworks.reference.elementwise import Array, Attributes, Parameters, sigmoid_of, softmax_of


def embedding(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """Rows of ``table [vocabulary, units]`` by integers."""
    return parameters["table"][x]


def unembedding(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """``x table^T + bias``; the table is that of the embedding it names."""
    return x @ parameters["table"].T + parameters.get("bias", 0.0)


def position_embedding(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """``x[i] + table[i]``."""
    return x + parameters["table"][: x.shape[1]]


def class_token(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """The token before the first position."""
    token = numpy.broadcast_to(parameters["token"], (len(x), 1, x.shape[-1]))
    return numpy.concatenate([token, x], axis=1)


def attention(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """Self-attention head by head; query head ``i`` reads key and value head ``i // (heads / kv_heads)``. Dropout is switched off."""
    heads, kv_heads, units = attributes["heads"], attributes["kv_heads"], attributes["head_units"]
    query, key, value = (x @ parameters[f"{name}_kernel"] + parameters.get(f"{name}_bias", 0.0) for name in ("query", "key", "value"))
    positions = numpy.arange(x.shape[1])
    hidden = positions[None, :] > positions[:, None] if attributes["causal"] else numpy.zeros((len(positions),) * 2, dtype=bool)
    results = []
    for head in range(heads):
        shared = head // (heads // kv_heads)
        q, k, v = query[..., _head(head, units)], key[..., _head(shared, units)], value[..., _head(shared, units)]
        if attributes["rotary"] is not None:
            q, k = rotate(q, attributes["rotary"]), rotate(k, attributes["rotary"])
        scores = numpy.where(hidden, -numpy.inf, q @ k.swapaxes(-1, -2) / math.sqrt(units))
        results.append(softmax_of(scores) @ v)
    return numpy.concatenate(results, axis=-1) @ parameters["output_kernel"] + parameters.get("output_bias", 0.0)


def rotate(x: Array, base: float) -> Array:
    """Turn the pairs ``(j, j + d / 2)`` of ``[..., positions, d]`` by the angle ``position * base^(-2 j / d)``."""
    half = x.shape[-1] // 2
    angles = numpy.arange(x.shape[-2])[:, None] * base ** (-2.0 * numpy.arange(half) / x.shape[-1])
    first, second = x[..., :half], x[..., half:]
    cosines, sines = numpy.cos(angles), numpy.sin(angles)
    return numpy.concatenate([first * cosines - second * sines, second * cosines + first * sines], axis=-1)


def lstm(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """Gates in the order input, forget, candidate, output."""
    units = attributes["units"]
    hidden = state = numpy.zeros((len(x), units))
    results = []
    for position in range(x.shape[1]):
        gates = x[:, position] @ parameters["kernel"] + hidden @ parameters["recurrent_kernel"] + parameters["bias"]
        i, f, g, o = (gates[:, _head(gate, units)] for gate in range(4))
        state = sigmoid_of(f) * state + sigmoid_of(i) * numpy.tanh(g)
        hidden = sigmoid_of(o) * numpy.tanh(state)
        results.append(hidden)
    return numpy.stack(results, axis=1) if attributes["sequences"] else hidden


def gru(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """Gates in the order update, reset, candidate; the reset gate acts after the recurrent product."""
    units = attributes["units"]
    hidden = numpy.zeros((len(x), units))
    results = []
    for position in range(x.shape[1]):
        a = x[:, position] @ parameters["kernel"] + parameters["bias"]
        b = hidden @ parameters["recurrent_kernel"] + parameters["recurrent_bias"]
        (a_z, a_r, a_n), (b_z, b_r, b_n) = ([part[:, _head(gate, units)] for gate in range(3)] for part in (a, b))
        z, r = sigmoid_of(a_z + b_z), sigmoid_of(a_r + b_r)
        hidden = (1 - z) * numpy.tanh(a_n + r * b_n) + z * hidden
        results.append(hidden)
    return numpy.stack(results, axis=1) if attributes["sequences"] else hidden


def transpose(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """``[n, c]`` to ``[c, n]``."""
    return x.swapaxes(1, 2)


def select_token(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """One position; a negative index counts from the end."""
    return x[:, attributes["index"]]


def mean_tokens(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """The mean over positions."""
    return numpy.asarray(x.mean(axis=1))


def _head(index: int, units: int) -> slice:
    return slice(index * units, (index + 1) * units)
