"""How many blocks and rounds: by hand, and by what they achieve."""

from __future__ import annotations

import math
import random

import pytest

from runner import effort, execute, statistics
from runner.effort import Variances
from runner.request import Request
from runner.statistics import ADDED_CONFIDENCE, Ratio


def ratio_of(*ratios: float) -> Ratio:
    found = statistics.speed_ratio({n: [ratio] for n, ratio in enumerate(ratios)}, {n: [1.0] for n in range(len(ratios))}, ADDED_CONFIDENCE)
    assert found is not None
    return found


def test_variances_by_hand() -> None:
    # 0.0025 between rounds, of which pi / 2 x 0.01 / 10 is the blocks' noise
    found = effort.variances(0.05, [0.1, 0.1], 10)
    assert (found.between, found.within) == pytest.approx((0.0025 - math.pi / 2 * 0.001, 0.01))


def test_a_variance_is_not_negative() -> None:
    assert effort.variances(0.001, [0.1], 10).between == 0


def test_variances_need_rounds() -> None:
    with pytest.raises(ValueError, match="at least one round"):
        effort.variances(0.1, [], 10)


def test_variances_find_what_was_put_in() -> None:
    draw = random.Random(3)
    rounds = []
    for _ in range(3000):
        process = draw.gauss(0, 0.04)
        rounds.append([math.exp(process + draw.gauss(0, 0.05)) for _ in range(20)])
    inner = [statistics.spread(blocks) or 0.0 for blocks in rounds]
    found = effort.variances(statistics.spread([statistics.median_of(blocks) for blocks in rounds]) or 0.0, inner, 20)
    assert math.sqrt(found.between) == pytest.approx(0.04, rel=0.05)
    assert math.sqrt(found.within) == pytest.approx(0.05, rel=0.05)


@pytest.mark.parametrize(
    ("between", "within", "start", "block", "best"),
    [
        (0.01, 0.01, 10.0, 0.1, 10),  # sqrt(100 x 1)
        (0.0016, 0.0025, 8.0, 0.1, 12),  # sqrt(80 x 1.5625) = 11.2
        (1.0, 1e-6, 8.0, 0.1, 5),  # least
        (1e-9, 1.0, 8.0, 0.1, 50),  # most
        (0.0, 1.0, 8.0, 0.1, 50),
    ],
)
def test_optimal_blocks(between: float, within: float, start: float, block: float, best: int) -> None:
    assert effort.optimal_blocks(Variances(between, within), start, block, least=5, most=50) == best


def test_no_other_number_of_blocks_is_better() -> None:
    found, start, block = Variances(0.0016, 0.0225), 8.0, 0.1

    def variance(blocks: int) -> float:
        rounds = 1000 / (start + blocks * block)  # in a thousand seconds
        return (found.between + found.within / blocks) / rounds

    best = effort.optimal_blocks(found, start, block, least=1, most=1000)
    assert min(range(1, 1000), key=variance) in (best - 1, best)


def test_half_width_is_that_of_the_interval() -> None:
    assert effort.half_width(Ratio(1.0, 1 / 1.05, 1.05, 5, 0.01, "unclear")) == pytest.approx(0.05)
    assert effort.half_width(ratio_of(1.0)) is None


def test_enough_is_a_narrow_interval_or_the_most_rounds() -> None:
    narrow, wide = ratio_of(1.0, 1.001, 1.002), ratio_of(1.0, 1.5, 2.0)
    assert effort.enough(narrow)
    assert not effort.enough(wide)
    assert not effort.enough(wide, most=4) and effort.enough(wide, most=3)
    assert not effort.enough(ratio_of(1.0, 1.0))
    assert not effort.enough(ratio_of(1.0)) and effort.enough(ratio_of(1.0), most=1)
    assert not effort.enough(None)


def test_a_clear_verdict_alone_is_not_enough() -> None:
    clear = ratio_of(3.0, 3.5, 4.0, 3.3)
    assert clear.verdict == "faster" and not effort.enough(clear, 0.05)


def test_rounds_needed_is_when_enough_would_say_so() -> None:
    ratio = ratio_of(0.95, 1.0, 1.05, 1.02)
    rounds = effort.rounds_needed(ratio, 0.05, 100)
    deviation = (ratio.error or 0) * 2
    for count, reached in ((rounds, True), (rounds - 1, False)):
        half = statistics.student_quantile((1 + ADDED_CONFIDENCE) / 2, count - 1) * deviation / math.sqrt(count)
        assert (math.expm1(half) <= 0.05) == reached
    assert effort.rounds_needed(ratio, 0.001, 100) == 100
    assert effort.rounds_needed(ratio_of(1.0), 0.05, 30) == 30
    assert effort.rounds_needed(ratio_of(1.0, 1.0, 1.0)) == 3


@pytest.mark.parametrize(
    ("request_", "of_suite", "rounds", "goal"),
    [
        (Request(), None, 3, 0.05),
        (Request(rounds=7), None, 7, None),
        (Request(), 4, 4, None),
        (Request(rounds=7, precision_goal=2.0), None, 7, 0.02),
        (Request(precision_goal=2.0), 4, 4, 0.02),
        (Request(find_batch=True), None, 3, None),
    ],
)
def test_rounds_are_added_unless_their_number_is_said(request_: Request, of_suite: int | None, rounds: int, goal: float | None) -> None:
    settings = execute._settings(request_, of_suite, None)
    assert settings.rounds == rounds
    assert settings.precision_goal == (goal if goal is None else pytest.approx(goal))
