"""The statistics keep their word on every kind of noise; the figures of all sizes are in ``reports/calibration.md``."""

from __future__ import annotations

import pytest

from runner import statistics
from runner.calibration import simulated
from runner.calibration.outcome import Outcome
from runner.calibration.simulated import KINDS, Kind

COVERED, FALSE = 0.93, 0.05


def keeps_its_word(outcome: Outcome) -> None:
    assert outcome.covered >= COVERED, outcome
    assert outcome.false_verdicts <= FALSE, outcome


@pytest.mark.parametrize("kind", KINDS)
def test_few_comparisons_of_each_kind(kind: Kind) -> None:
    keeps_its_word(simulated.simulate(kind, 500, 3, 10, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [3, 4, 5, 6, 8, 10])
@pytest.mark.parametrize("kind", KINDS)
def test_two_thousand_comparisons_of_each_kind(kind: Kind, rounds: int) -> None:
    keeps_its_word(simulated.simulate(kind, 2000, rounds, 10, seed=2))


@pytest.mark.slow
@pytest.mark.parametrize("goal", [0.03, 0.05, 0.1])
@pytest.mark.parametrize("kind", KINDS)
def test_rounds_added_until_the_interval_is_narrow(kind: Kind, goal: float) -> None:
    keeps_its_word(simulated.simulate(kind, 2000, 20, 10, seed=3, goal=goal))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_differs_by_little_more_than_the_threshold_is_seldom_called_same(kind: Kind) -> None:
    outcome = simulated.simulate(kind, 2000, 10, 10, true_ratio=1.0201, seed=4)
    assert outcome.verdicts["same"] <= FALSE and outcome.verdicts["slower"] <= FALSE


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rounds", [3, 5])
def test_geometric_means_hold_the_truth(kind: Kind, rounds: int) -> None:
    assert simulated.simulate_means(kind, 500, 6, rounds, 10, seed=5) >= COVERED


@pytest.mark.parametrize(("rounds", "least"), [(5, 0.4), (10, 0.85)])
def test_a_difference_of_ten_percent_is_found(rounds: int, least: float) -> None:
    outcome = simulated.simulate("white", 300, rounds, 10, true_ratio=1.1, seed=6)
    assert outcome.verdicts["faster"] >= least and outcome.verdicts["slower"] == 0
    keeps_its_word(outcome)


def test_a_ratio_below_one_is_slower() -> None:
    outcome = simulated.simulate("white", 200, 10, 10, true_ratio=1 / 1.2, seed=6)
    assert outcome.verdicts["slower"] > 0.95 and outcome.false_verdicts == 0


def test_a_goal_adds_no_more_rounds_than_it_needs() -> None:
    few, many = (simulated.simulate("white", 200, 20, 10, seed=7, goal=goal) for goal in (0.2, 0.03))
    assert 3 <= few.rounds < 5 < many.rounds <= 20


def test_the_simulation_would_tell_a_statistic_that_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "student_quantile", lambda probability, freedom: 1.0)
    outcome = simulated.simulate("white", 500, 3, 10, seed=1)
    assert outcome.covered < COVERED and outcome.false_verdicts > FALSE


def test_turns_cancel_the_swings_of_the_machine() -> None:
    first, other = zip(*simulated.round_times("swings", 200, 3, 10, 1.0, 8), strict=True)
    alone = [statistics.round_ratio(a[0], b[1]) for a, b in zip(first, other, strict=True)]  # of different rounds, as without turns
    turns = [statistics.round_ratio(a[0], b[0]) for a, b in zip(first, other, strict=True)]
    medians = [statistics.median_of(a[0]) / statistics.median_of(b[0]) for a, b in zip(first, other, strict=True)]
    spreads = [statistics.spread(ratios) or 0 for ratios in (alone, medians, turns)]
    assert spreads[0] > 1.5 * spreads[2]
    assert spreads[1] > spreads[2], "the ratio of two medians takes blocks of different turns"


def test_a_seed_makes_it_repeatable() -> None:
    assert simulated.simulate("drift", 50, 3, 10, seed=9) == simulated.simulate("drift", 50, 3, 10, seed=9)
    assert simulated.simulate("drift", 50, 3, 10, seed=9) != simulated.simulate("drift", 50, 3, 10, seed=10)
