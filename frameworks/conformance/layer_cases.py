"""Each layer alone, over a grid of its attributes, in the order of the language's page."""

from __future__ import annotations

from collections.abc import Iterator

from frameworks.conformance.case import (
    IMAGE,
    SEQUENCE,
    VECTOR,
    WIDE,
    Case,
    Layers,
    Workload,
    conv,
    inferred,
    say,
    still,
    trained,
)


def cases() -> Iterator[Case]:
    """All cases of single layers."""
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


def _convolutions() -> Iterator[Case]:
    attributes: Workload
    for attributes in (
        {"kernel": 3},
        {"kernel": 3, "stride": 2, "padding": [0, 1]},
        {"kernel": 3, "dilation": 2, "padding": [4, 0]},
        {"kernel": 2, "groups": 2, "padding": 1},
        {"kernel": 1, "stride": 2, "bias": False},
    ):
        yield trained("conv1d", say(attributes), [{"conv1d": {"filters": 4, **attributes}}], [9, 4])
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
        yield trained("conv2d", say(attributes), [{"conv2d": {"filters": 4, **attributes}}], IMAGE)
    yield trained("conv2d", "batch 1", [{"conv2d": {"filters": 2, "kernel": 3}}], [3, 3, 1], batch=1)
    for attributes in (
        {"kernel": 3, "padding": 1},
        {"kernel": 3, "stride": 2, "padding": [[0, 1], [0, 1]]},
        {"kernel": 2, "multiplier": 2, "bias": False},
        {"kernel": [1, 3], "dilation": 2, "padding": [0, 2]},
        {"kernel": 3, "stride": 2, "padding": 1, "multiplier": 3},
    ):
        yield trained("depthwise_conv2d", say(attributes), [{"depthwise_conv2d": attributes}], IMAGE)
    for attributes in (
        {"kernel": 3},
        {"kernel": 2, "stride": 2, "bias": False},
        {"kernel": 3, "stride": 2, "padding": 1, "output_padding": 1},
        {"kernel": 4, "stride": 2, "padding": 1},
        {"kernel": 3, "stride": 2, "padding": [[0, 1], [1, 0]]},
        {"kernel": [2, 3], "stride": [3, 2], "output_padding": [2, 0]},
    ):
        yield trained("conv2d_transpose", say(attributes), [{"conv2d_transpose": {"filters": 3, **attributes}}], [3, 4, 2])


def _dense() -> Iterator[Case]:
    yield trained("dense", "vector", [{"dense": {"units": 3}}], VECTOR)
    yield trained("dense", "bias False", [{"dense": {"units": 3, "bias": False}}], VECTOR)
    yield trained("dense", "over a sequence", [{"dense": {"units": 3}}], SEQUENCE)
    yield trained("dense", "over an image", [{"dense": {"units": 3}}], [2, 3, 4])
    yield trained("dense", "batch 1", [{"dense": {"units": 1}}], [1], batch=1)
    yield trained("dense", "after conv2d", [conv(3), {"dense": {"units": 3}}, "relu", conv(2)], [3, 4, 2])


def _tables() -> Iterator[Case]:
    words: Workload = {"shape": [5], "fill": "integers", "below": 7}
    yield trained("embedding", "sequence", [{"embedding": {"vocabulary": 7, "units": 3}}], words)
    yield trained("embedding", "grid", [{"embedding": {"vocabulary": 7, "units": 3}}], {**words, "shape": [2, 3]})
    yield trained("position_embedding", "exact", [{"position_embedding": {"length": 5}}], SEQUENCE)
    yield trained("position_embedding", "longer table", [{"position_embedding": {"length": 8}}], SEQUENCE)
    yield trained("class_token", "first", ["class_token"], SEQUENCE)
    table = {"embedding": {"vocabulary": 7, "units": 4, "name": "words"}}
    tied: Layers = [table, {"dense": {"units": 4}}, {"unembedding": {"of": "words"}}]
    classes: Workload = {"fill": "integers", "below": 7}
    said: Workload = {"loss": "softmax_cross_entropy", "target": classes}
    yield trained("unembedding", "tied, sgd", tied, words, **said)
    biased: Layers = [table, {"unembedding": {"of": "words", "bias": True}}]
    yield trained("unembedding", "bias True", biased, words, **said)
    adam: Workload = {"adam": {"learning_rate": 0.01, "eps": 1e-3}}
    yield trained("unembedding", "tied, adam", tied, words, optimizer=adam, wide_only=True, **said)


