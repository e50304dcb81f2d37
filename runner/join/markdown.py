"""Several runs as markdown: which they are, then each workload with a column for each machine, then each machine's own story."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from runner.grid import grid
from runner.join.model import Group, Joined, Link, Summary
from runner.records import named
from runner.report import labels, machines, numbers
from runner.report.details import how_measured, notes, problems
from runner.report.labels import Names
from runner.report.markdown import HEADINGS, date
from runner.report.model import Column
from runner.report.text import escape
from runner.statistics import VERDICT_ROUNDS

Marks = Sequence[Mapping[str, str]]  # what stands behind a figure, by place and cell


def render(joined: Joined) -> str:
    """Title, the runs, tables by mode, comparisons by machine, what was not ok, notes, and how each was measured."""
    parts = list(_figures(joined))
    for member in joined.members():
        parts += notes(member.report, Names(member.report), f"Notes on {member.letter}")
    for member in joined.members():
        parts += how_measured(member.report, f"How {member.letter} was measured")
    return "\n\n".join(parts) + "\n"


def brief(joined: Joined) -> str:
    """The same without notes and without how each was measured."""
    return "\n\n".join(_figures(joined)) + "\n"


def _figures(joined: Joined) -> Iterable[str]:
    titles = Titles(joined)
    marks = [
        {cell: mark for member in place.members for cell, mark in labels.marks(member.report, member.letter).items()}
        for place in joined.places
    ]
    yield f"## headtohead: {escape('; '.join(place.name for place in joined.places))}"
    yield from _runs(joined)
    yield from _legend(joined)
    for mode, heading in HEADINGS.items():
        groups = [group for group in joined.groups if group.mode == mode]
        if groups:
            yield from _table(joined, heading, groups, titles, marks)
    yield from _by_machine(joined, titles)
    for member in joined.members():
        yield from problems(member.report, Names(member.report), f"Not ok in {member.letter}")


class Titles:
    """What frameworks and comparisons are called in this report."""

    def __init__(self, joined: Joined) -> None:
        headers = [member.report.header for member in joined.members()]
        self._titles = {name: state.title for header in headers for name, state in header.frameworks.items()}
        self._columns = list(dict.fromkeys(column for group in joined.groups for column in group.cells))

    def column(self, column: Column, devices: Iterable[str] = ()) -> str:
        """``PyTorch gpu eager``, with what serves the GPU where that is one thing: ``PyTorch mps eager``."""
        served = set(devices)
        return escape(f"{self._title(column)} {served.pop() if len(served) == 1 else column.device} {column.execution}")

    def link(self, link: Link) -> str:
        """``TensorFlow ÷ PyTorch, gpu`` or ``PyTorch gpu ÷ cpu``."""
        column, to = link
        ambiguous = any(other != column and other[:2] == column[:2] for other in self._columns) or column.execution == to.execution == ""
        names = [f"{self._title(each)}" + (f" {each.execution}" if ambiguous else "") for each in link]
        if column.device == to.device:
            where = f", {column.device}" if len({each.device for each in self._columns}) > 1 else ""
            return escape(f"{names[0]} ÷ {names[1]}{where}")
        if column.framework == to.framework:
            return escape(f"{names[0]} {column.device} ÷ {to.device}")
        return escape(f"{names[0]} {column.device} ÷ {names[1]} {to.device}")

    def _title(self, column: Column) -> str:
        name = named(column.framework, column.era)
        return self._titles.get(name, name)


# --- the runs -------------------------------------------------------------------------------------------------------------


def _runs(joined: Joined) -> Iterable[str]:
    """Each run with its column, machine, day and versions."""
    rows = []
    for place in joined.places:
        for member in place.members:
            header = member.report.header
            machine = header.machine
            versions = [
                f"{package} {version}" if state.status == "ok" else f"{state.title} {labels.status(state.status)}"
                for state in header.frameworks.values()
                for package, version in (state.versions or {"": ""}).items()
            ]
            state = "" if member.report.complete else " (interrupted or still going on)"
            machine_text = f"{machines.text(machine)}, {machine.system}"
            rows.append([member.letter, place.name, machine_text, date(header.started) + state, ", ".join(dict.fromkeys(versions))])
    headers = ["run", "column", "machine", "day", "versions"]
    yield grid(headers, [[escape(text) for text in row] for row in rows])


def _legend(joined: Joined) -> Iterable[str]:
    margin = numbers.percent(joined.threshold)
    yield (
        f"± and […]: {numbers.percent(joined.confidence)} intervals over rounds, each a fresh process. A ratio (÷) stands within one "
        "machine: rounds in which both took turns. *faster* or *slower* if the whole interval lies more than "
        f"{margin} from 1, *same* if it was shown to lie within {margin}, *unclear* otherwise or with fewer than {VERDICT_ROUNDS} rounds. "
        "Speeds of one row were measured on different machines at different times."
    )


# --- tables ---------------------------------------------------------------------------------------------------------------


def _table(joined: Joined, heading: str, groups: Sequence[Group], titles: Titles, marks: Marks) -> Iterable[str]:
    units = {group.key.unit for group in groups}
    precisions = {group.key.precision for group in groups}
    unit = escape(min(units)) if len(units) == 1 else "samples"
    yield f"### {heading}: {unit} per second (more is better)"
    keys = ["workload", *(["batch"] if any(group.key.batch is not None for group in groups) else [])]
    keys += ["precision"] if len(precisions) > 1 else []
    keys += ["sample"] if len(units) > 1 else []
    rows = []
    for group in groups:
        facts = {"workload": labels.workload(next(iter(next(iter(group.cells.values())).values())))}
        facts["batch"] = numbers.whole(group.key.batch) if group.key.batch is not None else "–"
        facts |= {"precision": escape(group.key.precision), "sample": escape(group.key.unit)}
        lines = [*_speeds(joined, group, titles, marks), *_ratios(joined, group, titles)]
        rows += [
            [*(facts[key] if first else "" for key in keys), *line]
            for first, line in zip([True] + [False] * len(lines), lines, strict=False)
        ]
    sides = ["right" if key == "batch" else "left" for key in keys] + ["left"] + ["right"] * len(joined.places)
    yield grid([*keys, "", *(escape(place.name) for place in joined.places)], rows, sides)
    said = [f"Precision {escape(min(precisions))}."] if len(precisions) == 1 else []
    cells = ((number, cell) for group in groups for column in group.cells.values() for number, cell in column.items())
    if any(cell.cell in marks[number] for number, cell in cells):
        said.append("(A1) is number 1 under “Not ok in A”, and so on.")
    if said:
        yield " ".join(said)


def _speeds(joined: Joined, group: Group, titles: Titles, marks: Marks) -> Iterable[list[str]]:
    for column, cells in group.cells.items():
        line = [titles.column(column, (cell.device for cell in cells.values()))]
        for number in range(len(joined.places)):
            cell = cells.get(number)
            line.append("–" if cell is None else labels.throughput(cell, marks[number]))
        yield line


def _ratios(joined: Joined, group: Group, titles: Titles) -> Iterable[list[str]]:
    for link in joined.links:
        ratios = group.ratios(link)
        if ratios:
            cells = [ratios.get(number) for number in range(len(joined.places))]
            yield [
                f"**{titles.link(link)}**",
                *("–" if cell is None else labels.judged(cell.ratio, cell.ratio_low, cell.ratio_high, cell.verdict) for cell in cells),
            ]


def _by_machine(joined: Joined, titles: Titles) -> Iterable[str]:
    """A row a machine: what it says of each comparison over all of its workloads."""
    if not joined.summaries:
        return
    precisions = dict.fromkeys(summary.precision for summary in joined.summaries)
    columns = dict.fromkeys((summary.link, summary.mode) for summary in joined.summaries)
    found = {(each.place, each.precision, each.link, each.mode): each for each in joined.summaries}
    rows = []
    for number, place in enumerate(joined.places):
        for precision in precisions:
            line = [found.get((number, precision, link, mode)) for link, mode in columns]
            if any(line):
                rows.append([escape(place.name), *([escape(precision)] if len(precisions) > 1 else []), *map(_summary, line)])
    headers = ["machine", *(["precision"] if len(precisions) > 1 else [])]
    headers += [f"{titles.link(link)}: {labels.MODES[mode]}" for link, mode in columns]
    yield "### By machine: geometric means of ratios"
    yield grid(headers, rows, ["left"] * (len(headers) - len(columns)) + ["right"] * len(columns))


def _summary(summary: Summary | None) -> str:
    if summary is None:
        return "–"
    mean = summary.mean
    return f"{labels.judged(mean.value, mean.low, mean.high, mean.verdict)}, {mean.finished} of {mean.of}"
