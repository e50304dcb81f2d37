"""Losses, optimizers, structures, small whole networks, operators, and the session itself."""

from __future__ import annotations

from collections.abc import Iterator

from frameworks.conformance.case import (
    VECTOR,
    Case,
    Layers,
    Workload,
    conv,
    inferred,
    operator,
    say,
    trained,
)


def cases() -> Iterator[Case]:
    """All cases beyond single layers."""
    for family in (_losses, _optimizers, _structures, _several_inputs, _networks, _operators, _session):
        yield from family()


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
        for shape in (VECTOR, [3, 4], [2, 3, 2]):
            yield trained(loss, f"shape {shape}", [{"dense": {"units": 5}}], shape, **said)
        yield trained(loss, "batch 1", [{"dense": {"units": 5}}], VECTOR, batch=1, **said)
        far: Workload = {"shape": [6], "fill": "uniform", "low": -50.0, "high": 50.0}
        yield trained(loss, "large outputs", [{"dense": {"units": 5}}], far, wide_only=loss == "sum_squared_error", **said)
    yield trained(
        "binary_cross_entropy", "one output", [{"dense": {"units": 1}}], VECTOR, batch=3, loss="binary_cross_entropy", target=share
    )


def _optimizers() -> Iterator[Case]:
    network: Layers = [{"dense": {"units": 4}}, "tanh", {"dense": {"units": 2}}]
    words: Workload = {"shape": [3], "fill": "integers", "below": 12}
    table: Layers = [{"embedding": {"vocabulary": 12, "units": 2}}, {"dense": {"units": 2}}]
    normed: Layers = [{"dense": {"units": 4, "bias": False}}, {"batch_norm": {"eps": 1e-3, "keep": 0.9}}, {"dense": {"units": 2}}]
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
        wide_only = settings.get("eps", 1.0) < 1e-6  # float16 has no such number
        yield trained(kind, say(settings), network, VECTOR, optimizer=optimizer, wide_only=wide_only)
        if "momentum" in settings or kind != "sgd":
            yield trained(kind, f"rarely used rows {say(settings)}", table, words, optimizer=optimizer, wide_only=wide_only)
        if "weight_decay" in settings and "nesterov" not in settings:
            yield trained(kind, f"scales and offsets {say(settings)}", normed, VECTOR, batch=4, optimizer=optimizer, wide_only=wide_only)
    tiny: Workload = {"shape": [6], "fill": "uniform", "low": 0.0, "high": 2e-6}
    for eps in (1e-8, 1e-7):
        adam = {"adam": {"learning_rate": 0.01, "eps": eps}}
        yield trained("adam", f"tiny gradients eps {eps}", [{"dense": {"units": 3}}], tiny, optimizer=adam, wide_only=True)


def _structures() -> Iterator[Case]:
    image, head = [3, 4, 2], {"dense": {"units": 2}}
    gate: Layers = ["global_avg_pool2d", {"dense": {"units": 3}}, "sigmoid", {"reshape": {"shape": [1, 1, 3]}}]
    strided = {"conv2d": {"filters": 3, "kernel": 1, "stride": 2}}
    for name, layers, shape in (
        ("identity", [{"residual": {"body": [head, "relu", head]}}], [2]),
        ("identity of an image", [conv(3), {"residual": {"body": [conv(3), "relu"]}}, "relu"], image),
        (
            "shortcut",
            [{"residual": {"body": [{"conv2d": {"filters": 3, "kernel": 3, "stride": 2, "padding": 1}}], "shortcut": [strided]}}],
            image,
        ),
        ("nested", [{"residual": {"body": [head, {"residual": {"body": ["tanh", head]}}]}}], [2]),
        ("empty shortcut", [{"residual": {"body": [head, "relu"], "shortcut": []}}], [2]),
        ("relu at its start", [head, {"residual": {"body": ["relu", head]}}], [2]),
    ):
        yield trained("residual", name, layers, shape)
    for name, merge, paths, shape in (
        ("concat", "concat", [[conv(2)], [conv(3, 1), "relu"], []], image),
        ("concat of sequences", "concat", [[head], ["relu"]], [3, 2]),
        ("add", "add", [[head], [head, "tanh"], []], [2]),
        ("multiply", "multiply", [[head, "sigmoid"], [head]], [2]),
        ("multiply three", "multiply", [[head], [head, "tanh"], []], [2]),
        ("nested", "concat", [[head], [{"branches": {"merge": "add", "paths": [[head], []]}}]], [2]),
    ):
        yield trained("branches", name, [{"branches": {"merge": merge, "paths": paths}}, {"dense": {"units": 2}}], shape)
    for name, gated in (("stretched gate", [[], gate]), ("stretched gate first", [gate, []])):
        yield trained("branches", name, [conv(3), {"branches": {"merge": "multiply", "paths": gated}}], image)
    yield trained("branches", "stretched sum", [conv(3), {"branches": {"merge": "add", "paths": [[], gate]}}], image)


