"""Every layer that works position by position or on windows, and what reshapes: attributes, shape rule, parameters and operations together.

The order is that of ``workloads/README.md``, which says what each computes; those over sequences are in :mod:`runner.spec.sequence_layers`.
"""

from __future__ import annotations

from typing import ClassVar

from frameworks.contract import Parameter, Shape
from runner.spec.schema import listed
from runner.spec.shapes import (
    Layer,
    Result,
    ShapeError,
    bias,
    channels,
    grouped,
    image,
    kernel,
    margins,
    margins_2d,
    offset,
    running_statistics,
    scale,
    size,
    windows,
    written,
)
from runner.spec.values import (
    CountPair,
    Extent,
    Flag,
    Fraction,
    GeluForm,
    NewShape,
    Padding1d,
    Padding2d,
    Pair,
    Positive,
    Real,
    Share,
    UpsampleMethod,
)

_SAY_IT = "say it here, or once for the file under `defaults:`"


class Conv1d(Layer):
    kind = "conv1d"

    filters: Extent
    kernel: Extent
    stride: Extent = 1
    padding: Padding1d = (0, 0)
    dilation: Extent = 1
    groups: Extent = 1
    bias: Flag = True

    def apply(self, x: Shape) -> Result:
        if len(x) != 2:
            raise ShapeError(f"it wants [length, channels], and is given {written(x)}")
        n, c = x
        inner = grouped(c, self.groups, "input channels")
        grouped(self.filters, self.groups, "filters")
        padding = margins(self.padding, self.kernel, self.stride, self.dilation)
        length = windows(n, self.kernel, self.stride, padding, self.dilation)
        fan_in = self.kernel * inner
        arrays = (kernel((self.kernel, inner, self.filters), fan_in),) + ((bias(self.filters),) if self.bias else ())
        return Result((length, self.filters), arrays, 2 * length * fan_in * self.filters, {"padding": listed(padding)})


class Conv2d(Layer):
    kind = "conv2d"

    filters: Extent
    kernel: Pair
    stride: Pair = (1, 1)
    padding: Padding2d = ((0, 0), (0, 0))
    dilation: Pair = (1, 1)
    groups: Extent = 1
    bias: Flag = True

    def apply(self, x: Shape) -> Result:
        h, w, c = image(x)
        inner = grouped(c, self.groups, "input channels")
        grouped(self.filters, self.groups, "filters")
        (kh, kw), (sh, sw), (dh, dw) = self.kernel, self.stride, self.dilation
        padding = margins_2d(self.padding, self.kernel, self.stride, self.dilation)
        height, width = windows(h, kh, sh, padding[0], dh), windows(w, kw, sw, padding[1], dw)
        fan_in = kh * kw * inner
        arrays = (kernel((kh, kw, inner, self.filters), fan_in),) + ((bias(self.filters),) if self.bias else ())
        return Result((height, width, self.filters), arrays, 2 * height * width * fan_in * self.filters, {"padding": listed(padding)})


class DepthwiseConv2d(Layer):
    kind = "depthwise_conv2d"

    kernel: Pair
    stride: Pair = (1, 1)
    padding: Padding2d = ((0, 0), (0, 0))
    dilation: Pair = (1, 1)
    multiplier: Extent = 1
    bias: Flag = True

    def apply(self, x: Shape) -> Result:
        h, w, c = image(x)
        (kh, kw), (sh, sw), (dh, dw) = self.kernel, self.stride, self.dilation
        padding = margins_2d(self.padding, self.kernel, self.stride, self.dilation)
        height, width = windows(h, kh, sh, padding[0], dh), windows(w, kw, sw, padding[1], dw)
        outputs = c * self.multiplier
        arrays = (kernel((kh, kw, c, self.multiplier), kh * kw),) + ((bias(outputs),) if self.bias else ())
        return Result((height, width, outputs), arrays, 2 * height * width * kh * kw * outputs, {"padding": listed(padding)})


