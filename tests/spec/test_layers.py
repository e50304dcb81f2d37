"""Shape rule, parameters and operations of every layer against numbers worked out by hand."""

# ruff: noqa: E501

from __future__ import annotations

import math

import pytest

from frameworks.contract import Node
from runner.spec.operators import LAYER_KINDS, OPERATOR_KINDS
from tests.spec.written import bare, compute, nodes, problems


def only(layer: str, shape: str, fill: str = "normal") -> Node:
    """The node of a network of one layer."""
    root = compute(bare(f"[{layer}]", shape, fill=fill)).network
    (node,) = root.children
    assert root.gives == node.gives and root.takes == node.takes
    return node


LAYERS = [
    # layer, input, output, parameters, operations
    ("conv1d: {filters: 4, kernel: 3}", "[10, 2]", (8, 4), {"kernel": (3, 2, 4), "bias": (4,)}, 2 * 8 * 3 * 2 * 4),
    ("conv1d: {filters: 4, kernel: 3, stride: 2, padding: [2, 1], dilation: 2, groups: 2, bias: false}", "[10, 2]", (5, 4), {"kernel": (3, 1, 4)}, 120),
    ("conv1d: {filters: 1, kernel: 4, padding: same}", "[10, 2]", (10, 1), {"kernel": (4, 2, 1), "bias": (1,)}, 160),
    ("conv2d: {filters: 4, kernel: 3}", "[8, 6, 2]", (6, 4, 4), {"kernel": (3, 3, 2, 4), "bias": (4,)}, 2 * 24 * 9 * 2 * 4),
    ("conv2d: {filters: 64, kernel: 7, stride: 2, padding: 3, bias: false}", "[224, 224, 3]", (112, 112, 64), {"kernel": (7, 7, 3, 64)}, 236027904),
    ("conv2d: {filters: 4, kernel: [1, 3], stride: [2, 1], padding: [[0, 1], [1, 0]], dilation: [1, 2]}", "[8, 6, 2]", (5, 3, 4),
     {"kernel": (1, 3, 2, 4), "bias": (4,)}, 2 * 15 * 3 * 2 * 4),
    ("conv2d: {filters: 6, kernel: 2, groups: 2, bias: false}", "[4, 4, 4]", (3, 3, 6), {"kernel": (2, 2, 2, 6)}, 2 * 9 * 8 * 6),
    ("depthwise_conv2d: {kernel: 3, padding: 1, multiplier: 2}", "[5, 5, 3]", (5, 5, 6), {"kernel": (3, 3, 3, 2), "bias": (6,)}, 2 * 25 * 9 * 6),
    ("conv2d_transpose: {filters: 4, kernel: 3, stride: 2, padding: 1, output_padding: 1}", "[5, 4, 3]", (10, 8, 4), {"kernel": (3, 3, 4, 3), "bias": (4,)}, 4320),
    ("dense: {units: 5}", "[7, 3]", (7, 5), {"kernel": (3, 5), "bias": (5,)}, 2 * 7 * 3 * 5),
    ("dense: {units: 5, bias: false}", "[3]", (5,), {"kernel": (3, 5)}, 30),
    ("position_embedding: {length: 9}", "[7, 3]", (7, 3), {"table": (9, 3)}, 0),
    ("class_token", "[7, 3]", (8, 3), {"token": (3,)}, 0),
    ("batch_norm: {eps: 1e-5, keep: 0.9}", "[4, 4, 3]", (4, 4, 3), {"scale": (3,), "offset": (3,), "mean": (3,), "variance": (3,)}, 0),
    ("layer_norm: {eps: 1e-5}", "[4, 3]", (4, 3), {"scale": (3,), "offset": (3,)}, 0),
    ("rms_norm: {eps: 1e-6}", "[4, 3]", (4, 3), {"scale": (3,)}, 0),
    ("group_norm: {groups: 2, eps: 1e-5}", "[4, 4, 6]", (4, 4, 6), {"scale": (6,), "offset": (6,)}, 0),
    ("relu", "[2, 3]", (2, 3), {}, 0),
    ("relu6", "[]", (), {}, 0),
    ("sigmoid", "[2]", (2,), {}, 0),
    ("tanh", "[2]", (2,), {}, 0),
    ("leaky_relu: {slope: 0.01}", "[2]", (2,), {}, 0),
    ("gelu: {form: erf}", "[2]", (2,), {}, 0),
    ("silu", "[2]", (2,), {}, 0),
    ("hard_swish", "[2]", (2,), {}, 0),
    ("softmax", "[2, 5]", (2, 5), {}, 0),
    ("max_pool2d: {size: 3, stride: 2, padding: 1}", "[112, 112, 2]", (56, 56, 2), {}, 0),
    ("max_pool2d: {size: [2, 3]}", "[7, 7, 2]", (3, 2, 2), {}, 0),
    ("avg_pool2d: {size: 2, stride: 1, padding: [[0, 1], [1, 0]], count_padding: false}", "[4, 4, 2]", (4, 4, 2), {}, 0),
    ("global_avg_pool2d", "[7, 7, 5]", (5,), {}, 0),
    ("upsample2d: {factor: 3, method: bilinear}", "[2, 4, 5]", (6, 12, 5), {}, 0),
    ("dropout: {rate: 0.5}", "[2, 3]", (2, 3), {}, 0),
    ("flatten", "[2, 3, 4]", (24,), {}, 0),
    ("flatten", "[]", (1,), {}, 0),
    ("reshape: {shape: [4, -1, 2]}", "[2, 3, 4]", (4, 3, 2), {}, 0),
    ("tokens", "[2, 3, 4]", (6, 4), {}, 0),
    ("transpose", "[6, 4]", (4, 6), {}, 0),
    ("select_token: {index: -6}", "[6, 4]", (4,), {}, 0),
    ("mean_tokens", "[6, 4]", (4,), {}, 0),
    ("attention: {heads: 2}", "[5, 8]", (5, 8),
     {"query_kernel": (8, 8), "query_bias": (8,), "key_kernel": (8, 8), "key_bias": (8,), "value_kernel": (8, 8), "value_bias": (8,),
      "output_kernel": (8, 8), "output_bias": (8,)}, 2 * 4 * 5 * 8 * 8 + 2 * 2 * 5 * 5 * 8),
    ("attention: {heads: 4, kv_heads: 2, head_units: 6, bias: false, causal: true}", "[5, 8]", (5, 8),
     {"query_kernel": (8, 24), "key_kernel": (8, 12), "value_kernel": (8, 12), "output_kernel": (24, 8)},
     2 * 5 * 8 * (24 + 12 + 12 + 24) + 2 * 2 * 5 * 5 * 24),
    ("lstm: {units: 6, sequences: true}", "[5, 3]", (5, 6), {"kernel": (3, 24), "recurrent_kernel": (6, 24), "bias": (24,)}, 2 * 5 * 9 * 24),
    ("gru: {units: 6, sequences: false}", "[5, 3]", (6,),
     {"kernel": (3, 18), "recurrent_kernel": (6, 18), "bias": (18,), "recurrent_bias": (18,)}, 2 * 5 * 9 * 18),
    ("polynomial: {degree: 3}", "[5]", (5,), {"coefficients": (4,)}, 30),
]  # fmt: skip


