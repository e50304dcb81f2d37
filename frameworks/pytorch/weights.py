"""Canonical arrays to PyTorch's tensors and back: layouts of kernels, orders of gates, rows after a flatten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import Tensor, nn

from frameworks.contract import Shape

Array = numpy.ndarray


@dataclass(frozen=True)
class Conversion:
    """How an array of the canonical layout becomes PyTorch's, and back."""

    native: Callable[[Array], Array]
    canonical: Callable[[Array], Array]


@dataclass(frozen=True)
class Binding:
    """The tensor behind one parameter of the workload. It is looked up anew, since a move to a device may replace it."""

    module: nn.Module
    attribute: str
    conversion: Conversion

    @property
    def tensor(self) -> Tensor:
        tensor: Tensor = getattr(self.module, self.attribute)
        return tensor


Bindings = Mapping[str, Binding]


def axes(*order: int) -> Conversion:
    """Axes in another order."""
    back = numpy.argsort(order)
    return Conversion(lambda array: array.transpose(order), lambda array: array.transpose(back))


AS_IT_IS = Conversion(lambda array: array, lambda array: array)
CONV1D = axes(2, 1, 0)
CONV2D = axes(3, 2, 0, 1)
CONV2D_TRANSPOSE = axes(3, 2, 0, 1)  # PyTorch keeps this kernel as [in, out, h, w], and so the same axes move
DENSE = axes(1, 0)


def depthwise(channels: int, multiplier: int) -> Conversion:
    """``[h, w, c, m]`` to ``[c * m, 1, h, w]``."""
    return Conversion(
        lambda array: array.reshape(*array.shape[:2], 1, channels * multiplier).transpose(3, 2, 0, 1),
        lambda array: array.transpose(2, 3, 1, 0).reshape(*array.shape[2:], channels, multiplier),
    )


def dense_after_flatten(shape: Shape) -> Conversion:
    """A ``dense`` kernel whose rows come in channels-last order of ``shape``, for data that is flattened channels first."""
    rows = numpy.moveaxis(numpy.arange(int(numpy.prod(shape))).reshape(shape), -1, 0).reshape(-1)
    back = numpy.argsort(rows)
    return Conversion(lambda array: array[rows].T, lambda array: array.T[back])


def gru(conversion: Conversion) -> Conversion:
    """Gates from update, reset, candidate to PyTorch's reset, update, candidate, along the last canonical axis."""
    return Conversion(
        lambda array: conversion.native(_swap_gates(array)),
        lambda array: _swap_gates(conversion.canonical(array)),
    )


def _swap_gates(array: Array) -> Array:
    first, second, third = numpy.split(array, 3, axis=-1)
    return numpy.concatenate([second, first, third], axis=-1)


def load(bindings: Bindings, arrays: Mapping[str, Array]) -> None:
    """Set parameters by full name. An unknown name is a KeyError, another shape a ValueError."""
    for name, array in arrays.items():
        if name not in bindings:
            raise KeyError(f"the model has no parameter {name}")
        binding = bindings[name]
        expected = binding.conversion.canonical(numpy.empty(tuple(binding.tensor.shape), numpy.bool_)).shape
        if array.shape != expected:
            raise ValueError(f"parameter {name} is {list(expected)}, not {list(array.shape)}")
        native = torch.from_numpy(numpy.ascontiguousarray(binding.conversion.native(array)))
        with torch.no_grad():
            binding.tensor.copy_(native.to(binding.tensor.dtype))


def read(bindings: Bindings) -> dict[str, Array]:
    """All parameters by full name, float64, canonical layout."""
    return {name: binding.conversion.canonical(to_numpy(binding.tensor)) for name, binding in bindings.items()}


def read_gradients(bindings: Bindings, gradients: Mapping[str, Tensor | None]) -> dict[str, Array]:
    """Gradients by the full name of their parameter, as :func:`read` gives parameters; zero where nothing depends on one."""
    found = {}
    for name, gradient in gradients.items():
        binding = bindings[name]
        found[name] = binding.conversion.canonical(to_numpy(torch.zeros_like(binding.tensor) if gradient is None else gradient))
    return found


def to_numpy(tensor: Tensor) -> Array:
    """A tensor of any device as a NumPy array of its own: float64, or the tensor's integers."""
    on_host = tensor.detach().cpu()
    array: Any = (on_host.double() if on_host.is_floating_point() else on_host).numpy()
    return numpy.array(array)
