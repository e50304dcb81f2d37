"""The report as JSON: one object, unrounded, with flat cells whose keys are those of :class:`runner.report.model.CellRow`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frameworks.contract import to_json
from runner.records import FrameworkState, Machine
from runner.report.model import CellRow, Mean, Problem, Report
from runner.report.notes import CellNote
from runner.statistics import Verdict

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class MeanRow:
    """The geometric mean of a column's ratios to another column at one precision, over ``finished`` of ``of`` rows."""

    mode: str
    precision: str
    framework: str
    device: str
    execution: str
    to_framework: str
    to_device: str
    to_execution: str
    era: str
    to_era: str
    ratio: float
    ratio_low: float | None
    ratio_high: float | None
    verdict: Verdict
    finished: int
    of: int


@dataclass(frozen=True, kw_only=True)
class Document:
    """A report of one run. Times in seconds, memory in bytes, ratios as how many times as fast; unrounded. ``confidence`` is the level of
    all intervals, ``threshold`` the share up to which a difference counts as none."""

    schema: int
    headtohead: str
    started: str
    complete: bool
    confidence: float
    threshold: float
    command: tuple[str, ...]
    seed: int
    settings: Mapping[str, Any]
    machine: Machine
    frameworks: Mapping[str, FrameworkState]
    environment: Mapping[str, Any]
    cells: tuple[CellRow, ...]
    means: tuple[MeanRow, ...]
    problems: tuple[Problem, ...]
    notes: tuple[CellNote, ...]


def render(report: Report) -> str:
    """Strict JSON, indented, ending in a newline."""
    return json.dumps(to_json(document(report)), allow_nan=False, indent=2) + "\n"


def document(report: Report) -> Document:
    """What the JSON says, before it is text; its schema is ``report.schema.json``."""
    header = report.header
    return Document(
        schema=SCHEMA,
        headtohead=header.headtohead,
        started=header.started,
        complete=report.complete,
        confidence=report.confidence,
        threshold=report.threshold,
        command=header.command,
        seed=header.seed,
        settings=header.settings,
        machine=header.machine,
        frameworks=header.frameworks,
        environment=header.environment,
        cells=tuple(report.cells()),
        means=tuple(_mean(mean) for table in report.tables for mean in table.means),
        problems=report.problems,
        notes=report.notes,
    )


def _mean(mean: Mean) -> MeanRow:
    return MeanRow(
        mode=mean.mode,
        precision=mean.precision,
        **mean.column._asdict(),
        **{f"to_{name}": value for name, value in mean.ratio_to._asdict().items()},
        ratio=mean.ratio,
        ratio_low=mean.ratio_low,
        ratio_high=mean.ratio_high,
        verdict=mean.verdict,
        finished=mean.finished,
        of=mean.of,
    )
