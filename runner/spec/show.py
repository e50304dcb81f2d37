"""A workload laid open for a person: layer by layer, with shapes, parameters and operations."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from frameworks.contract import Computation, Node, Tensor, join
from runner.grid import grid
from runner.spec.document import Number
from runner.spec.shapes import size, written
from runner.spec.workload import Workload

FORMATS = ("markdown", "json", "csv")


@dataclass(frozen=True)
class LayerRow:
    """One layer; ``gives`` is its output's shape per sample, ``operations`` are those of one sample's forward pass."""

    path: str
    kind: str
    gives: tuple[int, ...]
    parameters: int
    not_trained: int
    operations: int


def layer_table(computation: Computation) -> list[LayerRow]:
    """Every layer in the order of computation; what joins ways follows the ways that it joins."""
    return [_row(path, node) for path, node in _in_order(computation.network, "") if node.kind != "sequence"]


def describe(workload: Workload, values: Mapping[str, Number] | None = None, format: str = "markdown") -> str:
    """What a workload means with these values (``batch`` and parameters, the file's where not given) as a text in one of :data:`FORMATS`.

    Raises :class:`SpecError` where the values do not fit.
    """
    given = dict(values or {})
    batch = given.pop("batch", None)
    computation = workload.resolve(batch, **given)  # type: ignore[arg-type]
    if format == "json":
        return json.dumps(_record(workload, computation, given), indent=2, allow_nan=False)
    rows = layer_table(computation)
    if format == "csv":
        return _csv(rows)
    return "\n".join([*_facts(workload, computation, given), "", _table(rows), "", _totals(computation)])


def _in_order(node: Node, prefix: str) -> Iterator[tuple[str, Node]]:
    path = join(prefix, node.name)
    for child in node.children:
        yield from _in_order(child, path)
    yield path, node


def _row(path: str, node: Node) -> LayerRow:
    trained = sum(size(parameter.shape) for parameter in node.parameters if parameter.trainable)
    total = sum(size(parameter.shape) for parameter in node.parameters)
    kind = f"{node.kind} {node.attributes['merge']}" if node.kind == "branches" else node.kind
    return LayerRow(path or node.kind, kind, node.gives, trained, total - trained, node.operations)


def _facts(workload: Workload, computation: Computation, given: Mapping[str, Number]) -> Iterator[str]:
    yield f"# {workload.title}"
    yield ""
    if workload.description:
        yield workload.description
        yield ""
    yield f"- name: {workload.name} ({workload.path})"
    if workload.source:
        yield f"- source: {workload.source}"
    yield "- batch: " + ("the shapes are whole" if computation.batch is None else f"{computation.batch:,} {workload.unit}")
    yield f"- modes: {', '.join(workload.modes)}"
    for tensor in computation.inputs:
        yield f"- input {tensor.name}: {_filled(tensor)}"
    if computation.target is not None:
        yield f"- target: {_filled(computation.target)}"
        yield f"- loss: {computation.loss}" + (", read back after each step" if computation.read_loss == "every_step" else "")
    if computation.optimizer["kind"] != "none":
        settings = ", ".join(f"{name} {value}" for name, value in computation.optimizer.items() if name != "kind")
        yield f"- optimizer: {computation.optimizer['kind']}, {settings}"
    for name, value in {**workload.parameters, **given}.items():
        yield f"- parameter {name}: {value}"
    for name, values in workload.sweep.items():
        yield f"- sweep over {name}: {', '.join(map(str, values))}"


def _filled(tensor: Tensor) -> str:
    details = {"uniform": f" {tensor.low} to {tensor.high}", "linspace": f" {tensor.low} to {tensor.high}", "sin": f" of {tensor.of}"}
    details["integers"] = f" below {tensor.below:,}"
    return f"{written(tensor.shape)}, {tensor.fill}{details.get(tensor.fill, '')}"


def _table(rows: list[LayerRow]) -> str:
    cells = [
        (row.path, row.kind, written(row.gives), _count(row.parameters), _count(row.not_trained), _count(row.operations)) for row in rows
    ]
    headers = ("layer", "kind", "output", "parameters", "not trained", "operations")
    return grid(headers, cells, ("left", "left", "left", "right", "right", "right"))


def _count(number: int) -> str:
    return f"{number:,}" if number else ""


def _totals(computation: Computation) -> str:
    trained = computation.parameter_count(trainable_only=True)
    others = computation.parameter_count() - trained
    per = "one call" if computation.batch is None else "one sample"
    return (
        f"Output {written(computation.network.gives)}. {trained:,} parameters, and {others:,} values that are not trained. "
        f"{computation.operations():,} operations forward of {per}, a multiply-add being 2."
    )


def _record(workload: Workload, computation: Computation, given: Mapping[str, Number]) -> dict[str, object]:
    trained = computation.parameter_count(trainable_only=True)
    return {
        "name": workload.name,
        "title": workload.title,
        "source": workload.source,
        "unit": workload.unit,
        "batch": computation.batch,
        "modes": list(workload.modes),
        "parameters": {**workload.parameters, **given},
        "sweep": {name: list(values) for name, values in workload.sweep.items()},
        "inputs": [asdict(tensor) for tensor in computation.inputs],
        "target": None if computation.target is None else asdict(computation.target),
        "loss": computation.loss,
        "optimizer": dict(computation.optimizer),
        "output": list(computation.network.gives),
        "counts": {
            "parameters": trained,
            "not_trained": computation.parameter_count() - trained,
            "operations": computation.operations(),
        },
        "layers": [asdict(row) for row in layer_table(computation)],
    }


def _csv(rows: list[LayerRow]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("layer", "kind", "output", "parameters", "not_trained", "operations"))
    for row in rows:
        writer.writerow((row.path, row.kind, "x".join(map(str, row.gives)), row.parameters, row.not_trained, row.operations))
    return text.getvalue().rstrip("\n")