class Conv2dTranspose(Layer):
    kind = "conv2d_transpose"

    filters: Extent
    kernel: Pair
    stride: Pair = (1, 1)
    padding: Padding2d = ((0, 0), (0, 0))
    output_padding: CountPair = (0, 0)
    bias: Flag = True

    def apply(self, x: Shape) -> Result:
        h, w, c = image(x)
        kh, kw = self.kernel
        padding = margins_2d(self.padding, self.kernel, self.stride)
        extents = []
        for extent, window, stride, sides, extra in zip((h, w), self.kernel, self.stride, padding, self.output_padding, strict=True):
            if extra >= stride:
                raise ShapeError(f"its output_padding {extra} must be less than its stride {stride}")
            extents.append((extent - 1) * stride - sum(sides) + window + extra)
            if extents[-1] < 1:
                raise ShapeError(f"its padding {written(sides)} leaves nothing of an extent of {extent}")
        fan_in = kh * kw * c
        arrays = (kernel((kh, kw, self.filters, c), fan_in),) + ((bias(self.filters),) if self.bias else ())
        return Result((extents[0], extents[1], self.filters), arrays, 2 * h * w * fan_in * self.filters, {"padding": listed(padding)})


class Dense(Layer):
    kind = "dense"

    units: Extent
    bias: Flag = True

    def apply(self, x: Shape) -> Result:
        c = channels(x)
        arrays = (kernel((c, self.units), c),) + ((bias(self.units),) if self.bias else ())
        return Result((*x[:-1], self.units), arrays, 2 * size(x) * self.units)


class BatchNorm(Layer):
    kind = "batch_norm"
    hints: ClassVar[dict[str, str]] = {
        "eps": _SAY_IT,
        "keep": f"it is the weight of the old running value, 1 - momentum in some frameworks; {_SAY_IT}",
    }

    eps: Positive
    keep: Share

    def apply(self, x: Shape) -> Result:
        c = channels(x)
        return Result(x, (scale(c), offset(c), *running_statistics(c)))


class LayerNorm(Layer):
    kind = "layer_norm"
    hints: ClassVar[dict[str, str]] = {"eps": _SAY_IT}

    eps: Positive

    def apply(self, x: Shape) -> Result:
        return Result(x, (scale(channels(x)), offset(channels(x))))


class RmsNorm(Layer):
    kind = "rms_norm"
    hints: ClassVar[dict[str, str]] = {"eps": _SAY_IT}

    eps: Positive

    def apply(self, x: Shape) -> Result:
        return Result(x, (scale(channels(x)),))


class GroupNorm(Layer):
    kind = "group_norm"
    hints: ClassVar[dict[str, str]] = {"eps": _SAY_IT}

    groups: Extent
    eps: Positive

    def apply(self, x: Shape) -> Result:
        c = channels(x)
        grouped(c, self.groups, "channels")
        return Result(x, (scale(c), offset(c)))


class _Elementwise(Layer):
    """A layer without parameters that keeps the shape."""

    def apply(self, x: Shape) -> Result:
        return Result(x)


class Relu(_Elementwise):
    kind = "relu"


class Relu6(_Elementwise):
    kind = "relu6"


class Sigmoid(_Elementwise):
    kind = "sigmoid"


class Tanh(_Elementwise):
    kind = "tanh"


class LeakyRelu(_Elementwise):
    kind = "leaky_relu"
    hints: ClassVar[dict[str, str]] = {"slope": _SAY_IT}

    slope: Real


class Gelu(_Elementwise):
    kind = "gelu"
    hints: ClassVar[dict[str, str]] = {"form": f"`erf` is the exact one, `tanh` the approximation; {_SAY_IT}"}

    form: GeluForm


class Silu(_Elementwise):
    kind = "silu"


class HardSwish(_Elementwise):
    kind = "hard_swish"


