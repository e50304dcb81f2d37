"""From several runs to one report: which runs stand in one column, what columns are called, and which rows they share.

A ratio is only ever that of one run, whose rivals took turns on one machine; what is joined is where figures stand, not how they are
computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from runner import statistics
from runner.errors import UserError
from runner.join.model import Group, Joined, Key, Link, Member, Place, Summary
from runner.records import Machine
from runner.report import labels, machines, reference
from runner.report.markdown import UNVERIFIED, date
from runner.report.model import CellRow, Column
from runner.report.rows import MODES, ratio_of, report
from runner.runreader import Run

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def join(runs: Sequence[Run], against: Sequence[str] = ()) -> Joined:
    """Place runs beside each other in the order in which they are named; ``against`` as in :func:`runner.report.rows.report`, but where
    nothing is said it is the first framework, if there are others, so that all machines compare the same.

    Raises :class:`runner.errors.UserError` where a run is named twice, where a workload is not the same computation in all of them, or
    where there is nothing that ``against`` names.
    """
    _refuse_repeats(runs)
    columns = list(
        dict.fromkeys(Column(cell.framework, cell.device, cell.execution, cell.era) for run in runs for cell in run.header.cells)
    )
    reference.check(columns, against)
    against = against or ([columns[0].framework] if len({column.framework for column in columns}) > 1 else [])
    members = [Member(letter(number), run.name, report(run, against)) for number, run in enumerate(runs)]
    _refuse_changed(members)
    places = _places(members)
    groups = tuple(group for mode in MODES for group in _groups(mode, places))
    links = tuple(dict.fromkeys(_links(members)))
    return Joined(
        places=places,
        groups=groups,
        links=links,
        summaries=tuple(_summaries(places, groups, links)),
        confidence=statistics.CONFIDENCE,
        threshold=statistics.THRESHOLD,
    )


def letter(number: int) -> str:
    """``A`` to ``Z``, then ``AA``."""
    return (letter(number // len(LETTERS) - 1) if number >= len(LETTERS) else "") + LETTERS[number % len(LETTERS)]


def kind(column: Column) -> Column:
    """The column with its device as ``cpu`` or ``gpu``: MPS, Metal and CUDA stand in one row across machines."""
    return column._replace(device="cpu" if column.device == "cpu" else "gpu")


# --- refusals -------------------------------------------------------------------------------------------------------------


def _refuse_repeats(runs: Sequence[Run]) -> None:
    seen: dict[object, str] = {}
    for run in runs:
        same = (run.header.started, run.header.command, tuple(sorted(cell.id for cell in run.header.cells)), run.header.machine)
        if same in seen:
            raise UserError(f"{run.name} is the same run as {seen[same]}: name each run once")
        seen[same] = run.name


def _refuse_changed(members: Sequence[Member]) -> None:
    """A workload that was changed between runs has figures of two different things under one name."""
    digests: dict[tuple[object, ...], dict[str, list[Member]]] = {}
    names: dict[tuple[object, ...], str] = {}
    for member in members:
        for cell in member.report.cells():
            what = (cell.workload, tuple(sorted(cell.variant.items())), cell.batch)
            holders = digests.setdefault(what, {}).setdefault(cell.computation, [])
            names[what] = labels.workload(cell) + ("" if cell.batch is None else f" at batch {cell.batch}")
            if member not in holders:
                holders.append(member)
    changed = [
        f"- {names[what]}: " + "; ".join(f"{digest} in {', '.join(member.name for member in holders)}" for digest, holders in found.items())
        for what, found in digests.items()
        if len(found) > 1
    ]
    if changed:
        raise UserError(
            "\n".join(
                [
                    "these runs cannot be joined, since a workload was changed between them; here are the digests of what was computed:",
                    *changed,
                    "measure again with one version of the workload, or report the runs one by one",
                ]
            )
        )


# --- columns --------------------------------------------------------------------------------------------------------------


def _places(members: Sequence[Member]) -> tuple[Place, ...]:
    gathered: list[list[Member]] = []
    for member in members:
        home = next((place for place in gathered if all(_belong(member, other) for other in place)), None)
        if home is None:
            gathered.append([member])
        else:
            home.append(member)
    return tuple(Place(name, tuple(place)) for name, place in zip(_names(gathered), gathered, strict=True))


def _belong(one: Member, other: Member) -> bool:
    """Whether two runs can stand in one column: all that decides a figure is the same, and no figure is in both."""
    a, b = one.report.header, other.report.header
    versions = [{name: state.versions for name, state in header.frameworks.items() if state.status == "ok"} for header in (a, b)]
    both = versions[0].keys() & versions[1].keys()
    settings = [{**header.settings, "request": None, "rounds": None, "budget": None, "seed": header.seed} for header in (a, b)]
    rows = [{(*_key(cell), cell.mode, cell.column) for cell in member.report.cells()} for member in (one, other)]
    return (
        machines.same(a.machine, b.machine)
        and (a.machine.system, a.machine.python, a.headtohead) == (b.machine.system, b.machine.python, b.headtohead)
        and all(versions[0][name] == versions[1][name] for name in both)
        and _common(a.environment, b.environment)
        and settings[0] == settings[1]
        and not rows[0] & rows[1]
    )


def _common(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Whether what is set in both is set alike, and what is set for all children is the same."""
    plain = [{name: value for name, value in each.items() if not isinstance(value, Mapping)} for each in (one, other)]
    return plain[0] == plain[1] and all(one[name] == other[name] for name in one.keys() & other.keys())


