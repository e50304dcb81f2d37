# NumPy types the arithmetic of arrays as Any.
# mypy: disable-error-code="no-any-return"
"""Normalisation: batch, layer, root-mean-square and group. Variances are biased and epsilon stands inside the root."""

from __future__ import annotations

import numpy

from frameworks.reference.elementwise import Array, Attributes, Parameters


def batch_norm(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """Per channel: with the batch's own statistics in training, with the running ones in inference."""
    mean, variance = channel_statistics(x) if training else (parameters["mean"], parameters["variance"])
    return parameters["scale"] * (x - mean) / numpy.sqrt(variance + attributes["eps"]) + parameters["offset"]


def channel_statistics(x: Array) -> tuple[Array, Array]:
    """Mean and biased variance ``[c]`` over all but the last axis."""
    axes = tuple(range(x.ndim - 1))
    mean = x.mean(axis=axes)
    return mean, _square(x - mean).mean(axis=axes)


def running_statistics(x: Array, attributes: Attributes, parameters: Parameters, *, unbiased: bool) -> dict[str, Array]:
    """``mean`` and ``variance`` after one training step that saw ``x``; the correction of the variance is the framework's own choice."""
    mean, variance = channel_statistics(x)
    count = x.size // x.shape[-1]
    if unbiased:
        variance = variance * count / (count - 1)
    keep = attributes["keep"]
    return {
        "mean": keep * parameters["mean"] + (1 - keep) * mean,
        "variance": keep * parameters["variance"] + (1 - keep) * variance,
    }


def layer_norm(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """Per position, over the channels."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = _square(centred).mean(axis=-1, keepdims=True)
    return parameters["scale"] * centred / numpy.sqrt(variance + attributes["eps"]) + parameters["offset"]


def rms_norm(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """``scale x / sqrt(mean(x^2) + eps)`` over the channels."""
    return parameters["scale"] * x / numpy.sqrt(_square(x).mean(axis=-1, keepdims=True) + attributes["eps"])


def group_norm(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """Per sample, over all positions and the consecutive channels of a group."""
    groups = attributes["groups"]
    parts = x.reshape(len(x), -1, groups, x.shape[-1] // groups)
    centred = parts - parts.mean(axis=(1, 3), keepdims=True)
    variance = _square(centred).mean(axis=(1, 3), keepdims=True)
    return parameters["scale"] * (centred / numpy.sqrt(variance + attributes["eps"])).reshape(x.shape) + parameters["offset"]


def _square(x: Array) -> Array:
    """Without an absolute value, so that a complex derivative survives."""
    return x * x
