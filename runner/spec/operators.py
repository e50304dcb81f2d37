"""Operators that are measured alone, and the table of everything that a file can name as a layer."""

from __future__ import annotations

from collections.abc import Mapping

from frameworks.contract import Shape
from runner.spec.layers import LAYERS
from runner.spec.sequence_layers import SEQUENCE_LAYERS
from runner.spec.shapes import Layer, Operator, Result, ShapeError, size, written
from runner.spec.values import Axes


class Matmul(Operator):
    kind = "matmul"

    def apply_all(self, inputs: tuple[Shape, ...]) -> Result:
        if len(inputs) != 2:
            raise ShapeError(f"it wants two inputs, and is given {len(inputs)}")
        a, b = inputs
        if len(a) < 2 or len(a) != len(b) or a[:-2] != b[:-2] or a[-1] != b[-2]:
            raise ShapeError(f"it wants [..., m, k] and [..., k, n], and is given {written(a)} and {written(b)}")
        gives = (*a[:-1], b[-1])
        return Result(gives, operations=2 * size(gives) * a[-1])


class Copy(Operator):
    kind = "copy"

    def apply_all(self, inputs: tuple[Shape, ...]) -> Result:
        return Result(_only(inputs))


class ReduceSum(Operator):
    kind = "reduce_sum"

    axes: Axes = None

    def apply_all(self, inputs: tuple[Shape, ...]) -> Result:
        x = _only(inputs)
        axes = tuple(range(len(x))) if self.axes is None else self.axes
        if any(not -len(x) <= axis < len(x) for axis in axes):
            raise ShapeError(f"its axes {written(axes)} are not all in {written(x)}", "axes count from 0, without the batch")
        counted = sorted({axis % len(x) for axis in axes}) if x else []
        if len(counted) != len(axes):
            raise ShapeError(f"its axes {written(axes)} name one axis of {written(x)} twice")
        gives = tuple(extent for axis, extent in enumerate(x) if axis not in counted)
        return Result(gives, operations=size(x) - size(gives), attributes={"axes": counted})


def _only(inputs: tuple[Shape, ...]) -> Shape:
    if len(inputs) != 1:
        raise ShapeError(f"it wants one input, and is given {len(inputs)}")
    return inputs[0]


LAYER_KINDS: Mapping[str, type[Layer]] = {layer.kind: layer for layer in (*LAYERS, *SEQUENCE_LAYERS)}
OPERATOR_KINDS: Mapping[str, type[Operator]] = {operator.kind: operator for operator in (Matmul, Copy, ReduceSum)}
STRUCTURES = ("repeat", "residual", "branches", "input")
