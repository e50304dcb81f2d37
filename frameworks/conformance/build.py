"""From a workload said in the language, as plain Python data, to the computation it means.

The suite runs where only ``frameworks/`` is installed, so it cannot ask the runner; and an independent reading of the same page finds what
one reading got wrong. Only what the suite's own cases need is here, and they are taken to be right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from frameworks.contract import Computation, Node, Parameter, Shape, Tensor

Attributes = dict[str, Any]
Rule = Callable[[Attributes, Shape], tuple[Shape, tuple[Parameter, ...]]]

_OPTIMIZER_DEFAULTS: dict[str, Attributes] = {
    "sgd": {"momentum": 0.0, "nesterov": False, "weight_decay": 0.0},
    "adam": {"beta1": 0.9, "beta2": 0.999},
    "adamw": {"beta1": 0.9, "beta2": 0.999},
    "none": {},
}


@dataclass(frozen=True)
class _Scope:
    """What a layer may refer to: named inputs, and the vocabularies of the embeddings so far."""

    inputs: Mapping[str, Shape]
    vocabularies: dict[str, int] = field(default_factory=dict)


def computation(workload: Mapping[str, Any]) -> Computation:
    """What a workload means: ``inputs``, ``network`` or ``operator``, and ``target``, ``loss``, ``optimizer``, ``batch`` if it has them."""
    inputs = tuple(Tensor(name, tuple(said["shape"]), **_but(said, "shape")) for name, said in workload["inputs"].items())
    shapes = {tensor.name: tensor.shape for tensor in inputs}
    start = inputs[0].shape if len(inputs) == 1 else None
    if "operator" in workload:
        network = _operator(workload["operator"], tuple(shapes.values()))
    else:
        network = _sequence("", workload["network"], start, _Scope(shapes))
    loss = workload.get("loss")
    target = None
    if loss is not None:
        shape = network.gives[:-1] if loss == "softmax_cross_entropy" else network.gives
        target = Tensor("target", shape, **workload["target"])
    return Computation(network, inputs, target, loss, _optimizer(workload.get("optimizer", "none")), workload.get("batch"))


def _optimizer(said: Any) -> Attributes:
    kind, settings = _named(said)
    return {"kind": kind, **_OPTIMIZER_DEFAULTS[kind], **settings}


def _operator(said: Any, shapes: tuple[Shape, ...]) -> Node:
    kind, attributes = _named(said)
    if kind in ("matmul", "dot_product_attention"):
        return Node(kind, "", shapes, (*shapes[0][:-1], shapes[-1][-1]))
    if kind == "concat":
        axis = attributes["axis"] % len(shapes[0])
        joined = sum(shape[axis] for shape in shapes)
        return Node(kind, "", shapes, (*shapes[0][:axis], joined, *shapes[0][axis + 1 :]), {"axis": axis})
    return _layer(kind, "", attributes, shapes[0])


def _sequence(name: str, layers: Sequence[Any], start: Shape | None, scope: _Scope) -> Node:
    children: list[Node] = []
    counts: dict[str, int] = {}
    value = start
    for said in layers:
        kind, attributes = _named(said)
        counts[kind] = counts.get(kind, 0) + 1
        own = attributes.pop("name", f"{kind}_{counts[kind]}") if isinstance(attributes, dict) else f"{kind}_{counts[kind]}"
        children.append(_child(kind, own, attributes, value, scope))
        value = children[-1].gives
    assert value is not None
    return Node("sequence", name, () if start is None else (start,), value, children=tuple(children))


def _child(kind: str, name: str, said: Any, value: Shape | None, scope: _Scope) -> Node:
    if kind == "input":
        return Node(kind, name, (), scope.inputs[said], {"name": said})
    takes = () if value is None else (value,)
    if kind == "residual":
        paths = [_sequence(part, said[part], value, scope) for part in ("body", "shortcut") if part in said]
        return Node(kind, name, takes, paths[0].gives, children=tuple(paths))
    if kind == "branches":
        paths = [_sequence(f"path_{number}", path, value, scope) for number, path in enumerate(said["paths"], 1)]
        shapes = [path.gives for path in paths]
        if said["merge"] == "concat":
            gives = (*shapes[0][:-1], sum(shape[-1] for shape in shapes))
        else:
            gives = tuple(max(extents) for extents in zip(*shapes, strict=True))
        return Node(kind, name, takes, gives, {"merge": said["merge"]}, children=tuple(paths))
    assert value is not None
    if kind == "embedding":
        scope.vocabularies[name] = said["vocabulary"]
    if kind == "unembedding":
        vocabulary = scope.vocabularies[said["of"]]
        attributes = {"bias": False, **said}
        biases = (_bias(vocabulary),) if attributes["bias"] else ()
        return Node(kind, name, takes, (*value[:-1], vocabulary), attributes, biases)
    return _layer(kind, name, said, value)


def _layer(kind: str, name: str, said: Attributes, x: Shape) -> Node:
    attributes = dict(said)
    gives, parameters = _RULES.get(kind, _unchanged)(attributes, x)
    return Node(kind, name, (x,), gives, attributes, parameters)


# --- rules: fill and normalise the attributes in place; give shape and parameters -------------------------------------


def _kernel(name: str, shape: Shape, fan_in: int) -> Parameter:
    return Parameter(name, shape, True, 0.0, math.sqrt(3.0 / fan_in))


def _bias(size: int, name: str = "bias") -> Parameter:
    return Parameter(name, (size,), True, 0.0, 0.02)


def _scale(size: int) -> Parameter:
    return Parameter("scale", (size,), True, 1.0, 0.1)


def _table(name: str, shape: Shape) -> Parameter:
    return Parameter(name, shape, True, 0.0, 0.035)


def _biased(attributes: Attributes, kernel: Parameter, size: int) -> tuple[Parameter, ...]:
    return (kernel, _bias(size)) if attributes.setdefault("bias", True) else (kernel,)


def _unchanged(attributes: Attributes, x: Shape) -> tuple[Shape, tuple[Parameter, ...]]:
    return x, ()


def _conv1d(attributes: Attributes, x: Shape) -> tuple[Shape, tuple[Parameter, ...]]:
    for key, default in (("stride", 1), ("dilation", 1), ("groups", 1)):
        attributes.setdefault(key, default)
    padding = attributes.get("padding", 0)
    attributes["padding"] = padding if isinstance(padding, list) else [padding, padding]
    extent = _extent(x[0], attributes["kernel"], attributes["stride"], attributes["dilation"], attributes["padding"])
    fan_in = attributes["kernel"] * x[1] // attributes["groups"]
    kernel = _kernel("kernel", (attributes["kernel"], x[1] // attributes["groups"], attributes["filters"]), fan_in)
    return (extent, attributes["filters"]), _biased(attributes, kernel, attributes["filters"])


def _conv2d(attributes: Attributes, x: Shape) -> tuple[Shape, tuple[Parameter, ...]]:
    groups = attributes.setdefault("groups", 1)
    height, width = _window(attributes, "kernel", x)
    rows, columns = attributes["kernel"]
    channels = x[2] // groups
    kernel = _kernel("kernel", (rows, columns, channels, attributes["filters"]), rows * columns * channels)
    return (height, width, attributes["filters"]), _biased(attributes, kernel, attributes["filters"])


def _depthwise_conv2d(attributes: Attributes, x: Shape) -> tuple[Shape, tuple[Parameter, ...]]:
    multiplier = attributes.setdefault("multiplier", 1)
    height, width = _window(attributes, "kernel", x)
    rows, columns = attributes["kernel"]
    kernel = _kernel("kernel", (rows, columns, x[2], multiplier), rows * columns)
    return (height, width, x[2] * multiplier), _biased(attributes, kernel, x[2] * multiplier)


def _conv2d_transpose(attributes: Attributes, x: Shape) -> tuple[Shape, tuple[Parameter, ...]]:
    for key, default in (("kernel", None), ("stride", 1), ("output_padding", 0)):
        attributes[key] = _pair(attributes.get(key, default))
    attributes["padding"] = _sides(attributes.get("padding", 0))
    rows, columns = attributes["kernel"]
    height, width = (
        (n - 1) * s - sum(p) + k + e
        for n, s, p, k, e in zip(x, *(attributes[key] for key in ("stride", "padding", "kernel", "output_padding")), strict=False)
    )
    kernel = _kernel("kernel", (rows, columns, attributes["filters"], x[2]), rows * columns * x[2])
    return (height, width, attributes["filters"]), _biased(attributes, kernel, attributes["filters"])


def _pool2d(attributes: Attributes, x: Shape) -> tuple[Shape, tuple[Parameter, ...]]:
    attributes.setdefault("stride", attributes["size"])
    height, width = _window(attributes, "size", x)
    return (height, width, x[2]), ()


def _dense(attributes: Attributes, x: Shape) -> tuple[Shape, tuple[Parameter, ...]]:
    units = attributes["units"]
    return (*x[:-1], units), _biased(attributes, _kernel("kernel", (x[-1], units), x[-1]), units)


def _batch_norm(attributes: Attributes, x: Shape) -> tuple[Shape, tuple[Parameter, ...]]:
    c = x[-1]
    running = (Parameter("mean", (c,), False, 0.0, 0.02), Parameter("variance", (c,), False, 1.0, 0.1))
    return x, (_scale(c), _bias(c, "offset"), *running)


def _scale_and_offset(attributes: Attributes, x: Shape) -> tuple[Shape, tuple[Parameter, ...]]:
    return x, (_scale(x[-1]), _bias(x[-1], "offset"))


def _attention(attributes: Attributes, x: Shape) -> tuple[Shape, tuple[Parameter, ...]]:
    c, heads = x[-1], attributes["heads"]
    for key, default in (
        ("kv_heads", heads),
        ("head_units", c // heads),
        ("causal", False),
        ("rotary", None),
        ("bias", True),
        ("dropout", 0.0),
    ):
        attributes.setdefault(key, default)
    joined, shared = heads * attributes["head_units"], attributes["kv_heads"] * attributes["head_units"]
    parameters: list[Parameter] = []
    for part, before, after in (("query", c, joined), ("key", c, shared), ("value", c, shared), ("output", joined, c)):
        parameters.append(_kernel(f"{part}_kernel", (before, after), before))
        if attributes["bias"]:
            parameters.append(_bias(after, f"{part}_bias"))
    return x, tuple(parameters)


def _recurrent(gates: int, *biases: str) -> Rule:
    def rule(attributes: Attributes, x: Shape) -> tuple[Shape, tuple[Parameter, ...]]:
        units = attributes["units"]
        kernel = _kernel("kernel", (x[1], gates * units), x[1])
        recurrent = _kernel("recurrent_kernel", (units, gates * units), units)
        gives = (x[0], units) if attributes["sequences"] else (units,)
        return gives, (kernel, recurrent, *(_bias(gates * units, name) for name in biases))

    return rule


def _reshape(attributes: Attributes, x: Shape) -> tuple[Shape, tuple[Parameter, ...]]:
    known = math.prod(extent for extent in attributes["shape"] if extent != -1)
    attributes["shape"] = [math.prod(x) // known if extent == -1 else extent for extent in attributes["shape"]]
    return tuple(attributes["shape"]), ()


def _reduce_sum(attributes: Attributes, x: Shape) -> tuple[Shape, tuple[Parameter, ...]]:
    axes = attributes["axes"] = [axis % len(x) for axis in attributes.get("axes", range(len(x)))]
    return tuple(extent for axis, extent in enumerate(x) if axis not in axes), ()


def _argmax(attributes: Attributes, x: Shape) -> tuple[Shape, tuple[Parameter, ...]]:
    axis = attributes["axis"] = attributes["axis"] % len(x)
    return (*x[:axis], *x[axis + 1 :]), ()


def _sort(attributes: Attributes, x: Shape) -> tuple[Shape, tuple[Parameter, ...]]:
    attributes["axis"] = attributes["axis"] % len(x)
    return x, ()


def _upsample2d(attributes: Attributes, x: Shape) -> tuple[Shape, tuple[Parameter, ...]]:
    return (x[0] * attributes["factor"], x[1] * attributes["factor"], x[2]), ()


_RULES: dict[str, Rule] = {
    "conv1d": _conv1d,
    "conv2d": _conv2d,
    "depthwise_conv2d": _depthwise_conv2d,
    "conv2d_transpose": _conv2d_transpose,
    "max_pool2d": _pool2d,
    "avg_pool2d": _pool2d,
    "global_avg_pool2d": lambda attributes, x: (x[2:], ()),
    "upsample2d": _upsample2d,
    "dense": _dense,
    "embedding": lambda attributes, x: (
        (*x, attributes["units"]),
        (_table("table", (attributes["vocabulary"], attributes["units"])),),
    ),
    "position_embedding": lambda attributes, x: (x, (_table("table", (attributes["length"], x[1])),)),
    "class_token": lambda attributes, x: ((x[0] + 1, x[1]), (_table("token", (x[1],)),)),
    "batch_norm": _batch_norm,
    "layer_norm": _scale_and_offset,
    "rms_norm": lambda attributes, x: (x, (_scale(x[-1]),)),
    "group_norm": _scale_and_offset,
    "flatten": lambda attributes, x: ((math.prod(x),), ()),
    "reshape": _reshape,
    "tokens": lambda attributes, x: ((x[0] * x[1], x[2]), ()),
    "transpose": lambda attributes, x: (x[::-1], ()),
    "select_token": lambda attributes, x: (x[1:], ()),
    "mean_tokens": lambda attributes, x: (x[1:], ()),
    "attention": _attention,
    "lstm": _recurrent(4, "bias"),
    "gru": _recurrent(3, "bias", "recurrent_bias"),
    "polynomial": lambda attributes, x: (x, (Parameter("coefficients", (attributes["degree"] + 1,), True, 0.0, 1.0),)),
    "reduce_sum": _reduce_sum,
    "argmax": _argmax,
    "sort": _sort,
}


# --- small things -----------------------------------------------------------------------------------------------------


def _window(attributes: Attributes, size: str, x: Shape) -> tuple[int, int]:
    attributes[size] = _pair(attributes[size])
    attributes["stride"] = _pair(attributes.get("stride", 1))
    attributes["padding"] = _sides(attributes.get("padding", 0))
    dilation = [1, 1]
    if size == "kernel":
        attributes["dilation"] = dilation = _pair(attributes.get("dilation", 1))
    height, width = (_extent(x[i], attributes[size][i], attributes["stride"][i], dilation[i], attributes["padding"][i]) for i in (0, 1))
    return height, width


def _extent(n: int, kernel: int, stride: int, dilation: int, padding: Sequence[int]) -> int:
    return (n + sum(padding) - dilation * (kernel - 1) - 1) // stride + 1


def _pair(said: Any) -> list[int]:
    return list(said) if isinstance(said, list) else [said, said]


def _sides(said: Any) -> list[list[int]]:
    return [list(side) if isinstance(side, list) else [side, side] for side in _pair(said)]


def _named(said: Any) -> tuple[str, Any]:
    if isinstance(said, str):
        return said, {}
    ((kind, value),) = said.items()
    return kind, dict(value) if isinstance(value, Mapping) else value


def _but(said: Mapping[str, Any], *keys: str) -> Attributes:
    return {key: value for key, value in said.items() if key not in keys}
