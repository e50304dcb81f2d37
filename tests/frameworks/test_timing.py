"""The loop that reads the clock: warm-up finds the right speed or says that it has not, and a block in which the machine slept is told."""

from __future__ import annotations

import pytest

from frameworks import timing
from frameworks.timing import Block, WarmUp
from tests.frameworks.simulated import Clock, job, simulate, stepped

pytestmark = pytest.mark.alone


def warmed_up(monkeypatch: pytest.MonkeyPatch, name: str, clock: Clock | None = None, limit: float = 20.0, **attributes: object) -> WarmUp:
    simulate(monkeypatch, clock or Clock())
    session, _ = stepped(name, job(name))
    for attribute, value in attributes.items():
        setattr(session, attribute, value)
    return timing.warm_up(session, read_loss=False, block_seconds=0.1, limit=limit, heartbeat=lambda block: None)


@pytest.mark.parametrize("slow", [1, 2, 5])
def test_slow_first_steps_are_not_taken_for_the_speed(monkeypatch: pytest.MonkeyPatch, slow: int) -> None:
    found = warmed_up(monkeypatch, "compile500", compiles=slow)
    assert found.steady
    assert found.blocks[-1].step_seconds == pytest.approx(0.005, rel=0.01)
    assert found.blocks[-1].seconds >= 0.1


@pytest.mark.parametrize("slow", [2, 5])
def test_nor_are_those_that_take_seconds(monkeypatch: pytest.MonkeyPatch, slow: int) -> None:
    simulate(monkeypatch, Clock())
    session, _ = stepped("blocking20")
    work = session.work  # type: ignore[attr-defined]
    monkeypatch.setattr(session, "work", lambda: [work() for _ in range(100 if session.steps <= slow else 1)])  # type: ignore[attr-defined]
    found = timing.warm_up(session, read_loss=False, block_seconds=0.1, limit=20.0, heartbeat=lambda block: None)
    assert found.blocks[-1].step_seconds == pytest.approx(0.02, rel=0.01)


def test_each_batch_may_be_slow_the_first_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found = warmed_up(monkeypatch, "shape_compile")
    assert found.steady
    assert found.blocks[-1].step_seconds == pytest.approx(0.005, rel=0.01)


@pytest.mark.parametrize("limit", [5.0, 20.0, 60.0])
def test_steps_that_become_ever_slower_are_not_steady(monkeypatch: pytest.MonkeyPatch, limit: float) -> None:
    assert not warmed_up(monkeypatch, "drift", limit=limit).steady


@pytest.mark.parametrize("seconds", [0.005, 0.012])
def test_either_speed_of_a_process_is_found(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    found = warmed_up(monkeypatch, "coin", seconds=seconds)
    assert found.steady
    assert found.blocks[-1].step_seconds == pytest.approx(seconds, rel=0.01)


def test_a_busy_machine_settles_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(warmed_up(monkeypatch, "blocking20", Clock(0.02, seed)).steady for seed in range(50)) >= 48


def test_a_step_that_takes_long_has_as_many_blocks_as_the_limit_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    for seconds, blocks in ((1.0, 6), (4.0, 4), (9.0, 2)):
        found = warmed_up(monkeypatch, "blocking20", seconds=seconds)
        assert (found.steady, len(found.blocks)) == (True, blocks)


def test_a_block_in_which_the_machine_slept_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    simulate(monkeypatch, clock)
    session, _ = stepped("blocking20")
    assert timing.time_block(session, 5, read_loss=False) == Block(5, pytest.approx(0.1, rel=1e-4), 0.0)

    def sleep() -> None:
        clock.now += 0.02
        clock.asleep += 3600.0

    monkeypatch.setattr(session, "work", sleep)
    assert timing.time_block(session, 1, read_loss=False) == Block(1, pytest.approx(0.02, rel=1e-4), pytest.approx(3600.0))


def test_warm_up_does_not_count_a_block_in_which_the_machine_slept(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    simulate(monkeypatch, clock)
    session, _ = stepped("blocking20")
    heard: list[Block] = []

    def hear(block: Block) -> None:
        heard.append(block)

    work = session.work  # type: ignore[attr-defined]

    def sleep_once() -> None:
        work()
        if session.steps == 12:  # type: ignore[attr-defined]
            clock.asleep += 3600.0

    monkeypatch.setattr(session, "work", sleep_once)
    found = timing.warm_up(session, read_loss=False, block_seconds=0.1, limit=20.0, heartbeat=hear)
    assert len(heard) == len(found.blocks) + 1
    assert not any(block.slept for block in found.blocks)


def test_the_shortest_step_is_that_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(20):
        simulate(monkeypatch, Clock(0.02, seed))
        session, _ = stepped("blocking20")
        assert 0.02 <= timing.shortest_step(session, blocks=5) < 0.03
