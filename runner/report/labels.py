"""What columns, rows and cells are called in a report: as short as tells them apart. All of it is safe in markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from frameworks.contract import Status
from runner.records import named
from runner.report import numbers
from runner.report.model import CellRow, Column, Report, Table
from runner.report.text import escape
from runner.statistics import Verdict

MODES = {"train": "training", "infer": "inference"}


class Work(Protocol):
    """A row, or whatever else names a workload with its variant."""

    @property
    def workload(self) -> str: ...
    @property
    def variant(self) -> Mapping[str, Any]: ...


class Speed(Protocol):
    """What :func:`throughput` needs of a cell."""

    @property
    def cell(self) -> str: ...
    @property
    def status(self) -> Status: ...
    @property
    def samples_per_second(self) -> float | None: ...
    @property
    def samples_per_second_low(self) -> float | None: ...
    @property
    def samples_per_second_high(self) -> float | None: ...


class Names:
    """The names within one report."""

    def __init__(self, report: Report) -> None:
        self._titles = {name: state.title for name, state in report.header.frameworks.items()}
        self._cells = {cell.cell: cell for cell in report.cells()}

    def column(self, column: Column) -> str:
        """``PyTorch cpu eager``."""
        return escape(f"{self._title(column)} {column.device} {column.execution}")

    def ratio(self, table: Table, column: Column) -> str:
        """``TensorFlow ÷ PyTorch``, with device and execution where the frameworks' names are not enough; ``PyTorch mps ÷ cpu``."""
        schemes: tuple[Callable[[Column], str], ...] = (
            lambda c: self._title(c),
            lambda c: f"{self._title(c)} {c.execution}",
            lambda c: f"{self._title(c)} {c.device}",
            lambda c: f"{self._title(c)} {c.device} {c.execution}",
        )
        for name in schemes:
            if len({name(each) for each in table.columns}) == len(table.columns):
                break
        to = table.references[column]
        same = f"{self._title(column)} " if column.framework == to.framework else ""
        return escape(f"{name(column)} ÷ {name(to).removeprefix(same)}")

    def cells(self, ids: Sequence[str]) -> str:
        """Cells in words: a column's name alone where it is about all of the column, otherwise the column and its rows."""
        wanted = dict.fromkeys(ids)
        by_column: dict[Column, list[CellRow]] = {}
        for id in wanted:
            by_column.setdefault(self._cells[id].column, []).append(self._cells[id])
        return "; ".join(self._of_column(column, cells) for column, cells in by_column.items())

    def _of_column(self, column: Column, cells: Sequence[CellRow]) -> str:
        everywhere = [cell for cell in self._cells.values() if cell.column == column]
        if len(cells) == len(everywhere) > 1:
            return f"{self.column(column)}, all rows"
        return f"{self.column(column)} on {', '.join(self.row(cell) for cell in cells)}"

    def row(self, cell: CellRow) -> str:
        """``resnet50, batch 64, training``, with the precision where the report has several."""
        facts = [] if cell.batch is None else [f"batch {numbers.whole(cell.batch)}"]
        if len({each.precision for each in self._cells.values()}) > 1:
            facts.append(escape(cell.precision))
        return f"{workload(cell)} ({', '.join([*facts, MODES[cell.mode]])})"

    def _title(self, column: Column) -> str:
        name = named(column.framework, column.era)
        return self._titles.get(name, name)


def workload(cell: Work) -> str:
    """The workload with its variant: ``gpt2 sequence=128``."""
    return escape(" ".join([cell.workload, *(f"{name}={value}" for name, value in cell.variant.items())]))


def status(word: Status | None) -> str:
    """A status as people read it: ``not installed``; ``n/a`` for none."""
    return numbers.MISSING if word is None else word.replace("_", " ")


def throughput(cell: Speed | None, marks: Mapping[str, str]) -> str:
    """``12,000 ±1 %``, or the status where there is no number, with the cell's mark behind it."""
    if cell is None:
        return numbers.MISSING
    if cell.samples_per_second is None:
        return status(cell.status if cell.status != "ok" else None) + marks.get(cell.cell, "")
    low, high = cell.samples_per_second_low, cell.samples_per_second_high
    around = "" if low is None or high is None else f" ±{numbers.percent(math.sqrt(high / low) - 1)}"
    return numbers.significant(cell.samples_per_second) + around + marks.get(cell.cell, "")


def marks(report: Report, prefix: str = "") -> dict[str, str]:
    """The numbers of a cell's problems as they stand behind its number: `` (1, 3)``."""
    found: dict[str, list[str]] = {}
    for problem in report.problems:
        for cell in problem.rounds:
            found.setdefault(cell, []).append(f"{prefix}{problem.number}")
    return {cell: f" ({', '.join(numbers)})" for cell, numbers in found.items()}


def judged(ratio: float | None, low: float | None, high: float | None, verdict: Verdict | None) -> str:
    """``0.80 [0.76, 0.84] slower``; without an interval where there is none."""
    if ratio is None:
        return numbers.MISSING
    interval = "" if low is None else f" [{numbers.ratio(low)}, {numbers.ratio(high)}]"
    return f"{numbers.ratio(ratio)}{interval} {verdict}"


def setting(value: object) -> str:
    """A setting as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return " ".join(str(item) for item in value)
    return str(value)
