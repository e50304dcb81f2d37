# NumPy types the arithmetic of arrays as Any.
# mypy: disable-error-code="no-any-return"
"""Layers that treat each element alone, and softmax.

Every function takes float64 or complex128. Complex values carry a derivative in their imaginary part (see
``network.directional_derivative``), so that comparisons look at real parts only and nothing takes an absolute value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy

Array = numpy.ndarray
Attributes = Mapping[str, Any]
Parameters = Mapping[str, Array]

_erf = numpy.vectorize(math.erf, otypes=[numpy.float64])


def erf(x: Array) -> Array:
    """The error function; of a complex value to first order in its imaginary part."""
    value = _erf(x.real) if x.size else x.real
    if numpy.iscomplexobj(x):
        return value + 1j * x.imag * (2.0 / math.sqrt(math.pi)) * numpy.exp(-(x.real**2))
    return numpy.asarray(value)


def sigmoid_of(x: Array) -> Array:
    """``1 / (1 + exp(-x))``."""
    return 1.0 / (1.0 + numpy.exp(-x))


def softmax_of(x: Array) -> Array:
    """Softmax over the last axis."""
    powers = numpy.exp(x - x.real.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def clip(x: Array, low: float, high: float) -> Array:
    """``min(max(x, low), high)``, by real parts."""
    return numpy.where(x.real < low, low, numpy.where(x.real > high, high, x))


def relu(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """``max(x, 0)``."""
    return numpy.where(x.real > 0, x, 0.0)


def relu6(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """``min(max(x, 0), 6)``."""
    return clip(x, 0.0, 6.0)


def leaky_relu(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """``x`` where ``x >= 0``, else ``slope x``."""
    return numpy.where(x.real >= 0, x, attributes["slope"] * x)


def gelu(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """The exact form or the one by tanh, as ``form`` says."""
    if attributes["form"] == "erf":
        return x / 2 * (1 + erf(x / math.sqrt(2)))
    return x / 2 * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def silu(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """``x sigmoid(x)``."""
    return x * sigmoid_of(x)


def sigmoid(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """``1 / (1 + exp(-x))``."""
    return sigmoid_of(x)


def tanh(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """``tanh x``."""
    return numpy.tanh(x)


def softmax(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """Over the last axis."""
    return softmax_of(x)


def hard_swish(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """``x min(max(x + 3, 0), 6) / 6``."""
    return x * clip(x + 3, 0.0, 6.0) / 6


def polynomial(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """``sum of coefficients[i] x^i``."""
    power = numpy.ones_like(x)
    total = parameters["coefficients"][0] * power
    for coefficient in parameters["coefficients"][1:]:
        power = power * x
        total = total + coefficient * power
    return total


def dropout(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """The identity, in training too: where values are compared, dropout is switched off (``Job.dropout``)."""
    return x
