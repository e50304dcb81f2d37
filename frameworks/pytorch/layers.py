"""The tree of a workload as the modules that a person would have written: ``Sequential`` in ``Sequential``, PyTorch's own classes,
channels first."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from frameworks.contract import Computation, Node, join
from frameworks.pytorch import modules, weights
from frameworks.pytorch.layout import CARRIES_FLATTENED, FIRST, LAST, WANTED, Layout, conversion, input_layouts
from frameworks.pytorch.weights import Binding, Conversion


@dataclass(frozen=True)
class Model:
    """A module with what is known about it: parameters by full name, layouts of its inputs (by name) and of its output."""

    module: nn.Module
    bindings: Mapping[str, Binding]
    inputs: Mapping[str, Layout]
    output: Layout


@dataclass(frozen=True)
class Building:
    """What is passed along while a tree is built. ``layout`` and ``path`` are those of the layer at hand."""

    inputs: Mapping[str, Layout]
    dropout: bool
    grouped_attention: bool
    layout: Layout = LAST
    path: str = ""
    bindings: dict[str, Binding] = field(default_factory=dict)
    embeddings: dict[str, nn.Embedding] = field(default_factory=dict)

    def at(self, path: str, layout: Layout) -> Building:
        """The same for another layer."""
        return dataclasses.replace(self, layout=layout, path=path)

    def bind(self, name: str, module: nn.Module, attribute: str, conversion: Conversion = weights.AS_IT_IS) -> None:
        """Say where a parameter of the layer at hand is kept."""
        self.bindings[join(self.path, name)] = Binding(module, attribute, conversion)


Built = tuple[nn.Module, Layout]


def build(computation: Computation, *, dropout: bool, grouped_attention: bool) -> Model:
    """The model of a computation, on the CPU in float32. Inputs go to it in their order, with a batch as the first axis."""
    network = computation.network
    names = tuple(tensor.name for tensor in computation.inputs)
    building = Building(input_layouts(network, names), dropout, grouped_attention)
    module, layout = _node(network, building.at("", building.inputs[names[0]]))
    if isinstance(module, modules.TakesInputs):
        module = modules.OfInputs(module)
    return Model(module, building.bindings, building.inputs, layout)


def _node(node: Node, building: Building) -> Built:
    """A node and, before it, what brings its value into the layout that it takes."""
    given, path = building.layout, join(building.path, node.name)
    wanted = WANTED.get(node.kind, Layout(first=given.first) if given.flattened is None else LAST)
    before: list[nn.Module] = []
    if given.flattened is None or node.kind not in CARRIES_FLATTENED:
        before = conversion(node.takes[0] if node.takes else (), given, wanted)
        given = wanted
    module, layout = BUILDERS[node.kind](node, building.at(path, given))
    return _chain([*before, module]), layout


def _chain(parts: list[nn.Module]) -> nn.Module:
    """Parts in a row, a single one as it is."""
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(part, modules.TakesInputs) for part in parts):
        return modules.SequenceOfInputs(parts)
    return nn.Sequential(*parts)


# --- structures -------------------------------------------------------------------------------------------------------


def _sequence(node: Node, building: Building) -> Built:
    parts, layout = [], building.layout
    for child in node.children:
        part, layout = _node(child, building.at(building.path, layout))
        parts.append(part)
    if any(isinstance(part, modules.TakesInputs) for part in parts):
        return modules.SequenceOfInputs(parts), layout
    return nn.Sequential(*parts), layout


def _residual(node: Node, building: Building) -> Built:
    body, layout = _node(node.children[0], building)
    if len(node.children) == 1:
        body = _converted(body, node, layout, building.layout)
        if isinstance(body, modules.TakesInputs):
            return modules.BranchesOfInputs([body, nn.Identity()], modules.merge("add", 1)), building.layout
        return modules.Residual(body, None), building.layout
    shortcut, other = _node(node.children[1], building)
    layout, body = _plain(layout), _converted(body, node, layout, _plain(layout))
    shortcut = _converted(shortcut, node, other, layout)
    if isinstance(body, modules.TakesInputs) or isinstance(shortcut, modules.TakesInputs):
        return modules.BranchesOfInputs([body, shortcut], modules.merge("add", 1)), layout
    return modules.Residual(body, shortcut), layout


def _branches(node: Node, building: Building) -> Built:
    built = [_node(child, building) for child in node.children]
    layout = _plain(built[0][1])
    paths = [_converted(path, child, given, layout) for child, (path, given) in zip(node.children, built, strict=True)]
    merge = modules.merge(node.attributes["merge"], 1 if layout.first else -1)
    if any(isinstance(path, modules.TakesInputs) for path in paths):
        return modules.BranchesOfInputs(paths, merge), layout
    return modules.Branches(paths, merge), layout


def _plain(layout: Layout) -> Layout:
    return LAST if layout.flattened is not None else layout


def _converted(module: nn.Module, node: Node, given: Layout, wanted: Layout) -> nn.Module:
    return _chain([module, *conversion(node.gives, given, wanted)])


def _input(node: Node, building: Building) -> Built:
    name = node.attributes["name"]
    return modules.PickInput(list(building.inputs).index(name)), building.inputs[name]


# --- layers, in the order of workloads/README.md -------------------------------------------------------------------------


def _conv1d(node: Node, building: Building) -> Built:
    a, (before, after) = node.attributes, node.attributes["padding"]
    padding = before if before == after else 0
    layer = nn.Conv1d(
        node.takes[0][-1], a["filters"], a["kernel"], a["stride"], padding, dilation=a["dilation"], groups=a["groups"], bias=a["bias"]
    )
    _bind_kernel(building, layer, weights.CONV1D)
    return (layer if before == after else nn.Sequential(nn.ConstantPad1d((before, after), 0.0), layer)), FIRST


def _conv2d(node: Node, building: Building) -> Built:
    a = node.attributes
    return _convolution(node, building, a["filters"], dilation=a["dilation"], groups=a["groups"], kernel=weights.CONV2D)


def _depthwise_conv2d(node: Node, building: Building) -> Built:
    channels, multiplier = node.takes[0][-1], node.attributes["multiplier"]
    kernel = weights.depthwise(channels, multiplier)
    return _convolution(node, building, channels * multiplier, dilation=node.attributes["dilation"], groups=channels, kernel=kernel)


def _convolution(node: Node, building: Building, filters: int, *, dilation: list[int], groups: int, kernel: Conversion) -> Built:
    a = node.attributes
    even = _even(a["padding"])
    layer = nn.Conv2d(
        node.takes[0][-1], filters, tuple(a["kernel"]), tuple(a["stride"]), even or 0, tuple(dilation), groups=groups, bias=a["bias"]
    )
    _bind_kernel(building, layer, kernel)
    return (layer if even else nn.Sequential(nn.ZeroPad2d(_pads(a["padding"])), layer)), FIRST


def _conv2d_transpose(node: Node, building: Building) -> Built:
    """PyTorch cuts off the same padding at both ends; what one end has more is cut off after it."""
    a = node.attributes
    common = tuple(min(pair) for pair in a["padding"])
    layer = nn.ConvTranspose2d(
        node.takes[0][-1], a["filters"], tuple(a["kernel"]), tuple(a["stride"]), common, tuple(a["output_padding"]), bias=a["bias"]
    )
    _bind_kernel(building, layer, weights.CONV2D_TRANSPOSE)
    if _even(a["padding"]):
        return layer, FIRST
    crop = [[least - extent for extent in pair] for pair, least in zip(a["padding"], common, strict=True)]
    return nn.Sequential(layer, nn.ZeroPad2d(_pads(crop))), FIRST


def _dense(node: Node, building: Building) -> Built:
    layer = nn.Linear(node.takes[0][-1], node.attributes["units"], node.attributes["bias"])
    flattened = building.layout.flattened
    _bind_kernel(building, layer, weights.DENSE if flattened is None else weights.dense_after_flatten(flattened))
    return layer, LAST


def _embedding(node: Node, building: Building) -> Built:
    layer = nn.Embedding(node.attributes["vocabulary"], node.attributes["units"])
    building.bind("table", layer, "weight")
    building.embeddings[building.path] = building.embeddings[node.name] = layer
    return layer, LAST


def _position_embedding(node: Node, building: Building) -> Built:
    layer = modules.PositionEmbedding(node.attributes["length"], node.takes[0][-1])
    building.bind("table", layer, "table")
    return layer, LAST


def _class_token(node: Node, building: Building) -> Built:
    layer = modules.ClassToken(node.takes[0][-1])
    building.bind("token", layer, "token")
    return layer, LAST


def _batch_norm(node: Node, building: Building) -> Built:
    cls = nn.BatchNorm2d if len(node.takes[0]) == 3 else nn.BatchNorm1d
    layer = cls(node.takes[0][-1], eps=node.attributes["eps"], momentum=1.0 - node.attributes["keep"])
    for name, attribute in (("scale", "weight"), ("offset", "bias"), ("mean", "running_mean"), ("variance", "running_var")):
        building.bind(name, layer, attribute)
    return layer, FIRST


def _layer_norm(node: Node, building: Building) -> Built:
    layer = nn.LayerNorm(node.takes[0][-1], eps=node.attributes["eps"])
    building.bind("scale", layer, "weight")
    building.bind("offset", layer, "bias")
    return layer, LAST


def _rms_norm(node: Node, building: Building) -> Built:
    layer = modules.rms_norm(node.takes[0][-1], node.attributes["eps"])
    building.bind("scale", layer, "weight")
    return layer, LAST


def _group_norm(node: Node, building: Building) -> Built:
    layer = nn.GroupNorm(node.attributes["groups"], node.takes[0][-1], eps=node.attributes["eps"])
    building.bind("scale", layer, "weight")
    building.bind("offset", layer, "bias")
    return layer, FIRST


def _activation(make: Callable[[Mapping[str, Any]], nn.Module]) -> Callable[[Node, Building], Built]:
    """The builder of a layer that works on each element alone."""
    return lambda node, building: (make(node.attributes), building.layout)


def _softmax(node: Node, building: Building) -> Built:
    return nn.Softmax(1 if building.layout.first else -1), building.layout


def _max_pool2d(node: Node, building: Building) -> Built:
    a = node.attributes
    even = _even(a["padding"], most=a["size"])
    layer = nn.MaxPool2d(tuple(a["size"]), tuple(a["stride"]), even or 0)
    return (layer if even else nn.Sequential(nn.ConstantPad2d(_pads(a["padding"]), -float("inf")), layer)), FIRST


def _avg_pool2d(node: Node, building: Building) -> Built:
    a, size, stride = node.attributes, tuple(node.attributes["size"]), tuple(node.attributes["stride"])
    even, counted = _even(a["padding"], most=a["size"]), a.get("count_padding")
    if even:
        return nn.AvgPool2d(size, stride, even, count_include_pad=bool(counted)), FIRST
    if counted:
        return nn.Sequential(nn.ZeroPad2d(_pads(a["padding"])), nn.AvgPool2d(size, stride)), FIRST
    return modules.CountedAvgPool2d(size, stride, _pads(a["padding"]), node.takes[0][:2]), FIRST


def _global_avg_pool2d(node: Node, building: Building) -> Built:
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), LAST


def _upsample2d(node: Node, building: Building) -> Built:
    a = node.attributes
    factor = tuple(a["factor"]) if isinstance(a["factor"], list | tuple) else a["factor"]
    if a["method"] == "nearest":
        return nn.Upsample(scale_factor=factor, mode="nearest"), FIRST
    return nn.Upsample(scale_factor=factor, mode="bilinear", align_corners=False), FIRST


def _dropout(node: Node, building: Building) -> Built:
    return nn.Dropout(node.attributes["rate"] if building.dropout else 0.0), building.layout


def _flatten(node: Node, building: Building) -> Built:
    layout, shape = building.layout, node.takes[0]
    if layout.first and any(extent > 1 for extent in shape[:-1]):
        layout = Layout(flattened=shape)
    return nn.Flatten(), layout if layout.flattened is not None else LAST


def _reshape(node: Node, building: Building) -> Built:
    """The elements in channels-last order. A single pixel, as the ``[1, 1, c]`` of a gate, is then as well channels first."""
    parts = conversion(node.takes[0], building.layout, LAST)
    if len(node.takes[0]) > 1:
        parts.append(nn.Flatten())
    *leading, channels = node.gives
    first = bool(leading) and all(extent == 1 for extent in leading)
    parts.append(nn.Unflatten(1, (channels, *leading) if first else tuple(node.gives)))
    return _chain(parts), FIRST if first else LAST


def _tokens(node: Node, building: Building) -> Built:
    return (modules.Tokens() if building.layout.first else nn.Flatten(1, 2)), LAST


def _transpose(node: Node, building: Building) -> Built:
    """What is kept channels first is, read channels last, transposed already."""
    return (nn.Identity() if building.layout.first else modules.Permute(0, 2, 1)), LAST


def _select_token(node: Node, building: Building) -> Built:
    return modules.SelectToken(node.attributes["index"], 2 if building.layout.first else 1), LAST


def _mean_tokens(node: Node, building: Building) -> Built:
    return modules.Mean(2 if building.layout.first else 1), LAST


def _attention(node: Node, building: Building) -> Built:
    a, (length, units) = node.attributes, node.takes[0]
    layer = modules.Attention(
        units,
        a["heads"],
        a["kv_heads"],
        a["head_units"],
        length=length,
        causal=a["causal"],
        rotary=a["rotary"],
        bias=a["bias"],
        dropout=a["dropout"] if building.dropout else 0.0,
        grouped=building.grouped_attention,
    )
    for name in ("query", "key", "value", "output"):
        _bind_kernel(building, getattr(layer, name), weights.DENSE, prefix=f"{name}_")
    return layer, LAST


def _unembedding(node: Node, building: Building) -> Built:
    layer = modules.Unembedding(building.embeddings[node.attributes["of"]], node.attributes["bias"])
    if layer.bias is not None:
        building.bind("bias", layer, "bias")
    return layer, LAST


def _lstm(node: Node, building: Building) -> Built:
    layer = modules.LSTM(node.takes[0][-1], node.attributes["units"], node.attributes["sequences"])
    building.bind("kernel", layer, "weight_ih_l0", weights.DENSE)
    building.bind("recurrent_kernel", layer, "weight_hh_l0", weights.DENSE)
    building.bind("bias", layer, "bias_ih_l0")
    return layer, LAST


def _gru(node: Node, building: Building) -> Built:
    layer = modules.GRU(node.takes[0][-1], node.attributes["units"], node.attributes["sequences"])
    building.bind("kernel", layer, "weight_ih_l0", weights.gru(weights.DENSE))
    building.bind("recurrent_kernel", layer, "weight_hh_l0", weights.gru(weights.DENSE))
    building.bind("bias", layer, "bias_ih_l0", weights.gru(weights.AS_IT_IS))
    building.bind("recurrent_bias", layer, "bias_hh_l0", weights.gru(weights.AS_IT_IS))
    return layer, LAST


def _polynomial(node: Node, building: Building) -> Built:
    layer = modules.Polynomial(node.attributes["degree"])
    building.bind("coefficients", layer, "coefficients")
    return layer, building.layout


# --- operators ----------------------------------------------------------------------------------------------------------


def _matmul(node: Node, building: Building) -> Built:
    return modules.MatMul(), LAST


def _dot_product_attention(node: Node, building: Building) -> Built:
    return modules.DotProductAttention(), LAST


def _copy(node: Node, building: Building) -> Built:
    return modules.Copy(), LAST


def _reduce_sum(node: Node, building: Building) -> Built:
    """Axes are counted without the batch, which is the first axis here."""
    rank = len(node.takes[0])
    return modules.ReduceSum(tuple(axis % rank + 1 for axis in node.attributes["axes"])), LAST


def _argmax(node: Node, building: Building) -> Built:
    return modules.Argmax(node.attributes["axis"] + 1), LAST


def _sort(node: Node, building: Building) -> Built:
    return modules.Sort(node.attributes["axis"] + 1), LAST


def _concat(node: Node, building: Building) -> Built:
    return modules.Concat(node.attributes["axis"] + 1), LAST


def _bind_kernel(building: Building, layer: nn.Module, kernel: Conversion, prefix: str = "") -> None:
    building.bind(f"{prefix}kernel", layer, "weight", kernel)
    if getattr(layer, "bias", None) is not None:
        building.bind(f"{prefix}bias", layer, "bias")


def _pads(padding: list[list[int]]) -> tuple[int, int, int, int]:
    """``[[top, bottom], [left, right]]`` in the order of ``torch.nn.functional.pad``: the last axis first."""
    (top, bottom), (left, right) = padding
    return left, right, top, bottom


def _even(padding: list[list[int]], most: list[int] | None = None) -> tuple[int, int] | None:
    """The padding as PyTorch's own classes take it, the same at both ends and, in pooling, at most half a window; None otherwise."""
    (top, bottom), (left, right) = padding
    if top != bottom or left != right or (most and (2 * top > most[0] or 2 * left > most[1])):
        return None
    return top, left


