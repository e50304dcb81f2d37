"""What misbehaves leads to the right number, or to a flag beside it."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from runner.plan import Settings
from runner.records import End, Header, Machine
from runner.report.model import Report
from runner.report.rows import report
from runner.runfile import RunFile, read
from tests.runner.conftest import Outcome, Play

pytestmark = pytest.mark.alone

MACHINE = Machine("a processor", 2, 2**34, "Linux", "x86_64", "3.11.7")


def reported(outcome: Outcome, folder: Path) -> Report:
    """The report of what was played."""
    header = Header(
        headtohead="0.1.0",
        started="2026-11-30T12:00:00+00:00",
        command=("h2h", "run"),
        seed=0,
        settings={},
        machine=MACHINE,
        frameworks={},
        cells=tuple(cell.record() for cell in outcome.plan.cells),
    )
    with RunFile.create(folder / "played.jsonl", header) as file:
        for record in [*outcome.records, End("complete")]:
            file.append(record)
    return report(read(folder / "played.jsonl"))


def codes(found: Report) -> list[str]:
    return [note.code for note in found.notes]


@pytest.mark.parametrize("compiles", [1, 2, 5])
def test_steps_that_compile_are_no_part_of_the_speed(play: Play, tmp_path: Path, compiles: int) -> None:
    settings = Settings(rounds=1, budget=0.1)
    outcome = play("compile500", settings=settings, environment={"H2H_FAKE_COMPILES": str(compiles)})
    (cell,) = reported(outcome, tmp_path).cells()
    assert cell.seconds_per_step == pytest.approx(0.005, rel=0.4)
    assert cell.first_step_seconds == pytest.approx(0.5, rel=0.1)


def test_each_shape_is_warmed_up(play: Play, tmp_path: Path) -> None:
    (cell,) = reported(play("shape_compile", settings=Settings(rounds=1, budget=0.1)), tmp_path).cells()
    assert cell.seconds_per_step == pytest.approx(0.005, rel=0.4)


def test_a_drift_is_no_steady_speed(play: Play, tmp_path: Path) -> None:
    outcome = play("drift", settings=Settings(rounds=1, budget=0.1, block_seconds=0.02, warmup_seconds=1.0, checks=False))
    assert {"not_steady", "slowing"} & set(codes(reported(outcome, tmp_path)))


def test_a_speed_drawn_by_each_process_is_told(play: Play, tmp_path: Path) -> None:
    outcome = play("coin", settings=Settings(rounds=12, budget=0.05, block_seconds=0.02, warmup_seconds=1.0, checks=False))
    found = reported(outcome, tmp_path)
    assert "bimodal" in codes(found) and "unreliable" in codes(found), "by chance 1 in 2000"


def test_one_round_is_a_single_process(play: Play, tmp_path: Path) -> None:
    assert "single_process" in codes(reported(play("blocking20"), tmp_path))


def test_latency_is_that_of_single_steps(play: Play, tmp_path: Path) -> None:
    outcome = play("async20", modes=("infer",))
    (cell,) = reported(outcome, tmp_path).cells()
    assert cell.latency_median_seconds == pytest.approx(0.020, rel=0.3)
    assert (cell.latency_p90_seconds or 0) >= (cell.latency_median_seconds or 1)
    (result,) = outcome.rounds
    assert result.latency is not None and (result.latency["p99"] is None) == ((result.latency["count"] or 0) < 100)


def test_training_has_no_latency(play: Play) -> None:
    (result,) = play("blocking20").rounds
    assert result.latency is None


def test_energy_is_read_around_steps_that_last_for_the_meter(play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from runner.machine import energy

    joules = iter([100.0, 100.0, 150.0])
    monkeypatch.setattr(energy, "read", lambda device: {"gpu": next(joules)})
    monkeypatch.setattr(energy, "SECONDS", 0.2)
    outcome = play("blocking20")
    (result,) = outcome.rounds
    assert result.energy is not None and result.energy["joules"] == {"gpu": 50.0}
    assert result.energy["seconds"] >= 0.2 and result.energy["steps"] >= 8
    (cell,) = reported(outcome, tmp_path).cells()
    assert cell.joules_per_sample == pytest.approx(50.0 / (result.energy["steps"] * 8))
    assert cell.watts == pytest.approx(50.0 / result.energy["seconds"])
    assert cell.meters == ["gpu"]


def test_a_meter_that_stands_still_tells_nothing(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    from runner.machine import energy

    monkeypatch.setattr(energy, "read", lambda device: {"gpu": 100.0})
    monkeypatch.setattr(energy, "SECONDS", 0.05)
    (result,) = play("blocking20").rounds
    assert result.status == "ok" and result.energy is None


def test_each_round_has_its_conditions_with_the_canary_before_and_after(play: Play) -> None:
    for result in play("blocking20", "async20", settings=Settings(rounds=2, budget=0.6, block_seconds=0.02)).rounds:
        before, after = result.conditions, result.conditions["after"]
        assert before["canary"] > 0 and after["canary"] > 0 and before["rested"] >= 0
        assert before["others"] >= 0 and before["stolen"] >= 0


def test_the_rate_of_a_product_is_asked_in_each_round_and_not_without_checks(play: Play) -> None:
    checked = play("blocking20", settings=Settings(rounds=2, budget=0.02, block_seconds=0.02)).rounds
    assert all(result.matmul_rate is not None for result in checked)
    (unchecked,) = play("blocking20", settings=Settings(rounds=1, budget=0.02, block_seconds=0.02, checks=False)).rounds
    assert unchecked.matmul_rate is None


def test_blocks_differ_and_processes_do_not_so_a_round_gets_more_blocks() -> None:
    from runner.effort import Costs

    costs = Costs()
    for shift in (0.0, 0.001, -0.001):
        costs.add([0.01 * factor + shift / 100 for factor in (0.8, 1.2) * 5], start_seconds=5.0, timed_seconds=1.0)
    assert costs.blocks(least=10, most=50) == 50
    settled = Costs()
    for step in (0.010, 0.012, 0.009):
        settled.add([step, step * 1.001] * 5, start_seconds=5.0, timed_seconds=1.0)
    assert settled.blocks(least=10, most=50) == 10
    assert statistics.fmean(settled.start_seconds) == 5.0
