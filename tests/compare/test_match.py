"""Which cells of two runs are compared, which runs are not, and what the command ends with."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner import compare
from runner.compare import match
from runner.compare.model import Comparison
from runner.errors import UserError
from runner.records import Block, Cell, End, Header, Round
from runner.runfile import Run, read
from tests.compare import recorded
from tests.report import recorded as earlier
from tests.report.recorded import cell_id


def header(**changes: Any) -> Header:
    """A header with one row of two rivals."""
    whole = earlier.header()
    return dataclasses.replace(whole, **{"cells": whole.cells[:2], **changes})


def cells(**changes: Any) -> tuple[Cell, ...]:
    return tuple(dataclasses.replace(cell, **changes) for cell in header().cells)


def run(path: Path, made: Header, seconds: tuple[float, ...] = (1.0, 1.001, 0.999), **changes: Any) -> Run:
    """A complete run in which every cell took so many seconds a step, one number a round."""
    rounds = [
        Round(cell=cell.id, round=number, position=0, status="ok", blocks=(Block(10, 10 * each, 0.0),), conditions={}, **changes)
        for cell in made.cells
        for number, each in enumerate(seconds)
    ]
    return read(recorded.write(path / "run.jsonl", [made, *rounds, End("complete")]))


def compared(folder: Path, a: Header, b: Header, *across: str, **more: Any) -> Comparison:
    return match.compare(run(folder / "before", a), run(folder / "after", b, **more), across)


def test_ratio_is_how_many_times_as_fast_the_second_run_is(tmp_path: Path) -> None:
    found = compared(tmp_path, header(), header(), seconds=(0.5, 0.5005, 0.4995))
    assert [pair.ratio for pair in found.pairs] == [pytest.approx(2.0)] * 2
    assert {pair.verdict for pair in found.pairs} == {"faster"}
    assert found.pairs[0].ratio_rounds == 3 and (found.pairs[0].ratio_freedom or 0) > 2
    assert not found.slower() and found.differences == () and found.across == ()


def test_ids_of_cells_do_not_matter(tmp_path: Path) -> None:
    """They hold settings too: two runs with other budgets have none in common."""
    renamed = tuple(dataclasses.replace(cell, id=f"{number:016x}", comparison="f" * 16) for number, cell in enumerate(header().cells, 7))
    assert len(compared(tmp_path, header(), header(cells=renamed)).pairs) == 2


def test_what_differs_is_listed_in_full(tmp_path: Path) -> None:
    before = header()
    frameworks = {**before.frameworks, "pytorch": dataclasses.replace(before.frameworks["pytorch"], versions={"torch": "2.14.0"})}
    machine = dataclasses.replace(before.machine, system="Linux 6.9")
    after = header(
        frameworks=frameworks, machine=machine, environment={"OMP_NUM_THREADS": "1"}, settings={**before.settings, "budget": 2.0}
    )
    found = compared(tmp_path, before, after, facts={"threads": 1})
    assert {(each.subject, each.name, each.a, each.b) for each in found.differences} == {
        ("machine", "system", "Linux 6.1", "Linux 6.9"),
        ("PyTorch", "torch", "2.13.0+cpu", "2.14.0"),
        ("PyTorch", "numpy", "2.3.1", ""),
        ("settings", "budget", "1.0", "2.0"),
        ("environment", "OMP_NUM_THREADS", "2", "1"),
        ("TensorFlow", "TF_CPP_MIN_LOG_LEVEL", "2", ""),
    }


@pytest.mark.parametrize(
    ("changed", "kind", "said"),
    [
        (lambda: header(machine=recorded.MAC), "machines", "Apple M1 Max, 10 cores"),
        (lambda: header(cells=cells(computation="f" * 16)), "workloads", "lenet5-mnist at batch 64: computation 0000000000000064 in A"),
        (lambda: header(cells=cells(precision="bfloat16")), "precisions", "--across precisions"),
    ],
)
def test_what_must_be_the_same_is_refused_by_name_and_marked_where_it_was_asked_for(
    tmp_path: Path, changed: Callable[[], Header], kind: str, said: str
) -> None:
    with pytest.raises(UserError) as error:
        compared(tmp_path, header(), changed())
    assert said in str(error.value) and f"--across {kind}" in str(error.value)
    found = compared(tmp_path, header(), changed(), kind)
    assert found.across == (kind,)
    assert [pair.ratio for pair in found.pairs] == [pytest.approx(1.0)] * 2
    text = compare.render(found, "markdown")
    assert text.count("**") >= 2 and "**" in text.split("### What differs")[0]
    assert kind == "machines" or all(pair.across for pair in found.pairs)


def test_all_that_forbids_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        compared(tmp_path, header(), header(machine=recorded.MAC, cells=cells(computation="f" * 16)))
    assert "--across machines" in str(error.value) and "--across workloads" in str(error.value)


def test_memory_that_a_newer_kernel_reports_otherwise_is_no_other_machine(tmp_path: Path) -> None:
    machine = dataclasses.replace(earlier.MACHINE, memory=earlier.MACHINE.memory - 4_000_000, system="Linux 7")
    assert compared(tmp_path, header(), header(machine=machine)).across == ()


def test_what_was_measured_at_another_precision_than_it_says_is_refused(tmp_path: Path) -> None:
    single, tf32 = ({"matmul": {"error": 1e-4, "class": kind, "execution": "eager"}} for kind in ("float32", "tf32"))
    before = run(tmp_path / "before", header(), measured_precision=single)
    after = run(tmp_path / "after", header(), measured_precision=tf32)
    with pytest.raises(UserError, match="measured as matmul float32 in A, matmul tf32 in B"):
        match.compare(before, after)
    found = match.compare(before, after, ["precisions"])
    assert found.pairs[0].across == ("measured matmul float32 → matmul tf32",)


def test_one_gpu_stands_for_another_across_machines(tmp_path: Path) -> None:
    there = header(machine=recorded.MAC, cells=cells(device="mps"))
    here = header(cells=cells(device="cuda"))
    with pytest.raises(UserError, match="no device in common: mps in A, cuda in B; --across machines"):
        compared(tmp_path, there, here)
    found = compared(tmp_path, there, here, "machines")
    assert [pair.across for pair in found.pairs] == [("device mps → cuda",)] * 2


def test_the_same_precision_is_preferred_across_precisions(tmp_path: Path) -> None:
    single, half = cells(), tuple(dataclasses.replace(cell, id=f"{n:016x}", precision="bfloat16") for n, cell in enumerate(cells(), 90))
    found = compared(tmp_path, header(cells=single + half), header(cells=half), "precisions")
    assert [(pair.a.precision, pair.b.precision) for pair in found.pairs] == [("bfloat16", "bfloat16")] * 2
    assert len(found.a.alone) == 2


def test_runs_without_a_common_cell_are_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no batch in common: 64 in A, 32 in B"):
        compared(tmp_path, header(), header(cells=cells(batch=32)))


def test_rounds_that_were_added_widen_the_interval(tmp_path: Path) -> None:
    goal = header(settings={"precision_goal": 0.05})
    plain, added = compared(tmp_path / "1", header(), header()), compared(tmp_path / "2", header(), goal)
    assert (added.pairs[0].ratio_low or 0) < (plain.pairs[0].ratio_low or 0)


def test_the_threshold_decides_verdicts(tmp_path: Path) -> None:
    before, after = run(tmp_path / "before", header()), run(tmp_path / "after", header(), seconds=(1.05, 1.051, 1.049))
    assert {pair.verdict for pair in match.compare(before, after).pairs} == {"slower"}
    assert {pair.verdict for pair in match.compare(before, after, threshold=0.10).pairs} == {"same"}


def h2h(*words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    return subprocess.run([sys.executable, "-m", "runner", "compare", *words], capture_output=True, text=True, check=False, env=environment)


def test_the_exit_status_is_for_ci(tmp_path: Path) -> None:
    run(tmp_path / "before", header())
    run(tmp_path / "slow", header(), seconds=(1.05, 1.051, 1.049))
    before, slow = str(tmp_path / "before"), str(tmp_path / "slow")
    assert h2h(before, slow).returncode == 0
    failing = h2h(before, slow, "--fail-on", "slower")
    assert (failing.returncode, failing.stderr) == (1, "2 of 2 cells are slower, 0 have no number any more\n")
    assert "slower" in failing.stdout
    assert h2h(before, slow, "--fail-on", "slower", "--threshold", "10").returncode == 0
    assert h2h(slow, before, "--fail-on", "slower").returncode == 0
    wrong = h2h(before, slow, "--across", "machine")
    assert (wrong.returncode, wrong.stdout) == (2, "") and "did you mean `machines`?" in wrong.stderr


def test_a_cell_that_has_no_number_any_more_fails_too(tmp_path: Path) -> None:
    run(tmp_path / "before", header())
    broken = [Round(cell=cell_id(0, column), round=0, position=0, status="crashed", reason="signal 11", conditions={}) for column in (0, 1)]
    recorded.write(tmp_path / "broken" / "run.jsonl", [header(), *broken, End("complete")])
    failing = h2h(str(tmp_path / "before"), str(tmp_path / "broken"), "--fail-on", "slower")
    assert (failing.returncode, failing.stderr) == (1, "0 of 2 cells are slower, 2 have no number any more\n")
