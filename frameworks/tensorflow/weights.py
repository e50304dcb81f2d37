"""Parameters between the canonical layout and Keras' own.

Keras keeps channels last and TensorFlow's kernels are canonical as they are. What differs is shape alone: heads are axes of their own in
attention, and the two biases of a GRU are rows of one array.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
import tensorflow as tf

from frameworks.contract import Shape
from frameworks.tensorflow.device import native


@dataclass(frozen=True)
class Weight:
    """Where one parameter lives: a variable, or one row of it."""

    name: str
    shape: Shape
    trainable: bool
    variable: Any
    row: int | None = None

    def canonical(self, array: numpy.ndarray) -> numpy.ndarray:
        """The variable's array, or that of its gradient, as float64 in the canonical layout."""
        return numpy.asarray(array if self.row is None else array[self.row], dtype=numpy.float64).reshape(self.shape)


def load(weights: Iterable[Weight], arrays: Mapping[str, numpy.ndarray]) -> None:
    """Set parameters by full name. An unknown name is a KeyError, another shape a ValueError; nothing is set then."""
    by_name = {weight.name: weight for weight in weights}
    for name, array in arrays.items():
        if name not in by_name:
            raise KeyError(f"the model has no parameter {name}")
        if tuple(array.shape) != by_name[name].shape:
            raise ValueError(f"parameter {name} is {list(by_name[name].shape)}, not {list(array.shape)}")
    for name, array in arrays.items():
        _assign(by_name[name], array)


def _assign(weight: Weight, array: numpy.ndarray) -> None:
    variable = native(weight.variable)
    if weight.row is None:
        value = numpy.asarray(array).reshape(variable.shape)
    else:
        value = variable.numpy().astype(numpy.float64)
        value[weight.row] = array
    variable.assign(value.astype(variable.dtype.as_numpy_dtype))


def read(weights: Iterable[Weight]) -> dict[str, numpy.ndarray]:
    """All parameters by full name, float64."""
    return {weight.name: weight.canonical(native(weight.variable).numpy()) for weight in weights}


def read_gradients(weights: Iterable[Weight], variables: list[Any], gradients: list[Any]) -> dict[str, numpy.ndarray]:
    """Gradients by full name from those to ``variables``, float64."""
    place = {id(variable): index for index, variable in enumerate(variables)}
    return {
        weight.name: weight.canonical(tf.convert_to_tensor(gradients[place[id(weight.variable)]]).numpy())
        for weight in weights
        if weight.trainable
    }