@pytest.mark.parametrize(("layer", "shape", "gives", "parameters", "operations"), LAYERS)
def test_layer(layer: str, shape: str, gives: tuple[int, ...], parameters: dict[str, tuple[int, ...]], operations: int) -> None:
    node = only(layer, shape)
    assert node.gives == gives
    assert {parameter.name: parameter.shape for parameter in node.parameters} == parameters
    assert node.operations == operations


def test_every_layer_stands_in_the_table() -> None:
    tested = {layer.partition(":")[0] for layer, *_ in LAYERS}
    assert set(LAYER_KINDS) - tested == {"embedding", "unembedding"}  # these are tested below


def test_embedding_takes_integers_of_any_shape() -> None:
    node = only("embedding: {vocabulary: 9, units: 4}", "[3, 2]", "integers, below: 9")
    assert node.gives == (3, 2, 4) and node.parameters[0].shape == (9, 4) and node.operations == 0


def test_unembedding_uses_the_table_of_the_embedding_it_names() -> None:
    network = "[embedding: {vocabulary: 9, units: 4, name: words}, unembedding: {of: words}]"
    computation = compute(bare(network, "[5]", fill="integers, below: 9"))
    last = computation.network.children[-1]
    assert last.gives == (5, 9) and last.parameters == () and last.operations == 2 * 5 * 4 * 9
    assert computation.parameter_count() == 36