def _normalisation() -> Iterator[Case]:
    for shape in ([3, 4, 4], SEQUENCE, VECTOR):
        for eps, keep in ((1e-5, 0.9), (0.05, 0.7)):
            attributes: Workload = {"eps": eps, "keep": keep}
            yield trained("batch_norm", f"shape {shape} {say(attributes)}", [{"batch_norm": attributes}], shape, batch=5)
    yield trained("batch_norm", "after conv2d", [conv(3), {"batch_norm": {"eps": 1e-3, "keep": 0.99}}, "relu"], [3, 4, 2], batch=3)
    for shape in ([2, 3, 4], SEQUENCE, VECTOR):
        for kind in ("layer_norm", "rms_norm"):
            for eps in (1e-6, 0.05):
                yield trained(kind, f"shape {shape} eps {eps}", [{kind: {"eps": eps}}], shape)
    yield trained("layer_norm", "after conv2d", [conv(3), {"layer_norm": {"eps": 1e-6}}, conv(2)], [3, 4, 2])
    for groups, shape in ((1, [3, 4, 4]), (2, [3, 4, 4]), (4, [3, 4, 4]), (2, [5, 6]), (2, [8])):
        for eps in (1e-5, 0.05):
            yield trained("group_norm", f"groups {groups} shape {shape} eps {eps}", [{"group_norm": {"groups": groups, "eps": eps}}], shape)


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
        yield trained(kind, f"after dense {say(attributes)}".strip(), [{"dense": {"units": 8}}, layer], {"shape": [6], **WIDE})
        yield trained(kind, f"after conv2d {say(attributes)}".strip(), [conv(3), layer], {"shape": [2, 3, 2], **WIDE})


def _pooling() -> Iterator[Case]:
    windows: tuple[Workload, ...] = (
        {"size": 2},
        {"size": 3, "stride": 2, "padding": 1},
        {"size": [2, 1], "stride": [1, 2]},
        {"size": 3, "stride": 2, "padding": [[0, 1], [0, 1]]},
        {"size": [3, 2], "stride": 1, "padding": [[1, 0], [1, 0]]},
    )
    for attributes in windows:
        yield trained("max_pool2d", say(attributes), [conv(2, 1), {"max_pool2d": attributes}], [5, 7, 2])
    below = {"shape": [4, 5, 2], "fill": "uniform", "low": -2.0, "high": -1.0}
    yield inferred("max_pool2d", "padding never wins", {"network": [{"max_pool2d": windows[1]}], "inputs": {"x": below}, "batch": 2})
    for attributes in windows:
        for count in (True, False) if "padding" in attributes else (False,):
            said = {**attributes, "count_padding": count}
            yield trained("avg_pool2d", say(said), [conv(2, 1), {"avg_pool2d": said}], [5, 7, 2])
    yield trained("global_avg_pool2d", "after conv2d", [conv(3), "global_avg_pool2d", {"dense": {"units": 2}}], [3, 4, 2])
    for factor, method in ((2, "nearest"), (3, "nearest"), (2, "bilinear"), (3, "bilinear")):
        yield trained("upsample2d", f"{method} {factor}", [conv(2, 1), {"upsample2d": {"factor": factor, "method": method}}], [3, 4, 2])


def _dropout() -> Iterator[Case]:
    inference: Layers = [{"dense": {"units": 4}}, {"dropout": {"rate": 0.5}}, {"dense": {"units": 2}}]
    yield trained("dropout", "inference", inference, VECTOR)
    line: Layers = [{"dropout": {"rate": 0.25}}, {"polynomial": {"degree": 1}}]
    yield trained("dropout", "training rate 0.25", line, [60], batch=60, optimizer=still(), check="dropout")
    attended: Layers = [{"attention": {"heads": 2, "dropout": 0.5}}]
    yield trained("attention", "dropout in training", attended, SEQUENCE, optimizer=still(), check="fresh")
    yield trained("attention", "dropout in inference", attended, SEQUENCE)


