"""Operators that are measured alone, and the table of everything that a file can name as a layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from frameworks.contract import Shape
from runner.spec.layers import LAYERS
from runner.spec.sequence_layers import SEQUENCE_LAYERS
from runner.spec.shapes import Layer, Operator, Result, ShapeError, size, written
from runner.spec.values import Axes, Index


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


class DotProductAttention(Operator):
    kind = "dot_product_attention"

    def apply_all(self, inputs: tuple[Shape, ...]) -> Result:
        if len(inputs) != 3:
            raise ShapeError(f"it wants three inputs, queries, keys and values, and is given {len(inputs)}")
        q, k, v = inputs
        said = f"is given {written(q)}, {written(k)} and {written(v)}"
        if len(q) < 2 or len(k) != len(q) or len(v) != len(q) or k[:-2] != q[:-2] or v[:-2] != q[:-2]:
            raise ShapeError(f"it wants queries, keys and values with the same leading extents, and {said}")
        if k[-1] != q[-1] or v[-2] != k[-2]:
            raise ShapeError(f"it wants [..., n, d], [..., m, d] and [..., m, e], and {said}")
        gives = (*q[:-1], v[-1])
        return Result(gives, operations=2 * size(q) * k[-2] + 2 * size(gives) * k[-2])


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


class _AlongOneAxis(Operator):
    """An operator with one ``axis``, counted without the batch; negative ones from the end."""

    hints: ClassVar[dict[str, str]] = {"axis": "the axis along which it works, counted from 0 without the batch"}

    axis: Index

    def along(self, rank: int) -> int:
        """The axis counted from 0. Raises :class:`ShapeError` where a value of ``rank`` axes has none such."""
        if not -rank <= self.axis < rank:
            raise ShapeError(f"its axis {self.axis} is not one of the {rank} of its input", "axes count from 0, without the batch")
        return self.axis % rank


class Argmax(_AlongOneAxis):
    kind = "argmax"

    def apply_all(self, inputs: tuple[Shape, ...]) -> Result:
        x = _only(inputs)
        axis = self.along(len(x))
        return Result((*x[:axis], *x[axis + 1 :]), attributes={"axis": axis})


class Sort(_AlongOneAxis):
    kind = "sort"

    def apply_all(self, inputs: tuple[Shape, ...]) -> Result:
        x = _only(inputs)
        return Result(x, attributes={"axis": self.along(len(x))})


class Concat(_AlongOneAxis):
    kind = "concat"

    def apply_all(self, inputs: tuple[Shape, ...]) -> Result:
        if len(inputs) < 2:
            raise ShapeError(f"it wants at least two inputs, and is given {len(inputs)}")
        first, *others = inputs
        axis = self.along(len(first))
        if any(len(x) != len(first) or (x[:axis], x[axis + 1 :]) != (first[:axis], first[axis + 1 :]) for x in others):
            raise ShapeError(f"it joins shapes that differ in nothing but axis {axis}, and is given {' and '.join(map(written, inputs))}")
        return Result((*first[:axis], sum(x[axis] for x in inputs), *first[axis + 1 :]), attributes={"axis": axis})


def _only(inputs: tuple[Shape, ...]) -> Shape:
    if len(inputs) != 1:
        raise ShapeError(f"it wants one input, and is given {len(inputs)}")
    return inputs[0]


LAYER_KINDS: Mapping[str, type[Layer]] = {layer.kind: layer for layer in (*LAYERS, *SEQUENCE_LAYERS)}
OPERATORS: tuple[type[Operator], ...] = (Matmul, DotProductAttention, Copy, ReduceSum, Argmax, Sort, Concat)
OPERATOR_KINDS: Mapping[str, type[Operator]] = {operator.kind: operator for operator in OPERATORS}
STRUCTURES = ("repeat", "residual", "branches", "input")
