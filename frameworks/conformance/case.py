"""One question to an adapter, and short ways to write it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from frameworks.conformance import build
from frameworks.contract import Computation

Layers = list[Any]
Workload = dict[str, Any]

IMAGE, SEQUENCE, VECTOR = [5, 6, 4], [5, 4], [6]
WIDE: Workload = {"fill": "uniform", "low": -8.0, "high": 8.0}
SGD: Workload = {"sgd": {"learning_rate": 0.1}}


@dataclass(frozen=True, eq=False)
class Case:
    """One question: a workload in the language, as plain data, that stresses ``layer``.

    ``check`` says how it is judged: ``values`` against the reference, ``dropout`` by its masks, ``fresh`` only by masks that change,
    ``contract`` by how the session behaves. ``wide_only`` cases need the range of float32.
    """

    name: str
    layer: str
    workload: Mapping[str, Any]
    check: Literal["values", "dropout", "fresh", "contract"] = "values"
    wide_only: bool = False

    @functools.cached_property
    def computation(self) -> Computation:
        """What the workload means."""
        return build.computation(self.workload)


def conv(filters: int, kernel: int = 2) -> Workload:
    """A convolution that keeps the image's size."""
    return {"conv2d": {"filters": filters, "kernel": kernel, "padding": [[0, kernel - 1], [0, kernel - 1]]}}


def still() -> Workload:
    """An optimizer that moves nothing that could be seen, so that only masks change the loss of a batch."""
    return {"sgd": {"learning_rate": 1e-12}}


def say(attributes: Mapping[str, Any]) -> str:
    """Attributes as a case's name says them."""
    return " ".join(f"{key} {value}" for key, value in attributes.items())


def trained(
    layer: str,
    name: str,
    network: Layers,
    given: Any = None,
    *,
    check: Literal["values", "dropout", "fresh", "contract"] = "values",
    wide_only: bool = False,
    **workload: Any,
) -> Case:
    """A case with a loss; ``given`` is the shape of the only input ``x``, or its whole description."""
    if given is not None:
        workload["inputs"] = {"x": given if isinstance(given, dict) else {"shape": given, "fill": "normal"}}
    defaults: Workload = {"loss": "mean_squared_error", "target": {"fill": "normal"}, "optimizer": SGD, "batch": 2}
    return Case(f"{layer}/{name}", layer, {**defaults, **workload, "network": network}, check, wide_only)


def inferred(layer: str, name: str, workload: Workload) -> Case:
    """A case without a loss."""
    return Case(f"{layer}/{name}", layer, {key: value for key, value in workload.items() if value is not None})


def operator(layer: str, name: str, said: Any, shape: list[int], batch: int | None) -> Case:
    """A layer or operator measured alone, over one input."""
    return inferred(layer, name, {"operator": said, "inputs": {"x": {"shape": shape, "fill": "normal"}}, "batch": batch})