BUILDERS: dict[str, Callable[[Node, Building], Built]] = {
    "sequence": _sequence,
    "residual": _residual,
    "branches": _branches,
    "input": _input,
    "conv1d": _conv1d,
    "conv2d": _conv2d,
    "depthwise_conv2d": _depthwise_conv2d,
    "conv2d_transpose": _conv2d_transpose,
    "dense": _dense,
    "embedding": _embedding,
    "position_embedding": _position_embedding,
    "class_token": _class_token,
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "group_norm": _group_norm,
    "relu": _activation(lambda a: nn.ReLU()),
    "relu6": _activation(lambda a: nn.ReLU6()),
    "sigmoid": _activation(lambda a: nn.Sigmoid()),
    "tanh": _activation(lambda a: nn.Tanh()),
    "leaky_relu": _activation(lambda a: nn.LeakyReLU(a["slope"])),
    "gelu": _activation(lambda a: nn.GELU("tanh" if a["form"] == "tanh" else "none")),
    "silu": _activation(lambda a: nn.SiLU()),
    "hard_swish": _activation(lambda a: nn.Hardswish()),
    "softmax": _softmax,
    "max_pool2d": _max_pool2d,
    "avg_pool2d": _avg_pool2d,
    "global_avg_pool2d": _global_avg_pool2d,
    "upsample2d": _upsample2d,
    "dropout": _dropout,
    "flatten": _flatten,
    "reshape": _reshape,
    "tokens": _tokens,
    "transpose": _transpose,
    "select_token": _select_token,
    "mean_tokens": _mean_tokens,
    "attention": _attention,
    "unembedding": _unembedding,
    "lstm": _lstm,
    "gru": _gru,
    "polynomial": _polynomial,
    "matmul": _matmul,
    "dot_product_attention": _dot_product_attention,
    "copy": _copy,
    "reduce_sum": _reduce_sum,
    "argmax": _argmax,
    "sort": _sort,
    "concat": _concat,
}
