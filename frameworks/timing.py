"""The one place that reads a clock.

Everything is timed from the host with a monotonic clock and closed by ``Session.wait``, never by events of the device and never by a
framework's own timer: those are known to forget a device, to lie about their order, or to stop before the work is done.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from frameworks.contract import Session

Result = TypeVar("Result")

clock = time.perf_counter  # stands still while the machine is suspended, on Linux and macOS
wall_clock = time.time  # goes on

AGREEMENT = 0.05  # two windows of blocks whose medians differ by less are in steady state
WINDOW = 3  # blocks in a window; fewer where two windows of three would take longer than warm-up may
OVERHEAD = 0.01  # the share of a block that wait and clock may cost
GROWTH = 20  # the most by which a block grows at once, since the first steps may be far slower than the rest
APART = 1.0  # seconds by which the two clocks part in a block during which the machine slept or its clock was set
LATENCY_STEPS = 200  # single steps; a 99th percentile needs a hundred
LATENCY_SECONDS = 2.0  # the most that they may take, but for the least number of them
LATENCY_LEAST = 5
PROBE_SECONDS = 0.02  # of the shorter of two blocks whose times are compared: far above what waiting and the clock cost
PROBE_STEPS = 10_000  # the most steps of it, since a step that costs next to nothing may only have been put off


@dataclass(frozen=True)
class Block:
    """``steps`` steps in a row, closed by one wait, in ``seconds``.

    ``slept`` is how far the wall clock went beyond ``seconds``, 0 unless that is over a second: such a block is not valid.
    """

    steps: int
    seconds: float
    slept: float = 0.0

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
    wall_start, start = wall_clock(), clock()
    run_steps(session, steps, read_loss)
    seconds = clock() - start
    slept = wall_clock() - wall_start - seconds
    return Block(steps, seconds, slept if abs(slept) > APART else 0.0)


@dataclass(frozen=True)
class Latency:
    """Seconds from the call of a step to its result, of ``count`` single ones; ``p90`` is None for fewer than ten, ``p99`` for fewer than a
    hundred."""

    count: int
    median: float
    p90: float | None
    p99: float | None


def latency(session: Session) -> Latency:
    """Single steps, each waited for, one after the other: what a user waits, where a block has the next step begin before the last ends."""
    begin = clock()
    times: list[float] = []
    while len(times) < LATENCY_LEAST or (len(times) < LATENCY_STEPS and clock() - begin < LATENCY_SECONDS):
        times.append(timed(lambda: run_steps(session, 1, read_loss=False))[0])
    times.sort()
    return Latency(len(times), statistics.median(times), _percentile(times, 90), _percentile(times, 99))


def _percentile(ordered: list[float], percent: int) -> float | None:
    """The nearest-rank percentile: the smallest value that so many per cent of all do not pass. None where none of them could pass it."""
    if len(ordered) * (100 - percent) < 100:
        return None
    return ordered[math.ceil(percent / 100 * len(ordered)) - 1]


def wait_cost(session: Session) -> float:
    """Seconds that wait and two readings of the clock take when nothing is pending (median of nine)."""
    session.wait()
    return statistics.median(timed(session.wait)[0] for _ in range(9))


def warm_up(session: Session, *, read_loss: bool, block_seconds: float, limit: float, heartbeat: Callable[[Block], None]) -> WarmUp:
    """Step until consecutive blocks agree, within ``limit`` seconds; chooses the length of a block meanwhile.

    A block lasts at least ``block_seconds`` and so long that a bare wait costs under 1 % of it. Speed has settled when the median
    time per step of one window of blocks differs from that of the window before by less than 5 %: the comparison of consecutive
    windows of Georges, Buytaert and Eeckhout, "Statistically rigorous Java performance evaluation", OOPSLA 2007, with medians,
    which one slow block does not move. Two things pass for that and are not: a slow drift, so six blocks of which each is slower
    (or faster) than the one before are no steady state (by chance 1 in 360; H. B. Mann, "Nonparametric tests against trend",
    Econometrica 13, 1945); and first steps that are equally slow, so windows are as long as ``limit`` allows, and a block that comes out
    far too short begins it all anew. Some programs never settle (Barrett et al., "Virtual machine warmup blows hot and cold",
    OOPSLA 2017); they are measured nevertheless, and ``steady`` is False.
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
        if block.slept:
            continue
        blocks.append(block)
        if block.seconds < least:
            steps, series = _longer(block, least), []
        else:
            series.append(block.step_seconds)
            if _settled(series, _window(block.seconds, limit)):
                return WarmUp(steps, True, clock() - begin, wait_seconds, tuple(blocks))
        if clock() - begin > limit and series:
            return WarmUp(steps, False, clock() - begin, wait_seconds, tuple(blocks))


