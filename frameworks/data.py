"""Weights and batches from a frozen random stream, so that every framework starts equal.

``numpy.random.RandomState`` is frozen by NumPy's compatibility policy (NEP 19): the same seed gives the same numbers in every
version. Each array draws from a stream of its own, seeded by its name, so adding a layer changes no other layer's weights.
All values are float32 numbers, whatever precision a cell then casts them to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy

from frameworks.contract import Computation, Tensor


@dataclass(frozen=True)
class Batch:
    """Inputs by name and the target of one step: float32, or int32 where the tensor is of integers."""

    inputs: Mapping[str, numpy.ndarray]
    target: numpy.ndarray | None


def parameter_values(computation: Computation, seed: int = 0) -> dict[str, numpy.ndarray]:
    """The start values of every parameter by full name, float32, canonical layout."""
    values = {}
    for name, parameter in computation.network.all_parameters():
        draw = _stream(seed, "parameter", name).random_sample(parameter.shape)
        values[name] = (parameter.centre + parameter.scale * (2.0 * draw - 1.0)).astype(numpy.float32)
    return values


def batches(computation: Computation, count: int, seed: int = 0) -> list[Batch]:
    """``count`` distinct batches; a tensor's shape is ``[batch, *shape]``, or ``shape`` where there is no batch."""
    return [_batch(computation, index, seed) for index in range(count)]


def _batch(computation: Computation, index: int, seed: int) -> Batch:
    inputs: dict[str, numpy.ndarray] = {}
    for tensor in computation.inputs:
        inputs[tensor.name] = _fill(tensor, computation.batch, index, seed, inputs)
    target = computation.target
    return Batch(inputs, None if target is None else _fill(target, computation.batch, index, seed, inputs))


def _fill(tensor: Tensor, batch: int | None, index: int, seed: int, inputs: Mapping[str, numpy.ndarray]) -> numpy.ndarray:
    shape = tensor.shape if batch is None else (batch, *tensor.shape)
    stream = _stream(seed, f"batch {index}", tensor.name)
    if tensor.fill == "integers":
        return stream.randint(0, tensor.below, shape).astype(numpy.int32)
    if tensor.fill == "normal":
        values = stream.standard_normal(shape)
    elif tensor.fill == "uniform":
        values = tensor.low + (tensor.high - tensor.low) * stream.random_sample(shape)
    elif tensor.fill == "linspace":
        values = numpy.linspace(tensor.low, tensor.high, int(numpy.prod(shape, dtype=numpy.int64))).reshape(shape)
    elif tensor.fill == "sin":
        values = numpy.sin(inputs[tensor.of].astype(numpy.float64)).reshape(shape)
    else:
        raise ValueError(f"unknown fill {tensor.fill!r}")
    return numpy.asarray(values, dtype=numpy.float32)


def _stream(seed: int, *names: str) -> numpy.random.RandomState:
    digest = hashlib.sha256("/".join([str(seed), *names]).encode()).digest()
    return numpy.random.RandomState(int.from_bytes(digest[:4], "little"))
