"""A comparison as JSON and as CSV, unrounded, with the names of :mod:`runner.compare.model`."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frameworks.contract import to_json
from runner.compare.model import Comparison, Difference, Kind, MeanOfPairs, Pair, Side, Source
from runner.records import FrameworkState, Machine
from runner.report.model import Problem
from runner.report.notes import CellNote
from runner.report.table_csv import field

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """One of the runs, with what was not ok and what must be known of the cells that are compared. ``alone`` are cells that only it has."""

    name: str
    headtohead: str
    started: str
    complete: bool
    command: tuple[str, ...]
    seed: int
    settings: Mapping[str, Any]
    machine: Machine
    frameworks: Mapping[str, FrameworkState]
    environment: Mapping[str, Any]
    problems: tuple[Problem, ...]
    notes: tuple[CellNote, ...]
    alone: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Document:
    """A comparison of two runs, A and B. Times in seconds, ratios as how many times as fast B is as A; unrounded. ``confidence`` is the
    level of all intervals, ``threshold`` the share up to which a difference counts as none. ``across`` are kinds of difference in spite of
    which the runs are compared, as was asked for."""

    schema: int
    confidence: float
    threshold: float
    across: tuple[Kind, ...]
    a: RunFacts
    b: RunFacts
    differences: tuple[Difference, ...]
    pairs: tuple[Pair, ...]
    means: tuple[MeanOfPairs, ...]


def document(comparison: Comparison) -> Document:
    """What the JSON says, before it is text; its schema is ``comparison.schema.json``."""
    return Document(
        schema=SCHEMA,
        confidence=comparison.confidence,
        threshold=comparison.threshold,
        across=comparison.across,
        a=_facts(comparison.a),
        b=_facts(comparison.b),
        differences=comparison.differences,
        pairs=comparison.pairs,
        means=comparison.means,
    )


def as_json(comparison: Comparison) -> str:
    """Strict JSON, indented, ending in a newline."""
    return json.dumps(to_json(document(comparison)), allow_nan=False, indent=2) + "\n"


def as_csv(comparison: Comparison) -> str:
    """A header and one line a pair; the keys of a side begin with ``a_`` or ``b_``. What is missing is empty."""
    own = [each.name for each in dataclasses.fields(Pair) if each.name not in ("a", "b")]
    sides = [each.name for each in dataclasses.fields(Side)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*own, *(f"{side}_{name}" for side in ("a", "b") for name in sides)])
    for pair in comparison.pairs:
        values = [getattr(pair, name) for name in own] + [getattr(side, name) for side in (pair.a, pair.b) for name in sides]
        writer.writerow([field(to_json(value)) for value in values])
    return text.getvalue()


def _facts(source: Source) -> RunFacts:
    header = source.report.header
    return RunFacts(
        name=source.name,
        headtohead=header.headtohead,
        started=header.started,
        complete=source.report.complete,
        command=header.command,
        seed=header.seed,
        settings=header.settings,
        machine=header.machine,
        frameworks=header.frameworks,
        environment=header.environment,
        problems=source.report.problems,
        notes=source.report.notes,
        alone=source.alone,
    )