class Softmax(Layer):
    kind = "softmax"

    def apply(self, x: Shape) -> Result:
        channels(x)
        return Result(x)


class _Pool2d(Layer):
    size: Pair
    stride: Pair | None = None
    padding: Padding2d = ((0, 0), (0, 0))

    def apply(self, x: Shape) -> Result:
        h, w, c = image(x)
        (sh, sw), stride = self.size, self.stride or self.size
        padding = margins_2d(self.padding, self.size, stride)
        for window, sides in zip(self.size, padding, strict=True):
            if max(sides) >= window:
                raise ShapeError(f"its padding {written(sides)} must be less than its size {window}, or a window would see padding alone")
        height, width = windows(h, sh, stride[0], padding[0]), windows(w, sw, stride[1], padding[1])
        return Result((height, width, c), attributes={"stride": listed(stride), "padding": listed(padding)})


class MaxPool2d(_Pool2d):
    kind = "max_pool2d"


class AvgPool2d(_Pool2d):
    kind = "avg_pool2d"

    count_padding: Flag | None = None

    def apply(self, x: Shape) -> Result:
        pooled = super().apply(x)
        padded = any(side for sides in pooled.attributes["padding"] for side in sides)
        if padded and self.count_padding is None:
            raise ShapeError("with padding, its divisor must be said", "write `count_padding: true` (the whole window) or `false`")
        return Result(pooled.gives, attributes={**pooled.attributes, "count_padding": bool(self.count_padding)})


class GlobalAvgPool2d(Layer):
    kind = "global_avg_pool2d"

    def apply(self, x: Shape) -> Result:
        return Result((image(x)[2],))


class Upsample2d(Layer):
    kind = "upsample2d"
    hints: ClassVar[dict[str, str]] = {"method": "write `nearest` or `bilinear`"}

    factor: Extent
    method: UpsampleMethod

    def apply(self, x: Shape) -> Result:
        h, w, c = image(x)
        return Result((h * self.factor, w * self.factor, c))


class Dropout(_Elementwise):
    kind = "dropout"

    rate: Fraction


class Flatten(Layer):
    kind = "flatten"

    def apply(self, x: Shape) -> Result:
        return Result((size(x),))


class Reshape(Layer):
    kind = "reshape"

    shape: NewShape

    def apply(self, x: Shape) -> Result:
        wanted = self.shape
        if 0 in wanted or wanted.count(-1) > 1:
            raise ShapeError(f"{written(wanted)} may hold one -1 and no 0")
        if -1 in wanted:
            known = -size(wanted)
            if size(x) % known:
                raise ShapeError(f"{written(x)} has {size(x):,} elements, which {written(wanted)} cannot hold")
            wanted = tuple(size(x) // known if extent == -1 else extent for extent in wanted)
        if size(wanted) != size(x):
            raise ShapeError(f"{written(x)} has {size(x):,} elements, {written(wanted)} has {size(wanted):,}")
        return Result(wanted, attributes={"shape": listed(wanted)})


class Polynomial(Layer):
    kind = "polynomial"

    degree: Extent

    def apply(self, x: Shape) -> Result:
        return Result(x, (Parameter("coefficients", (self.degree + 1,), True, 0.0, 1.0),), 2 * self.degree * size(x))


LAYERS: tuple[type[Layer], ...] = (
    Conv1d,
    Conv2d,
    DepthwiseConv2d,
    Conv2dTranspose,
    Dense,
    BatchNorm,
    LayerNorm,
    RmsNorm,
    GroupNorm,
    Relu,
    Relu6,
    Sigmoid,
    Tanh,
    LeakyRelu,
    Gelu,
    Silu,
    HardSwish,
    Softmax,
    MaxPool2d,
    AvgPool2d,
    GlobalAvgPool2d,
    Upsample2d,
    Dropout,
    Flatten,
    Reshape,
    Polynomial,
)
