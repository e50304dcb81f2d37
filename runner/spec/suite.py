"""A suite: a named list of what is to be run, in a YAML file as closed as a workload's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import PlainValidator, WithJsonSchema

from frameworks.contract import DEVICES, PRECISIONS
from runner.spec import catalog
from runner.spec.loader import load
from runner.spec.problems import SpecError
from runner.spec.schema import MODES, Settings, read
from runner.spec.tree import Collector, Tree, YamlList, YamlMap, described
from runner.spec.values import Extent, FileName, Positive, Raw, Text, Wrong, a_map, integer, number_or_flag, one_of, text


@dataclass(frozen=True)
class SuiteCell:
    """One workload of an entry, and what it is run with. What is empty is left to the request or the workload.

    ``workload`` is a name, or a path relative to the suite's file: ``catalog.find(cell.workload, beside=suite.path)``.
    """

    workload: str
    batch: tuple[int, ...]
    modes: tuple[str, ...]
    precisions: tuple[str, ...]
    devices: tuple[str, ...]
    executions: tuple[str, ...]
    frameworks: tuple[str, ...]
    parameters: Mapping[str, int | float | bool]


@dataclass(frozen=True)
class Suite:
    """One checked suite file. ``rounds`` and ``budget`` (seconds a cell) are None where it leaves them to the request."""

    name: str
    title: str
    source: str
    path: Path
    cells: tuple[SuiteCell, ...]
    rounds: int | None
    budget: float | None


def _one_or_more(check: Callable[[Tree], Any]) -> PlainValidator:
    def check_all(tree: Tree) -> tuple[Any, ...]:
        items = tree.items if isinstance(tree, YamlList) else (tree,)
        if not items:
            raise Wrong(tree, "must name at least one")
        return tuple(check(item) for item in items)

    return PlainValidator(check_all)


def _parameters(tree: Tree) -> dict[str, int | float | bool]:
    return {name: number_or_flag(value) for name, value in a_map(tree).values.items()}


_ANY = WithJsonSchema({})
Words = Annotated[tuple[str, ...], _one_or_more(text), _ANY]


class CellModel(Settings):
    """An entry of `cells`."""

    workload: Words
    batch: Annotated[tuple[int, ...], _one_or_more(integer(1)), _ANY] = ()
    modes: Annotated[tuple[str, ...], _one_or_more(one_of(*MODES)), _ANY] = ()
    precisions: Annotated[tuple[str, ...], _one_or_more(one_of(*PRECISIONS)), _ANY] = ()
    devices: Annotated[tuple[str, ...], _one_or_more(one_of("gpu", *DEVICES)), _ANY] = ()
    executions: Words = ()
    frameworks: Words = ()
    parameters: Annotated[Mapping[str, int | float | bool] | None, PlainValidator(_parameters), _ANY] = None


class SuiteModel(Settings):
    """The top level of a suite file."""

    hints: ClassVar[dict[str, str]] = {"cells": "list what to run, such as `- {workload: lenet5, batch: 64}`"}

    name: FileName
    title: Text = ""
    source: Text = ""
    cells: Raw
    rounds: Extent | None = None
    budget: Positive | None = None


def load_suite(path: Path | str) -> Suite:
    """The suite of a file, or of a name in the library. Raises :class:`SpecError`."""
    return read_suite(load(found := catalog.find_suite(path)), found)


def read_suite(tree: YamlMap, path: Path) -> Suite:
    """The suite of a tree that was read from ``path``; its workloads must exist. Raises :class:`SpecError`."""
    problems = Collector(str(path))
    model = read(SuiteModel, tree, "a suite", problems)
    cells = _cells(tree.values["cells"], path, problems) if "cells" in tree.values else ()
    problems.check()
    assert model is not None
    return Suite(model.name, model.title or model.name, model.source, path, cells, model.rounds, model.budget)


def _cells(tree: Tree, path: Path, problems: Collector) -> tuple[SuiteCell, ...]:
    if not isinstance(tree, YamlList) or not tree.items:
        problems.add(tree, f"`cells` must be a list of what to run, got {described(tree)}")
        return ()
    cells: list[SuiteCell] = []
    for item in tree.items:
        if not isinstance(item, YamlMap):
            problems.add(item, f"a cell must be keys and values, got {described(item)}", remedy="such as `{workload: lenet5, batch: 64}`")
        elif (model := read(CellModel, item, "a cell", problems)) is not None:
            _check_exist(model.workload, item.values["workload"], path, problems)
            said = {name: getattr(model, name) for name in CellModel.model_fields}
            cells += [SuiteCell(**{**said, "workload": workload, "parameters": model.parameters or {}}) for workload in model.workload]
    return tuple(cells)


def _check_exist(workloads: tuple[str, ...], tree: Tree, path: Path, problems: Collector) -> None:
    places = tree.items if isinstance(tree, YamlList) else (tree,)
    for workload, at in zip(workloads, places, strict=True):
        try:
            found = catalog.find(workload, beside=path)
        except SpecError as error:
            for problem in error.problems:
                problems.add(at, f"{problem.what}: `{workload}`", problem.why, problem.remedy)
        else:
            if not found.is_file():
                problems.add(at, f"there is no file {found}")
