"""Builders of the layers that move a window over an image, where padding is what TensorFlow and the workload language say differently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
import tensorflow as tf

from frameworks.contract import Unsupported
from frameworks.tensorflow import device, modules
from frameworks.tensorflow.place import Place

layers = tf.keras.layers


def conv1d(at: Place, x: Any) -> Any:
    before, after = at["padding"]
    x, padding = _pad_1d(at, x, before, after)
    layer = layers.Conv1D(
        at["filters"],
        at["kernel"],
        strides=at["stride"],
        padding=padding,
        dilation_rate=at["dilation"],
        groups=at["groups"],
        use_bias=at["bias"],
        name=at.name,
    )
    return _convolve(at, layer, x)


def conv2d(at: Place, x: Any) -> Any:
    x, padding = _pad_2d(at, x, at["kernel"], at["dilation"])
    layer = layers.Conv2D(
        at["filters"],
        at["kernel"],
        strides=at["stride"],
        padding=padding,
        dilation_rate=at["dilation"],
        groups=at["groups"],
        use_bias=at["bias"],
        name=at.name,
    )
    return _convolve(at, layer, x)


def depthwise_conv2d(at: Place, x: Any) -> Any:
    if at["stride"][0] != at["stride"][1]:
        raise Unsupported(f"{at.path}: TensorFlow's depthwise convolution needs the same stride in both directions")
    x, padding = _pad_2d(at, x, at["kernel"], at["dilation"])
    layer = layers.DepthwiseConv2D(
        at["kernel"],
        strides=at["stride"],
        padding=padding,
        depth_multiplier=at["multiplier"],
        dilation_rate=at["dilation"],
        use_bias=at["bias"],
        name=at.name,
    )
    return _convolve(at, layer, x)


def conv2d_transpose(at: Place, x: Any) -> Any:
    kernel, stride, sides, extra = at["kernel"], at["stride"], at["padding"], at["output_padding"]
    if at.node.gives[:2] == tuple(n * s for n, s in zip(at.node.takes[0][:2], stride, strict=True)) and all(
        before == max(k - s, 0) // 2 for k, s, (before, _) in zip(kernel, stride, sides, strict=True)
    ):
        layer = layers.Conv2DTranspose(at["filters"], kernel, strides=stride, padding="same", use_bias=at["bias"], name=at.name)
        return _convolve(at, layer, x)
    grown = [max(e - after, 0) for e, (_, after) in zip(extra, sides, strict=True)]
    layer = layers.Conv2DTranspose(
        at["filters"], kernel, strides=stride, padding="valid", output_padding=grown, use_bias=at["bias"], name=at.name
    )
    cut = [(before, max(after - e, 0)) for e, (before, after) in zip(extra, sides, strict=True)]
    return _unless_zero(layers.Cropping2D, cut, _convolve(at, layer, x))


def max_pool2d(at: Place, x: Any) -> Any:
    x, padding = _pad_2d(at, x, at["size"], pad=modules.ConstantPadding)
    return layers.MaxPooling2D(at["size"], at["stride"], padding, name=at.name)(x)


def avg_pool2d(at: Place, x: Any) -> Any:
    size, stride, sides, extents = at["size"], at["stride"], at["padding"], x.shape[1:3]
    if not numpy.any(sides) or (not at["count_padding"] and _is_same(at, x, size)):
        return layers.AveragePooling2D(size, stride, "same" if numpy.any(sides) else "valid", name=at.name)(x)
    y = layers.AveragePooling2D(size, stride, "valid", name=at.name)(layers.ZeroPadding2D([list(side) for side in sides])(x))
    if at["count_padding"]:
        return y
    cells = []  # inside the image, of each window in one direction
    for n, k, s, (before, _), outputs in zip(extents, size, stride, sides, at.node.gives[:2], strict=True):
        starts = numpy.arange(outputs) * s - before
        cells.append(numpy.minimum(starts + k, n) - numpy.maximum(starts, 0))
    return modules.AverageInside(size[0] * size[1] / numpy.outer(*cells))(y)


def upsample2d(at: Place, x: Any) -> Any:
    if at["method"] == "bilinear" and tf.as_dtype(x.dtype) == tf.float64:
        raise Unsupported(f"{at.path}: TensorFlow interpolates in float32, whatever it is given", "use --precision float32")
    layer = layers.UpSampling2D(at["factor"], interpolation=at["method"], name=at.name)
    y = layer(x)
    if at.model.execution == "xla":
        _try_values(at, layer, x)
    return y


def _try_values(at: Place, layer: Any, x: Any) -> None:
    """XLA of some versions interpolates wrongly, and silently, at some sizes: hold this one against the layer as it is."""
    sample = tf.cast(tf.random.stateless_uniform((1, *x.shape[1:3], 1), (0, 0)), x.dtype)
    difference = device.compiled(layer, "xla")(sample) - layer(sample)
    if float(tf.reduce_max(tf.abs(difference))) > 0.1:
        raise Unsupported(f"{at.path}: XLA of TensorFlow {tf.__version__} resizes this shape wrongly", "use --execution graph")


def _convolve(at: Place, layer: Any, x: Any) -> Any:
    attributes = at.node.attributes
    if _any_above_one(attributes.get("dilation", 1)) and _any_above_one(attributes["stride"]):
        raise Unsupported(f"{at.path}: Keras has no convolution with both stride and dilation above 1")
    y = layer(x)
    if attributes.get("groups", 1) > 1:
        _try_gradient(at, layer, x)
    at.holds(kernel=layer.weights[0], bias=layer.bias)
    return y


def _any_above_one(value: int | Sequence[int]) -> bool:
    return max([value] if isinstance(value, int) else value) > 1


def _try_gradient(at: Place, layer: Any, x: Any) -> None:
    """Grouped convolutions have no CPU kernel in some versions, which shows only when one runs: try this one on a single sample."""

    def attempt(sample: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(sample)
            total = tf.reduce_sum(layer(sample))
        return tape.gradient(total, [sample, device.native(layer.weights[0])])

    try:
        device.compiled(attempt, at.model.execution)(tf.zeros((1, *x.shape[1:]), x.dtype))
    except (tf.errors.OpError, NotImplementedError) as error:
        raise Unsupported(
            f"{at.path}: TensorFlow {tf.__version__} has no convolution with {at['groups']} groups here: {device.first_line(error)}",
            "use --execution xla, or a GPU",
        ) from error


def _pad_1d(at: Place, x: Any, before: int, after: int) -> tuple[Any, str]:
    if not before and not after:
        return x, "valid"
    if [before, after] == _same(x.shape[1], at["kernel"], at["stride"], at["dilation"]):
        return x, "same"
    return layers.ZeroPadding1D((before, after))(x), "valid"


def _pad_2d(at: Place, x: Any, size: Sequence[int], dilation: Sequence[int] = (1, 1), pad: Any = layers.ZeroPadding2D) -> tuple[Any, str]:
    """The input and the word that give the node's padding: Keras' own words where they mean the same, otherwise a layer that pads."""
    sides = at["padding"]
    if not numpy.any(sides):
        return x, "valid"
    if _is_same(at, x, size, dilation):
        return x, "same"
    return pad([list(side) for side in sides])(x), "valid"


def _is_same(at: Place, x: Any, size: Sequence[int], dilation: Sequence[int] = (1, 1)) -> bool:
    same = [_same(n, k, s, d) for n, k, s, d in zip(x.shape[1:3], size, at["stride"], dilation, strict=True)]
    return [list(side) for side in at["padding"]] == same


def _same(extent: int, size: int, stride: int, dilation: int) -> list[int]:
    """What TensorFlow's SAME pads before and after."""
    total = max((-(-extent // stride) - 1) * stride + dilation * (size - 1) + 1 - extent, 0)
    return [total // 2, total - total // 2]


def _unless_zero(layer: Any, sides: Any, x: Any) -> Any:
    return layer(sides)(x) if numpy.any(sides) else x
