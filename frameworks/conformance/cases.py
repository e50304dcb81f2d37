"""What every adapter is asked: each layer, loss, optimizer, structure and operator, alone and small, over a grid of attributes."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from frameworks.conformance import build
from frameworks.contract import Computation

Layers = list[Any]
Workload = dict[str, Any]

_IMAGE, _SEQUENCE, _VECTOR = [5, 6, 4], [5, 4], [6]
_WIDE: Workload = {"fill": "uniform", "low": -8.0, "high": 8.0}
_SGD: Workload = {"sgd": {"learning_rate": 0.1}}


@dataclass(frozen=True, eq=False)
class Case:
    """One question: a workload in the language, as plain data, that stresses ``layer``.

    ``check`` says how it is judged: ``values`` against the reference, ``dropout`` by its masks, ``fresh`` only by masks that change.
    ``wide_only`` cases need the range of float32.
    """

    name: str
    layer: str
    workload: Mapping[str, Any]
    check: Literal["values", "dropout", "fresh"] = "values"
    wide_only: bool = False

    @functools.cached_property
    def computation(self) -> Computation:
        return build.computation(self.workload)


def cases() -> Iterator[Case]:
    """The whole suite, layer by layer in the order of the language's page."""
    for family in (
        _convolutions,
        _dense,
        _tables,
        _normalisation,
        _activations,
        _pooling,
        _dropout,
        _shapes,
        _attention,
        _recurrent,
        _polynomial,
    ):
        yield from family()
    for family in (_losses, _optimizers, _structures, _networks, _operators):
        yield from family()


def _convolutions() -> Iterator[Case]:
    for attributes in (
        {"kernel": 3},
        {"kernel": 3, "stride": 2, "padding": [0, 1]},
        {"kernel": 3, "dilation": 2, "padding": [4, 0]},
        {"kernel": 2, "groups": 2, "padding": 1},
        {"kernel": 1, "stride": 2, "bias": False},
    ):
        yield _trained("conv1d", _say(attributes), [{"conv1d": {"filters": 4, **attributes}}], [9, 4])
    for attributes in (
        {"kernel": 3},
        {"kernel": 3, "padding": 1},
        {"kernel": 3, "stride": 2, "padding": [[0, 1], [0, 1]]},
        {"kernel": [3, 2], "stride": [1, 2], "padding": [[1, 0], [2, 1]]},
        {"kernel": 2, "padding": [[0, 1], [1, 0]], "bias": False},
        {"kernel": [2, 3], "dilation": 2, "padding": [2, 2]},
        {"kernel": 3, "groups": 2, "padding": 1},
        {"kernel": 1, "stride": 2, "groups": 4},
    ):
        yield _trained("conv2d", _say(attributes), [{"conv2d": {"filters": 4, **attributes}}], _IMAGE)
    yield _trained("conv2d", "batch 1", [{"conv2d": {"filters": 2, "kernel": 3}}], [3, 3, 1], batch=1)
    for attributes in (
        {"kernel": 3, "padding": 1},
        {"kernel": 3, "stride": 2, "padding": [[0, 1], [0, 1]]},
        {"kernel": 2, "multiplier": 2, "bias": False},
        {"kernel": [1, 3], "dilation": 2, "padding": [0, 2]},
        {"kernel": 3, "stride": 2, "padding": 1, "multiplier": 3},
    ):
        yield _trained("depthwise_conv2d", _say(attributes), [{"depthwise_conv2d": attributes}], _IMAGE)
    for attributes in (
        {"kernel": 3},
        {"kernel": 2, "stride": 2, "bias": False},
        {"kernel": 3, "stride": 2, "padding": 1, "output_padding": 1},
        {"kernel": 4, "stride": 2, "padding": 1},
        {"kernel": 3, "stride": 2, "padding": [[0, 1], [1, 0]]},
        {"kernel": [2, 3], "stride": [3, 2], "output_padding": [2, 0]},
    ):
        yield _trained("conv2d_transpose", _say(attributes), [{"conv2d_transpose": {"filters": 3, **attributes}}], [3, 4, 2])


