# NumPy types the arithmetic of arrays as Any.
# mypy: disable-error-code="no-any-return"
"""Convolutions, pooling and upsampling over ``[batch, height, width, channels]`` (1-D: ``[batch, positions, channels]``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from frameworks.reference.elementwise import Array, Attributes, Parameters

_ONE = [1, 1]


def conv1d(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """A ``conv2d`` of height 1."""
    wide = {
        "stride": [1, attributes["stride"]],
        "padding": [[0, 0], attributes["padding"]],
        "dilation": [1, attributes["dilation"]],
        "groups": attributes["groups"],
    }
    return conv2d(x[:, None], wide, {**parameters, "kernel": parameters["kernel"][None]}, training)[:, 0]


def conv2d(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """Cross-correlation: group ``g`` maps the ``g``-th slice of channels to the ``g``-th slice of filters."""
    kernel, groups = parameters["kernel"], attributes["groups"]
    channels, filters = kernel.shape[2], kernel.shape[3] // groups
    results: list[Array] = []
    for group in range(groups):
        part = x[..., group * channels : (group + 1) * channels]
        weights = kernel[..., group * filters : (group + 1) * filters]
        results.append(sum(seen @ weights[tap] for tap, seen in _taps(part, kernel.shape[:2], attributes)))
    return numpy.concatenate(results, axis=-1) + parameters.get("bias", 0.0)


def depthwise_conv2d(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """Channel ``i`` gives channels ``i * multiplier + m``."""
    kernel = parameters["kernel"]
    result = sum(seen[..., None] * kernel[tap] for tap, seen in _taps(x, kernel.shape[:2], attributes))
    assert isinstance(result, numpy.ndarray)
    return result.reshape(*result.shape[:-2], -1) + parameters.get("bias", 0.0)


def conv2d_transpose(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """``y[i * stride + k - before] += x[i] kernel[k]``; the kernel is ``[height, width, filters, channels]``."""
    kernel = parameters["kernel"]
    (top, bottom), (left, right) = attributes["padding"]
    stride, extra = attributes["stride"], attributes["output_padding"]
    extents = [(n - 1) * s + k + e for n, s, k, e in zip(x.shape[1:3], stride, kernel.shape[:2], extra, strict=True)]
    canvas = numpy.zeros((len(x), *extents, kernel.shape[2]), dtype=numpy.result_type(x, kernel))
    for i in range(x.shape[1]):
        for j in range(x.shape[2]):
            row, column = i * stride[0], j * stride[1]
            canvas[:, row : row + kernel.shape[0], column : column + kernel.shape[1]] += numpy.einsum("bc,klfc->bklf", x[:, i, j], kernel)
    return canvas[:, top : extents[0] - bottom, left : extents[1] - right] + parameters.get("bias", 0.0)


def max_pool2d(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """The largest cell of each window; padding never wins."""
    cells = numpy.stack([seen for _, seen in _taps(x, attributes["size"], attributes, fill=-numpy.inf)])
    return numpy.take_along_axis(cells, cells.real.argmax(axis=0)[None], axis=0)[0]


def avg_pool2d(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """The mean of each window: of all its cells, or of those inside the image."""
    total = sum(seen for _, seen in _taps(x, attributes["size"], attributes))
    if attributes.get("count_padding"):
        return numpy.asarray(total / (attributes["size"][0] * attributes["size"][1]))
    return numpy.asarray(total / sum(seen for _, seen in _taps(numpy.ones_like(x.real), attributes["size"], attributes)))


def global_avg_pool2d(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """``[h, w, c]`` to ``[c]``."""
    return numpy.asarray(x.mean(axis=(1, 2)))


def upsample2d(x: Array, attributes: Attributes, parameters: Parameters, training: bool) -> Array:
    """Nearest: ``y[i] = x[i // factor]``. Bilinear: linear between pixel centres, clamped to the edge."""
    rows, columns = _pair(attributes["factor"])
    if attributes["method"] == "nearest":
        return x.repeat(rows, axis=1).repeat(columns, axis=2)
    return numpy.einsum("ih,jw,bhwc->bijc", _interpolation(x.shape[1], rows), _interpolation(x.shape[2], columns), x)


def _taps(x: Array, kernel: Any, attributes: Attributes, fill: float = 0.0) -> Iterator[tuple[tuple[int, int], Array]]:
    """For each cell ``(k, l)`` of the window: what it sees of the padded image from every place where the window stands."""
    stride, dilation = attributes["stride"], attributes.get("dilation", _ONE)
    padded = numpy.pad(x, [(0, 0), *(tuple(pair) for pair in attributes["padding"]), (0, 0)], constant_values=fill)
    extents = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(padded.shape[1:3], kernel, stride, dilation, strict=True)]
    for k in range(kernel[0]):
        for m in range(kernel[1]):
            rows = slice(k * dilation[0], k * dilation[0] + (extents[0] - 1) * stride[0] + 1, stride[0])
            columns = slice(m * dilation[1], m * dilation[1] + (extents[1] - 1) * stride[1] + 1, stride[1])
            yield (k, m), padded[:, rows, columns]


def _interpolation(extent: int, factor: int) -> Array:
    """The matrix ``[extent * factor, extent]`` of linear interpolation along one axis."""
    weights = numpy.zeros((extent * factor, extent))
    for i in range(extent * factor):
        source = min(max((i + 0.5) / factor - 0.5, 0.0), extent - 1.0)
        before = int(source)
        after = min(before + 1, extent - 1)
        weights[i, before] += 1 - (source - before)
        weights[i, after] += source - before
    return weights


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])
