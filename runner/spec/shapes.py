"""What a layer's rule works with: its result, its parameters' start ranges, and the arithmetic of windows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from frameworks.contract import Parameter, Shape
from runner.spec.schema import Settings


class ShapeError(ValueError):
    """A layer cannot take what it is given. ``what`` names the shapes."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


@dataclass(frozen=True)
class Result:
    """What a layer does to one sample: the shape it gives, its parameters, its operations, and attributes that depend on the shape."""

    gives: Shape
    parameters: tuple[Parameter, ...] = ()
    operations: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)


class Layer(Settings):
    """One layer of the language: its attributes, and in :meth:`apply` its shape rule, parameters and operations."""

    kind: ClassVar[str]
    integer_input: ClassVar[bool] = False

    def apply(self, x: Shape) -> Result:
        """What becomes of a value of shape ``x``, per sample. Raises :class:`ShapeError`."""
        raise NotImplementedError


class Operator(Settings):
    """Something that is measured alone, over all of its inputs."""

    kind: ClassVar[str]

    def apply_all(self, inputs: tuple[Shape, ...]) -> Result:
        """What becomes of the inputs, in the order in which they are written. Raises :class:`ShapeError`."""
        raise NotImplementedError


def size(shape: Shape) -> int:
    return math.prod(shape)


def written(shape: Shape) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


# Start ranges, so that a forgotten bias or a swapped scale shows; see workloads/README.md.


def kernel(shape: Shape, fan_in: int, name: str = "kernel") -> Parameter:
    """Uniform with deviation ``1 / sqrt(fan_in)``."""
    return Parameter(name, shape, True, 0.0, math.sqrt(3.0 / fan_in))


def bias(extent: int, name: str = "bias") -> Parameter:
    return Parameter(name, (extent,), True, 0.0, 0.02)


def scale(extent: int) -> Parameter:
    return Parameter("scale", (extent,), True, 1.0, 0.1)


def offset(extent: int) -> Parameter:
    return Parameter("offset", (extent,), True, 0.0, 0.02)


def table(shape: Shape, name: str = "table") -> Parameter:
    return Parameter(name, shape, True, 0.0, 0.035)


def running_statistics(extent: int) -> tuple[Parameter, Parameter]:
    return Parameter("mean", (extent,), False, 0.0, 0.02), Parameter("variance", (extent,), False, 1.0, 0.1)


# What a value must look like.


def channels(x: Shape) -> int:
    """The last extent."""
    if not x:
        raise ShapeError("it wants at least one axis, and is given a single number per sample")
    return x[-1]


def image(x: Shape) -> tuple[int, int, int]:
    if len(x) != 3:
        raise ShapeError(f"it wants [height, width, channels], and is given {written(x)}")
    return x[0], x[1], x[2]


def rows(x: Shape, called: str = "[positions, channels]") -> tuple[int, int]:
    if len(x) != 2:
        raise ShapeError(f"it wants {called}, and is given {written(x)}")
    return x[0], x[1]


# Windows.


def margins(padding: tuple[int, int] | str, window: int, stride: int, dilation: int = 1) -> tuple[int, int]:
    """Padding before and after along one axis, ``same`` resolved."""
    if not isinstance(padding, str):
        return padding
    if stride != 1:
        raise ShapeError(f"`padding: same` exists only at stride 1, here the stride is {stride}", "write the padding as numbers")
    total = dilation * (window - 1)
    return total // 2, total - total // 2


def margins_2d(
    padding: tuple[tuple[int, int], tuple[int, int]] | str,
    window: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int] = (1, 1),
) -> tuple[tuple[int, int], tuple[int, int]]:
    sides = (padding, padding) if isinstance(padding, str) else padding
    return margins(sides[0], window[0], stride[0], dilation[0]), margins(sides[1], window[1], stride[1], dilation[1])


def windows(extent: int, window: int, stride: int, padding: tuple[int, int], dilation: int = 1) -> int:
    """How many windows fit along one axis."""
    room = extent + sum(padding) - dilation * (window - 1) - 1
    if room < 0:
        reach = dilation * (window - 1) + 1
        raise ShapeError(f"its window of {reach} does not fit into an extent of {extent} with padding {written(padding)}")
    return room // stride + 1


def grouped(extent: int, groups: int, called: str) -> int:
    """The channels of one group."""
    if extent % groups:
        raise ShapeError(f"its {groups} groups do not divide {extent} {called}")
    return extent // groups
