"""A workload file as the rest of the program sees it: checked once, resolved for any batch and parameter values."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from frameworks.contract import Computation, to_json
from runner.spec import catalog
from runner.spec.document import Document, Number, read_document
from runner.spec.loader import load
from runner.spec.problems import did_you_mean
from runner.spec.resolution import Resolved
from runner.spec.resolution import resolve as resolve_document
from runner.spec.shapes import written
from runner.spec.tree import Collector, YamlMap

MAX_LAYERS_OF_SWEEP = 40_000


@dataclass(frozen=True)
class Workload:
    """One checked workload file. ``batch`` is None for an operator that is measured on exactly the shapes given."""

    name: str
    title: str
    source: str
    description: str
    unit: str
    path: Path
    modes: tuple[Literal["train", "infer"], ...]
    batch: int | None
    parameters: Mapping[str, Number]
    sweep: Mapping[str, tuple[Number, ...]]
    read_loss: Literal["never", "every_step"]
    document: Document = field(repr=False, compare=False)

    def resolve(self, batch: int | None = None, **parameters: Number) -> Computation:
        """The computation with this batch and these parameter values, the file's where not given. Raises :class:`SpecError`."""
        problems = Collector(str(self.path), _circumstance(parameters))
        for name, value in parameters.items():
            if name not in self.parameters:
                remedy = did_you_mean(name, self.parameters) or "it has no parameters"
                problems.add(None, f"{self.name} has no parameter `{name}`", remedy=remedy)
            elif not isinstance(value, int | float):
                problems.add(None, f"the parameter `{name}` must be a number, got {value!r}")
        if batch is not None and (isinstance(batch, bool) or not isinstance(batch, int) or not 1 <= batch <= 1 << 31):
            problems.add(None, f"`batch` must be a whole number of at least 1, got {batch!r}")
        problems.check()
        return resolve_document(self.document, parameters, batch, problems).computation

    def variants(self) -> list[dict[str, Number]]:
        """The combinations of the sweep, as keyword arguments of :meth:`resolve`; one empty variant without a sweep."""
        return [dict(zip(self.sweep, values, strict=True)) for values in itertools.product(*self.sweep.values())]


def load_workload(path: Path | str, folders: Iterable[Path] = ()) -> Workload:
    """The workload of a file, or of a name in the library or in ``folders``; all that its sweep needs is checked.

    Raises :class:`SpecError` with every fault that could be found.
    """
    return read_workload(load(found := catalog.find(path, folders)), found)


def read_workload(tree: YamlMap, path: Path) -> Workload:
    """The workload of a tree that was read from ``path``. Raises :class:`SpecError`."""
    problems = Collector(str(path))
    document = read_document(tree, problems)
    usual = resolve_document(document, {}, None, problems)
    _check_expected(usual, tree, problems)
    model = usual.model
    workload = Workload(
        model.name,
        model.title or model.name,
        model.source,
        model.description,
        model.unit,
        path,
        usual.modes,
        model.batch,
        document.parameters,
        document.sweep,
        model.read_loss,
        document,
    )
    _check_variants(workload)
    return workload


def digest(computation: Computation) -> str:
    """16 hexadecimal digits that name a computation: everything in it, the batch included."""
    text = json.dumps(to_json(computation), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _check_variants(workload: Workload) -> None:
    layers = 0
    seen: list[dict[str, Number]] = [{}]
    for variant in workload.variants():
        values = {name: value for name, value in variant.items() if name != "batch"}
        if values not in seen:
            seen.append(values)
            computation = workload.resolve(**values)  # type: ignore[arg-type]
            layers += sum(1 for _ in computation.network.walk())
            if layers > MAX_LAYERS_OF_SWEEP:
                what = f"the variants of `sweep` have more than {MAX_LAYERS_OF_SWEEP:,} layers together"
                raise Collector(str(workload.path)).fail(workload.document.tree.values["sweep"], what)


def _circumstance(parameters: Mapping[str, Number]) -> str:
    return "with " + ", ".join(f"{name} = {value}" for name, value in parameters.items()) if parameters else ""


def _check_expected(resolved: Resolved, tree: YamlMap, problems: Collector) -> None:
    """Compares what the author counted with what came out."""
    expect, computation = resolved.expect, resolved.computation
    if expect is None:
        return
    trained = computation.parameter_count(trainable_only=True)
    counted = {
        "parameters": trained,
        "not_trained": computation.parameter_count() - trained,
        "operations": computation.operations(),
        "output": computation.network.gives,
    }
    places = tree.values["expect"]
    assert isinstance(places, YamlMap)
    for name, found in counted.items():
        expected = getattr(expect, name)
        if expected is not None and expected != found:
            both = [written(value) if isinstance(value, tuple) else f"{value:,}" for value in (expected, found)]
            problems.add(places.values[name], f"`{name}` should be {both[0]}, and is {both[1]}")
    problems.check()
