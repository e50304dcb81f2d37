"""What columns, rows and cells are called in a report: as short as tells them apart. All of it is safe in markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from frameworks.contract import Status
from runner.records import named
from runner.report import numbers
from runner.report.model import CellRow, Column, Report, Table
from runner.report.text import escape

MODES = {"train": "training", "infer": "inference"}


class Names:
    """The names within one report."""

    def __init__(self, report: Report) -> None:
        self._titles = {name: state.title for name, state in report.header.frameworks.items()}
        self._cells = {cell.cell: cell for cell in report.cells()}

    def column(self, column: Column) -> str:
        """``PyTorch cpu eager``."""
        return escape(f"{self._title(column)} {column.device} {column.execution}")

    def ratio(self, table: Table, column: Column) -> str:
        """``TensorFlow ÷ PyTorch``, with device and execution where the frameworks' names are not enough."""
        schemes: tuple[Callable[[Column], str], ...] = (
            lambda c: self._title(c),
            lambda c: f"{self._title(c)} {c.execution}",
            lambda c: f"{self._title(c)} {c.device}",
            lambda c: f"{self._title(c)} {c.device} {c.execution}",
        )
        for name in schemes:
            if len({name(each) for each in table.columns}) == len(table.columns):
                break
        return escape(f"{name(column)} ÷ {name(table.columns[0])}")

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


def workload(cell: CellRow) -> str:
    """The workload with its variant: ``gpt2 sequence=128``."""
    return escape(" ".join([cell.workload, *(f"{name}={value}" for name, value in cell.variant.items())]))


def status(word: Status | None) -> str:
    """A status as people read it: ``not installed``; ``n/a`` for none."""
    return numbers.MISSING if word is None else word.replace("_", " ")
