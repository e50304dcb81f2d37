"""A whole computation: outputs, loss, gradients and running statistics, over the tree of ``contract.Node``.

Derivatives come by the complex step: a value ``x + i h d`` with ``h`` as small as ``1e-30`` goes through the network, and the imaginary
part of the result over ``h`` is the derivative along ``d``. Nothing is subtracted, so nothing cancels, and the result is exact to
float64 rounding without a step to choose. Source: W. Squire and G. Trapp, "Using complex variables to estimate derivatives of real
functions", SIAM Review 40 (1998), 110-112.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy

from frameworks.contract import Computation, Node, join
from frameworks.data import Batch
from frameworks.reference.elementwise import Array
from frameworks.reference.layers import LAYERS, OPERATORS
from frameworks.reference.losses import LOSSES
from frameworks.reference.normalization import running_statistics

_STEP = 1e-30
_MERGES: dict[str, Callable[[Array, Array], Array]] = {"add": numpy.add, "multiply": numpy.multiply}

Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class _Pass:
    """One evaluation: what it reads, and the values that came into each ``batch_norm`` by path."""

    parameters: Arrays
    inputs: Arrays
    training: bool
    tables: Mapping[str, str]
    normalised: dict[str, tuple[Node, Array]] = field(default_factory=dict)


def forward(network: Node, parameters: Arrays, inputs: Arrays, training: bool, *, batched: bool = True) -> Array:
    """The network's output. ``parameters`` by full name, ``inputs`` by name, ``[batch, *shape]`` (``shape`` where not ``batched``).

    Float64, or complex128 when anything given is; integers stay integers where they pass through.
    """
    return _run(network, parameters, inputs, training, batched)[0]


def loss(computation: Computation, parameters: Arrays, batch: Batch, training: bool) -> float:
    """The loss on one batch."""
    return float(_loss(computation, parameters, batch.inputs, batch, training).real)


def outputs(computation: Computation, parameters: Arrays, batch: Batch, training: bool) -> Array:
    """The outputs on one batch."""
    return forward(computation.network, parameters, batch.inputs, training, batched=computation.batch is not None)


def directional_derivative(computation: Computation, parameters: Arrays, batch: Batch, direction: Arrays) -> float:
    """The derivative of the training loss along ``direction``: arrays by full parameter name or ``inputs/NAME``."""
    moved = {name: wide(value) + 1j * _STEP * direction[name] if name in direction else value for name, value in parameters.items()}
    inputs = {
        name: wide(value) + 1j * _STEP * direction[f"inputs/{name}"] if f"inputs/{name}" in direction else value
        for name, value in batch.inputs.items()
    }
    return float(_loss(computation, moved, inputs, batch, True).imag / _STEP)


def gradients(computation: Computation, parameters: Arrays, batch: Batch, *, to_inputs: bool = True) -> dict[str, Array]:
    """Gradients of the training loss to every trainable parameter by full name and, with ``to_inputs``, to the inputs that are not integers
    as ``inputs/NAME``: one directional derivative for each element, so for small computations only."""
    shapes = {name: parameter.shape for name, parameter in computation.network.all_parameters() if parameter.trainable}
    if to_inputs:
        shapes |= {f"inputs/{tensor.name}": batch.inputs[tensor.name].shape for tensor in computation.inputs if not tensor.integer}
    result = {}
    for name, shape in shapes.items():
        result[name] = numpy.empty(shape)
        for index in numpy.ndindex(*shape):
            direction = numpy.zeros(shape)
            direction[index] = 1.0
            result[name][index] = directional_derivative(computation, parameters, batch, {name: direction})
    return result


def statistics(computation: Computation, parameters: Arrays, batch: Batch, *, unbiased: bool) -> dict[str, Array]:
    """The running statistics by full name after one training step on the batch."""
    passed = _run(computation.network, parameters, batch.inputs, True, computation.batch is not None)[1]
    result = {}
    for path, (node, x) in passed.normalised.items():
        own = {parameter.name: wide(parameters[join(path, parameter.name)]) for parameter in node.parameters}
        for name, value in running_statistics(x, node.attributes, own, unbiased=unbiased).items():
            result[join(path, name)] = value
    return result


def wide(value: Array) -> Array:
    """Float64 instead of narrower floats; integers and complex values as they are."""
    return value.astype(numpy.float64) if value.dtype.kind == "f" else value


def _loss(computation: Computation, parameters: Arrays, inputs: Arrays, batch: Batch, training: bool) -> Array:
    if computation.loss is None or batch.target is None:
        raise ValueError("the computation has no loss")
    result = forward(computation.network, parameters, inputs, training, batched=computation.batch is not None)
    return LOSSES[computation.loss](result, wide(batch.target))


def _run(network: Node, parameters: Arrays, inputs: Arrays, training: bool, batched: bool) -> tuple[Array, _Pass]:
    given = {name: wide(value) if batched else wide(value)[None] for name, value in inputs.items()}
    tables: dict[str, str] = {}
    for path, node in network.walk():
        if node.kind == "embedding":
            tables |= {path: path, node.name: path}
    passed = _Pass({name: wide(value) for name, value in parameters.items()}, given, training, tables)
    if network.kind in OPERATORS:
        value = OPERATORS[network.kind](list(given.values()), network.attributes)
    else:
        value = _value(network, network.name, next(iter(given.values())), passed)
    return (value if batched else value[0]), passed


def _value(node: Node, path: str, x: Array, passed: _Pass) -> Array:
    if node.kind == "input":
        return passed.inputs[node.attributes["name"]]
    if node.kind == "sequence":
        for child in node.children:
            x = _value(child, join(path, child.name), x, passed)
        return x
    if node.kind in ("residual", "branches"):
        results = [_value(child, join(path, child.name), x, passed) for child in node.children]
        return _merge("add", [*results, x] if node.kind == "residual" and len(results) == 1 else results, node)
    if node.kind == "batch_norm" and passed.training:
        passed.normalised[path] = (node, x)
    own = {parameter.name: passed.parameters[join(path, parameter.name)] for parameter in node.parameters}
    if node.kind == "unembedding":
        own["table"] = passed.parameters[join(passed.tables[node.attributes["of"]], "table")]
    return LAYERS[node.kind](x, node.attributes, own, passed.training)


def _merge(merge: str, values: list[Array], node: Node) -> Array:
    merge = node.attributes.get("merge", merge)
    if merge == "concat":
        return numpy.concatenate(values, axis=-1)
    total = values[0]
    for value in values[1:]:
        total = _MERGES[merge](total, value)
    return total
