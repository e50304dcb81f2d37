"""What a report derives from a run: numbers, ratios, problems and notes."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from runner.records import Block, End, Header, Machine, Note, Record, Round, Started
from runner.report import render
from runner.report.model import CellRow, Report
from runner.report.rows import report
from runner.runfile import RunFile, read
from tests.report import recorded
from tests.report.recorded import cell_id

FIRST, SECOND = cell_id(0, 0), cell_id(0, 1)


def two_rivals(**changes: Any) -> Header:
    """A header with one row of two rivals."""
    whole = recorded.header()
    return dataclasses.replace(whole, **{"cells": whole.cells[:2], **changes})


PARITY = {"error": 2e-7, "tolerance": 2e-5, "steps": 5, "values": 5, "seconds": 0.5}


def timed(cell: str, number: int, seconds: float, **changes: Any) -> Round:
    """An ok round at so many seconds a step; the batch is 64."""
    blocks = (Block(10, 10 * seconds, 0.0),)
    made = Round(cell=cell, round=number, position=0, status="ok", blocks=blocks, parity=PARITY, conditions={})
    return dataclasses.replace(made, **changes)


def reported(folder: Path, *records: Record, header: Header | None = None, end: bool = True) -> Report:
    """The report of a run with these records."""
    folder.mkdir(exist_ok=True)
    with RunFile.create(folder / "run.jsonl", header or two_rivals()) as file:
        for record in [*records, *([End("complete")] if end else [])]:
            file.append(record)
    return report(read(folder / "run.jsonl"))


def row(report: Report, cell: str) -> CellRow:
    (found,) = [each for each in report.cells() if each.cell == cell]
    return found


def test_throughput_is_the_batch_by_the_median_round(tmp_path: Path) -> None:
    cell = row(reported(tmp_path, *(timed(FIRST, n, s) for n, s in enumerate([0.5, 0.25, 4.0]))), FIRST)
    assert cell.seconds_per_step == pytest.approx(0.5)
    assert cell.samples_per_second == pytest.approx(128)
    assert (cell.samples_per_second_low or 0) < 128 < (cell.samples_per_second_high or 0)
    assert cell.samples_per_second_low == pytest.approx(64 / (cell.seconds_per_step_high or 0))


def test_a_call_without_a_batch_is_one_sample(tmp_path: Path) -> None:
    cells = tuple(dataclasses.replace(cell, batch=None, unit="calls") for cell in two_rivals().cells)
    assert row(reported(tmp_path, timed(FIRST, 0, 0.5), header=two_rivals(cells=cells)), FIRST).samples_per_second == pytest.approx(2)


def test_ratio_takes_only_rounds_that_both_finished(tmp_path: Path) -> None:
    found = reported(
        tmp_path,
        timed(FIRST, 0, 1.0),
        timed(SECOND, 0, 0.5),
        timed(FIRST, 1, 1.0),
        timed(SECOND, 1, 100.0, status="crashed", reason="x"),
        timed(SECOND, 2, 100.0),
    )
    cell = row(found, SECOND)
    assert (cell.ratio, cell.ratio_low, cell.ratio_rounds, cell.ratio_to) == (pytest.approx(2.0), None, 1, FIRST)
    assert row(found, FIRST).ratio is None


@pytest.mark.parametrize(
    "change", [{"precision": "float64"}, {"batch": 32}, {"computation": "f" * 16}, {"comparison": "f" * 16}, {"variant": {"n": 1}}]
)
def test_what_differs_shares_no_row_and_no_ratio(tmp_path: Path, change: dict[str, Any]) -> None:
    first, second = two_rivals().cells
    found = reported(
        tmp_path, timed(FIRST, 0, 1.0), timed(SECOND, 0, 0.5), header=two_rivals(cells=(first, dataclasses.replace(second, **change)))
    )
    assert [len(row) for row in found.tables[0].rows] == [1, 1]
    assert row(found, SECOND).ratio is None
    assert found.tables[0].means == ()


def test_cells_that_no_column_tells_apart_are_both_shown(tmp_path: Path) -> None:
    first, second = two_rivals().cells
    twin = dataclasses.replace(first, id=second.id)
    found = reported(tmp_path, timed(FIRST, 0, 1.0), timed(SECOND, 0, 0.5), header=two_rivals(cells=(first, twin)))
    assert [cell.samples_per_second for cell in found.cells()] == [64, 128]


def test_failures_with_the_same_words_are_one_problem(tmp_path: Path) -> None:
    failures = [timed(SECOND, n, 1.0, status="crashed", reason="signal 11", log=f"logs/{n}") for n in (0, 2)]
    found = reported(tmp_path, timed(FIRST, 0, 1.0), *failures, timed(SECOND, 1, 1.0))
    (problem,) = found.problems
    assert (problem.number, problem.status, problem.rounds, problem.log) == (1, "crashed", {SECOND: (0, 2)}, "logs/0")
    assert (row(found, SECOND).status, row(found, SECOND).rounds, row(found, SECOND).rounds_failed) == ("ok", 1, 2)


def test_a_cell_of_an_absent_framework_has_its_status(tmp_path: Path) -> None:
    first, second = two_rivals().cells
    cells = (first, dataclasses.replace(second, framework="fakeflow"))
    found = reported(tmp_path, timed(FIRST, 0, 1.0), header=two_rivals(cells=cells))
    cell = row(found, SECOND)
    assert (cell.status, cell.reason, cell.remedy) == ("not_installed", "no module named 'fakeflow'", "pip install fakeflow")
    assert cell.samples_per_second is None


def test_a_round_without_result_and_a_cell_without_turn_are_interrupted(tmp_path: Path) -> None:
    found = reported(tmp_path, Started("0" * 16, 0, (FIRST,)), end=False)
    assert not found.complete
    assert [(problem.status, problem.rounds) for problem in found.problems] == [
        ("interrupted", {FIRST: (0,)}),
        ("interrupted", {SECOND: ()}),
    ]


def test_geometric_mean_counts_rows_that_one_side_lacks(tmp_path: Path) -> None:
    whole = recorded.header()
    cells = tuple(dataclasses.replace(cell, mode="train", precision="float32") for cell in whole.cells if cell.framework != "fakeflow")[:6]
    rounds = [timed(cell_id(line, 0), 0, 1.0) for line in range(3)] + [timed(cell_id(0, 1), 0, 0.5), timed(cell_id(1, 1), 0, 0.125)]
    (mean,) = reported(tmp_path, *rounds, header=two_rivals(cells=cells)).tables[0].means
    assert (mean.ratio, mean.finished, mean.of) == (pytest.approx(4.0), 2, 3)


def rounds_at(cell: str, *seconds: float) -> list[Round]:
    return [timed(cell, number, each) for number, each in enumerate(seconds)]


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        ((0.80, 0.81, 0.80), "faster"),
        ((1.25, 1.24, 1.25), "slower"),
        ((1.001, 1.0, 0.999), "same"),
        ((0.7, 1.2, 0.8), "unclear"),
        ((0.5, 0.5), "unclear"),
    ],
)
def test_each_ratio_has_a_verdict_and_its_table_says_it(tmp_path: Path, other: tuple[float, ...], verdict: str) -> None:
    found = reported(tmp_path, *rounds_at(FIRST, 1.0, 1.0, 1.0), *rounds_at(SECOND, *other))
    assert row(found, SECOND).verdict == verdict
    assert f"] {verdict}" in render(read(tmp_path / "run.jsonl"), "markdown")


def test_two_speeds_ask_for_more_certainty(tmp_path: Path) -> None:
    first, second = (1.0, 1.0, 1.01, 1.0, 0.99, 1.0), (0.9, 0.9, 0.9, 0.9, 0.75, 0.75)
    steady = reported(tmp_path / "steady", *rounds_at(FIRST, *first), *rounds_at(SECOND, *second[:4]))
    mixed = reported(tmp_path / "mixed", *rounds_at(FIRST, *first), *rounds_at(SECOND, *second))
    assert row(steady, SECOND).verdict == "faster"
    assert row(mixed, SECOND).verdict == "unclear" and (row(mixed, SECOND).ratio_low or 0) > 1.02
    assert "two speeds" not in render(read(tmp_path / "steady" / "run.jsonl"), "markdown")
    (note,) = [note for note in mixed.notes if note.code == "bimodal"]
    assert note.cells == (SECOND,)
    assert note.text.startswith("processes have two speeds, 2 near 0.750 s a step and 4 near 0.900 s;")


def test_rounds_that_were_added_widen_the_interval(tmp_path: Path) -> None:
    rounds = [*rounds_at(FIRST, 1.0, 1.1, 1.0), *rounds_at(SECOND, 1.0, 1.0, 1.0)]
    plain = row(reported(tmp_path / "plain", *rounds), SECOND)
    added = row(reported(tmp_path / "added", *rounds, header=two_rivals(settings={"precision_goal": 0.05})), SECOND)
    assert plain.ratio == added.ratio
    assert (added.ratio_low or 0) < (plain.ratio_low or 0) and (added.ratio_high or 0) > (plain.ratio_high or 0)


def test_the_mean_has_an_interval_and_a_verdict(tmp_path: Path) -> None:
    cells = tuple(dataclasses.replace(cell, mode="train", precision="float32") for cell in recorded.header().cells)
    rounds = [each for line in range(2) for each in rounds_at(cell_id(line, 0), 1.0, 1.0, 1.01)]
    rounds += [each for line in range(2) for each in rounds_at(cell_id(line, 1), 0.5, 0.51, 0.5)]
    found = reported(tmp_path, *rounds, header=two_rivals(cells=cells))
    (mean,) = found.tables[0].means
    assert mean.verdict == "faster" and mean.ratio_low is not None and mean.ratio_high is not None
    assert mean.ratio_low < mean.ratio < mean.ratio_high
    assert "] faster** over 2 of 6 rows" in render(read(tmp_path / "run.jsonl"), "markdown")


@pytest.mark.parametrize(("last", "code", "text"), [(1.15, "slowing", "15 % more"), (0.8, "speeding_up", "20 % less")])
def test_a_trend_within_rounds_is_named(tmp_path: Path, last: float, code: str, text: str) -> None:
    blocks = tuple(Block(1, 1 + (last - 1) * place / 8, float(place)) for place in (0, 0, 0, 2, 3, 4, 5, 6, 8, 8, 8))
    steady = timed(FIRST, 1, 1.0)
    found = reported(tmp_path, timed(FIRST, 0, 1.0, blocks=blocks), steady)
    (note,) = [note for note in found.notes if note.code == code]
    assert note.text == f"the last third of the blocks took {text} time than the first in 1 of 2 rounds"
    assert row(found, FIRST).trend == pytest.approx(last - 1)


@pytest.mark.parametrize(("times", "code"), [((1.0, 1.05), None), ((1.0, 1.2), "noisy"), ((1.0, 1.5), "unreliable")])
def test_rounds_far_apart_are_named(tmp_path: Path, times: tuple[float, ...], code: str | None) -> None:
    assert set(codes(reported(tmp_path, *rounds_at(FIRST, *times)))) == ({code} if code else set())


def codes(found: Report) -> dict[str, tuple[str, ...]]:
    return {note.code: note.cells for note in found.notes}


def test_a_cell_is_verified_by_any_of_its_rounds(tmp_path: Path) -> None:
    found = reported(tmp_path, timed(FIRST, 0, 1.0), timed(FIRST, 1, 1.0, parity=None), timed(SECOND, 0, 1.0, parity=None))
    first, second = row(found, FIRST), row(found, SECOND)
    assert (first.verified_steps, first.verified_values, first.verified_error, first.verified_tolerance) == (5, 5, 2e-7, 2e-5)
    assert (second.verified_steps, second.verified_error) == (None, None)
    assert codes(found)["not_verified"] == (SECOND,)


def test_notes_are_said_once_with_all_their_cells(tmp_path: Path) -> None:
    rounds = [timed(cell, n, 1.0, facts={"deviations": ["one bias"]}) for cell in (FIRST, SECOND) for n in (0, 1)]
    assert codes(reported(tmp_path, *rounds)) == {"deviation": (FIRST, SECOND)}


def test_notes_with_other_figures_are_said_once_a_cell(tmp_path: Path) -> None:
    rounds = [timed(FIRST, n, 1.0, notes=(Note("not_steady", f"{n} %"),)) for n in (4, 5)] + [timed(FIRST, 6, 1.0)]
    (note,) = reported(tmp_path, *rounds).notes
    assert note.text == "4 % (2 of 3 rounds, the first of them given)"


@pytest.mark.parametrize(
    ("classes", "noted"),
    [
        (("torch.optim.sgd.SGD", "keras.optimizers.SGD"), set()),
        (("torch.optim.adamw.AdamW", "keras.optimizers.Adam"), {FIRST, SECOND}),
        (("torch.optim.sgd.SGD", "keras.optimizers.legacy.SGD"), {SECOND}),
        (("torch.optim.sgd.SGD", "__main__.OwnSGD"), {FIRST, SECOND}),
    ],
)
def test_the_optimizer_is_noted_where_names_do_not_say_it(tmp_path: Path, classes: tuple[str, str], noted: set[str]) -> None:
    rounds = [timed(cell, n, 1.0, facts={"optimizer": name}) for cell, name in zip((FIRST, SECOND), classes, strict=True) for n in (0, 1)]
    found = reported(tmp_path, *rounds)
    assert {cell for note in found.notes if note.code == "optimizer" for cell in note.cells} == noted


def test_what_else_is_noted(tmp_path: Path) -> None:
    facts = {"graph_breaks": 3, "timed_compilations": 1, "warnings": ["slow path"]}
    checked = two_rivals(settings={"checks": False})
    found = codes(reported(tmp_path, timed(FIRST, 0, 1.0, alone=True, facts=facts), header=checked))
    assert set(found) == {"graph_breaks", "timed_compilations", "warning", "alone", "single_process", "unchecked"}
    assert all(cells == (FIRST,) for cells in found.values())


def test_an_emulated_processor_is_told_at_the_top(tmp_path: Path) -> None:
    machine = Machine("Apple M1", 8, 2**34, "macOS 15", "x86_64", "3.11.7", translated=True)
    reported(tmp_path, timed(FIRST, 0, 1.0), header=two_rivals(machine=machine))
    assert "under Rosetta" in render(read(tmp_path / "run.jsonl"), "markdown").split("###")[0]


def test_rivals_measured_at_different_precisions_share_no_ratio(tmp_path: Path) -> None:
    single, tf32 = (
        {"matmul": {"error": error, "class": kind, "execution": "eager"}} for error, kind in ((3e-7, "float32"), (3e-4, "tf32"))
    )
    for other, ratio in ((single, 2.0), (tf32, None)):
        pairs = [(timed(FIRST, n, 0.5, measured_precision=single), timed(SECOND, n, 0.25, measured_precision=other)) for n in range(3)]
        cell = row(reported(tmp_path / str(ratio), *(each for pair in pairs for each in pair)), SECOND)
        assert cell.ratio == (None if ratio is None else pytest.approx(ratio))
        assert cell.measured_precision == other


def test_a_framework_is_named_with_its_own_version_and_not_with_the_interpreters(tmp_path: Path) -> None:
    header = two_rivals()
    versions = {"python": "3.11.7", "torch": "2.13.0+cpu", "numpy": "2.3.1"}
    states = {name: dataclasses.replace(state, versions=versions) for name, state in header.frameworks.items()}
    header = dataclasses.replace(header, frameworks=states)
    reported(tmp_path, timed(FIRST, 0, 1.0), header=header)
    assert "PyTorch 2.13.0+cpu" in render(read(tmp_path / "run.jsonl"), "markdown", short=True).splitlines()[0]
    assert states["pytorch"].release == ("torch", "2.13.0+cpu")
