"""A run as one sentence and one table, for a README: training and inference together, without what it cost to get there."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from runner.grid import grid
from runner.records import named
from runner.report import labels, numbers
from runner.report.details import problems
from runner.report.labels import Names
from runner.report.markdown import UNVERIFIED, Field, date, legend, machine_line, warnings
from runner.report.model import CellRow, Report
from runner.report.text import code_block, escape


def render(report: Report) -> str:
    """What was measured where, warnings, the table, what its words mean, what was not ok, and the command."""
    names, marks = Names(report), labels.marks(report)
    parts = [_sentence(report), *warnings(report), _table(report, names, marks), *legend(report), *problems(report, names)]
    return "\n\n".join([*parts, code_block(shlex.join(report.header.command))]) + "\n"


def _sentence(report: Report) -> str:
    header, cells = report.header, report.cells()
    versions = [
        f"{escape(state.title)} {escape(state.release[1])}".rstrip()
        for name, state in header.frameworks.items()
        if any(named(cell.framework, cell.era) == name and cell.rounds for cell in cells)
    ]
    units, precisions = ({getattr(cell, name) for cell in cells} for name in ("unit", "precision"))
    facts = [date(header.started), *([escape(min(precisions))] if len(precisions) == 1 else [])]
    facts += [f"{numbers.span(rounds)} rounds"] if (rounds := [cell.rounds for cell in cells if cell.rounds]) else []
    what = f"{escape(min(units))} per second" if len(units) == 1 else "samples per second"
    doubt = f" **{UNVERIFIED.upper()}: it was not checked that it is the same work.**" if header.settings.get("checks") is False else ""
    with_versions = f" with {' and '.join(versions)}" if versions else ""
    return f"On {machine_line(report)}{with_versions} ({', '.join(facts)}), {what}, more is better:{doubt}"


def _table(report: Report, names: Names, marks: dict[str, str]) -> str:
    cells = report.cells()
    columns = list(dict.fromkeys(column for table in report.tables for column in table.columns))
    ratios = {cell.column: names.ratio(table, cell.column) for table in report.tables for cell in table.cells() if cell.ratio is not None}
    facts = _facts(report)
    rows = [
        [
            *(text(next(iter(row.values()))) for _, _, text in facts),
            *(labels.throughput(row.get(column), marks) for column in columns),
            *(_ratio(row.get(column)) for column in columns if column in ratios),
            _verified(row.values()),
        ]
        for table in report.tables
        for row in table.rows
    ]
    headers = [name for name, _, _ in facts] + [names.column(column) for column in columns]
    headers += [ratios[column] for column in columns if column in ratios] + ["verified"]
    sides = [side for _, side, _ in facts] + ["right"] * (len(columns) + len(ratios)) + ["left"]
    said = " (1), (2), … refer to “Not ok”." if any(cell.cell in marks for cell in cells) else ""
    return grid(headers, rows, sides) + (f"\n\n{said.strip()}" if said else "")


def _facts(report: Report) -> list[Field]:
    """The columns that say what a row is, as far as rows differ in it."""
    cells = report.cells()
    facts: list[Field] = [("", "left", lambda cell: labels.MODES[cell.mode])] if len(report.tables) > 1 else []
    facts.append(("workload", "left", labels.workload))
    if any(cell.batch is not None for cell in cells):
        facts.append(("batch", "right", lambda cell: numbers.whole(cell.batch) if cell.batch is not None else "–"))
    if len({cell.precision for cell in cells}) > 1:
        facts.append(("precision", "left", lambda cell: escape(cell.precision)))
    if len({cell.unit for cell in cells}) > 1:
        facts.append(("sample", "left", lambda cell: escape(cell.unit)))
    return facts


def _ratio(cell: CellRow | None) -> str:
    return numbers.MISSING if cell is None else labels.judged(cell.ratio, cell.ratio_low, cell.ratio_high, cell.verdict)


def _verified(row: Iterable[CellRow]) -> str:
    """The largest error of a row; ``unverified`` where one of those that have a number was not held against a golden curve."""
    measured = [cell for cell in row if cell.rounds]
    if not measured:
        return numbers.MISSING
    if any(cell.verified_steps is None for cell in measured):
        return UNVERIFIED
    worst = max(measured, key=lambda cell: cell.verified_error or 0.0)
    return f"{numbers.compared(worst.verified_steps, worst.verified_values)}, {numbers.deviation(worst.verified_error)}"
