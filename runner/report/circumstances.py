"""What the state of the machine has to do with a cell's number, as notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from runner.machine.canary import SLOWER
from runner.machine.conditions import LOADED
from runner.records import Cell, Note
from runner.report import numbers
from runner.runreader import Measured

STOLEN = 0.05  # the share of all processors that a host may keep before it is named
SWAPPED = 64 * 2**20  # bytes
WAITED = 10.0  # per cent of the time in which some process waited for memory


class Best:
    """The fastest that the fixed pieces of work were in a run: the canary, and the large product by framework, device, precision and
    execution."""

    def __init__(self, cells: Sequence[Cell], rounds: Mapping[str, Sequence[Measured]]) -> None:
        self.canary = min((m.conditions.canary for each in rounds.values() for m in each if m.conditions.canary), default=None)
        self.rates: dict[tuple[str, ...], float] = {}
        for cell in cells:
            for measured in rounds[cell.id]:
                if measured.matmul_rate is not None:
                    key = self.key(cell)
                    self.rates[key] = max(self.rates.get(key, 0.0), measured.matmul_rate)

    @staticmethod
    def key(cell: Cell) -> tuple[str, ...]:
        return cell.framework, cell.device, cell.precision, cell.execution


def notes(cell: Cell, rounds: Sequence[Measured], cores: int, best: Best) -> Iterable[Note]:
    """The notes on one cell from the conditions of its rounds."""
    yield from _load(rounds, cores)
    yield from _power_and_heat(rounds)
    yield from _memory(rounds)
    yield from _slowed(cell, rounds, best)


def _load(rounds: Sequence[Measured], cores: int) -> Iterable[Note]:
    others = [m.conditions.others for m in rounds if m.conditions.others is not None]
    busy = [used for used in others if used > LOADED * cores]
    if busy:
        yield Note("busy", f"other processes used up to {max(busy):.1f} of {cores} processors{_of(len(busy), rounds)}")
    stolen = [m.conditions.stolen for m in rounds if m.conditions.stolen is not None and m.conditions.stolen > STOLEN * cores]
    if stolen:
        yield Note("stolen", f"the host kept up to {max(stolen):.1f} of {cores} virtual processors{_of(len(stolen), rounds)}")


def _power_and_heat(rounds: Sequence[Measured]) -> Iterable[Note]:
    states = [m.conditions for m in rounds]
    if battery := sum(state.power == "battery" for state in states):
        yield Note("battery", f"the machine ran on battery{_of(battery, rounds)}")
    if low := sum(state.low_power for state in states):
        yield Note("low_power", f"low-power mode was on{_of(low, rounds)}")
    if hot := [state.thermal for state in states if state.thermal not in (None, "nominal")]:
        words = ", ".join(dict.fromkeys(map(str, hot)))
        yield Note("hot", f"the system reported thermal pressure ({words}){_of(len(hot), rounds)}")
    if throttled := sum(bool(state.throttled) for state in states):
        yield Note("throttled", f"the processor was slowed for heat{_of(throttled, rounds)}")
    if limits := [state.speed_limit for state in states if state.speed_limit is not None and state.speed_limit < 100]:
        yield Note("limited", f"the system held the processor at {numbers.span(limits)} % of its speed{_of(len(limits), rounds)}")
    if held := [state for state in states if state.held_down]:
        why = ", ".join(dict.fromkeys(word for state in held for word in state.held_down))
        clocks = [state.clock for state in held if state.clock is not None]
        highest = next((state.clock_highest for state in held if state.clock_highest), None)
        at = f" at {numbers.span(clocks)} of {highest:,} MHz" if clocks and highest else ""
        yield Note("held_down", f"the GPU's clock was held down{at} ({why}){_of(len(held), rounds)}")


def _memory(rounds: Sequence[Measured]) -> Iterable[Note]:
    grown = [m.conditions.swapped for m in rounds if m.conditions.swapped is not None and m.conditions.swapped > SWAPPED]
    if grown:
        yield Note("swapping", f"the machine wrote up to {numbers.memory_text(max(grown))} to swap{_of(len(grown), rounds)}")
    pressed = [m.conditions.memory_pressure for m in rounds]
    words = [p for p in pressed if p in ("warning", "critical")]
    waits = [p for p in pressed if isinstance(p, int | float) and p > WAITED]
    if words or waits:
        yield Note("memory_pressure", f"the system reported a shortage of memory{_of(len(words) + len(waits), rounds)}")


def _slowed(cell: Cell, rounds: Sequence[Measured], best: Best) -> Iterable[Note]:
    """A fixed piece of work took longer than at its best in this run: the machine was not the same all the time."""
    slower: list[tuple[float, str]] = []
    for measured in rounds:
        found = []
        if best.canary and measured.conditions.canary:
            found.append((measured.conditions.canary / best.canary, "in NumPy"))
        if measured.matmul_rate and (rate := best.rates.get(Best.key(cell))):
            found.append((rate / measured.matmul_rate, "in this framework"))
        found = [each for each in found if each[0] > SLOWER]
        if found:
            slower.append(max(found))
    if slower:
        factor, where = max(slower)
        longer = f"up to {numbers.percent(factor - 1)} longer than at its best"
        yield Note("slowed", f"a fixed product of matrices {where} took {longer}{_of(len(slower), rounds)}")
    rested = sum(m.conditions.rested for m in rounds)
    if rested >= 1:
        yield Note("rested", f"the runner waited {numbers.significant(rested)} s before rounds for the machine to get back its speed")


def _of(count: int, rounds: Sequence[Measured]) -> str:
    return "" if count == len(rounds) else f" ({count} of {len(rounds)} rounds)"
