"""What precision an operator really had: the classes lie apart, and no adapter passes for what it is not."""

from __future__ import annotations

import math

import numpy
import pytest

from frameworks import data, precision
from frameworks.contract import CellFailure, Job
from frameworks.reference.network import forward
from tests.frameworks.simulated import Clock, adapter, job, simulate


def errors(operator: str, factor_bits: int, result_bits: int | None = None, cut_off: bool = False) -> float:
    """The relative error that rounding to (or cutting off after) so many bits makes."""
    computation = precision.COMPUTATIONS[operator]
    kernel = data.parameter_values(computation)["kernel"]
    x = data.batches(computation, 1)[0].inputs["x"]
    right = forward(computation.network, {"kernel": kernel}, {"x": x}, training=False)
    found = forward(
        computation.network, {"kernel": kept(kernel, factor_bits, cut_off)}, {"x": kept(x, factor_bits, cut_off)}, training=False
    )
    return precision.relative_error(found if result_bits is None else kept(found, result_bits), right)


def kept(values: numpy.ndarray, bits: int, cut_off: bool = False) -> numpy.ndarray:
    fraction, exponent = numpy.frexp(values.astype(numpy.float64))
    scaled = fraction * 2.0 ** (bits + 1)
    return numpy.ldexp((numpy.trunc if cut_off else numpy.round)(scaled) / 2.0 ** (bits + 1), exponent)


@pytest.mark.parametrize("operator", precision.OPERATORS)
@pytest.mark.parametrize(
    ("kind", "factor_bits", "result_bits", "cut_off"),
    [
        ("float32", 23, 23, False),
        ("float32", 21, 21, True),
        ("tf32", 10, 23, False),
        ("tf32", 10, 23, True),
        ("bfloat16", 7, 23, False),
        ("bfloat16", 7, 7, False),
        ("bfloat16", 7, 7, True),
    ],
)
def test_each_class_is_at_least_a_factor_of_1_5_inside_its_bounds(
    operator: str, kind: str, factor_bits: int, result_bits: int, cut_off: bool
) -> None:
    names = list(precision.BOUNDS)
    error = errors(operator, factor_bits, result_bits, cut_off)
    assert 1.5 * precision.BOUNDS[names[names.index(kind) - 1]] < error < precision.BOUNDS[kind] / 1.5
    assert precision.classify(error, error) == kind


def test_sums_in_bfloat16_and_single_precision_from_three_half_products_have_the_class_of_what_they_give() -> None:
    computation = precision.COMPUTATIONS["matmul"]
    kernel = data.parameter_values(computation)["kernel"].astype(numpy.float64)
    x = data.batches(computation, 1)[0].inputs["x"].astype(numpy.float64)
    right, summed = x @ kernel, numpy.zeros((256, 256))
    x_high, kernel_high = kept(x, 7), kept(kernel, 7)
    for i in range(256):
        summed = kept(summed + x_high[:, i : i + 1] * kernel_high[i : i + 1], 7)
    error = precision.relative_error(summed, right)
    assert precision.classify(error, error) == "bfloat16"
    split = x_high @ kernel_high + x_high @ kept(kernel - kernel_high, 7) + kept(x - x_high, 7) @ kernel_high
    error = precision.relative_error(split, right)
    assert precision.classify(error, error) == "float32"


def test_float16_is_told_from_tf32_by_its_range() -> None:
    assert precision.classify(3e-4, 3e-4) == "tf32"
    assert precision.classify(3e-4, 1.0) == "float16"
    assert precision.classify(3e-4, math.inf) == "float16"


def test_what_no_rounding_explains_has_no_class() -> None:
    assert precision.classify(0.3, 0.3) is None
    assert precision.classify(math.inf, math.inf) is None


@pytest.mark.parametrize("operator", precision.OPERATORS)
@pytest.mark.parametrize(("name", "kind"), [("blocking20", "float32"), ("tf32_as_single", "tf32"), ("half_as_single", "float16")])
def test_an_adapter_is_measured_at_what_it_computes(monkeypatch: pytest.MonkeyPatch, name: str, kind: str, operator: str) -> None:
    simulate(monkeypatch, Clock())
    found = precision.measure(adapter(name), job(name), operator)
    assert (found["class"], found["execution"]) == (kind, "eager")


def test_a_wrong_product_is_a_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, Clock())
    with pytest.raises(CellFailure, match="which no rounding explains") as failure:
        precision.measure(adapter("wrong_product"), job("wrong_product"), "matmul")
    assert failure.value.status == "wrong_result"


@pytest.mark.parametrize(("name", "reason"), [("unsupported", "no float64"), ("out_of_memory", "MemoryError"), ("exception", "ValueError")])
def test_an_operator_that_cannot_be_measured_has_a_reason(name: str, reason: str) -> None:
    assert reason in precision.measure(adapter(name), job(name), "matmul")["reason"]


def test_the_rate_of_a_product_is_its_operations_by_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, Clock())
    rate = precision.matmul_rate(adapter("leaves_out"), job("leaves_out"))
    assert rate == pytest.approx(2 * 768**3 / 0.05, rel=0.01)
    assert precision.matmul_rate(adapter("exception"), job("exception")) is None


def test_a_slow_compiler_is_left_out() -> None:
    assert precision.without_compiler(job(execution="graph")).execution == "eager"


@pytest.mark.parametrize("asked", ["float32", "float64", "bfloat16", "float16", "mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("name", ["pytorch", "tensorflow"])
def test_frameworks_are_measured_at_what_was_asked_for(name: str, asked: str) -> None:
    pytest.importorskip({"pytorch": "torch"}.get(name, name))
    from frameworks import registry

    plain = Job(name, precision.COMPUTATIONS["matmul"], mode="train", device="cpu", precision=asked, execution="eager")
    for operator in precision.OPERATORS:
        found = precision.measure(registry.adapter(name), plain, operator)
        assert found.get("class") in (asked.replace("mixed_", ""), None), found
        assert "class" in found or "reason" in found
