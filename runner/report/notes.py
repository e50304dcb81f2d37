"""What a reader must know about the numbers, gathered from all rounds, each said once with the cells that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runner import statistics, steadiness
from runner.records import Cell, Header, Note
from runner.report import circumstances, numbers
from runner.runreader import Measured

_PLAIN_OPTIMIZERS = ("sgd", "adam", "adamw")


@dataclass(frozen=True)
class CellNote:
    """A note and the cells that it is about, by id."""

    code: str
    text: str
    cells: tuple[str, ...]


def cell_notes(header: Header, cells: Sequence[Cell], rounds: Mapping[str, Sequence[Measured]]) -> tuple[CellNote, ...]:
    """The notes of a run in the order of the cells. Only rounds that were ok count, since the others give no number."""
    good = {cell.id: [measured for measured in rounds[cell.id] if measured.ok] for cell in cells}
    gathered: dict[Note, list[str]] = {}
    best = circumstances.Best(cells, good)
    for cell in cells:
        found = [*_of_rounds(good[cell.id]), *_of_speed(good[cell.id]), *_of_facts(good[cell.id])]
        found += circumstances.notes(cell, good[cell.id], header.machine.cores, best)
        found += [note for note in [_optimizer(cell, cells, good)] if note is not None]
        for note in dict.fromkeys(found):
            gathered.setdefault(note, []).append(cell.id)
    if header.settings.get("checks") is False:
        gathered[Note("unchecked", "it was not checked that the frameworks compute the same")] = [c.id for c in cells if good[c.id]]
    else:
        without = [c.id for c in cells if good[c.id] and not any(measured.parity for measured in good[c.id])]
        gathered[Note("not_verified", "there is no golden curve of what was computed; h2h check --write makes one")] = without
    return tuple(CellNote(note.code, note.text, tuple(ids)) for note, ids in gathered.items() if ids)


def _of_rounds(rounds: Sequence[Measured]) -> Iterable[Note]:
    """What the rounds themselves note. Where they say one thing in several wordings (with other figures), the first stands for all."""
    by_code: dict[str, list[str]] = {}
    for measured in rounds:
        for note in measured.notes:
            by_code.setdefault(note.code, []).append(note.text)
    for code, texts in by_code.items():
        different = dict.fromkeys(texts)
        if len(different) == 1 and len(texts) >= len(rounds):
            yield Note(code, texts[0])
        else:
            holders = sum(any(note.code == code for note in measured.notes) for measured in rounds)
            yield Note(code, f"{texts[0]} ({holders} of {len(rounds)} rounds{', the first of them given' if len(different) > 1 else ''})")
    if any(measured.alone for measured in rounds):
        yield Note("alone", "measured one after the other, not in turns, so the ratio also holds what changed on the machine meanwhile")
    if len(rounds) == 1:
        yield Note("single_process", "one process only, so neither spread nor interval is known: each process has a speed of its own")


def _of_speed(rounds: Sequence[Measured]) -> Iterable[Note]:
    """What the times themselves tell against being one number."""
    trend = steadiness.cell_trend([measured.trend for measured in rounds])
    if trend is not None:
        code, change = ("slowing", "more") if trend.change > 0 else ("speeding_up", "less")
        where = f"in {trend.rounds} of {len(rounds)} rounds"
        yield Note(code, f"the last third of the blocks took {numbers.percent(abs(trend.change))} {change} time than the first {where}")
    times = [measured.seconds_per_step for measured in rounds if measured.seconds_per_step is not None]
    speeds = steadiness.two_speeds(times)
    if speeds is not None:
        unit = numbers.time_unit([speeds.fast])
        yield Note(
            "bimodal",
            f"processes have two speeds, {speeds.fast_rounds} near {unit.text(speeds.fast)} {unit.name} a step and "
            f"{speeds.slow_rounds} near {unit.text(speeds.slow)} {unit.name}; "
            f"a verdict then asks for a {numbers.percent(statistics.BIMODAL_CONFIDENCE)} interval",
        )
    spread = statistics.spread(times)
    if spread is not None and spread > steadiness.UNRELIABLE:
        yield Note("unreliable", f"rounds have a standard deviation of {numbers.percent(spread)}, so the figure says little")
    elif spread is not None and spread > steadiness.NOISY:
        yield Note("noisy", f"rounds have a standard deviation of {numbers.percent(spread)}")


def _of_facts(rounds: Sequence[Measured]) -> Iterable[Note]:
    """What the adapters say of how they compute."""
    for measured in rounds:
        facts = measured.facts
        if facts.fallbacks:
            yield Note("fallback", f"ran on the CPU what the device has no kernel for: {', '.join(facts.fallbacks)}")
        yield from (Note("deviation", text) for text in facts.deviations)
        if facts.graph_breaks:
            yield Note("graph_breaks", f"compiled in parts, with {facts.graph_breaks} graph breaks")
        if facts.timed_compilations:
            yield Note("timed_compilations", f"compiled {facts.timed_compilations} times while it was timed")
        yield from (Note("warning", text) for text in facts.warnings)


def _optimizer(cell: Cell, cells: Sequence[Cell], rounds: Mapping[str, Sequence[Measured]]) -> Note | None:
    """The optimizer's class, where its name is none of the usual ones or not that of every rival."""
    mine = _class(rounds[cell.id])
    if mine is None or cell.mode != "train":
        return None
    rivals = {_class(rounds[c.id]) for c in cells if c.comparison == cell.comparison} - {None}
    names = {rival.rpartition(".")[2].lower() for rival in rivals if rival is not None}
    if len(names) == 1 and names <= set(_PLAIN_OPTIMIZERS) and "legacy" not in mine:
        return None
    return Note("optimizer", f"the optimizer is {mine}")


def _class(rounds: Sequence[Measured]) -> str | None:
    return rounds[-1].facts.optimizer if rounds else None
