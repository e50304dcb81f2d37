"""What ratios are taken against, by default and when a reader chooses."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.errors import UserError
from runner.report import reference, render
from runner.report.model import Column
from runner.report.rows import report
from tests.report import places

MPS, CPU = Column("pytorch", "mps", "eager"), Column("pytorch", "cpu", "eager")
METAL, TF_CPU = Column("tensorflow", "metal", "graph"), Column("tensorflow", "cpu", "graph")
COMPILED = Column("pytorch", "mps", "inductor")
ALL = [MPS, METAL, CPU, TF_CPU]


@pytest.mark.parametrize(
    ("columns", "against", "expected"),
    [
        (ALL, (), {METAL: MPS, CPU: MPS, TF_CPU: MPS}),
        (ALL, ("cpu",), {MPS: CPU, METAL: TF_CPU}),
        (ALL, ("gpu",), {CPU: MPS, TF_CPU: METAL}),
        (ALL, ("mps",), {CPU: MPS}),
        (ALL, ("pytorch",), {METAL: MPS, TF_CPU: CPU}),
        (ALL, ("tensorflow",), {MPS: METAL, CPU: TF_CPU}),
        (ALL, ("pytorch", "cpu"), {MPS: CPU, METAL: CPU, TF_CPU: CPU}),
        (ALL, ("cpu", "pytorch"), {MPS: CPU, METAL: CPU, TF_CPU: CPU}),
        ([MPS, COMPILED, METAL], ("eager",), {COMPILED: MPS}),
        ([MPS, COMPILED, METAL], ("pytorch",), {METAL: MPS}),
        ([MPS, COMPILED, CPU], ("cpu",), {MPS: CPU, COMPILED: CPU}),
        ([MPS, METAL], ("cpu",), {}),
    ],
)
def test_references(columns: list[Column], against: tuple[str, ...], expected: dict[Column, Column]) -> None:
    assert reference.references(columns, against) == expected


@pytest.mark.parametrize(
    ("columns", "against", "message"),
    [
        (ALL, ("pytroch",), "did you mean `pytorch`"),
        (ALL, ("cuda",), "that was no 'cuda'"),
        ([MPS, METAL], ("gpu",), "leaves nothing to compare"),
    ],
)
def test_words_without_meaning_are_refused(columns: list[Column], against: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        reference.check(columns, against)


def test_the_speed_up_over_the_cpu_is_the_golden_report(tmp_path: Path) -> None:
    text = render(places.run(tmp_path, places.M1), "markdown", ("cpu",))
    assert text == (places.GOLDEN / "speed-up.md").read_text(encoding="utf-8"), "if the change is meant: python -m tests.report.places"


def test_the_short_report_is_the_golden_one(tmp_path: Path) -> None:
    text = render(places.run(tmp_path, places.EPYC), "markdown", short=True)
    assert text == (places.GOLDEN / "short.md").read_text(encoding="utf-8"), "if the change is meant: python -m tests.report.places"


def test_ratios_and_means_follow_the_reference(tmp_path: Path) -> None:
    found = report(places.run(tmp_path, places.M1), ("cpu",))
    by_id = {cell.cell: cell for cell in found.cells()}
    compared = [cell for cell in found.cells() if cell.ratio is not None]
    assert {(cell.framework, cell.device, by_id[cell.ratio_to or ""].device) for cell in compared} == {
        ("pytorch", "mps", "cpu"),
        ("tensorflow", "metal", "cpu"),
    }
    assert all(cell.framework == by_id[cell.ratio_to or ""].framework for cell in compared)
    for cell in compared:
        assert cell.ratio == pytest.approx(10.0 if cell.framework == "pytorch" else 3200 / 350, rel=0.02)
    assert {(mean.column.device, mean.ratio_to.device, mean.finished, mean.of) for t in found.tables for mean in t.means} == {
        ("mps", "cpu", 2, 2),
        ("metal", "cpu", 2, 2),
    }
