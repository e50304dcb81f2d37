"""From a run to a report: what each cell came to, how it compares, what went wrong, and what must be known about it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from frameworks.contract import Status
from runner import statistics, steadiness
from runner.machine import ceiling
from runner.plan import PASSES
from runner.precision import comparable
from runner.records import Cell, Header, named
from runner.report import reference
from runner.report.model import CellRow, Column, Conditions, Mean, Problem, Report, RowKey, Table
from runner.report.notes import cell_notes
from runner.runreader import Measured, Run
from runner.statistics import Ratio

MODES = ("train", "infer")
_RESUME = "take the run up with --resume"


def report(run: Run, against: Sequence[str] = ()) -> Report:
    """Derive the report of a run, with ratios to what ``against`` names (:func:`runner.report.reference.references`); nothing else
    decides it."""
    rounds: dict[str, list[Measured]] = {cell.id: [] for cell in run.header.cells}
    for measured in sorted(run.rounds, key=lambda measured: measured.round):
        rounds[measured.cell].append(measured)
    complete = run.end is not None and run.end.reason == "complete"
    cells = list({cell.id: cell for cell in run.header.cells}.values())
    begun: dict[str, list[int]] = {}
    for start in run.unfinished():
        for id in start.cells:
            begun.setdefault(id, []).append(start.round)
    failures = {cell.id: _failures(cell, rounds[cell.id], begun.get(cell.id, []), run.header) for cell in cells}
    rows = [_row(cell, rounds[cell.id], failures[cell.id], run.header.machine.chip) for cell in cells]
    level = statistics.CONFIDENCE if run.header.settings.get("precision_goal") is None else statistics.ADDED_CONFIDENCE
    tables = tuple(
        _table(mode, [row for row in rows if row.mode == mode], rounds, level, against)
        for mode in MODES
        if any(r.mode == mode for r in rows)
    )
    return Report(
        header=run.header,
        tables=tables,
        problems=_problems(cells, failures),
        notes=cell_notes(run.header, cells, rounds),
        complete=complete,
        confidence=statistics.CONFIDENCE,
        threshold=statistics.THRESHOLD,
        conditions=_conditions(run),
    )


def _conditions(run: Run) -> Conditions:
    """The range of what was looked at in all rounds."""
    states = [measured.conditions for measured in run.rounds]

    def span(values: Iterable[float | None]) -> tuple[float, float] | None:
        known = [value for value in values if value is not None]
        return (min(known), max(known)) if known else None

    return Conditions(
        load=span(state.load for state in states),
        canary=span(state.canary for state in states),
        power=tuple(dict.fromkeys(state.power for state in states if state.power)),
        gpu_clock=span(state.clock for state in states),
        gpu_temperature=span(state.temperature for state in states),
    )


# --- cells --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Failure:
    round: int | None
    status: Status
    reason: str
    remedy: str
    log: str | None = None


def _failures(cell: Cell, rounds: Sequence[Measured], begun: Sequence[int], header: Header) -> list[_Failure]:
    """What was not ok with one cell, in the order of its rounds; ``begun`` are those without a result."""
    failures = [_Failure(m.round, m.status, m.reason, m.remedy, m.log) for m in rounds if not m.ok]
    failures += [_Failure(number, "interrupted", "the round was begun and has no result", _RESUME) for number in sorted(begun)]
    if rounds or failures:
        return failures
    state = header.frameworks.get(named(cell.framework, cell.era))
    if state is not None and state.status != "ok":
        return [_Failure(None, state.status, state.reason, state.remedy)]
    return [_Failure(None, "interrupted", "the turn of this cell never came", _RESUME)]


def _row(cell: Cell, rounds: Sequence[Measured], failures: Sequence[_Failure], chip: str) -> CellRow:
    good = [measured for measured in rounds if measured.ok]
    times = [measured.seconds_per_step for measured in good if measured.seconds_per_step is not None]
    seconds = statistics.estimate(times)
    trend = steadiness.cell_trend([measured.trend for measured in good])
    samples = cell.batch or 1
    worst = None if good or not failures else failures[-1]
    facts = good[-1].facts if good else None
    parity: Mapping[str, Any] = next((measured.parity for measured in good if measured.parity), {})
    return CellRow(
        **{**{f.name: getattr(cell, f.name) for f in dataclasses.fields(cell) if f.name != "id"}, "variant": dict(cell.variant)},
        cell=cell.id,
        status=worst.status if worst else "ok",
        reason=worst.reason if worst else "",
        remedy=worst.remedy if worst else "",
        rounds=len(good),
        rounds_failed=sum(failure.round is not None for failure in failures),
        blocks=sum(len(measured.times) for measured in good),
        alone=any(measured.alone for measured in good),
        seconds_per_step=seconds.value,
        seconds_per_step_low=seconds.low,
        seconds_per_step_high=seconds.high,
        samples_per_second=_rate(samples, seconds.value),
        samples_per_second_low=_rate(samples, seconds.high),
        samples_per_second_high=_rate(samples, seconds.low),
        spread=statistics.spread(times),
        block_deviation=_median(measured.block_deviation for measured in good),
        trend=trend.change if trend else None,
        import_seconds=_median(m.import_seconds for m in good),
        build_seconds=_median(m.build_seconds for m in good),
        first_step_seconds=_median(m.first_step_seconds for m in good),
        warm_up_seconds=_median(m.warm_up_seconds for m in good),
        first_result_seconds=_median(m.first_result_seconds for m in good),
        **_efficiency(cell, good, seconds.value, chip),
        **_latency(good),
        device_peak_bytes=_highest(m.device_peak for m in good),
        process_peak_bytes=_highest(m.process_peak for m in good),
        loss_first=good[0].loss_first if good else None,
        loss_last=good[0].loss_last if good else None,
        verified_steps=parity.get("steps"),
        verified_values=parity.get("values"),
        verified_error=parity.get("error"),
        verified_tolerance=parity.get("tolerance"),
        optimizer=facts.optimizer if facts else None,
        layout=facts.layout if facts else None,
        threads=facts.threads if facts else None,
        graph_breaks=facts.graph_breaks if facts else None,
        compilations=facts.compilations if facts else None,
        timed_compilations=_highest(m.facts.timed_compilations for m in good),
        measured_precision=next(({op: dict(one) for op, one in m.measured_precision.items()} for m in good if m.measured_precision), {}),
    )


def _efficiency(cell: Cell, rounds: Sequence[Measured], seconds: float | None, chip: str) -> dict[str, Any]:
    """What the speed is of what could be had, and what it costs; None where it is not known."""
    samples = cell.batch or 1
    achieved = None if seconds is None or not cell.operations else cell.operations * samples * PASSES[cell.mode] / seconds
    rate, peak = _median(m.matmul_rate for m in rounds), ceiling.published_peak(cell.device, cell.precision, chip)
    joules = [(sum(m.joules.values()), m) for m in rounds if m.joules and m.energy_steps]
    return {
        "operations_per_second": achieved,
        "matmul_operations_per_second": rate,
        "share_of_matmul": None if achieved is None or rate is None else achieved / rate,
        "share_of_peak": None if achieved is None or peak is None else achieved / peak,
        "joules_per_sample": _median(energy / (m.energy_steps * samples) for energy, m in joules),
        "watts": _median(energy / m.energy_seconds for energy, m in joules),
        "meters": sorted({name for _, m in joules for name in m.joules}),
        "gpu_clock_megahertz": _median(m.conditions.clock for m in rounds),
        "gpu_temperature_celsius": _highest(m.conditions.temperature for m in rounds),
    }


def _latency(rounds: Sequence[Measured]) -> dict[str, Any]:
    """Of single inferences, the median over rounds of each percentile."""
    known = [measured.latency for measured in rounds if measured.latency]
    return {f"latency_{name}_seconds": _median(latency[name] for latency in known) for name in ("median", "p90", "p99")}


def _rate(samples: int, seconds: float | None) -> float | None:
    return None if seconds is None else samples / seconds


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median_of(known) if known else None


def _highest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


# --- tables -------------------------------------------------------------------------------------------------------------


def _table(mode: str, cells: Sequence[CellRow], rounds: dict[str, list[Measured]], level: float, against: Sequence[str]) -> Table:
    columns = tuple(dict.fromkeys(cell.column for cell in cells))
    references = reference.references(columns, against)
    grouped: dict[tuple[RowKey, int], dict[Column, CellRow]] = {}
    for cell in cells:
        repeat = 0
        while cell.column in grouped.setdefault((cell.key, repeat), {}):
            repeat += 1  # differs in something that no column shows; a row of its own rather than none
        grouped[cell.key, repeat][cell.column] = cell
    rows = tuple(_compared(columns, references, row, rounds, level) for row in grouped.values())
    return Table(mode, columns, references, rows, tuple(_means(mode, references, rows, level)))


def _compared(
    columns: Sequence[Column],
    references: Mapping[Column, Column],
    row: dict[Column, CellRow],
    rounds: dict[str, list[Measured]],
    level: float,
) -> dict[Column, CellRow]:
    """The cells of a row in the order of the columns, each with its ratio to its reference, unless they were measured at different
    precisions."""
    ordered = {column: row[column] for column in columns if column in row}
    for column, to in references.items():
        first = row.get(to)
        if first is None or column not in row or not comparable(first.measured_precision, row[column].measured_precision):
            continue
        one, other = ({m.round: m.times for m in rounds[cell.cell] if m.ok and m.times} for cell in (first, row[column]))
        found = steadiness.judged_ratio(one, other, level)
        if found is not None:
            ordered[column] = dataclasses.replace(
                row[column],
                ratio=found.value,
                ratio_low=found.low,
                ratio_high=found.high,
                ratio_error=found.error,
                ratio_rounds=found.rounds,
                verdict=found.verdict,
                ratio_to=first.cell,
            )
    return ordered


def _means(mode: str, references: Mapping[Column, Column], rows: Sequence[dict[Column, CellRow]], level: float) -> Iterable[Mean]:
    by_precision: dict[str, list[dict[Column, CellRow]]] = {}
    for row in rows:
        by_precision.setdefault(next(iter(row.values())).precision, []).append(row)
    for precision, some in by_precision.items():
        for column, to in references.items():
            mean = statistics.geometric_mean([ratio_of(row[column]) if column in row else None for row in some], level)
            if mean.value is not None and mean.finished > 1:
                yield Mean(mode, precision, column, to, mean.value, mean.low, mean.high, mean.verdict, mean.finished, mean.of)


def ratio_of(cell: CellRow) -> Ratio | None:
    """The ratio of a cell to its reference, as statistics take it; None where it has none."""
    if cell.ratio is None or cell.ratio_rounds is None or cell.verdict is None:
        return None
    return Ratio(cell.ratio, cell.ratio_low, cell.ratio_high, cell.ratio_rounds, cell.ratio_error, cell.verdict)


# --- problems -------------------------------------------------------------------------------------------------------------


def _problems(cells: Sequence[Cell], failures: dict[str, list[_Failure]]) -> tuple[Problem, ...]:
    """Failures that tell the same, together and numbered, with the log of the first."""
    together: dict[tuple[Status, str, str], dict[str, list[int]]] = {}
    logs: dict[tuple[Status, str, str], str | None] = {}
    for cell in cells:
        for failure in failures[cell.id]:
            key = (failure.status, failure.reason, failure.remedy)
            numbers = together.setdefault(key, {}).setdefault(cell.id, [])
            logs.setdefault(key, failure.log)
            if failure.round is not None:
                numbers.append(failure.round)
    return tuple(
        Problem(number, *key, rounds={cell: tuple(numbers) for cell, numbers in rounds.items()}, log=logs[key])
        for number, (key, rounds) in enumerate(together.items(), start=1)
    )