def test_unembedding_finds_a_nested_embedding_by_name_and_by_path() -> None:
    block = "blocks: {e: {layers: [embedding: {vocabulary: 9, units: 4, name: words}]}}"
    for of in ("words", "e_1.words"):
        network = f"[e, dense: {{units: 4}}, unembedding: {{of: {of}}}]"
        found = nodes(bare(network, "[5]", block, fill="integers, below: 9"))
        assert found["unembedding_1"].attributes == {"of": "e_1.words", "bias": False}


def test_the_bias_of_an_unembedding_is_its_own() -> None:
    network = "[embedding: {vocabulary: 9, units: 4, name: words}, unembedding: {of: words, bias: true}]"
    computation = compute(bare(network, "[5]", fill="integers, below: 9"))
    assert {parameter.name: parameter.shape for parameter in computation.network.children[-1].parameters} == {"bias": (9,)}
    assert computation.parameter_count() == 45


def test_two_embeddings_of_one_name_need_the_path() -> None:
    block = "blocks: {e: {layers: [embedding: {vocabulary: 9, units: 4, name: words}]}}"
    paths = "branches: {merge: add, paths: [[e], [e]]}"
    (message,) = problems(bare(f"[{paths}, unembedding: {{of: words}}]", "[5]", block, fill="integers, below: 9"))
    assert "several embeddings are called `words`: branches_1.path_1.e_1.words, branches_1.path_2.e_1.words" in message


@pytest.mark.parametrize(
    ("layer", "shape", "attributes"),
    [
        (
            "conv2d: {filters: 2, kernel: 3, padding: same, dilation: [1, 2]}",
            "[8, 8, 3]",
            {
                "filters": 2,
                "kernel": [3, 3],
                "stride": [1, 1],
                "padding": [[1, 1], [2, 2]],
                "dilation": [1, 2],
                "groups": 1,
                "bias": True,
            },
        ),
        (
            "conv1d: {filters: 2, kernel: 4, padding: same}",
            "[8, 3]",
            {"filters": 2, "kernel": 4, "stride": 1, "padding": [1, 2], "dilation": 1, "groups": 1, "bias": True},
        ),
        (
            "conv2d_transpose: {filters: 2, kernel: 3, stride: [2, 1], padding: [1, 0]}",
            "[8, 8, 3]",
            {"filters": 2, "kernel": [3, 3], "stride": [2, 1], "padding": [[1, 1], [0, 0]], "output_padding": [0, 0], "bias": True},
        ),
        ("max_pool2d: {size: [2, 3]}", "[8, 8, 3]", {"size": [2, 3], "stride": [2, 3], "padding": [[0, 0], [0, 0]]}),
        (
            "avg_pool2d: {size: 2}",
            "[8, 8, 3]",
            {"size": [2, 2], "stride": [2, 2], "padding": [[0, 0], [0, 0]], "count_padding": False},
        ),
        (
            "attention: {heads: 2, rotary: 1e4}",
            "[8, 12]",
            {"heads": 2, "kv_heads": 2, "head_units": 6, "causal": False, "rotary": 10000.0, "bias": True, "dropout": 0.0},
        ),
        (
            "attention: {heads: 2, rotary: none, head_units: 3, kv_heads: 1}",
            "[8, 12]",
            {"heads": 2, "kv_heads": 1, "head_units": 3, "causal": False, "rotary": None, "bias": True, "dropout": 0.0},
        ),
        ("reshape: {shape: [-1, 2]}", "[8, 3]", {"shape": [12, 2]}),
        ("relu", "[8]", {}),
    ],
)
def test_attributes_come_in_one_form_with_defaults_filled_in(layer: str, shape: str, attributes: dict[str, object]) -> None:
    found = dict(only(layer, shape).attributes)
    assert found == attributes
    assert [type(found[name]) for name in attributes] == [type(value) for value in attributes.values()]