def _longer(block: Block, least: float) -> int:
    """Steps for a block of a fifth more than ``least``, approached in bounded leaps."""
    wanted = int(1.2 * least / max(block.step_seconds, 1e-9)) + 1
    return max(block.steps + 1, min(wanted, block.steps * GROWTH))


def _window(seconds: float, limit: float) -> int:
    """Blocks in a window, so that two windows of blocks of this length fit into the limit."""
    return max(1, min(WINDOW, int(limit / (2.0 * seconds))))


def _settled(series: list[float], window: int) -> bool:
    if len(series) < 2 * window:
        return False
    before, last = statistics.median(series[-2 * window : -window]), statistics.median(series[-window:])
    return abs(last / before - 1.0) < AGREEMENT and not _drifts(series[-2 * WINDOW :])


def _drifts(series: list[float]) -> bool:
    """Whether each of two whole windows of blocks is slower, or each faster, than the one before."""
    rising = [later > earlier for earlier, later in itertools.pairwise(series)]
    return len(series) == 2 * WINDOW and len(set(rising)) == 1


@dataclass(frozen=True)
class ReadBack(Generic[Result]):
    """Seconds of some steps with their wait, of reading the last one's result right after it, and of reading that once more; and the
    result."""

    steps: float
    first: float
    again: float
    value: Result


def read_backs(session: Session, steps: int, rounds: int, read: Callable[[], Result]) -> Iterator[ReadBack[Result]]:
    """For each round, so many steps and two read-backs."""
    for _ in range(rounds):
        seconds = _seconds(session, steps, read_loss=False)
        first, value = timed(read)
        again, _ = timed(read)
        yield ReadBack(seconds, first, again, value)


def steps_to_probe(session: Session, batches: int, read: Callable[[], object]) -> int:
    """How many steps take 20 ms up to the read-back of a result, which needs no wait. What the two cost without steps does not count.

    The number has no divisor in common with ``batches``, so that results read after so many steps each come from one batch after the other.
    """

    def steps_and_read(count: int) -> None:
        run_steps(session, count, read_loss=False)
        read()

    steps = 1
    while True:
        seconds = timed(lambda: steps_and_read(steps))[0] - timed(lambda: steps_and_read(0))[0]  # noqa: B023 - called at once
        if seconds >= PROBE_SECONDS or steps >= PROBE_STEPS:
            return steps
        wanted = math.ceil(1.2 * PROBE_SECONDS * steps / max(seconds, 1e-9))
        steps = min(max(wanted, steps + 1), GROWTH * steps)
        while math.gcd(steps, batches) != 1:
            steps += 1


def multiples(
    session: Session, steps: int, times: int, tries: int, read_loss: bool, read: Callable[[], object]
) -> Iterator[tuple[float, float]]:
    """How many times as long so many times as many steps take, after each try: up to the end of the wait, and up to a result that is read
    then, which needs no wait. The ratios are of the shortest times so far, since noise only adds; what either costs without steps is
    taken off. The read-back also sees to it that nothing is left for the next try."""

    def seconds(count: int) -> tuple[float, float]:
        waited = _seconds(session, count, read_loss)
        return waited, waited + timed(read)[0]

    read()
    shortest = dict.fromkeys((steps, times * steps, 0), (math.inf, math.inf))
    for _ in range(tries):
        for count, (waited, ready) in shortest.items():
            again_waited, again_ready = seconds(count)
            shortest[count] = min(waited, again_waited), min(ready, again_ready)
        few, many, bare = shortest.values()
        yield (many[0] - bare[0]) / max(few[0] - bare[0], 1e-9), (many[1] - bare[1]) / max(few[1] - bare[1], 1e-9)


def _seconds(session: Session, steps: int, read_loss: bool) -> float:
    return timed(lambda: run_steps(session, steps, read_loss))[0]


def shortest_step(session: Session, blocks: int = 3) -> float:
    """Seconds of a step in the fastest of some blocks of at least 20 ms, after as many untimed steps as those need to get there."""
    block = time_block(session, 1, read_loss=False)
    while block.seconds < PROBE_SECONDS and block.steps < PROBE_STEPS:
        block = time_block(session, min(_longer(block, PROBE_SECONDS), PROBE_STEPS), read_loss=False)
    return min(time_block(session, block.steps, read_loss=False).step_seconds for _ in range(blocks))
