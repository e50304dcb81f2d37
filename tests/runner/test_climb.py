"""The climb to the best batch: where it goes on curves that are known, and what a run of it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner import climb
from runner.runfile import read

pytestmark = pytest.mark.alone

FAKES = Path(__file__).parent.parent / "fakes"


def climbed(speed: Callable[[int], float | None], start: int = 1) -> dict[int, float | None]:
    """All that a climb tries, in its order."""
    tried: dict[int, float | None] = {}
    while (batch := climb.next_batch(tried, start)) is not None:
        assert batch not in tried and batch >= start
        tried[batch] = speed(batch)
        assert len(tried) < 60
    return tried


def test_it_doubles_until_memory_runs_out_and_then_halves_the_gap() -> None:
    tried = climbed(lambda batch: batch / (1 + 0.01 * batch) if batch <= 100 else None)
    assert list(tried) == [1, 2, 4, 8, 16, 32, 64, 128, 96, 112, 80, 104, 88]
    assert climb.best_batch(tried) == 96 and tried[128] is None


def test_it_stops_when_two_doublings_gain_nothing() -> None:
    tried = climbed(lambda batch: min(batch, 32) * 1.0)
    assert list(tried)[:8] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert climb.best_batch(tried) == 32, "of equals the smallest"


def test_one_dip_does_not_end_it() -> None:
    tried = climbed(lambda batch: 1.0 if batch == 8 else batch / 2 if batch < 20 else None)
    assert list(tried)[:6] == [1, 2, 4, 8, 16, 32]
    assert climb.best_batch(tried) == 18


@pytest.mark.parametrize("start", [1, 7, 64])
def test_nothing_works(start: int) -> None:
    assert climbed(lambda batch: None, start) == {start: None}


def test_what_failed_beside_numbers_does_not_hide_them() -> None:
    assert climb.next_batch({1: 1.0, 2: None}, 1) is None
    assert climb.best_batch({1: 1.0, 2: None}) == 1


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(0, 5000), st.floats(0.1, 1000), st.integers(1, 6000))
def test_on_a_curve_with_one_top_it_ends_within_an_eighth_of_it(start: int, most: int, half: float, top: int) -> None:
    """Speed saturates at ``half``, falls beyond ``top``, and memory ends at ``most``."""

    def speed(batch: int) -> float | None:
        if batch > most:
            return None
        return batch / (batch + half) if batch <= top else top / (top + half) * (top / batch) ** 2

    tried = climbed(speed, start)
    best = climb.best_batch(tried)
    if start > most:
        assert best is None
        return
    assert best is not None
    # The doublings may end on the flat part, where a gain is too small to be told from none.
    ideal = max(range(start, most + 1), key=lambda batch: speed(batch) or 0.0) if most < 300 else min(max(top, start), most)
    near = speed(ideal) or 0.0
    assert (speed(best) or 0.0) >= near * 0.77
    above, below = (sorted((b for b in tried if (b - best) * sign > 0), key=lambda b: abs(b - best)) for sign in (1, -1))
    for neighbours in (above, below):
        assert not neighbours or abs(neighbours[0] - best) <= max(1, best * climb.RESOLUTION)


WORKLOAD = """\
name: mine
inputs:
  x: {shape: [4], fill: normal}
target: {fill: integers, below: 3}
batch: 8
network:
  - dense: {units: 3}
loss: softmax_cross_entropy
optimizer: {sgd: {learning_rate: 0.1}}
"""


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "runner", *words]


def h2h(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(FAKES.parent.parent)}
    return subprocess.run(command(*words), cwd=folder, capture_output=True, text=True, check=False, env=environment)


WORDS = ["run", "./mine.yaml", "--find-batch", "--rounds", "1", "--budget", "0.05", "--mode", "train", "--no-check"]


def only_run(folder: Path) -> Path:
    (run,) = (folder / "reports" / "runs").iterdir()
    return run


def test_a_run_reports_the_best_batch_and_leaves_out_of_memory_as_a_row(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(WORKLOAD)
    fakes = [word for name in ("full_above20", "slow_above10") for word in ("--framework", f"{FAKES}:{name}")]
    done = h2h(tmp_path, *WORDS, *fakes, "--batch", "8")
    assert done.returncode == 0, done.stderr
    assert "full_above20 cpu eager: best at batch " in done.stdout and "slow_above10 cpu eager: best at batch " in done.stdout
    assert "out of memory" in done.stdout.split("### Training: throughput over batch")[1]
    run = read(only_run(tmp_path) / "run.jsonl")
    by_framework = {climber.framework: tried for climber, tried in climb.climbers(run).items()}
    assert [by_framework["full_above20"][batch] is None for batch in (8, 16, 32)] == [False, False, True]
    assert climb.best_batch(by_framework["full_above20"]) in range(14, 21)
    assert {8, 16} <= by_framework["slow_above10"].keys() and max(by_framework["slow_above10"]) <= 32
    assert climb.best_batch(by_framework["slow_above10"]) in range(8, 14), "sleeps on a busy machine are no exact clock"
    assert h2h(tmp_path, *WORDS, *fakes, "--batch", "4,8").returncode == 2


def rounds_written(folder: Path) -> int:
    return sum(file.read_text().count('"record":"round"') for file in folder.glob("reports/runs/*/run.jsonl"))


def test_a_climb_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(WORKLOAD)
    words = command(*WORDS, "--framework", f"{FAKES}:full_above20", "--batch", "8")
    environment = {**os.environ, "PYTHONPATH": str(FAKES.parent.parent)}
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and rounds_written(tmp_path) < 2:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=120) == 130
    before = (only_run(tmp_path) / "run.jsonl").read_text()
    done = h2h(tmp_path, "run", "--resume", str(only_run(tmp_path)))
    assert done.returncode == 0, done.stderr
    after = (only_run(tmp_path) / "run.jsonl").read_text()
    assert after.startswith(before)
    rounds = [record["cell"] for line in after.splitlines() if (record := json.loads(line))["record"] == "round"]
    assert len(rounds) == len(set(rounds)), "nothing was measured twice"
    ((_, tried),) = climb.climbers(read(only_run(tmp_path) / "run.jsonl")).items()
    assert tried[32] is None and climb.best_batch(tried) in range(14, 21)
