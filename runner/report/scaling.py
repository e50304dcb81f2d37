"""Throughput over batch: where a workload was measured at three batches or more, a table with bars and the batch that is best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runner.grid import grid
from runner.report import labels, numbers
from runner.report.labels import Names
from runner.report.model import CellRow, Column, Table
from runner.report.text import escape
from runner.statistics import THRESHOLD

BATCHES = 3
WIDTH = 16  # of a bar, in characters
FLAT_BATCHES, FLAT_TIME = 4.0, 1.25  # a step of so many times the batch takes no more than so many times as long

_EIGHTHS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True)
class Curve:
    """One column of a workload over batch. ``best`` has the highest throughput, ``enough`` is the smallest batch within
    :data:`runner.statistics.THRESHOLD` of it, ``flat`` the largest up to which a step takes hardly longer than at the smallest; None where
    there is none."""

    cells: Mapping[int, CellRow]
    best: int | None
    enough: int | None
    flat: int | None


@dataclass(frozen=True)
class Family:
    """A workload in one variant and precision at several batches, in their order."""

    first: CellRow
    batches: tuple[int, ...]
    curves: dict[Column, Curve]


def families(table: Table, least: int = BATCHES) -> list[Family]:
    """The workloads of a table that were measured at so many batches or more."""
    found: dict[tuple[object, ...], list[CellRow]] = {}
    for cell in table.cells():
        if cell.batch is not None:
            found.setdefault((cell.workload, tuple(cell.variant.items()), cell.precision, cell.unit), []).append(cell)
    made = []
    for cells in found.values():
        batches = sorted({cell.batch for cell in cells if cell.batch is not None})
        if len(batches) >= least and any(cell.samples_per_second is not None for cell in cells):
            columns = [column for column in table.columns if any(cell.column == column for cell in cells)]
            made.append(Family(cells[0], tuple(batches), {column: curve([c for c in cells if c.column == column]) for column in columns}))
    return made


def curve(cells: Sequence[CellRow]) -> Curve:
    """The cells of one column by batch, and what they tell."""
    by_batch = {cell.batch: cell for cell in cells if cell.batch is not None}
    speeds = {batch: speed for batch in sorted(by_batch) if (speed := by_batch[batch].samples_per_second) is not None}
    if not speeds:
        return Curve(by_batch, None, None, None)
    best = max(speeds, key=lambda batch: speeds[batch])
    enough = next(batch for batch, speed in speeds.items() if speed * (1 + THRESHOLD) >= speeds[best])
    return Curve(by_batch, best, enough, _flat({batch: batch / speed for batch, speed in speeds.items()}))


def _flat(seconds: Mapping[int, float]) -> int | None:
    """The batch up to which time is nearly independent of it, from steps' seconds in the order of batches."""
    smallest = next(iter(seconds))
    last = None
    for batch, time in seconds.items():
        if time > FLAT_TIME * seconds[smallest]:
            break
        last = batch
    return last if last is not None and last >= FLAT_BATCHES * smallest else None


def bar(share: float, width: int = WIDTH) -> str:
    """A bar of so much of its width, from 0 to 1, in eighths of a character; what is not nothing shows."""
    eighths = max(round(min(share, 1.0) * width * 8), 1 if share > 0 else 0)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


# --- as markdown ------------------------------------------------------------------------------------------------------------


def markdown(heading: str, table: Table, names: Names, marks: Mapping[str, str], doubt: str = "", *, sought: bool = False) -> Iterable[str]:
    """The curves of a table, each under the name of its workload; nothing where there are none, but any where the best batch was sought.
    ``doubt`` stands behind the title."""
    found = families(table, 1 if sought else BATCHES)
    if not found:
        return
    yield f"### {heading}: throughput over batch{doubt}"
    for family in found:
        precision = f", {escape(family.first.precision)}" if len({cell.precision for cell in table.cells()}) > 1 else ""
        yield f"{labels.workload(family.first)}{precision}, {escape(family.first.unit)} per second:"
        yield _table(family, names, marks)
        yield "\n".join(f"- {names.column(column)}: {_said(curve)}" for column, curve in family.curves.items())


def _table(family: Family, names: Names, marks: Mapping[str, str]) -> str:
    speeds = [cell.samples_per_second for curve in family.curves.values() for cell in curve.cells.values()]
    most = max(speed for speed in speeds if speed is not None)
    headers = ["batch"]
    for column in family.curves:
        headers += [names.column(column), ""]
    rows = []
    for batch in family.batches:
        line = [numbers.whole(batch)]
        for curve in family.curves.values():
            cell = curve.cells.get(batch)
            speed = cell.samples_per_second if cell else None
            line += ["–" if cell is None else labels.throughput(cell, marks), "" if speed is None else bar(speed / most)]
        rows.append(line)
    return grid(headers, rows, ["right"] + ["right", "left"] * len(family.curves))


def _said(curve: Curve) -> str:
    if curve.best is None:
        return "no batch gave a number."
    most = numbers.percent(THRESHOLD)
    more = "" if curve.enough in (None, curve.best) else f"; batch {numbers.whole(curve.enough)} is already within {most} of that"
    flat = ""
    if curve.flat is not None:
        reason = "launching the work takes longer than the work"
        flat = f" Up to batch {numbers.whole(curve.flat)} the time of a step is nearly independent of the batch: {reason}."
    failed = [batch for batch, cell in sorted(curve.cells.items()) if cell.samples_per_second is None and batch > curve.best]
    limit = f" Batch {numbers.whole(failed[0])} failed: {labels.status(curve.cells[failed[0]].status)}." if failed else ""
    return f"best at batch {numbers.whole(curve.best)}{more}.{flat}{limit}"