def _dense() -> Iterator[Case]:
    yield _trained("dense", "vector", [{"dense": {"units": 3}}], _VECTOR)
    yield _trained("dense", "bias False", [{"dense": {"units": 3, "bias": False}}], _VECTOR)
    yield _trained("dense", "over a sequence", [{"dense": {"units": 3}}], _SEQUENCE)
    yield _trained("dense", "over an image", [{"dense": {"units": 3}}], [2, 3, 4])
    yield _trained("dense", "batch 1", [{"dense": {"units": 1}}], [1], batch=1)
    yield _trained("dense", "after conv2d", [_conv(3), {"dense": {"units": 3}}, "relu", _conv(2)], [3, 4, 2])


def _tables() -> Iterator[Case]:
    words: Workload = {"shape": [5], "fill": "integers", "below": 7}
    yield _trained("embedding", "sequence", [{"embedding": {"vocabulary": 7, "units": 3}}], words)
    yield _trained("embedding", "grid", [{"embedding": {"vocabulary": 7, "units": 3}}], {**words, "shape": [2, 3]})
    yield _trained("position_embedding", "exact", [{"position_embedding": {"length": 5}}], _SEQUENCE)
    yield _trained("position_embedding", "longer table", [{"position_embedding": {"length": 8}}], _SEQUENCE)
    yield _trained("class_token", "first", ["class_token"], _SEQUENCE)
    table = {"embedding": {"vocabulary": 7, "units": 4, "name": "words"}}
    tied: Layers = [table, {"dense": {"units": 4}}, {"unembedding": {"of": "words"}}]
    classes: Workload = {"fill": "integers", "below": 7}
    for name, optimizer in (("sgd", _SGD), ("adam", {"adam": {"learning_rate": 0.01, "eps": 1e-3}})):
        yield _trained("unembedding", f"tied, {name}", tied, words, loss="softmax_cross_entropy", target=classes, optimizer=optimizer)


def _normalisation() -> Iterator[Case]:
    for shape in ([3, 4, 4], _SEQUENCE, _VECTOR):
        for eps, keep in ((1e-5, 0.9), (0.05, 0.7)):
            attributes: Workload = {"eps": eps, "keep": keep}
            yield _trained("batch_norm", f"shape {shape} {_say(attributes)}", [{"batch_norm": attributes}], shape, batch=5)
    yield _trained("batch_norm", "after conv2d", [_conv(3), {"batch_norm": {"eps": 1e-3, "keep": 0.99}}, "relu"], [3, 4, 2], batch=3)
    for shape in ([2, 3, 4], _SEQUENCE, _VECTOR):
        for kind in ("layer_norm", "rms_norm"):
            for eps in (1e-6, 0.05):
                yield _trained(kind, f"shape {shape} eps {eps}", [{kind: {"eps": eps}}], shape)
    yield _trained("layer_norm", "after conv2d", [_conv(3), {"layer_norm": {"eps": 1e-6}}, _conv(2)], [3, 4, 2])
    for groups, shape in ((1, [3, 4, 4]), (2, [3, 4, 4]), (4, [3, 4, 4]), (2, [5, 6]), (2, [8])):
        for eps in (1e-5, 0.05):
            yield _trained(
                "group_norm", f"groups {groups} shape {shape} eps {eps}", [{"group_norm": {"groups": groups, "eps": eps}}], shape
            )


def _activations() -> Iterator[Case]:
    said: tuple[tuple[str, Workload], ...] = (
        *((kind, {}) for kind in ("relu", "relu6", "silu", "sigmoid", "tanh", "softmax", "hard_swish")),
        ("leaky_relu", {"slope": 0.2}),
        ("leaky_relu", {"slope": 0.01}),
        ("gelu", {"form": "erf"}),
        ("gelu", {"form": "tanh"}),
    )
    for kind, attributes in said:
        layer = {kind: attributes} if attributes else kind
        yield _trained(kind, f"after dense {_say(attributes)}".strip(), [{"dense": {"units": 8}}, layer], {"shape": [6], **_WIDE})
        yield _trained(kind, f"after conv2d {_say(attributes)}".strip(), [_conv(3), layer], {"shape": [2, 3, 2], **_WIDE})