@pytest.mark.parametrize(
    ("layer", "shape", "starts"),
    [
        ("conv2d: {filters: 4, kernel: [2, 3], groups: 2}", "[8, 8, 6]", {"kernel": (0, math.sqrt(3 / 18)), "bias": (0, 0.02)}),
        ("depthwise_conv2d: {kernel: [2, 3], bias: false}", "[8, 8, 6]", {"kernel": (0, math.sqrt(3 / 6))}),
        ("conv2d_transpose: {filters: 4, kernel: 3, stride: 2, bias: false}", "[8, 8, 6]", {"kernel": (0, math.sqrt(3 / 54))}),
        ("dense: {units: 2, bias: false}", "[6]", {"kernel": (0, math.sqrt(3 / 6))}),
        (
            "batch_norm: {eps: 1e-5, keep: 0}",
            "[6]",
            {"scale": (1, 0.1), "offset": (0, 0.02), "mean": (0, 0.02), "variance": (1, 0.1)},
        ),
        ("class_token", "[2, 6]", {"token": (0, 0.035)}),
        ("polynomial: {degree: 1}", "[6]", {"coefficients": (0, 1)}),
        (
            "lstm: {units: 2, sequences: false}",
            "[3, 6]",
            {"kernel": (0, math.sqrt(3 / 6)), "recurrent_kernel": (0, math.sqrt(3 / 2)), "bias": (0, 0.02)},
        ),
        (
            "attention: {heads: 2, head_units: 5, bias: false}",
            "[3, 6]",
            {
                **{f"{part}_kernel": (0, math.sqrt(3 / 6)) for part in ("query", "key", "value")},
                "output_kernel": (0, math.sqrt(3 / 10)),
            },
        ),
    ],
)
def test_start_ranges(layer: str, shape: str, starts: dict[str, tuple[float, float]]) -> None:
    assert {parameter.name: (parameter.centre, parameter.scale) for parameter in only(layer, shape).parameters} == starts


def test_running_statistics_are_not_trained() -> None:
    node = only("batch_norm: {eps: 1e-5, keep: 0.9}", "[6]")
    assert [parameter.trainable for parameter in node.parameters] == [True, True, False, False]


OPERATORS = [
    ("matmul", "a: {shape: [2, 3, 4], fill: normal}, b: {shape: [2, 4, 5], fill: normal}", (2, 3, 5), 2 * 2 * 3 * 4 * 5, {}),
    ("dot_product_attention", "q: {shape: [2, 3, 4], fill: normal}, k: {shape: [2, 5, 4], fill: normal}, v: {shape: [2, 5, 6], fill: normal}",
     (2, 3, 6), 2 * 2 * 3 * 5 * (4 + 6), {}),
    ("copy", "a: {shape: [2, 3], fill: normal}", (2, 3), 0, {}),
    ("{argmax: {axis: 1}}", "a: {shape: [2, 3, 4], fill: normal}", (2, 4), 0, {"axis": 1}),
    ("{argmax: {axis: -3}}", "a: {shape: [2, 3, 4], fill: normal}", (3, 4), 0, {"axis": 0}),
    ("{sort: {axis: -1}}", "a: {shape: [2, 3, 4], fill: normal}", (2, 3, 4), 0, {"axis": 2}),
    ("{concat: {axis: 0}}", "a: {shape: [2, 3], fill: normal}, b: {shape: [1, 3], fill: normal}", (3, 3), 0, {"axis": 0}),
    ("{concat: {axis: -1}}", "a: {shape: [3], fill: normal}, b: {shape: [1], fill: normal}, c: {shape: [2], fill: normal}", (6,), 0, {"axis": 0}),
    ("reduce_sum", "a: {shape: [2, 3], fill: normal}", (), 5, {"axes": [0, 1]}),
    ("{reduce_sum: {axes: all}}", "a: {shape: [2, 3], fill: normal}", (), 5, {"axes": [0, 1]}),
    ("{reduce_sum: {axes: [-1]}}", "a: {shape: [2, 3], fill: normal}", (2,), 4, {"axes": [1]}),
    ("{gelu: {form: tanh}}", "a: {shape: [2, 3], fill: normal}", (2, 3), 0, {"form": "tanh"}),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "inputs", "gives", "operations", "attributes"), OPERATORS)
