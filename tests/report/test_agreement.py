"""The three formats say the same: what markdown shows is what CSV and JSON hold, rounded."""

from __future__ import annotations

import csv
import io
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.records import Record
from runner.report import numbers, render
from runner.runfile import Run, RunFile, read
from tests.report import recorded

STATUSES = ("ok", "ok", "ok", "crashed", "timeout", "nan")


def records(seed: int, rounds: int) -> list[Record]:
    """A run over all cells of the recorded header, in which fate decides which rounds fail and how."""
    draw = random.Random(seed)
    lines: list[Record] = []
    for row in range(len(recorded.ROWS)):
        for number in range(rounds):
            for column in (0, 1):
                round = recorded.measured(row, column, number, draw)
                status = draw.choice(STATUSES)
                lines.append(round if status == "ok" else recorded.failed(round, status, f"fate {draw.randrange(2)} | *x*"))
    return lines


def run_of(lines: list[Record]) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        with RunFile.create(path, recorded.header()) as file:
            for line in lines:
                file.append(line)
        return read(path)


def tables(markdown: str) -> list[list[dict[str, str]]]:
    """All tables of a markdown text, as rows by header. Escaped pipes do not part cells."""
    found: list[list[dict[str, str]]] = []
    header: list[str] | None = None
    for line in markdown.splitlines():
        if not line.startswith("|"):
            header = None
            continue
        cells = [cell.strip() for cell in line.replace(r"\|", "\0").strip("|").split("|")]
        if header is None:
            header = cells
            found.append([])
        elif not set(line) <= set("|:- "):
            assert len(cells) == len(header)
            found[-1].append(dict(zip(header, cells, strict=True)))
    return found


def agree(run: Run) -> None:
    cells: list[dict[str, Any]] = json.loads(render(run, "json"))["cells"]
    rows = list(csv.DictReader(io.StringIO(render(run, "csv"))))
    assert len(rows) == len(cells) == len(run.header.cells)
    for row, cell in zip(rows, cells, strict=True):
        assert list(row) == list(cell)
        for name, value in cell.items():
            assert row[name] == ("" if value is None else value if isinstance(value, str) else json.dumps(value))

    speed = [table for table in tables(render(run, "markdown")) if "framework" not in table[0]]
    titles = {name: state.title for name, state in run.header.frameworks.items()}
    shown = iter([row for table in speed for row in table])
    by_row: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for cell in cells:
        by_row.setdefault((cell["mode"], cell["comparison"]), []).append(cell)
    for rivals in by_row.values():
        row = next(shown)
        for cell in rivals:
            text = row[f"{titles[cell['framework']]} {cell['device']} {cell['execution']}"]
            if cell["samples_per_second"] is None:
                assert text.startswith(cell["status"].replace("_", " "))
            else:
                number, _, around = text.partition(" ±")
                assert number.split(" (")[0] == numbers.significant(cell["samples_per_second"])
                low, high = cell["samples_per_second_low"], cell["samples_per_second_high"]
                assert around.startswith("" if low is None else numbers.percent((high / low) ** 0.5 - 1))
            if cell["ratio"] is not None:
                bounds = "" if cell["ratio_low"] is None else f" [{numbers.ratio(cell['ratio_low'])}, {numbers.ratio(cell['ratio_high'])}]"
                assert row[f"{titles[cell['framework']]} ÷ PyTorch"] == f"{numbers.ratio(cell['ratio'])}{bounds} {cell['verdict']}"
    assert next(shown, None) is None


def test_the_recorded_run_agrees() -> None:
    agree(read(recorded.FILE))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 9))
def test_runs_of_any_fate_agree(seed: int, rounds: int) -> None:
    agree(run_of(records(seed, rounds)))


def test_every_failure_is_listed_in_markdown_with_its_number() -> None:
    run = run_of(records(3, 3))
    text = render(run, "markdown")
    listed = text.split("### Not ok")[1].split("### ")[0].strip().splitlines()
    problems = json.loads(render(run, "json"))["problems"]
    assert [line.split(". ")[0] for line in listed] == [str(problem["number"]) for problem in problems]
    assert {cell for problem in problems for cell in problem["rounds"]} >= {m.cell for m in run.rounds if not m.ok}


@pytest.mark.parametrize("format", ["markdown", "csv", "json"])
def test_reports_do_not_depend_on_the_order_of_lines(format: str) -> None:
    lines = records(7, 3)
    shuffled = lines[:]
    random.Random(1).shuffle(shuffled)
    assert render(run_of(lines), format) == render(run_of(shuffled), format)