def _pooling() -> Iterator[Case]:
    windows: tuple[Workload, ...] = (
        {"size": 2},
        {"size": 3, "stride": 2, "padding": 1},
        {"size": [2, 1], "stride": [1, 2]},
        {"size": 3, "stride": 2, "padding": [[0, 1], [0, 1]]},
        {"size": [3, 2], "stride": 1, "padding": [[1, 0], [1, 0]]},
    )
    for attributes in windows:
        yield _trained("max_pool2d", _say(attributes), [_conv(2, 1), {"max_pool2d": attributes}], [5, 7, 2])
    below = {"shape": [4, 5, 2], "fill": "uniform", "low": -2.0, "high": -1.0}
    yield _inferred("max_pool2d", "padding never wins", {"network": [{"max_pool2d": windows[1]}], "inputs": {"x": below}, "batch": 2})
    for attributes in windows:
        for count in (True, False) if "padding" in attributes else (False,):
            said = {**attributes, "count_padding": count}
            yield _trained("avg_pool2d", _say(said), [_conv(2, 1), {"avg_pool2d": said}], [5, 7, 2])
    yield _trained("global_avg_pool2d", "after conv2d", [_conv(3), "global_avg_pool2d", {"dense": {"units": 2}}], [3, 4, 2])
    for factor, method in ((2, "nearest"), (3, "nearest"), (2, "bilinear"), (3, "bilinear")):
        yield _trained("upsample2d", f"{method} {factor}", [_conv(2, 1), {"upsample2d": {"factor": factor, "method": method}}], [3, 4, 2])


def _dropout() -> Iterator[Case]:
    inference: Layers = [{"dense": {"units": 4}}, {"dropout": {"rate": 0.5}}, {"dense": {"units": 2}}]
    yield _trained("dropout", "inference", inference, _VECTOR)
    line: Layers = [{"dropout": {"rate": 0.25}}, {"polynomial": {"degree": 1}}]
    yield _trained("dropout", "training rate 0.25", line, [40], batch=40, optimizer=_still(), check="dropout")
    attended: Layers = [{"attention": {"heads": 2, "dropout": 0.5}}]
    yield _trained("attention", "dropout in training", attended, _SEQUENCE, optimizer=_still(), check="fresh")
    yield _trained("attention", "dropout in inference", attended, _SEQUENCE)


def _shapes() -> Iterator[Case]:
    image, head = [3, 4, 2], {"dense": {"units": 2}}
    norm = {"batch_norm": {"eps": 1e-3, "keep": 0.9}}
    for name, layers in (
        ("of the input, then dense", ["flatten", head]),
        ("after conv2d, then dense", [_conv(3), "flatten", head]),
        ("after conv2d, relu between", [_conv(3), "relu", "flatten", "relu", head]),
        ("after pooling, dropout between", [_conv(3), {"max_pool2d": {"size": 2}}, "flatten", {"dropout": {"rate": 0.5}}, head]),
        ("after conv2d, without dense", [_conv(3), "flatten"]),
        ("after conv2d, activation last", [_conv(3), "flatten", "tanh"]),
        ("after conv2d, batch_norm between", [_conv(3), "flatten", norm, head]),
        ("after conv2d, layer_norm between", [_conv(2), "flatten", {"layer_norm": {"eps": 1e-3}}, head]),
        ("after conv2d, residual between", [_conv(2), "flatten", {"residual": {"body": [{"dense": {"units": 24}}]}}, head]),
        ("after conv2d, branches between", [_conv(2), "flatten", {"branches": {"merge": "concat", "paths": [[head], ["relu"]]}}]),
        (
            "at the end of a residual body",
            [_conv(2), {"residual": {"body": ["flatten"], "shortcut": ["flatten", {"dense": {"units": 24}}]}}],
        ),
        ("twice", [_conv(2), "flatten", {"reshape": {"shape": [4, 3, 2]}}, _conv(2), "flatten", head]),
    ):
        yield _trained("flatten", name, layers, image)
    yield _trained("flatten", "after conv1d", [{"conv1d": {"filters": 3, "kernel": 2}}, "flatten", head], _SEQUENCE)
    yield _trained("flatten", "after lstm", [{"lstm": {"units": 2, "sequences": True}}, "flatten", head], [3, 2])
    for name, layers, shape in (
        ("after conv2d", [_conv(4), {"reshape": {"shape": [4, 3, 4]}}, _conv(2)], image),
        ("to a sequence", [_conv(2), {"reshape": {"shape": [-1, 4]}}, head], image),
        ("to an image", [{"dense": {"units": 12}}, {"reshape": {"shape": [2, 3, 2]}}, _conv(2)], _VECTOR),
        ("of a sequence", [{"dense": {"units": 6}}, {"reshape": {"shape": [6, 5]}}, head], [5, 2]),
    ):
        yield _trained("reshape", name, layers, shape)
    yield _trained("tokens", "after conv2d", [_conv(3), "tokens", head], image)
    yield _trained("tokens", "last", [_conv(3), "tokens"], image)
    for index in (0, 2, -1):
        yield _trained("select_token", f"index {index}", [head, {"select_token": {"index": index}}], _SEQUENCE)
    yield _trained("mean_tokens", "after dense", [head, "mean_tokens"], _SEQUENCE)


