"""The reference against ONNX: its published test data, and its own evaluator over a grid."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from tests.frameworks.onnx_layers import OPERATORS, Untranslatable, ours

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

TRAINING = "ai.onnx.preview.training"

# Operators that ONNX publishes data for, and how many data sets at least have a counterpart here.
PUBLISHED = {
    "Conv": 5, "ConvTranspose": 2, "MaxPool": 3, "AveragePool": 4, "GlobalAveragePool": 2, "BatchNormalization": 4,
    "LayerNormalization": 3, "GroupNormalization": 2, "LSTM": 2, "Softmax": 4, "Resize": 1, "Gemm": 2,
    "SoftmaxCrossEntropyLoss": 2, "Momentum": 2, "Relu": 1, "Sigmoid": 2, "Tanh": 2, "HardSwish": 1, "LeakyRelu": 3, "Gelu": 4,
}  # fmt: skip


def test_published_data() -> None:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the collection computes infinities for operators that are not ours
        published = collect_testcases(None)
    compared: Counter[str] = Counter()
    for case in published:
        if len(case.model.graph.node) != 1 or case.model.graph.node[0].op_type not in OPERATORS:
            continue
        node = case.model.graph.node[0]
        for inputs, outputs in case.data_sets:
            arrays = iter(inputs)
            given = [next(arrays) if name else None for name in node.input]
            if any(value is not None and getattr(value, "dtype", None) not in (numpy.float32, numpy.int64, numpy.int32) for value in given):
                continue
            try:
                results = ours(node.op_type, attributes(node), given)
            except Untranslatable:
                continue
            wanted = dict(zip([name for name in node.output if name], outputs, strict=True))
            for name, result in zip(node.output, results, strict=False):
                if name:
                    numpy.testing.assert_allclose(result, wanted[name], rtol=1e-4, atol=1e-5, err_msg=case.name)
            compared[node.op_type] += 1
    assert {name: compared[name] for name in PUBLISHED if compared[name] < PUBLISHED[name]} == {}


def attributes(node: Any) -> dict[str, Any]:
    said = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in said.items()}


def grid() -> Iterator[tuple[str, dict[str, Any], list[Any]]]:
    """Operator, attributes, and the shapes of inputs (None: left out; an array: itself)."""
    for stride, pads, dilation, group in itertools.product(
        ([1, 1], [2, 1]), ([0, 0, 0, 0], [1, 2, 0, 1]), ([1, 1], [1, 2], [2, 1]), (1, 2, 4)
    ):
        said = {"strides": stride, "pads": pads, "dilations": dilation, "group": group, "kernel_shape": [3, 2]}
        yield "Conv", said, [(2, 4, 6, 7), (8, 4 // group, 3, 2), (8,)]
    for stride, pads, dilation, group in itertools.product((1, 3), ([0, 0], [2, 0], [1, 2]), (1, 2), (1, 2)):
        said = {"strides": [stride], "pads": pads, "dilations": [dilation], "group": group, "kernel_shape": [3]}
        yield "Conv", said, [(2, 4, 9), (6, 4 // group, 3), (6,)]
    for stride, pads, extra in itertools.product(([1, 1], [2, 3]), ([0, 0, 0, 0], [1, 0, 0, 1]), (0, 1)):
        output_padding = [extra * (s - 1) for s in stride]
        yield "ConvTranspose", {"strides": stride, "pads": pads, "output_padding": output_padding, "kernel_shape": [3, 4]}, [
            (2, 3, 3, 4), (3, 2, 3, 4), (2,),
        ]  # fmt: skip
    for size, stride, pads in itertools.product(([2, 2], [3, 2]), ([1, 1], [2, 3]), ([0, 0, 0, 0], [1, 0, 0, 1], [1, 1, 1, 1])):
        said = {"kernel_shape": size, "strides": stride, "pads": pads}
        yield "MaxPool", said, [(2, 3, 6, 7)]
        for count in (0, 1):
            yield "AveragePool", {**said, "count_include_pad": count}, [(2, 3, 6, 7)]
    for shape, eps in itertools.product(((4, 3), (4, 3, 5), (2, 3, 4, 5)), (1e-5, 0.1)):
        channels = [(shape[1],)] * 3
        yield "BatchNormalization", {"epsilon": eps}, [shape, *channels, numpy.linspace(0.5, 2.0, shape[1])]
        yield "LayerNormalization", {"epsilon": eps, "axis": -1}, [shape, shape[-1:], shape[-1:]]
        yield "GroupNormalization", {"epsilon": eps, "num_groups": 3}, [shape, (3,), (3,)]
    for groups in (1, 2, 3, 6):
        yield "GroupNormalization", {"num_groups": groups}, [(2, 6, 3, 4), (6,), (6,)]
    for length, units, bias in itertools.product((1, 6), (1, 4), (True, False)):
        for operator, gates, said in (("LSTM", 4, {}), ("GRU", 3, {"linear_before_reset": 1})):
            weights = [(1, gates * units, 3), (1, gates * units, units), *([(1, 2 * gates * units)] if bias else [])]
            yield operator, {"hidden_size": units, **said}, [(length, 2, 3), *weights]
    for factor in (2, 3):
        scales = numpy.array([1, 1, factor, factor], dtype=numpy.float32)
        yield "Resize", {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, [
            (2, 3, 3, 4), None, scales,
        ]  # fmt: skip
        yield "Resize", {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}, [(1, 1, 3, 4), None, scales]
    for heads, kv_heads, causal in itertools.product((2, 4), (1, 2), (0, 1)):
        yield "Attention", {"is_causal": causal}, [(2, heads, 5, 4), (2, kv_heads, 5, 4), (2, kv_heads, 5, 4)]
    for operator, said in (
        ("Relu", {}), ("Sigmoid", {}), ("Tanh", {}), ("HardSwish", {}), ("LeakyRelu", {"alpha": 0.2}),
        ("Softmax", {"axis": -1}), ("Gelu", {}), ("Gelu", {"approximate": "tanh"}),
    ):  # fmt: skip
        yield operator, said, [numpy.linspace(-9, 9, 60).reshape(3, 4, 5)]
    for mode, decay in itertools.product(("standard", "nesterov"), (0.0, 0.1)):
        said = {"alpha": 0.9, "beta": 1.0, "mode": mode, "norm_coefficient": decay}
        yield "Momentum", said, [numpy.array(0.1), numpy.array(3), (4, 3), (4, 3), (4, 3)]
    for step in (1, 5):
        squares = numpy.linspace(0.1, 2.0, 12).reshape(4, 3)
        said = {"alpha": 0.8, "beta": 0.95, "epsilon": 0.01}
        yield "Adam", said, [numpy.array(0.1), numpy.array(step), (4, 3), (4, 3), (4, 3), squares]
    yield "Gemm", {"transB": 1}, [(3, 4), (5, 4), (5,)]
    yield "GlobalAveragePool", {}, [(2, 3, 4, 5)]


@pytest.mark.parametrize("index", range(sum(1 for _ in grid())))
def test_evaluator(index: int) -> None:
    operator, said, described = next(itertools.islice(grid(), index, None))
    stream = numpy.random.RandomState(index)
    given = [stream.standard_normal(each) if isinstance(each, tuple) else each for each in described]
    names = ["" if value is None else f"input_{number}" for number, value in enumerate(given)]
    results = ours(operator, said, given)
    outputs = [f"output_{number}" for number in range(len(results))]
    domain = TRAINING if operator in ("Adam", "Momentum") else ""
    node = helper.make_node(operator, names, outputs, domain=domain, **said)
    typed = {name: value for name, value in zip(names, given, strict=True) if value is not None}
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in typed.items()],
        [helper.make_tensor_value_info(name, TensorProto.DOUBLE, None) for name in outputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23), helper.make_opsetid(TRAINING, 1)])
    for result, wanted in zip(results, ReferenceEvaluator(model).run(None, typed), strict=True):
        # The evaluator keeps attributes such as epsilon as float32 numbers.
        numpy.testing.assert_allclose(result, wanted, rtol=1e-6, atol=1e-7)
