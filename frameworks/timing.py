"""The one place that reads a clock.

Everything is timed from the host with a monotonic clock and closed by ``Session.wait``, never by events of the device and never by a
framework's own timer: those are known to forget a device, to lie about their order, or to stop before the work is done.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from frameworks.contract import Session

Result = TypeVar("Result")

clock = time.perf_counter

AGREEMENT = 0.05  # two windows of blocks whose medians differ by less are in steady state
WINDOW = 3  # blocks in a window; a single one where a block takes over a second
OVERHEAD = 0.01  # the share of a block that wait and clock may cost
GROWTH = 20  # the most by which a block grows at once, since the first steps may be far slower than the rest


@dataclass(frozen=True)
class Block:
    """``steps`` steps in a row, closed by one wait, in ``seconds``."""

    steps: int
    seconds: float

    @property
    def step_seconds(self) -> float:
        return self.seconds / self.steps


@dataclass(frozen=True)
class WarmUp:
    """What warm-up found: how many steps make a block, whether speed had settled, and how long a bare wait takes."""

    steps_per_block: int
    steady: bool
    seconds: float
    wait_seconds: float
    blocks: tuple[Block, ...]


def timed(action: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds that a call takes, and its result."""
    start = clock()
    result = action()
    return clock() - start, result


def run_steps(session: Session, steps: int, read_loss: bool) -> None:
    """``steps`` steps and one wait; the loss is read back after each only where the workload says so."""
    for _ in range(steps):
        session.step()
        if read_loss:
            session.loss()
    session.wait()


def time_block(session: Session, steps: int, read_loss: bool) -> Block:
    """Time one block. A block of several steps begins with an untimed one, which warms the caches that a rival has used."""
    if steps > 1:
        session.step()
    session.wait()
    start = clock()
    run_steps(session, steps, read_loss)
    return Block(steps, clock() - start)


def wait_cost(session: Session) -> float:
    """Seconds that wait and two readings of the clock take when nothing is pending (median of nine)."""
    session.wait()
    return statistics.median(timed(session.wait)[0] for _ in range(9))


def warm_up(session: Session, *, read_loss: bool, block_seconds: float, limit: float, heartbeat: Callable[[Block], None]) -> WarmUp:
    """Step until consecutive blocks agree, within ``limit`` seconds; chooses the length of a block meanwhile.

    A block lasts at least ``block_seconds`` and so long that a bare wait costs under 1 % of it. Speed has settled when the median
    time per step of one window of blocks differs from that of the window before by less than 5 %: the comparison of consecutive
    windows of Georges, Buytaert and Eeckhout, "Statistically rigorous Java performance evaluation", OOPSLA 2007, with medians,
    which one slow block does not move.
    """
    begin = clock()
    wait_seconds = wait_cost(session)
    least = max(block_seconds, wait_seconds / OVERHEAD)
    steps = 1
    blocks: list[Block] = []
    series: list[float] = []  # of blocks of this length
    while True:
        block = time_block(session, steps, read_loss)
        heartbeat(block)
        blocks.append(block)
        if block.seconds < least:
            steps, series = _longer(block, least), []
        else:
            series.append(block.step_seconds)
            if _settled(series, 1 if block.seconds > 1.0 else WINDOW):
                return WarmUp(steps, True, clock() - begin, wait_seconds, tuple(blocks))
        if clock() - begin > limit and series:
            return WarmUp(steps, False, clock() - begin, wait_seconds, tuple(blocks))


def _longer(block: Block, least: float) -> int:
    """Steps for a block of a fifth more than ``least``, approached in bounded leaps."""
    wanted = int(1.2 * least / max(block.step_seconds, 1e-9)) + 1
    return max(block.steps + 1, min(wanted, block.steps * GROWTH))


def _settled(series: list[float], window: int) -> bool:
    if len(series) < 2 * window:
        return False
    before, last = statistics.median(series[-2 * window : -window]), statistics.median(series[-window:])
    return abs(last / before - 1.0) < AGREEMENT


def pairs_of_reads(session: Session, rounds: int) -> Iterator[tuple[float, float, float]]:
    """For each round: seconds of a step with its wait, of a read-back right after it, and of the same read-back once more."""
    for _ in itertools.repeat(None, rounds):
        start = clock()
        session.step()
        session.wait()
        stepped = clock()
        session.loss()
        read = clock()
        session.loss()
        yield stepped - start, read - stepped, clock() - read