def _attention() -> Iterator[Case]:
    for attributes, shape in (
        ({"heads": 1}, [4, 2]),
        ({"heads": 2}, _SEQUENCE),
        ({"heads": 2, "causal": True}, _SEQUENCE),
        ({"heads": 2, "bias": False}, _SEQUENCE),
        ({"heads": 4, "kv_heads": 2}, [3, 4]),
        ({"heads": 4, "kv_heads": 1, "causal": True}, [3, 4]),
        ({"heads": 2, "head_units": 3}, [3, 4]),
        ({"heads": 1, "rotary": 10000.0}, _SEQUENCE),
        ({"heads": 2, "rotary": 100.0, "causal": True, "bias": False}, [6, 8]),
        ({"heads": 4, "kv_heads": 2, "head_units": 2, "rotary": 10.0, "causal": True}, [3, 4]),
        ({"heads": 2, "causal": True}, [1, 4]),
    ):
        yield _trained("attention", f"{_say(attributes)} length {shape[0]}", [{"attention": attributes}], shape)
    yield _trained("attention", "causal long", [{"attention": {"heads": 2, "causal": True, "rotary": 10000.0}}], [17, 4], batch=1)


def _recurrent() -> Iterator[Case]:
    for kind in ("lstm", "gru"):
        for sequences in (True, False):
            for length in (1, 4):
                name = f"sequences {sequences} length {length}"
                yield _trained(kind, name, [{kind: {"units": 3, "sequences": sequences}}], [length, 2])
        yield _trained(kind, "length 15", [{kind: {"units": 2, "sequences": False}}], {"shape": [15, 1], **_WIDE}, batch=1)
        stack: Layers = [{kind: {"units": 2, "sequences": True}}, {kind: {"units": 2, "sequences": False}}]
        yield _trained(kind, "two in a row", stack, [3, 2])


def _polynomial() -> Iterator[Case]:
    line = {"shape": [1], "fill": "linspace", "low": -3.0, "high": 3.0}
    for degree in (1, 3):
        yield _trained("polynomial", f"degree {degree}", [{"polynomial": {"degree": degree}}], [4])
    fit: Workload = {"loss": "sum_squared_error", "target": {"fill": "sin", "of": "x"}, "optimizer": {"sgd": {"learning_rate": 1e-5}}}
    yield _trained("polynomial", "fit of a sine", [{"polynomial": {"degree": 3}}], line, batch=20, **fit)


