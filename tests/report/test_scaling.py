"""Throughput over batch: what a curve tells, and how it is drawn."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from runner.report import render, scaling
from runner.report.model import CellRow
from runner.report.rows import report
from tests.report import places


def test_a_sweep_is_the_golden_report(tmp_path: Path) -> None:
    text = render(places.sweep(tmp_path), "markdown")
    assert text == (places.GOLDEN / "sweep.md").read_text(encoding="utf-8"), "if the change is meant: python -m tests.report.places"


def test_fewer_than_three_batches_make_no_curve(tmp_path: Path) -> None:
    found = report(places.run(tmp_path, places.EPYC))
    assert all(scaling.families(table) == [] for table in found.tables)
    assert "throughput over batch" not in render(places.run(tmp_path, places.M1), "markdown")


@pytest.fixture
def cell(tmp_path: Path) -> CellRow:
    return report(places.run(tmp_path, places.EPYC)).cells()[0]


def curve(cell: CellRow, seconds: dict[int, float | None]) -> scaling.Curve:
    """The curve of steps that took so long, by batch."""
    return scaling.curve(
        [
            dataclasses.replace(
                cell, batch=batch, samples_per_second=None if time is None else batch / time, status="ok" if time else "crashed"
            )
            for batch, time in seconds.items()
        ]
    )


def test_the_best_batch_and_the_smallest_that_is_as_good(cell: CellRow) -> None:
    found = curve(cell, {1: 0.1, 8: 0.2, 64: 1.0, 128: 1.99, 256: 4.5, 512: None})
    assert (found.best, found.enough, found.flat) == (128, 64, None)


def test_time_that_hardly_depends_on_the_batch_is_named(cell: CellRow) -> None:
    found = curve(cell, {batch: 0.004 + 1e-6 * batch for batch in (1, 2, 4, 8, 16, 32, 64)})
    assert (found.best, found.flat) == (64, 64)
    assert curve(cell, {1: 0.004, 2: 0.0041, 4: 0.008, 8: 0.0041}).flat is None, "what lies above a rise is no flat start"
    assert curve(cell, {32: 0.004, 64: 0.004, 96: 0.004}).flat is None, "three times the batch says little"


def test_a_curve_without_numbers(cell: CellRow) -> None:
    found = curve(cell, {1: None, 2: None, 4: None})
    assert (found.best, found.enough, found.flat) == (None, None, None)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, ""), (1e-6, "▏"), (1 / 32, "▏"), (0.25, "█"), (0.5, "██"), (0.53, "██▏"), (0.999, "████"), (1, "████"), (1.2, "████")],
)
def test_bars(share: float, text: str) -> None:
    assert scaling.bar(share, 4) == text
