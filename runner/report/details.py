"""The part of a markdown report below its tables: what was not ok, notes, and how it was measured."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

from runner.records import Header, named
from runner.report import labels, numbers
from runner.report.labels import Names
from runner.report.model import CellRow, Conditions, Problem, Report
from runner.report.text import code_block, escape


def problems(report: Report, names: Names, title: str = "Not ok") -> Iterable[str]:
    """``Not ok``: a numbered list, to which the tables refer."""
    if report.problems:
        cells = {cell.cell: cell for cell in report.cells()}
        yield f"### {title}"
        yield "\n".join(f"{problem.number}. {_problem(problem, report, names, cells)}" for problem in report.problems)


def _problem(problem: Problem, report: Report, names: Names, cells: Mapping[str, CellRow]) -> str:
    befallen: dict[str, list[str]] = {}
    for cell, rounds in problem.rounds.items():
        befallen.setdefault(_rounds(rounds, cells[cell], report.header), []).append(cell)
    where = "; ".join(names.cells(ids) + when for when, ids in befallen.items())
    reason = f": {escape(problem.reason)}" if problem.reason else ""
    remedy = f" Remedy: {escape(problem.remedy)}" if problem.remedy else ""
    log = f" (log: {escape(problem.log)})" if problem.log else ""
    return f"**{labels.status(problem.status)}**{_stopped(reason)} {where}{log}.{remedy}"


def _rounds(rounds: Sequence[int], cell: CellRow, header: Header) -> str:
    """Which rounds failed, counted from 1, where others did not."""
    if not rounds or not cell.rounds:
        return ""
    of = header.settings.get("rounds", cell.rounds + cell.rounds_failed)
    return f", round{'s' if len(rounds) > 1 else ''} {', '.join(str(number + 1) for number in rounds)} of {of}"


def notes(report: Report, names: Names, title: str = "Notes") -> Iterable[str]:
    """``Notes``: each once, with the cells that it is about."""
    if report.notes:
        yield f"### {title}"
        yield "\n".join(
            f"- {note.code.replace('_', ' ').capitalize()}: {_stopped(escape(note.text))} {names.cells(note.cells)}."
            for note in report.notes
        )


def how_measured(report: Report, title: str = "How it was measured") -> Iterable[str]:
    """Machine, versions, settings, and the command that does it again."""
    header = report.header
    machine = header.machine
    cells = report.cells()
    lines = [
        f"Machine: {escape(machine.chip)}, {machine.cores} cores, {numbers.memory_text(machine.memory)}, {escape(machine.system)} "
        f"{escape(machine.architecture)}, Python {escape(machine.python)}" + (f", GPU {escape(machine.gpu)}" if machine.gpu else "")
    ]
    for name, state in header.frameworks.items():
        versions = ", ".join(f"{package} {version}" for package, version in state.versions.items())
        threads = {cell.threads for cell in cells if named(cell.framework, cell.era) == name and cell.threads is not None}
        said = escape(versions) if state.status == "ok" else f"{labels.status(state.status)}"
        said += f"; CPU threads: {', '.join(str(count) for count in sorted(threads))}" if threads else ""
        lines.append(f"{escape(state.title)}: {said}")
    settings = {"seed": header.seed, **header.settings}
    plain = [
        f"{name.replace('_', ' ')} {labels.setting(v)}" for name, v in settings.items() if v is not None and not isinstance(v, Mapping)
    ]
    lines.append(f"headtohead {escape(header.headtohead)}: {escape(', '.join(plain))}")
    if conditions := list(seen_conditions(report.conditions)):
        lines.append(f"Conditions: {', '.join(conditions)}")
    lines += [f"{label}: {escape(variables)}" for label, variables in _environment(header) if variables]
    if header.withheld:
        lines.append(f"Variables that were set and withheld: {escape(', '.join(header.withheld))}")
    yield f"### {title}"
    yield "\n".join(f"- {line}" for line in lines)
    yield "Reproduce it with:"
    yield code_block(shlex.join(header.command))


def seen_conditions(seen: Conditions) -> Iterable[str]:
    """What was looked at between rounds, with its range."""
    if seen.load:
        yield f"load average before rounds {numbers.span(seen.load)}"
    if seen.canary:
        unit = numbers.time_unit(seen.canary)
        yield f"a fixed product of matrices took {numbers.span(value / unit.size for value in seen.canary)} {unit.name}"
    if seen.power:
        yield f"power {' and '.join({'ac': 'from the mains', 'battery': 'from the battery'}.get(word, word) for word in seen.power)}"
    if seen.gpu_clock:
        yield f"GPU clock {numbers.span(seen.gpu_clock)} MHz"
    if seen.gpu_temperature:
        yield f"GPU at {numbers.span(seen.gpu_temperature)} °C"


def _environment(header: Header) -> Iterable[tuple[str, str]]:
    """Variables as text, those of all children first, then those of each framework."""
    common = {name: value for name, value in header.environment.items() if not isinstance(value, Mapping)}
    yield "Environment", ", ".join(f"{name}={value}" for name, value in common.items())
    for name, variables in header.environment.items():
        if isinstance(variables, Mapping):
            title = header.frameworks[name].title if name in header.frameworks else name
            yield f"Environment of {escape(title)}", ", ".join(f"{variable}={value}" for variable, value in variables.items())


def _stopped(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else text + "."