def _losses() -> Iterator[Case]:
    classes: Workload = {"fill": "integers", "below": 5}
    share: Workload = {"fill": "uniform", "low": 0.0, "high": 1.0}
    for loss, target in (
        ("softmax_cross_entropy", classes),
        ("mean_squared_error", {"fill": "normal"}),
        ("sum_squared_error", {"fill": "normal"}),
        ("binary_cross_entropy", share),
    ):
        slow: Workload = {"sgd": {"learning_rate": 0.01}}
        said: Workload = {"loss": loss, "target": target, "optimizer": slow}
        for shape in (_VECTOR, [3, 4], [2, 3, 2]):
            yield _trained(loss, f"shape {shape}", [{"dense": {"units": 5}}], shape, **said)
        yield _trained(loss, "batch 1", [{"dense": {"units": 5}}], _VECTOR, batch=1, **said)
        yield _trained(
            loss, "large outputs", [{"dense": {"units": 5}}], {"shape": [6], "fill": "uniform", "low": -50.0, "high": 50.0}, **said
        )
    yield _trained(
        "binary_cross_entropy", "one output", [{"dense": {"units": 1}}], _VECTOR, batch=3, loss="binary_cross_entropy", target=share
    )


def _optimizers() -> Iterator[Case]:
    network: Layers = [{"dense": {"units": 4}}, "tanh", {"dense": {"units": 2}}]
    words: Workload = {"shape": [3], "fill": "integers", "below": 12}
    table: Layers = [{"embedding": {"vocabulary": 12, "units": 2}}, {"dense": {"units": 2}}]
    normed: Layers = [{"dense": {"units": 4}}, {"batch_norm": {"eps": 1e-3, "keep": 0.9}}, {"dense": {"units": 2}}]
    for kind, settings in (
        ("sgd", {"learning_rate": 0.1}),
        ("sgd", {"learning_rate": 0.1, "momentum": 0.9}),
        ("sgd", {"learning_rate": 0.1, "momentum": 0.8, "nesterov": True}),
        ("sgd", {"learning_rate": 0.1, "weight_decay": 0.1}),
        ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
        ("sgd", {"learning_rate": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.05}),
        ("adam", {"learning_rate": 0.01, "eps": 1e-8}),
        ("adam", {"learning_rate": 0.01, "beta1": 0.8, "beta2": 0.99, "eps": 0.01}),
        ("adamw", {"learning_rate": 0.01, "eps": 1e-8, "weight_decay": 0.1}),
        ("adamw", {"learning_rate": 0.05, "beta1": 0.8, "beta2": 0.9, "eps": 0.01, "weight_decay": 0.5}),
    ):
        optimizer = {kind: settings}
        yield _trained(kind, _say(settings), network, _VECTOR, optimizer=optimizer)
        if "momentum" in settings or kind != "sgd":
            yield _trained(kind, f"rarely used rows {_say(settings)}", table, words, optimizer=optimizer)
        if "weight_decay" in settings and "nesterov" not in settings:
            yield _trained(kind, f"scales and offsets {_say(settings)}", normed, _VECTOR, batch=4, optimizer=optimizer)
    tiny: Workload = {"shape": [6], "fill": "uniform", "low": 0.0, "high": 2e-6}
    for eps in (1e-8, 1e-7):
        adam = {"adam": {"learning_rate": 0.01, "eps": eps}}
        yield _trained("adam", f"tiny gradients eps {eps}", [{"dense": {"units": 3}}], tiny, optimizer=adam, wide_only=True)


