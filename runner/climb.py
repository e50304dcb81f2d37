"""The batch of the highest throughput: doubled until memory runs out or speed grows no more, then narrowed down.

What is measured on the way are ordinary cells of the run, with all their rounds; where to go next is read from the run file alone, so
that a run that was stopped goes on from there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Set
from typing import NamedTuple

from runner import records, statistics
from runner.plan import Plan
from runner.request import Request
from runner.run import Runner
from runner.runfile import Run, RunFile, read

START = 1
RESOLUTION = 1 / 8  # of the best batch: no other is tried that is nearer to it
STALLS = 2  # doublings in a row that gain no more than statistics.THRESHOLD end the climb: one alone may be noise

Tried = Mapping[int, float | None]  # samples per second by batch, None where it failed


class Climber(NamedTuple):
    """What climbs by itself: a cell without its batch."""

    workload: str
    variant: tuple[tuple[str, object], ...]
    mode: str
    precision: str
    framework: str
    device: str
    execution: str


def next_batch(tried: Tried, start: int) -> int | None:
    """The batch to try next, None at the end.

    From ``start`` it is doubled until one fails or :data:`STALLS` in a row gain nothing. Then the wider gap beside the best is halved,
    until neither neighbour is further from it than :data:`RESOLUTION` of it.
    """
    ladder: list[int] = []
    batch = start
    while batch in tried:
        ladder.append(batch)
        if tried[batch] is None or _stalls([tried[step] or 0.0 for step in ladder]):
            return _between(tried)
        batch *= 2
    return batch


def _stalls(speeds: list[float]) -> bool:
    return len(speeds) > STALLS and max(speeds[-STALLS:]) <= max(speeds[:-STALLS]) * (1 + statistics.THRESHOLD)


def _between(tried: Tried) -> int | None:
    best = best_batch(tried)
    if best is None:
        return None
    above = min((batch for batch in tried if batch > best), default=None)
    below = max((batch for batch in tried if batch < best), default=None)
    neighbours = [batch for batch in (above, below) if batch is not None]
    gap, farthest = max(((abs(batch - best), batch) for batch in neighbours), default=(0, best))
    return (best + farthest) // 2 if gap > max(1.0, RESOLUTION * best) else None


def best_batch(tried: Tried) -> int | None:
    """The batch of the highest throughput, the smaller of equals; None where none has any."""
    speeds = {batch: speed for batch, speed in sorted(tried.items()) if speed is not None}
    return max(speeds, key=lambda batch: speeds[batch]) if speeds else None


def climb(runner: Runner, file: RunFile, start: int, plan_at: Callable[[int], Plan]) -> None:
    """Go on from what the run file holds until every climber is done; ``plan_at`` gives all cells of a batch."""
    while True:
        run = read(file.path)
        wanted = {climber: batch for climber, tried in climbers(run).items() if (batch := next_batch(tried, start)) is not None}
        if not wanted:
            return
        batch = min(wanted.values())
        here = {climber for climber, next_one in wanted.items() if next_one == batch}
        whole = plan_at(batch)
        plan = _only(whole, {cell.id for cell in whole.cells if _climber(cell.record()) in here})
        known = {cell.id for cell in run.header.cells}
        new = tuple(cell.record() for cell in plan.cells if cell.id not in known)
        if new:
            file.append(records.Cells(new))
        runner.plan = plan
        done = {cell.id: run.finished(cell.id) for cell in plan.cells}
        runner.run(done, [cell.id for cell in plan.cells if run.failed(cell.id)], run.given_up())


def climbers(run: Run) -> dict[Climber, dict[int, float | None]]:
    """What was tried so far and how fast it was. A cell that failed in any round counts as failed; one that has yet to be measured is left
    out."""
    failed = {measured.cell for measured in run.rounds if not measured.ok}
    found: dict[Climber, dict[int, float | None]] = {}
    for cell in run.header.cells:
        seconds = [statistics.median_of(times) for times in run.finished(cell.id).values() if times]
        tried = found.setdefault(_climber(cell), {})
        if cell.batch is not None and (seconds or cell.id in failed):
            tried[cell.batch] = None if cell.id in failed else cell.batch / statistics.median_of(seconds)
    return found


def ended_well(run: Run) -> bool:
    """Whether every climber has a best batch and nothing failed but for want of memory, which is how a climb should end."""
    statuses = {measured.status for measured in run.rounds}
    return all(best_batch(tried) is not None for tried in climbers(run).values()) and statuses <= {"ok", "out_of_memory"}


def so_far(request: Request, run: Run) -> Request:
    """The request over all batches that a run has, and the one that it starts from."""
    batches = {cell.batch for cell in run.header.cells if cell.batch is not None}
    return dataclasses.replace(request, batches=tuple(sorted({*batches, *request.batches})))


def taken_up(plan: Plan, run: Run, start: int) -> Plan:
    """Of a plan over all batches of a run, the cells that the run has, and those where each climb starts."""
    known = {cell.id for cell in run.header.cells}
    return _only(plan, {cell.id for cell in plan.cells if cell.id in known or cell.case.computation.batch == start})


def _only(plan: Plan, ids: Set[str]) -> Plan:
    """The plan with some of its cells."""
    some = [dataclasses.replace(each, cells=tuple(cell for cell in each.cells if cell.id in ids)) for each in plan.comparisons]
    return dataclasses.replace(plan, comparisons=tuple(comparison for comparison in some if comparison.cells))


def _climber(cell: records.Cell) -> Climber:
    variant = tuple(sorted(cell.variant.items()))
    return Climber(cell.workload, variant, cell.mode, cell.precision, cell.framework, cell.device, cell.execution)
