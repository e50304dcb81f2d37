"""What a report is made of: cells, tables, problems. Frozen, unrounded and flat, whatever the format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from frameworks.contract import Status
from runner.records import Header
from runner.report.notes import CellNote
from runner.statistics import Verdict


class Column(NamedTuple):
    """What stands side by side in a table."""

    framework: str
    device: str
    execution: str
    era: str = ""


class RowKey(NamedTuple):
    """What rivals have in common; only what is equal in all of it shares a ratio."""

    comparison: str
    workload: str
    variant: tuple[tuple[str, Any], ...]
    batch: int | None
    precision: str
    unit: str
    computation: str


@dataclass(frozen=True, kw_only=True)
class CellRow:
    """A cell and what it came to, unrounded and flat: these names are those of the CSV and JSON reports.

    Times are medians over the rounds that were ok, peaks of memory the highest of them. ``_low`` and ``_high`` bound intervals at the
    report's ``confidence``. ``spread`` is the relative standard deviation of rounds, ``block_deviation`` the median one of blocks within
    a round, ``trend`` how much longer the last blocks of rounds took than the first, relative, where that is no chance. ``ratio`` says how
    many times as fast the cell is as the cell ``ratio_to``, which itself has none; ``ratio_error`` is the standard error of its logarithm.
    ``rounds`` were ok and ``rounds_failed`` were not; ``status`` is ``ok`` if any was. ``blocks`` are all those of the ok rounds.
    ``operations_per_second`` counts a backward pass as two forward ones; ``share_of_matmul`` is its share of a large product of matrices in
    the same framework and precision, ``share_of_peak`` of what is published for the chip. ``joules_per_sample`` and ``watts`` are those of
    the ``meters`` together. Latencies are of single inferences, each waited for.
    ``measured_precision`` is that of :class:`runner.records.Round`; ``verified`` are the figures of :class:`frameworks.parity.Parity`, None
    where there was no golden curve to compare with.
    """

    cell: str
    comparison: str
    workload: str
    variant: dict[str, Any]
    batch: int | None
    mode: str
    precision: str
    framework: str
    device: str
    execution: str
    unit: str
    computation: str
    parameters: int
    not_trained: int
    operations: int
    era: str
    status: Status
    reason: str
    remedy: str
    rounds: int
    rounds_failed: int
    blocks: int
    alone: bool
    seconds_per_step: float | None
    seconds_per_step_low: float | None
    seconds_per_step_high: float | None
    samples_per_second: float | None
    samples_per_second_low: float | None
    samples_per_second_high: float | None
    spread: float | None
    block_deviation: float | None
    trend: float | None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    ratio_error: float | None = None
    ratio_rounds: int | None = None
    verdict: Verdict | None = None
    ratio_to: str | None = None
    import_seconds: float | None
    build_seconds: float | None
    first_step_seconds: float | None
    warm_up_seconds: float | None
    first_result_seconds: float | None
    operations_per_second: float | None
    matmul_operations_per_second: float | None
    share_of_matmul: float | None
    share_of_peak: float | None
    joules_per_sample: float | None
    watts: float | None
    meters: list[str]
    gpu_clock_megahertz: float | None
    gpu_temperature_celsius: float | None
    latency_median_seconds: float | None
    latency_p90_seconds: float | None
    latency_p99_seconds: float | None
    device_peak_bytes: float | None
    process_peak_bytes: float | None
    loss_first: float | None
    loss_last: float | None
    verified_steps: int | None
    verified_values: int | None
    verified_error: float | None
    verified_tolerance: float | None
    optimizer: str | None
    layout: str | None
    threads: int | None
    graph_breaks: int | None
    compilations: int | None
    timed_compilations: int | None
    measured_precision: dict[str, dict[str, Any]]

    @property
    def column(self) -> Column:
        return Column(self.framework, self.device, self.execution, self.era)

    @property
    def key(self) -> RowKey:
        return RowKey(self.comparison, self.workload, tuple(self.variant.items()), self.batch, self.precision, self.unit, self.computation)


@dataclass(frozen=True)
class Mean:
    """The geometric mean of a column's ratios at one precision, over ``finished`` of ``of`` rows; no interval where a ratio has none."""

    mode: str
    precision: str
    column: Column
    ratio_to: Column
    ratio: float
    ratio_low: float | None
    ratio_high: float | None
    verdict: Verdict
    finished: int
    of: int


@dataclass(frozen=True)
class Table:
    """The cells of one mode: rows of rivals by column; a column may lack in a row. ``references`` holds, by column, what its
    ratio is to."""

    mode: str
    columns: tuple[Column, ...]
    references: dict[Column, Column]
    rows: tuple[dict[Column, CellRow], ...]
    means: tuple[Mean, ...]

    def cells(self) -> Iterable[CellRow]:
        """All cells, row by row."""
        for row in self.rows:
            yield from row.values()


@dataclass(frozen=True)
class Problem:
    """Something that was not ok, with the cells and rounds (from 0; none where no round was begun) that it befell."""

    number: int
    status: Status
    reason: str
    remedy: str
    rounds: dict[str, tuple[int, ...]]
    log: str | None


@dataclass(frozen=True)
class Conditions:
    """The lowest and highest over all rounds, None where nothing is known: ``load`` average, ``canary`` in seconds, GPU clock in MHz and
    temperature in degrees Celsius; and the sources of ``power``."""

    load: tuple[float, float] | None
    canary: tuple[float, float] | None
    power: tuple[str, ...]
    gpu_clock: tuple[float, float] | None
    gpu_temperature: tuple[float, float] | None


@dataclass(frozen=True)
class Report:
    """All that the three formats print; they differ only in how. ``confidence`` is the level of all intervals, ``threshold`` the share up
    to which a difference counts as none."""

    header: Header
    tables: tuple[Table, ...]
    problems: tuple[Problem, ...]
    notes: tuple[CellNote, ...]
    complete: bool
    confidence: float
    threshold: float
    conditions: Conditions

    def cells(self) -> list[CellRow]:
        """All cells in the order of the tables."""
        return [cell for table in self.tables for cell in table.cells()]