def _structures() -> Iterator[Case]:
    image, head = [3, 4, 2], {"dense": {"units": 2}}
    gate: Layers = ["global_avg_pool2d", {"dense": {"units": 3}}, "sigmoid", {"reshape": {"shape": [1, 1, 3]}}]
    strided = {"conv2d": {"filters": 3, "kernel": 1, "stride": 2}}
    for name, layers, shape in (
        ("identity", [{"residual": {"body": [head, "relu", head]}}], [2]),
        ("identity of an image", [_conv(3), {"residual": {"body": [_conv(3), "relu"]}}, "relu"], image),
        (
            "shortcut",
            [{"residual": {"body": [{"conv2d": {"filters": 3, "kernel": 3, "stride": 2, "padding": 1}}], "shortcut": [strided]}}],
            image,
        ),
        ("nested", [{"residual": {"body": [head, {"residual": {"body": ["tanh", head]}}]}}], [2]),
        ("empty shortcut", [{"residual": {"body": [head, "relu"], "shortcut": []}}], [2]),
        ("relu at its start", [head, {"residual": {"body": ["relu", head]}}], [2]),
    ):
        yield _trained("residual", name, layers, shape)
    for name, merge, paths, shape in (
        ("concat", "concat", [[_conv(2)], [_conv(3, 1), "relu"], []], image),
        ("concat of sequences", "concat", [[head], ["relu"]], [3, 2]),
        ("add", "add", [[head], [head, "tanh"], []], [2]),
        ("multiply", "multiply", [[head, "sigmoid"], [head]], [2]),
        ("multiply three", "multiply", [[head], [head, "tanh"], []], [2]),
        ("nested", "concat", [[head], [{"branches": {"merge": "add", "paths": [[head], []]}}]], [2]),
    ):
        yield _trained("branches", name, [{"branches": {"merge": merge, "paths": paths}}, {"dense": {"units": 2}}], shape)
    for name, gated in (("stretched gate", [[], gate]), ("stretched gate first", [gate, []])):
        yield _trained("branches", name, [_conv(3), {"branches": {"merge": "multiply", "paths": gated}}], image)
    yield _trained("branches", "stretched sum", [_conv(3), {"branches": {"merge": "add", "paths": [[], gate]}}], image)
    yield from _several_inputs()


def _several_inputs() -> Iterator[Case]:
    vector: Workload = {"shape": [4], "fill": "normal"}
    words: Workload = {"shape": [3], "fill": "integers", "below": 5}
    picture: Workload = {"shape": [3, 4, 2], "fill": "normal"}
    join: Layers = [{"branches": {"merge": "concat", "paths": [[{"input": "a"}, {"dense": {"units": 3}}], [{"input": "b"}]]}}, "relu"]
    yield _trained("input", "two vectors", [*join, {"dense": {"units": 2}}], inputs={"a": vector, "b": {**vector, "shape": [2]}})
    looked = [{"input": "ids"}, {"embedding": {"vocabulary": 5, "units": 2}}, "mean_tokens"]
    seen = [{"input": "image"}, _conv(2), "flatten", {"dense": {"units": 2}}]
    mixed: Layers = [{"branches": {"merge": "add", "paths": [looked, seen]}}]
    yield _trained("input", "integers and an image", mixed, inputs={"ids": words, "image": picture})
    again: Layers = [
        {"input": "a"},
        {"dense": {"units": 4}},
        {"residual": {"body": ["tanh"], "shortcut": [{"input": "b"}]}},
        {"dense": {"units": 2}},
    ]
    yield _trained("input", "taken in a shortcut", again, inputs={"b": vector, "a": {**vector, "shape": [3]}})
    skip: Layers = [
        {"dense": {"units": 3}},
        "tanh",
        {"branches": {"merge": "concat", "paths": [[], [{"input": "x"}]]}},
        {"dense": {"units": 2}},
    ]
    yield _trained("input", "the only one again", skip, inputs={"x": vector})


def _networks() -> Iterator[Case]:
    classes: Workload = {"fill": "integers", "below": 3}
    said: Workload = {"loss": "softmax_cross_entropy", "target": classes}
    norm, ln = {"batch_norm": {"eps": 1e-5, "keep": 0.9}}, {"layer_norm": {"eps": 1e-5}}
    pooled: Layers = [_conv(2), "relu", {"max_pool2d": {"size": 2}}, _conv(3), "tanh", "flatten", {"dense": {"units": 4}}, "relu"]
    yield _trained("network", "convolutional", [*pooled, {"dense": {"units": 3}}], [6, 4, 1], **said)
    block = {"residual": {"body": [_conv(3, 1), norm, "relu", _conv(3), norm]}}
    yield _trained(
        "network", "residual", [_conv(3, 1), block, "relu", "global_avg_pool2d", {"dense": {"units": 3}}], [3, 4, 2], batch=3, **said
    )
    mix = [
        {"residual": {"body": [ln, {"attention": {"heads": 2, "causal": True}}]}},
        {"residual": {"body": [ln, {"dense": {"units": 4}}, {"gelu": {"form": "tanh"}}, {"dense": {"units": 4}}]}},
    ]
    patches: Layers = [{"conv2d": {"filters": 4, "kernel": 2, "stride": 2}}, "tokens", "class_token", {"position_embedding": {"length": 5}}]
    yield _trained(
        "network", "vision transformer", [*patches, *mix, {"select_token": {"index": 0}}, {"dense": {"units": 3}}], [4, 4, 1], **said
    )
    words: Workload = {"shape": [4], "fill": "integers", "below": 5}
    table = {"embedding": {"vocabulary": 5, "units": 4, "name": "words"}}
    model: Layers = [table, {"position_embedding": {"length": 4}}, *mix, ln, {"unembedding": {"of": "words"}}]
    yield _trained("network", "language model", model, words, loss="softmax_cross_entropy", target={"fill": "integers", "below": 5})