def test_operator(operator: str, inputs: str, gives: tuple[int, ...], operations: int, attributes: dict[str, object]) -> None:
    computation = compute(f"name: o\ninputs: {{{inputs}}}\noperator: {operator}\n")
    root = computation.network
    assert (root.name, root.gives, root.operations, root.attributes, root.children) == ("", gives, operations, attributes, ())
    assert root.takes == tuple(tensor.shape for tensor in computation.inputs)
    assert (computation.batch, computation.loss, computation.target, computation.optimizer) == (None, None, None, {"kind": "none"})


@pytest.mark.parametrize(
    ("operator", "shapes", "message"),
    [
        ("dot_product_attention", ["[3, 4]", "[5, 4]"], "it wants three inputs, queries, keys and values, and is given 2"),
        (
            "dot_product_attention",
            ["[3, 4]", "[5, 3]", "[5, 4]"],
            "it wants [..., n, d], [..., m, d] and [..., m, e], and is given [3, 4], [5, 3] and [5, 4]",
        ),
        (
            "dot_product_attention",
            ["[2, 3, 4]", "[5, 4]", "[5, 4]"],
            "the same leading extents, and is given [2, 3, 4], [5, 4] and [5, 4]",
        ),
        ("{argmax: {axis: 2}}", ["[3, 4]"], "its axis 2 is not one of the 2 of its input"),
        ("{sort: {axis: 0}}", ["[]"], "its axis 0 is not one of the 0 of its input"),
        ("sort", ["[3]"], "sort needs `axis`"),
        ("{concat: {axis: 0}}", ["[3]"], "it wants at least two inputs, and is given 1"),
        ("{concat: {axis: 0}}", ["[3, 2]", "[3, 1]"], "differ in nothing but axis 0, and is given [3, 2] and [3, 1]"),
    ],
)
def test_operators_that_do_not_fit(operator: str, shapes: list[str], message: str) -> None:
    inputs = ", ".join(f"x{number}: {{shape: {shape}, fill: normal}}" for number, shape in enumerate(shapes))
    (found,) = problems(f"name: o\ninputs: {{{inputs}}}\noperator: {operator}\n")
    assert message in found


def test_every_operator_stands_in_the_table() -> None:
    assert {operator.strip("{").partition(":")[0] for operator, *_ in OPERATORS} >= set(OPERATOR_KINDS)


def test_a_layer_measured_alone_names_its_parameters_plainly() -> None:
    computation = compute("name: o\nbatch: 3\ninputs: {a: {shape: [6], fill: normal}}\noperator: {dense: {units: 2}}\n")
    assert [name for name, _ in computation.network.all_parameters()] == ["kernel", "bias"]
    assert computation.batch == 3


@pytest.mark.parametrize(
    ("layer", "shape", "message"),
    [
        ("flatten, reshape: {shape: [3]}", "[2, 2]", "reshape_1: [4] has 4 elements, [3] has 3"),
        (
            "position_embedding: {length: 3}",
            "[4, 2]",
            "position_embedding_1: its table is for 3 positions, and it is given 4 of them in [4, 2]",
        ),
        ("group_norm: {groups: 4, eps: 1}", "[6]", "group_norm_1: its 4 groups do not divide 6 channels"),
        ("conv2d: {filters: 3, kernel: 1, groups: 2}", "[4, 4, 2]", "conv2d_1: its 2 groups do not divide 3 filters"),
        (
            "conv2d_transpose: {filters: 1, kernel: 2, output_padding: 1}",
            "[4, 4, 2]",
            "its output_padding 1 must be less than its stride 1",
        ),
        ("conv2d_transpose: {filters: 1, kernel: 1, padding: 2}", "[4, 4, 2]", "its padding [2, 2] leaves nothing of an extent of 4"),
        ("attention: {heads: 2, head_units: 3, rotary: 10}", "[4, 2]", "rotary turns pairs, and each head has 3 units"),
        ("dense: {units: 2}", "[]", "dense_1: it wants at least one axis, and is given a single number per sample"),
        ("dense: {units: 2147483647}, dense: {units: 2}", "[3, 2]", "dense_1: [3, 2147483647] has 6,442,450,941 elements"),
        ("dense: {units: 1000000}, dense: {units: 1000000}", "[1]", "dense_2.kernel: [1000000, 1000000] has 1,000,000,000,000 elements"),
    ],
)
def test_shapes_that_do_not_fit(layer: str, shape: str, message: str) -> None:
    (found,) = problems(bare(f"[{layer}]", shape))
    assert message in found