def _several_inputs() -> Iterator[Case]:
    vector: Workload = {"shape": [4], "fill": "normal"}
    words: Workload = {"shape": [3], "fill": "integers", "below": 5}
    picture: Workload = {"shape": [3, 4, 2], "fill": "normal"}
    join: Layers = [{"branches": {"merge": "concat", "paths": [[{"input": "a"}, {"dense": {"units": 3}}], [{"input": "b"}]]}}, "relu"]
    yield trained("input", "two vectors", [*join, {"dense": {"units": 2}}], inputs={"a": vector, "b": {**vector, "shape": [2]}})
    looked = [{"input": "ids"}, {"embedding": {"vocabulary": 5, "units": 2}}, "mean_tokens"]
    seen = [{"input": "image"}, conv(2), "flatten", {"dense": {"units": 2}}]
    mixed: Layers = [{"branches": {"merge": "add", "paths": [looked, seen]}}]
    yield trained("input", "integers and an image", mixed, inputs={"ids": words, "image": picture})
    again: Layers = [
        {"input": "a"},
        {"dense": {"units": 4}},
        {"residual": {"body": ["tanh"], "shortcut": [{"input": "b"}]}},
        {"dense": {"units": 2}},
    ]
    yield trained("input", "taken in a shortcut", again, inputs={"b": vector, "a": {**vector, "shape": [3]}})
    skip: Layers = [
        {"dense": {"units": 3}},
        "tanh",
        {"branches": {"merge": "concat", "paths": [[], [{"input": "x"}]]}},
        {"dense": {"units": 2}},
    ]
    yield trained("input", "the only one again", skip, inputs={"x": vector})


def _networks() -> Iterator[Case]:
    classes: Workload = {"fill": "integers", "below": 3}
    said: Workload = {"loss": "softmax_cross_entropy", "target": classes}
    norm, ln = {"batch_norm": {"eps": 1e-5, "keep": 0.9}}, {"layer_norm": {"eps": 1e-5}}
    pooled: Layers = [conv(2), "relu", {"max_pool2d": {"size": 2}}, conv(3), "tanh", "flatten", {"dense": {"units": 4}}, "relu"]
    yield trained("network", "convolutional", [*pooled, {"dense": {"units": 3}}], [6, 4, 1], **said)
    block = {"residual": {"body": [conv(3, 1), norm, "relu", conv(3), norm]}}
    yield trained(
        "network", "residual", [conv(3, 1), block, "relu", "global_avg_pool2d", {"dense": {"units": 3}}], [3, 4, 2], batch=3, **said
    )
    mix = [
        {"residual": {"body": [ln, {"attention": {"heads": 2, "causal": True}}]}},
        {"residual": {"body": [ln, {"dense": {"units": 4}}, {"gelu": {"form": "tanh"}}, {"dense": {"units": 4}}]}},
    ]
    patches: Layers = [{"conv2d": {"filters": 4, "kernel": 2, "stride": 2}}, "tokens", "class_token", {"position_embedding": {"length": 5}}]
    yield trained(
        "network", "vision transformer", [*patches, *mix, {"select_token": {"index": 0}}, {"dense": {"units": 3}}], [4, 4, 1], **said
    )
    words: Workload = {"shape": [4], "fill": "integers", "below": 5}
    table = {"embedding": {"vocabulary": 5, "units": 4, "name": "words"}}
    model: Layers = [table, {"position_embedding": {"length": 4}}, *mix, ln, {"unembedding": {"of": "words"}}]
    yield trained("network", "language model", model, words, loss="softmax_cross_entropy", target={"fill": "integers", "below": 5})


def _operators() -> Iterator[Case]:
    for name, a, b, batch in (
        ("matrices", [3, 4], [4, 2], None),
        ("stack of matrices", [2, 3, 4], [2, 4, 2], None),
        ("batch 3", [2, 4], [4, 3], 3),
        ("rows and columns", [1, 5], [5, 1], None),
    ):
        shapes = {key: {"shape": shape, "fill": "normal"} for key, shape in (("a", a), ("b", b))}
        yield inferred("matmul", name, {"operator": "matmul", "inputs": shapes, "batch": batch})
    for name, q, k, v, batch in (
        ("one head", [3, 4], [5, 4], [5, 2], None),
        ("heads", [2, 3, 4], [2, 3, 4], [2, 3, 4], None),
        ("heads batch 2", [2, 3, 4], [2, 5, 4], [2, 5, 4], 2),
    ):
        shapes = {key: {"shape": shape, "fill": "normal"} for key, shape in (("q", q), ("k", k), ("v", v))}
        yield inferred("dot_product_attention", name, {"operator": "dot_product_attention", "inputs": shapes, "batch": batch})
    for name, axis, others in (
        ("axis 0", 0, ([4, 3], [1, 3])),
        ("axis 0, equal shapes", 0, ([2, 3],)),
        ("axis 1", 1, ([2, 1],)),
        ("axis -1", -1, ([2, 5],)),
    ):
        for batch in (None, 2):
            shapes = {f"x{number}": {"shape": shape, "fill": "normal"} for number, shape in enumerate(([2, 3], *others))}
            joined: Workload = {"concat": {"axis": axis}}
            yield inferred("concat", f"{name} batch {batch}", {"operator": joined, "inputs": shapes, "batch": batch})
    for name, shape, batch in (("matrix", [3, 4], None), ("batch 2", [3], 2)):
        yield operator("copy", f"copy {name}", "copy", shape, batch)
    for axes in (None, [0], [1], [-1], [0, 2]):
        for batch in (None, 2):
            said = {"reduce_sum": {"axes": axes}} if axes else "reduce_sum"
            yield operator("reduce_sum", f"axes {axes} batch {batch}", said, [2, 3, 4], batch)
    for kind in ("argmax", "sort"):
        for axis in (0, 1, -1):
            for batch in (None, 2):
                yield operator(kind, f"axis {axis} batch {batch}", {kind: {"axis": axis}}, [2, 7, 4], batch)
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
            yield operator(kind, f"operator batch {batch}", layer, shape, batch)


def _session() -> Iterator[Case]:
    yield trained("session", "batches come round, loading refuses", [{"dense": {"units": 2}}], VECTOR, check="contract")