def _operators() -> Iterator[Case]:
    for name, a, b, batch in (
        ("matrices", [3, 4], [4, 2], None),
        ("stack of matrices", [2, 3, 4], [2, 4, 2], None),
        ("batch 3", [2, 4], [4, 3], 3),
        ("rows and columns", [1, 5], [5, 1], None),
    ):
        shapes = {key: {"shape": shape, "fill": "normal"} for key, shape in (("a", a), ("b", b))}
        yield _inferred("matmul", name, {"operator": "matmul", "inputs": shapes, "batch": batch})
    for name, shape, batch in (("matrix", [3, 4], None), ("batch 2", [3], 2)):
        yield _operator("copy", f"copy {name}", "copy", shape, batch)
    for axes in (None, [0], [1], [-1], [0, 2]):
        for batch in (None, 2):
            said = {"reduce_sum": {"axes": axes}} if axes else "reduce_sum"
            yield _operator("reduce_sum", f"axes {axes} batch {batch}", said, [2, 3, 4], batch)
    for layer, shape in (
        ("softmax", [3, 4]),
        ("relu", [2, 3, 2]),
        ({"conv2d": {"filters": 3, "kernel": 3, "padding": 1}}, [4, 4, 2]),
        ({"dense": {"units": 3}}, [4]),
        ({"layer_norm": {"eps": 1e-5}}, [3, 4]),
        ({"attention": {"heads": 2, "causal": True}}, [3, 4]),
        ("flatten", [2, 3, 2]),
        ({"max_pool2d": {"size": 2}}, [4, 4, 2]),
    ):
        kind = layer if isinstance(layer, str) else next(iter(layer))
        for batch in (None, 2):
            yield _operator(kind, f"operator batch {batch}", layer, shape, batch)


# --- writing a workload ----------------------------------------------------------------------------------------------


def _conv(filters: int, kernel: int = 2) -> Workload:
    return {"conv2d": {"filters": filters, "kernel": kernel, "padding": [[0, kernel - 1], [0, kernel - 1]]}}


def _still() -> Workload:
    """An optimizer that moves nothing that could be seen, so that only masks change the loss of a batch."""
    return {"sgd": {"learning_rate": 1e-12}}


def _say(attributes: Mapping[str, Any]) -> str:
    return " ".join(f"{key} {value}" for key, value in attributes.items())


def _trained(
    layer: str,
    name: str,
    network: Layers,
    given: Any = None,
    *,
    check: Literal["values", "dropout", "fresh"] = "values",
    wide_only: bool = False,
    **workload: Any,
) -> Case:
    """A case with a loss; ``given`` is the shape of the only input ``x``, or its whole description."""
    if given is not None:
        workload["inputs"] = {"x": given if isinstance(given, dict) else {"shape": given, "fill": "normal"}}
    defaults: Workload = {"loss": "mean_squared_error", "target": {"fill": "normal"}, "optimizer": _SGD, "batch": 2}
    return Case(f"{layer}/{name}", layer, {**defaults, **workload, "network": network}, check, wide_only)


def _inferred(layer: str, name: str, workload: Workload) -> Case:
    return Case(f"{layer}/{name}", layer, {key: value for key, value in workload.items() if value is not None})


def _operator(layer: str, name: str, said: Any, shape: list[int], batch: int | None) -> Case:
    return _inferred(layer, name, {"operator": said, "inputs": {"x": {"shape": shape, "fill": "normal"}}, "batch": batch})
