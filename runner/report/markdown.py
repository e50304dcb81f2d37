"""The report as markdown, to be read in a terminal and pasted into a page: the same text for both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from runner.grid import grid
from runner.report import labels, numbers, scaling
from runner.report.details import how_measured, notes, problems
from runner.report.labels import Names
from runner.report.model import CellRow, Report, Table
from runner.report.text import escape
from runner.statistics import VERDICT_ROUNDS

HEADINGS = {"train": "Training", "infer": "Inference"}
VERIFIED = "Verified: so many training steps or outputs were held against a golden curve in float64, with this relative error."
UNVERIFIED = "unverified"

Field = tuple[str, str, Callable[[CellRow], str]]  # header, alignment, text


def render(report: Report) -> str:
    """Title, tables by mode, what was not ok, notes, and how it was measured."""
    names = Names(report)
    marks = labels.marks(report)
    sought = report.header.settings.get("request", {}).get("find_batch") is True
    parts = [_title(report), *warnings(report), *legend(report)]
    for table in report.tables:
        parts += _speed(table, names, marks, _doubt(report))
        parts += scaling.markdown(HEADINGS[table.mode], table, names, marks, _doubt(report), sought=sought)
        parts += _costs(table, names, _doubt(report))
    parts += [*problems(report, names), *notes(report, names), *how_measured(report)]
    return "\n\n".join(parts) + "\n"


def warnings(report: Report) -> Iterable[str]:
    """What forbids to take any of the figures as they stand."""
    if report.header.machine.translated:
        yield "**Python ran under Rosetta, so these are the speeds of an emulated x86 processor. Remedy: install an arm64 Python.**"
    if not report.complete:
        yield "**The run was interrupted or is still going on: what is missing is listed under “Not ok”.**"


def _title(report: Report) -> str:
    return f"## headtohead, {date(report.header.started)}: {machine_line(report)}"


def machine_line(report: Report) -> str:
    """The machine with its system, and with its GPU where that was used."""
    machine = report.header.machine
    used = any(cell.device != "cpu" and cell.rounds for cell in report.cells())
    facts = [
        machine.chip,
        f"{machine.cores} cores",
        f"{numbers.memory_text(machine.memory)} memory",
        machine.system,
        *([machine.gpu] if machine.gpu and used else []),
    ]
    return ", ".join(escape(fact) for fact in facts)


def legend(report: Report) -> Iterable[str]:
    """What the figures and words of the tables mean, as far as they have any."""
    cells = report.cells()
    margin = numbers.percent(report.threshold)
    said = []
    if any(cell.samples_per_second_low is not None for cell in cells):
        signs = "± and […]" if any(cell.ratio_low is not None for cell in cells) else "±"
        said.append(f"{signs}: {numbers.percent(report.confidence)} intervals over rounds, each a fresh process of every rival.")
    if any(cell.ratio is not None for cell in cells):
        said.append(
            f"Ratios divide speeds, round by round: *faster* or *slower* if the whole interval lies more than {margin} from 1, "
            f"*same* if it was shown to lie within {margin}, *unclear* otherwise or with fewer than {VERDICT_ROUNDS} rounds."
        )
    if said:
        yield " ".join(said)


def date(started: str) -> str:
    """The day of an ISO 8601 time; the text itself where it is none."""
    try:
        return f"{datetime.fromisoformat(started):%Y-%m-%d}"
    except ValueError:
        return escape(started)


# --- tables -------------------------------------------------------------------------------------------------------------


def _doubt(report: Report) -> str:
    """What stands behind the title of every table of a run without checks."""
    return f", {UNVERIFIED.upper()}" if report.header.settings.get("checks") is False else ""


def _speed(table: Table, names: Names, marks: dict[str, str], doubt: str) -> Iterable[str]:
    """How fast: throughput by column, and ratios to the first column."""
    units = {cell.unit for cell in table.cells()}
    unit = escape(min(units)) if len(units) == 1 else "samples"
    yield f"### {HEADINGS[table.mode]}: {unit} per second (more is better){doubt}"
    fields = _keys(table, with_unit=len(units) > 1)
    compared = {column for row in table.rows for column, cell in row.items() if cell.ratio is not None}
    headers = [header for header, _, _ in fields]
    for column in table.columns:
        headers += [names.column(column), *([names.ratio(table, column)] if column in compared else [])]
    rows = []
    for row in table.rows:
        line = [text(next(iter(row.values()))) for _, _, text in fields]
        for column in table.columns:
            cell = row.get(column)
            line += [labels.throughput(cell, marks), *([_ratio(cell)] if column in compared else [])]
        rows.append(line)
    yield grid(headers, rows, [side for _, side, _ in fields] + ["right"] * (len(headers) - len(fields)))
    if said := _constants(table, marks):
        yield said
    if table.means:
        yield "\n".join(
            f"- Geometric mean of {names.ratio(table, mean.column)}"
            + (f" in {escape(mean.precision)}" if len(_precisions(table)) > 1 else "")
            + f": **{labels.judged(mean.ratio, mean.ratio_low, mean.ratio_high, mean.verdict)}** over {mean.finished} of {mean.of} rows"
            for mean in table.means
        )


def _ratio(cell: CellRow | None) -> str:
    return numbers.MISSING if cell is None else labels.judged(cell.ratio, cell.ratio_low, cell.ratio_high, cell.verdict)


def _costs(table: Table, names: Names, doubt: str) -> Iterable[str]:
    """What it takes to get there: times before the first steady step, memory, and the proof that it is the same work."""
    measured = [cell for cell in table.cells() if cell.rounds]
    if not measured:
        return
    first = numbers.time_unit(cell.first_step_seconds for cell in measured)
    start = numbers.time_unit(_start(cell) for cell in measured)
    device = numbers.memory_unit(cell.device_peak_bytes for cell in measured)
    process = numbers.memory_unit(cell.process_peak_bytes for cell in measured)
    fields: list[Field] = [
        *_keys(table, with_unit=False),
        ("framework", "left", lambda cell: names.column(cell.column)),
        (f"first step, {first.name}", "right", lambda cell: first.text(cell.first_step_seconds)),
        (f"import + build, {start.name}", "right", lambda cell: start.text(_start(cell))),
        (f"device peak, {device.name}", "right", lambda cell: device.text(cell.device_peak_bytes)),
        (f"process peak, {process.name}", "right", lambda cell: process.text(cell.process_peak_bytes)),
        ("rounds × blocks", "right", lambda cell: f"{cell.rounds} × {numbers.whole(round(cell.blocks / cell.rounds))}"),
        ("verified", "left", _verified),
    ]
    yield f"### {HEADINGS[table.mode]}: start and memory (less is better){doubt}"
    yield grid([header for header, _, _ in fields], [[f[2](cell) for f in fields] for cell in measured], [side for _, side, _ in fields])
    if any(cell.verified_steps is not None for cell in measured):
        yield VERIFIED


def _verified(cell: CellRow) -> str:
    """``5 steps, 2e-7``."""
    if cell.verified_steps is None:
        return UNVERIFIED
    return f"{numbers.compared(cell.verified_steps, cell.verified_values)}, {numbers.deviation(cell.verified_error)}"


def _start(cell: CellRow) -> float | None:
    if cell.import_seconds is None or cell.build_seconds is None:
        return None
    return cell.import_seconds + cell.build_seconds


def _keys(table: Table, *, with_unit: bool) -> list[Field]:
    """The columns that say what a row is; what is the same in all rows is said below the table instead."""
    keys: list[Field] = [("workload", "left", labels.workload)]
    if any(cell.batch is not None for cell in table.cells()):
        keys.append(("batch", "right", lambda cell: numbers.whole(cell.batch) if cell.batch is not None else "–"))
    if len(_precisions(table)) > 1:
        keys.append(("precision", "left", lambda cell: escape(cell.precision)))
    if with_unit:
        keys.append(("sample", "left", lambda cell: escape(cell.unit)))
    return keys


def _precisions(table: Table) -> list[str]:
    return list(dict.fromkeys(cell.precision for cell in table.cells()))


def _constants(table: Table, marks: dict[str, str]) -> str:
    """What is not in the table because all rows share it, and what its marks refer to."""
    precisions = _precisions(table)
    said = [f"Precision {escape(precisions[0])}."] if len(precisions) == 1 else []
    if any(cell.cell in marks for cell in table.cells()):
        said.append("(1), (2), … refer to “Not ok”.")
    return " ".join(said)