def _names(places: Sequence[Sequence[Member]]) -> list[str]:
    """As short as tells them apart: the chip or GPU, then its cores and memory, the system, the versions, the day, at last the letter."""
    schemes: tuple[Callable[[Sequence[Member]], str], ...] = (
        lambda place: "",
        lambda place: f"{_machine(place).cores} cores",
        lambda place: _machine(place).system,
        _versions,
        lambda place: date(place[0].report.header.started),
        lambda place: place[0].letter,
    )

    names = [_chip(place) for place in places]
    for name in [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        alike = [number for number, other in enumerate(names) if other == name]
        for scheme in schemes:
            more = [scheme(places[number]) for number in alike]
            if len(set(more)) == len(alike):
                break
        for number, text in zip(alike, more, strict=True):
            names[number] = f"{name}, {text}"
    return [name + (f", {UNVERIFIED}" if _unchecked(place) else "") for name, place in zip(names, places, strict=True)]


def _machine(place: Sequence[Member]) -> Machine:
    return place[0].report.header.machine


def _chip(place: Sequence[Member]) -> str:
    """The chip, the GPU where nothing else was measured, or both."""
    machine = _machine(place)
    devices = {cell.device == "cpu" for member in place for cell in member.report.cells() if cell.rounds}
    if machine.gpu is None or devices == {True}:
        return machine.chip
    return machine.gpu if devices == {False} or machine.gpu.startswith(machine.chip) else f"{machine.chip}, {machine.gpu}"


def _versions(place: Sequence[Member]) -> str:
    found = dict.fromkeys(
        " ".join(state.release) for member in place for state in member.report.header.frameworks.values() if state.status == "ok"
    )
    return ", ".join(found)


def _unchecked(place: Sequence[Member]) -> bool:
    return any(member.report.header.settings.get("checks") is False for member in place)


# --- rows -----------------------------------------------------------------------------------------------------------------


def _key(cell: CellRow) -> Key:
    return Key(cell.workload, tuple(sorted(cell.variant.items())), cell.batch, cell.precision, cell.unit)


def _groups(mode: str, places: Sequence[Place]) -> Iterable[Group]:
    found: dict[Key, dict[Column, dict[int, CellRow]]] = {}
    for number, place in enumerate(places):
        for member in place.members:
            for cell in member.report.cells():
                if cell.mode == mode:
                    key = _key(cell)
                    while number in found.setdefault(key, {}).setdefault(kind(cell.column), {}):
                        key = key._replace(repeat=key.repeat + 1)  # differs in something that no column shows
                    found[key][kind(cell.column)][number] = cell
    order = list(dict.fromkeys(column for cells in found.values() for column in cells))
    for key, cells in found.items():
        yield Group(mode, key, {column: cells[column] for column in order if column in cells})


def _links(members: Sequence[Member]) -> Iterable[Link]:
    for member in members:
        for table in member.report.tables:
            yield from ((kind(column), kind(to)) for column, to in table.references.items())


def _summaries(places: Sequence[Place], groups: Sequence[Group], links: Sequence[Link]) -> Iterable[Summary]:
    for link in links:
        for mode in MODES:
            precisions = dict.fromkeys(group.key.precision for group in groups if group.mode == mode)
            for precision in precisions:
                for number, place in enumerate(places):
                    some = [group for group in groups if (group.mode, group.key.precision) == (mode, precision)]
                    ratios = [
                        ratio_of(cell) if (cell := group.ratios(link).get(number)) else None for group in some if _has(group, link, number)
                    ]
                    if any(ratios):
                        yield Summary(number, mode, precision, link, statistics.geometric_mean(ratios, _level(place)))


def _has(group: Group, link: Link, place: int) -> bool:
    return any(place in group.cells.get(column, {}) for column in link)


def _level(place: Place) -> float:
    added = any(member.report.header.settings.get("precision_goal") is not None for member in place.members)
    return statistics.ADDED_CONFIDENCE if added else statistics.CONFIDENCE
