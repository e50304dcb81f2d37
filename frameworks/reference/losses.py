# NumPy types the arithmetic of arrays as Any.
# mypy: disable-error-code="no-any-return"
"""Losses: of outputs ``y`` and targets ``t``, one number."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from frameworks.reference.elementwise import Array


def softmax_cross_entropy(y: Array, t: Array) -> Array:
    """Mean of ``-log softmax(y)[t]`` over every axis but the last; ``t`` holds integers."""
    shifted = y - y.real.max(axis=-1, keepdims=True)
    logarithms = shifted - numpy.log(numpy.exp(shifted).sum(axis=-1, keepdims=True))
    return numpy.asarray(-numpy.take_along_axis(logarithms, t[..., None].astype(numpy.int64), axis=-1).mean())


def mean_squared_error(y: Array, t: Array) -> Array:
    """Mean over all elements of ``(y - t)^2``."""
    return numpy.asarray(((y - t) * (y - t)).mean())


def sum_squared_error(y: Array, t: Array) -> Array:
    """Sum over all elements of ``(y - t)^2``, the batch included."""
    return numpy.asarray(((y - t) * (y - t)).sum())


def binary_cross_entropy(y: Array, t: Array) -> Array:
    """Mean of ``-(t log sigmoid(y) + (1 - t) log(1 - sigmoid(y)))``."""
    return numpy.asarray((t * _softplus(-y) + (1 - t) * _softplus(y)).mean())


def _softplus(y: Array) -> Array:
    """``log(1 + exp(y))`` without overflow."""
    return numpy.where(y.real > 0, y, 0.0) + numpy.log1p(numpy.exp(numpy.where(y.real > 0, -y, y)))


LOSSES: dict[str, Callable[[Array, Array], Array]] = {
    "softmax_cross_entropy": softmax_cross_entropy,
    "mean_squared_error": mean_squared_error,
    "sum_squared_error": sum_squared_error,
    "binary_cross_entropy": binary_cross_entropy,
}
