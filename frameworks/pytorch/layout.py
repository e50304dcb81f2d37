"""Channels first: how a value of the language, whose shapes are channels last, is kept in PyTorch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy
from torch import nn

from frameworks.contract import Node, Shape
from frameworks.pytorch import modules


@dataclass(frozen=True)
class Layout:
    """Where a value keeps its channels, apart from the batch, which is always first.

    ``first`` says that the channels' axis comes before the others. ``flattened`` is the channels-last shape that a value had before
    its axes were joined in channels-first order; the next ``dense`` undoes that in the rows of its kernel.
    """

    first: bool = False
    flattened: Shape | None = None


LAST = Layout()
FIRST = Layout(first=True)

WANTED = {
    **dict.fromkeys(("conv1d", "conv2d", "depthwise_conv2d", "conv2d_transpose", "batch_norm", "group_norm"), FIRST),
    **dict.fromkeys(("max_pool2d", "avg_pool2d", "global_avg_pool2d", "upsample2d"), FIRST),
    **dict.fromkeys(("dense", "embedding", "position_embedding", "class_token", "layer_norm", "rms_norm", "attention"), LAST),
    **dict.fromkeys(("unembedding", "lstm", "gru", "matmul", "dot_product_attention", "copy", "reduce_sum"), LAST),
    **dict.fromkeys(("argmax", "sort", "concat"), LAST),
}
"""The layout that PyTorch's own class for a layer takes. What is not named here takes any."""

CARRIES_FLATTENED = (
    *("sequence", "input", "flatten", "dropout", "dense"),
    *("relu", "relu6", "leaky_relu", "gelu", "silu", "sigmoid", "tanh", "hard_swish", "polynomial"),
)
"""What can be given a value in flattened channels-first order: element-wise layers pass it on, ``dense`` and ``input`` end it."""


def input_layouts(network: Node, names: tuple[str, ...]) -> dict[str, Layout]:
    """The layout of each input: the one that the first layer behind it wants, so that batches are put into it once, before any step."""
    chosen: dict[str, Layout] = {}
    current = names[0]
    for _, node in network.walk():
        if node.kind == "input":
            current = node.attributes["name"]
        elif current not in chosen and not node.children:
            if node.kind in WANTED:
                chosen[current] = WANTED[node.kind]
            elif node.takes and node.takes[0] != node.gives:
                chosen[current] = LAST
    return {name: chosen.get(name, LAST) for name in names}


def conversion(shape: Shape, given: Layout, wanted: Layout) -> list[nn.Module]:
    """The modules that bring a value of this channels-last shape from one layout to another; none where they are the same."""
    if given.flattened is not None:
        *leading, channels = given.flattened
        return [nn.Unflatten(1, (channels, *leading)), modules.Permute(0, *_last(len(leading) + 1)), nn.Flatten()]
    if given == wanted or len(shape) < 2:
        return []
    return [modules.Permute(0, *(_first(len(shape)) if wanted.first else _last(len(shape))))]


def to_layout(array: numpy.ndarray, layout: Layout) -> numpy.ndarray:
    """A channels-last array with its batch as it is kept.

    It is a fresh copy: a transposed view whose channels are one counts as contiguous already, but with strides by which PyTorch would take
    it for channels last and run the whole network in that memory format.
    """
    if layout.flattened is not None:
        return to_layout(array.reshape(len(array), *layout.flattened), FIRST).reshape(len(array), -1)
    if not layout.first or array.ndim < 3:
        return array
    return numpy.array(array.transpose(0, *_first(array.ndim - 1)), order="C")


def from_layout(array: numpy.ndarray, layout: Layout) -> numpy.ndarray:
    """The inverse of :func:`to_layout`."""
    if layout.flattened is not None:
        *leading, channels = layout.flattened
        return from_layout(array.reshape(len(array), channels, *leading), FIRST).reshape(len(array), -1)
    if not layout.first or array.ndim < 3:
        return array
    return numpy.ascontiguousarray(array.transpose(0, *_last(array.ndim - 1)))


def _first(rank: int) -> tuple[int, ...]:
    """Axes of ``rank`` after the batch, the last one moved to the front."""
    return (rank, *range(1, rank))


def _last(rank: int) -> tuple[int, ...]:
    """Axes of ``rank`` after the batch, the first one moved to the end."""
    return (*range(2, rank + 1), 1)
