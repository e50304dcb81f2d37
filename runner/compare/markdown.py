"""A comparison as markdown: what differs between the runs first, then the same cells side by side."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from runner.compare.model import Comparison, Difference, Pair
from runner.grid import grid
from runner.report import labels, machines, numbers
from runner.report.details import notes, problems, seen_conditions
from runner.report.labels import Names
from runner.report.markdown import HEADINGS, UNVERIFIED
from runner.report.model import Column
from runner.report.text import code_block, escape
from runner.statistics import VERDICT_ROUNDS

Field = tuple[str, str, Callable[[Pair], str]]  # header, alignment, text

_BANNERS = {
    "machines": "**A and B are different machines: these ratios compare computers, with all that differs between them.**",
    "workloads": "**Some workloads compute something else in B than in A; their rows say so.**",
    "precisions": "**Some cells were measured at another precision in B than in A; their rows say so.**",
}


def render(comparison: Comparison) -> str:
    """Title, what differs, tables by mode, cells of one run only, what was not ok, notes, and the commands."""
    names = Names(comparison.b.report)
    parts = [_title(comparison), *(_BANNERS[kind] for kind in comparison.across), *_differences(comparison), *_legend(comparison)]
    marks: dict[str, dict[str, str]] = {letter: labels.marks(source.report, letter) for letter, source in comparison.sources()}
    for mode, heading in HEADINGS.items():
        pairs = [pair for pair in comparison.pairs if pair.mode == mode]
        if pairs:
            parts += _table(comparison, mode, heading, pairs, names, marks)
    parts += _alone(comparison)
    for letter, source in comparison.sources():
        parts += problems(source.report, Names(source.report), f"Not ok in {letter}")
    for letter, source in comparison.sources():
        parts += notes(source.report, Names(source.report), f"Notes on {letter}")
    parts += _commands(comparison)
    return "\n\n".join(parts) + "\n"


def _title(comparison: Comparison) -> str:
    both = [source.report.header.machine for _, source in comparison.sources()]
    if not machines.same(*both):
        return "## headtohead: B against A, on two machines"
    return f"## headtohead: B against A, on {escape(machines.text(both[0]))}"


# --- what differs ---------------------------------------------------------------------------------------------------------


def _differences(comparison: Comparison) -> Iterable[str]:
    """The runs, then every recorded fact that is not the same in both."""
    a, b = comparison.a, comparison.b
    rows = [
        ["run", "", escape(a.name), escape(b.name)],
        ["", "started", *(_time(source.report.header.started) for source in (a, b))],
    ]
    if any(list(seen_conditions(source.report.conditions)) for source in (a, b)):
        rows.append(["", "conditions", *(", ".join(seen_conditions(source.report.conditions)) or numbers.MISSING for source in (a, b))])
    shown = "run"
    for difference in comparison.differences:
        if not difference.cells:
            rows.append(_row(difference, "" if difference.subject == shown else difference.subject))
            shown = difference.subject
    yield "### What differs"
    yield grid(["", "", "A", "B"], rows)
    names = Names(b.report)
    said = [
        f"- {escape(each.name)}: {escape(each.a)} in A, {escape(each.b)} in B. {_whose(each, comparison, names)}."
        for each in comparison.differences
        if each.cells
    ]
    if said:
        yield "\n".join(said)
    yield "What is recorded and not listed here is the same in both: machine, versions, settings, environment."


def _whose(difference: Difference, comparison: Comparison, names: Names) -> str:
    everywhere = {pair.b.cell for pair in comparison.pairs if pair.ratio is not None}
    return "All cells with a ratio" if everywhere <= set(difference.cells) else names.cells(difference.cells)


def _row(difference: Difference, subject: str) -> list[str]:
    return [subject, escape(difference.name), *(escape(text) or "–" for text in (difference.a, difference.b))]


def _time(started: str) -> str:
    try:
        return f"{datetime.fromisoformat(started):%Y-%m-%d %H:%M}"
    except ValueError:
        return escape(started)


def _legend(comparison: Comparison) -> Iterable[str]:
    """What figures and words mean, as far as there are any."""
    if all(pair.ratio is None for pair in comparison.pairs):
        return
    margin = numbers.percent(comparison.threshold)
    yield (
        f"B ÷ A divides speeds: above 1, B is faster. ± and […]: {numbers.percent(comparison.confidence)} intervals over rounds, each a "
        f"fresh process. *faster* or *slower* if the whole interval lies more than {margin} from 1, *same* if it was shown to lie within "
        f"{margin}, *unclear* otherwise or with fewer than {VERDICT_ROUNDS} rounds. The runs did not take turns, so a ratio also holds "
        "what changed on the machine from one to the other."
    )


# --- tables ---------------------------------------------------------------------------------------------------------------


def _table(
    comparison: Comparison, mode: str, heading: str, pairs: Sequence[Pair], names: Names, marks: Mapping[str, Mapping[str, str]]
) -> Iterable[str]:
    units = {pair.unit for pair in pairs}
    unit = escape(min(units)) if len(units) == 1 else "samples"
    doubt = f", {UNVERIFIED.upper()}" if any(s.report.header.settings.get("checks") is False for _, s in comparison.sources()) else ""
    yield f"### {heading}: {unit} per second (more is better){doubt}"
    fields = _fields(pairs, names, marks, with_unit=len(units) > 1)
    yield grid([header for header, _, _ in fields], [[f[2](pair) for f in fields] for pair in pairs], [side for _, side, _ in fields])
    precisions = {pair.b.precision for pair in pairs} | {pair.a.precision for pair in pairs}
    said = [f"Precision {escape(min(precisions))}."] if len(precisions) == 1 else []
    if any(side.cell in marks[letter] for pair in pairs for letter, side in (("A", pair.a), ("B", pair.b))):
        said.append("(A1) is number 1 under “Not ok in A”, and so on.")
    if said:
        yield " ".join(said)
    means = [mean for mean in comparison.means if mean.mode == mode]
    if means:
        yield "\n".join(
            f"- Geometric mean of B ÷ A for {names.column(Column(mean.framework, mean.device, mean.execution, mean.era))}"
            + (f" in {escape(mean.precision)}" if len(precisions) > 1 else "")
            + f": **{labels.judged(mean.ratio, mean.ratio_low, mean.ratio_high, mean.verdict)}** over {mean.finished} of {mean.of} cells"
            for mean in means
        )


def _fields(pairs: Sequence[Pair], names: Names, marks: Mapping[str, Mapping[str, str]], *, with_unit: bool) -> list[Field]:
    fields: list[Field] = [("workload", "left", labels.workload)]
    if any(pair.batch is not None for pair in pairs):
        fields.append(("batch", "right", lambda pair: numbers.whole(pair.batch) if pair.batch is not None else "–"))
    if len({pair.a.precision for pair in pairs}) > 1:
        fields.append(("precision", "left", lambda pair: escape(pair.a.precision)))
    if with_unit:
        fields.append(("sample", "left", lambda pair: escape(pair.unit)))
    fields += [
        ("framework", "left", lambda pair: names.column(pair.column)),
        ("A", "right", lambda pair: labels.throughput(pair.a, marks["A"])),
        ("B", "right", lambda pair: labels.throughput(pair.b, marks["B"])),
        ("B ÷ A", "right", lambda pair: labels.judged(pair.ratio, pair.ratio_low, pair.ratio_high, pair.verdict)),
    ]
    if any(pair.across for pair in pairs):
        fields.append(("not the same", "left", lambda pair: escape("; ".join(pair.across)) or "–"))
    return fields


def _alone(comparison: Comparison) -> Iterable[str]:
    """Cells that have no counterpart."""
    said = [f"- Only in {letter}: {Names(s.report).cells(s.alone)}" for letter, s in comparison.sources() if s.alone]
    if said:
        yield "### Not compared"
        yield "\n".join(said)


def _commands(comparison: Comparison) -> Iterable[str]:
    yield "### How they were measured"
    commands = [(letter, shlex.join(source.report.header.command)) for letter, source in comparison.sources()]
    if commands[0][1] == commands[1][1]:
        commands = [("A and B", commands[0][1])]
    for letters, command in commands:
        yield f"{letters}:"
        yield code_block(command)
