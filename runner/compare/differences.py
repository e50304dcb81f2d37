"""What differs between two runs beside their figures: everything that their headers and cells record, set against each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from runner.compare.model import Difference, Pair
from runner.records import Header, Machine
from runner.report import labels, numbers
from runner.report.model import CellRow, Report

Facts = dict[tuple[str, str], str]  # by subject and name

_OF_CELLS = ("threads", "layout", "optimizer", "graph_breaks")  # facts of a cell that may explain its speed


def between(a: Report, b: Report, pairs: Sequence[Pair]) -> tuple[Difference, ...]:
    """Every fact that is not the same in both, by subject: the run, machine, frameworks, settings, environment, then cells."""
    first, second = _facts(a), _facts(b)
    subjects = list(dict.fromkeys(subject for subject, _ in [*first, *second]))
    keys = sorted(dict.fromkeys([*first, *second]), key=lambda key: subjects.index(key[0]))
    whole = [Difference(*key, first.get(key, ""), second.get(key, "")) for key in keys if first.get(key, "") != second.get(key, "")]
    return (*whole, *_of_cells(a, b, pairs))


def _facts(report: Report) -> Facts:
    header = report.header
    facts: Facts = {("run", "headtohead"): header.headtohead}
    facts["run", "state"] = "complete" if report.complete else "interrupted or still going on"
    facts |= _of_machine(header.machine)
    for name, state in header.frameworks.items():
        facts[state.title, "status"] = labels.status(state.status)
        facts |= {(state.title, package): version for package, version in state.versions.items()}
        facts |= {(state.title, f"device {device}"): words for device, words in state.devices.items()}
        variables = header.environment.get(name)
        if isinstance(variables, Mapping):
            facts |= {(state.title, str(variable)): str(value) for variable, value in variables.items()}
    facts |= _of_settings(header)
    facts |= {("environment", name): str(value) for name, value in header.environment.items() if not isinstance(value, Mapping)}
    facts |= {("environment", name): "set and withheld" for name in header.withheld}
    return facts


def _of_machine(machine: Machine) -> Facts:
    facts = {
        "chip": machine.chip,
        "cores": str(machine.cores),
        "memory": numbers.memory_text(machine.memory),
        "GPU": machine.gpu or "none",
        "architecture": machine.architecture,
        "system": machine.system,
        "Python": machine.python,
        "Rosetta": "yes" if machine.translated else "no",
    }
    return {("machine", name): text for name, text in facts.items()}


def _of_settings(header: Header) -> Facts:
    settings = {"seed": header.seed, **header.settings}
    plain = {name: value for name, value in settings.items() if value is not None and not isinstance(value, Mapping)}
    return {("settings", name.replace("_", " ")): labels.setting(value) for name, value in plain.items()}


def _of_cells(a: Report, b: Report, pairs: Sequence[Pair]) -> Iterable[Difference]:
    """Facts of cells, each once with the cells that it is about."""
    first, second = ({cell.cell: cell for cell in report.cells()} for report in (a, b))
    found: dict[tuple[str, str, str], list[str]] = {}
    for pair in pairs:
        one, other = _cell_facts(first[pair.a.cell]), _cell_facts(second[pair.b.cell])
        for name in one.keys() | other.keys():
            was, is_ = one.get(name, ""), other.get(name, "")
            if was and is_ and was != is_:
                found.setdefault((name, was, is_), []).append(pair.b.cell)
    for (name, was, is_), cells in sorted(found.items()):
        yield Difference("cells", name, was, is_, tuple(cells))


def _cell_facts(cell: CellRow) -> dict[str, str]:
    facts = {name.replace("_", " "): str(value) for name in _OF_CELLS if (value := getattr(cell, name)) is not None}
    facts |= {
        f"measured precision of {operator}": str(found["class"]) for operator, found in cell.measured_precision.items() if "class" in found
    }
    return facts | {"computation": cell.computation}
