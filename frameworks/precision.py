"""What precision a framework really computes in, measured against float64: switches and defaults say one thing and kernels do another.

A product of matrices and a convolution, small enough to cost little, go through the adapter with the device, precision and execution of
the cell. Half of the kernel's columns are scaled down by 2^-40: float16 alone has too few exponents for those, whatever type it
is then returned in. The error of the others tells the rest apart, by how many bits of the factors were kept.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy

from frameworks import data, registry, timing
from frameworks.contract import Adapter, CellFailure, Computation, Job, Node, Parameter, Tensor
from frameworks.reference.network import forward

OPERATORS = ("matmul", "convolution")

BOUNDS = {"float64": 1e-12, "float32": 2e-5, "tf32": 1.2e-3, "bfloat16": 0.05}
"""The relative error (Frobenius) below which a result is of this class.

Sums of 256 or 576 products of normal and uniform numbers err by about 3e-16 in float64 and 3e-7 in float32; float32 made of three bfloat16
products by 4.3e-6. Factors rounded to 10 bits (TensorFloat-32) give 2.9e-4, cut off to 10 bits 6e-4; factors rounded to 7 bits
(bfloat16) 2.3e-3, with a rounded result 2.9e-3, and summed in bfloat16 1.9e-2. Each bound lies in a gap, far from both sides: tests compute
these errors by rounding in NumPy. Beyond the last one it is no rounding.
"""

LOST = 0.5  # the relative error of the columns scaled down beyond which they did not survive
SMALL = 2.0**-40  # times a number of usual size: zero in float16, whose least number is 2^-24, and far from the limits of the others
LONG = 2.0  # seconds of compilation in a cell beyond which its compiler is not asked to compile the probes too

CPU_SIZE, GPU_SIZE = 768, 4096  # rows of the matrices whose product is timed: enough for full speed, and little time in every round


@dataclasses.dataclass(frozen=True)
class Measured:
    """The relative error of one operator against float64, its class (a key of :data:`BOUNDS`, or ``float16``), and the execution it
    went through."""

    error: float
    kind: str
    execution: str


def without_compiler(job: Job) -> Job:
    """The job through the eager execution of its framework, if it has one: where a cell took over two seconds to compile, its compiler
    is too slow for probes."""
    has_eager = "eager" in registry.framework(job.framework).executions
    return dataclasses.replace(job, execution="eager") if has_eager else job


def measure(adapter: Adapter, job: Job, operator: str) -> dict[str, Any]:
    """The precision of one of :data:`OPERATORS` as JSON: ``error``, ``class`` and ``execution``, or a ``reason`` why there is none.

    Raises :class:`CellFailure` ``wrong_result`` where the result is no rounding of the right one.
    """
    try:
        measured = _measure(adapter, job, operator)
    except Exception as error:
        failure = error if isinstance(error, CellFailure) else adapter.failure(error)
        if failure is not None and failure.status == "wrong_result":
            raise
        return {"reason": failure.reason if failure else f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
    return {"error": measured.error, "class": measured.kind, "execution": measured.execution}


def _measure(adapter: Adapter, job: Job, operator: str) -> Measured:
    computation = COMPUTATIONS[operator]
    batch = data.batches(computation, 1, job.seed)[0]
    kernel = data.parameter_values(computation, job.seed)["kernel"]
    kernel[..., ::2] *= numpy.float32(SMALL)
    session = adapter.build(dataclasses.replace(job, computation=computation, mode="infer", batches=1))
    try:
        session.load({"kernel": kernel})
        session.step()
        session.wait()
        found = session.outputs()
    finally:
        session.close()
    right = forward(computation.network, {"kernel": kernel}, batch.inputs, training=False)
    error = relative_error(found[..., 1::2], right[..., 1::2])
    kind = classify(error, relative_error(found[..., ::2], right[..., ::2]))
    if kind is None:
        raise CellFailure(
            "wrong_result",
            f"a {operator} in {job.precision} on {job.device} is {error:.0%} off the right result, which no rounding explains",
            "use another precision, device or version",
        )
    return Measured(error, kind, job.execution)


def relative_error(found: numpy.ndarray, right: numpy.ndarray) -> float:
    """The Frobenius norm of the difference over that of the right result; infinite where anything is no number."""
    error = float(numpy.linalg.norm(found - right) / numpy.linalg.norm(right))
    return error if numpy.isfinite(error) else float("inf")


def classify(error: float, small_error: float) -> str | None:
    """The class of a relative error, given that of the columns scaled down; None if it is of none."""
    kind = next((name for name, bound in BOUNDS.items() if error < bound), None)
    return "float16" if kind is not None and not small_error < LOST else kind


def matmul_rate(adapter: Adapter, job: Job) -> float | None:
    """The best rate, in operations a second, of a large product of two square matrices as this cell would compute it; None if it cannot."""
    size = CPU_SIZE if job.device == "cpu" else GPU_SIZE
    try:
        session = adapter.build(dataclasses.replace(job, computation=_product(size), mode="infer", batches=1))
        try:
            return 2.0 * size**3 / timing.shortest_step(session, blocks=2)
        finally:
            session.close()
    except Exception:  # there is nothing to compare with, which is no fault of the cell
        return None


def _product(size: int) -> Computation:
    square = (size, size)
    node = Node("matmul", "", (square, square), square, operations=2 * size**3)
    inputs = tuple(Tensor(name, square, "uniform", low=-1.0, high=1.0) for name in "ab")
    return Computation(node, inputs, None, None, {"kind": "none"}, None)


def _forward_only(kind: str, batch: int, takes: tuple[int, ...], attributes: Mapping[str, Any], kernel: tuple[int, ...]) -> Computation:
    scale = float(numpy.sqrt(3.0 / numpy.prod(kernel[:-1])))
    node = Node(
        kind=kind,
        name="",
        takes=(takes,),
        gives=(*takes[:-1], kernel[-1]),
        attributes={**attributes, "bias": False},
        parameters=(Parameter("kernel", kernel, True, 0.0, scale),),
    )
    return Computation(node, (Tensor("x", takes, "normal"),), None, None, {"kind": "none"}, batch)


COMPUTATIONS = {
    "matmul": _forward_only("dense", 256, (256,), {"units": 256}, (256, 256)),
    "convolution": _forward_only(
        "conv2d",
        8,
        (16, 16, 64),
        {"filters": 64, "kernel": [3, 3], "stride": [1, 1], "padding": [[1, 1], [1, 1]], "dilation": [1, 1], "groups": 1},
        (3, 3, 64, 64),
    ),
}
"""A ``dense`` layer over 256 samples, which is a product of matrices with a kernel that can be set, and a 3x3 ``conv2d``, of enough
channels for matrix units: with 32, cuDNN leaves TensorFloat-32 aside."""
