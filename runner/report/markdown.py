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
        doubt = _doubt(report)
        parts += _speed(table, names, marks, doubt)
        parts += scaling.markdown(HEADINGS[table.mode], table, names, marks, doubt, sought=sought)
        parts += [*_costs(table, names, doubt), *_work(table, names, doubt)]
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
    start = numbers.time_unit(cell.first_result_seconds for cell in measured)
    device = numbers.memory_unit(cell.device_peak_bytes for cell in measured)
    process = numbers.memory_unit(cell.process_peak_bytes for cell in measured)
    fields: list[Field] = [
        *_keys(table, with_unit=False),
        ("framework", "left", lambda cell: names.column(cell.column)),
        (f"first result, {start.name}", "right", lambda cell: start.text(cell.first_result_seconds)),
        (f"of it first step, {first.name}", "right", lambda cell: first.text(cell.first_step_seconds)),
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


def _work(table: Table, names: Names, doubt: str) -> Iterable[str]:
    """What the speed is of what could be had, what it costs in energy, and how long one result takes; only columns that say something."""
    measured = [cell for cell in table.cells() if cell.rounds]
    work = numbers.operations_unit(cell.operations_per_second for cell in measured)
    wait = numbers.time_unit(cell.latency_median_seconds for cell in measured)
    possible: list[tuple[Field, Callable[[CellRow], float | None]]] = [
        ((work.name, "right", lambda cell: work.text(cell.operations_per_second)), lambda cell: cell.operations_per_second),
        (("of matmul", "right", lambda cell: numbers.share(cell.share_of_matmul)), lambda cell: cell.share_of_matmul),
        (("of peak", "right", lambda cell: numbers.share(cell.share_of_peak)), lambda cell: cell.share_of_peak),
        (("energy, J/sample", "right", lambda cell: numbers.significant(cell.joules_per_sample)), lambda cell: cell.joules_per_sample),
        (("power, W", "right", lambda cell: numbers.significant(cell.watts)), lambda cell: cell.watts),
        (("GPU clock, MHz", "right", lambda cell: numbers.significant(cell.gpu_clock_megahertz)), lambda cell: cell.gpu_clock_megahertz),
        ((f"latency, {wait.name}", "right", lambda cell: wait.text(cell.latency_median_seconds)), lambda cell: cell.latency_median_seconds),
        (("90 %", "right", lambda cell: wait.text(cell.latency_p90_seconds)), lambda cell: cell.latency_p90_seconds),
        (("99 %", "right", lambda cell: wait.text(cell.latency_p99_seconds)), lambda cell: cell.latency_p99_seconds),
    ]
    told = [field for field, value in possible if any(value(cell) is not None for cell in measured)]
    if not told:
        return
    fields: list[Field] = [*_keys(table, with_unit=False), ("framework", "left", lambda cell: names.column(cell.column)), *told]
    yield f"### {HEADINGS[table.mode]}: work, energy, latency{doubt}" if len(told) > 2 else f"### {HEADINGS[table.mode]}: work{doubt}"
    yield grid([header for header, _, _ in fields], [[f[2](cell) for f in fields] for cell in measured], [side for _, side, _ in fields])
    yield " ".join(_explained(measured))


def _explained(cells: list[CellRow]) -> Iterable[str]:
    if any(cell.share_of_matmul is not None for cell in cells):
        yield "Of matmul: share of the rate of a large matrix product in the same framework and precision; backward counts as two forward."
    if any(cell.share_of_peak is not None for cell in cells):
        yield "Of peak: of the chip's float32 peak as published."
    if meters := dict.fromkeys(name for cell in cells for name in cell.meters):
        yield f"Energy and power of: {', '.join(map(escape, meters))}."
    if any(cell.latency_median_seconds is not None for cell in cells):
        yield "Latency: of single steps of this batch, each waited for."


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