def _shapes() -> Iterator[Case]:
    layers: Layers
    image, head = [3, 4, 2], {"dense": {"units": 2}}
    norm = {"batch_norm": {"eps": 1e-3, "keep": 0.9}}
    for name, layers in (
        ("of the input, then dense", ["flatten", head]),
        ("after conv2d, then dense", [conv(3), "flatten", head]),
        ("after conv2d, relu between", [conv(3), "relu", "flatten", "relu", head]),
        ("after pooling, dropout between", [conv(3), {"max_pool2d": {"size": 2}}, "flatten", {"dropout": {"rate": 0.5}}, head]),
        ("after conv2d, without dense", [conv(3), "flatten"]),
        ("after conv2d, activation last", [conv(3), "flatten", "tanh"]),
        ("after conv2d, batch_norm between", [conv(3), "flatten", norm, head]),
        ("after conv2d, layer_norm between", [conv(2), "flatten", {"layer_norm": {"eps": 1e-3}}, head]),
        ("after conv2d, residual between", [conv(2), "flatten", {"residual": {"body": [{"dense": {"units": 24}}]}}, head]),
        ("after conv2d, branches between", [conv(2), "flatten", {"branches": {"merge": "concat", "paths": [[head], ["relu"]]}}]),
        (
            "at the end of a residual body",
            [conv(2), {"residual": {"body": ["flatten"], "shortcut": ["flatten", {"dense": {"units": 24}}]}}],
        ),
        ("twice", [conv(2), "flatten", {"reshape": {"shape": [4, 3, 2]}}, conv(2), "flatten", head]),
    ):
        yield trained("flatten", name, layers, image, batch=4 if "batch_norm" in name else 2)
    yield trained("flatten", "after conv1d", [{"conv1d": {"filters": 3, "kernel": 2}}, "flatten", head], SEQUENCE)
    yield trained("flatten", "after lstm", [{"lstm": {"units": 2, "sequences": True}}, "flatten", head], [3, 2])
    for name, layers, shape in (
        ("after conv2d", [conv(4), {"reshape": {"shape": [4, 3, 4]}}, conv(2)], image),
        ("to a sequence", [conv(2), {"reshape": {"shape": [-1, 4]}}, head], image),
        ("to an image", [{"dense": {"units": 12}}, {"reshape": {"shape": [2, 3, 2]}}, conv(2)], VECTOR),
        ("of a sequence", [{"dense": {"units": 6}}, {"reshape": {"shape": [6, 5]}}, head], [5, 2]),
    ):
        yield trained("reshape", name, layers, shape)
    yield trained("tokens", "after conv2d", [conv(3), "tokens", head], image)
    yield trained("tokens", "last", [conv(3), "tokens"], image)
    for name, layers in (
        ("of the input", ["transpose", head]),
        ("last", [head, "transpose"]),
        ("twice", [head, "transpose", {"dense": {"units": 3}}, "tanh", "transpose", head]),
        ("after conv1d", [{"conv1d": {"filters": 3, "kernel": 2}}, "transpose", head]),
        ("before conv1d", [head, "transpose", {"conv1d": {"filters": 3, "kernel": 2}}]),
        ("in a residual", [{"residual": {"body": ["transpose", {"dense": {"units": 5}}, "transpose"]}}, head]),
    ):
        yield trained("transpose", name, layers, SEQUENCE)
    for index in (0, 2, -1):
        yield trained("select_token", f"index {index}", [head, {"select_token": {"index": index}}], SEQUENCE)
    yield trained("mean_tokens", "after dense", [head, "mean_tokens"], SEQUENCE)


def _attention() -> Iterator[Case]:
    for attributes, shape in (
        ({"heads": 1}, [4, 2]),
        ({"heads": 2}, SEQUENCE),
        ({"heads": 2, "causal": True}, SEQUENCE),
        ({"heads": 2, "bias": False}, SEQUENCE),
        ({"heads": 4, "kv_heads": 2}, [3, 4]),
        ({"heads": 4, "kv_heads": 1, "causal": True}, [3, 4]),
        ({"heads": 2, "head_units": 3}, [3, 4]),
        ({"heads": 1, "rotary": 10000.0}, SEQUENCE),
        ({"heads": 2, "rotary": 100.0, "causal": True, "bias": False}, [6, 8]),
        ({"heads": 4, "kv_heads": 2, "head_units": 2, "rotary": 10.0, "causal": True}, [3, 4]),
        ({"heads": 2, "causal": True}, [1, 4]),
    ):
        yield trained("attention", f"{say(attributes)} length {shape[0]}", [{"attention": attributes}], shape)
    yield trained("attention", "causal long", [{"attention": {"heads": 2, "causal": True, "rotary": 10000.0}}], [17, 4], batch=1)


def _recurrent() -> Iterator[Case]:
    for kind in ("lstm", "gru"):
        for sequences in (True, False):
            for length in (1, 4):
                name = f"sequences {sequences} length {length}"
                yield trained(kind, name, [{kind: {"units": 3, "sequences": sequences}}], [length, 2])
        yield trained(kind, "length 15", [{kind: {"units": 2, "sequences": False}}], {"shape": [15, 1], **WIDE}, batch=1)
        stack: Layers = [{kind: {"units": 2, "sequences": True}}, {kind: {"units": 2, "sequences": False}}]
        yield trained(kind, "two in a row", stack, [3, 2])


def _polynomial() -> Iterator[Case]:
    line = {"shape": [1], "fill": "linspace", "low": -3.0, "high": 3.0}
    for degree in (1, 3):
        yield trained("polynomial", f"degree {degree}", [{"polynomial": {"degree": degree}}], [4])
    fit: Workload = {"loss": "sum_squared_error", "target": {"fill": "sin", "of": "x"}, "optimizer": {"sgd": {"learning_rate": 1e-5}}}
    yield trained("polynomial", "fit of a sine", [{"polynomial": {"degree": 3}}], line, batch=20, **fit)
