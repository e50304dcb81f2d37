"""Which cells of two runs are the same one, what forbids to compare them, and how their speeds compare."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence

from runner import statistics, steadiness
from runner.compare import differences
from runner.compare.model import Comparison, Kind, MeanOfPairs, Pair, Side, Source, Where
from runner.errors import UserError
from runner.precision import comparable
from runner.report import labels, machines
from runner.report.model import CellRow, Column, Report
from runner.report.rows import report
from runner.runreader import Run
from runner.statistics import Ratio

Matched = tuple[CellRow, CellRow]
Seconds = dict[str, list[float]]  # of a step in the rounds that were ok, by cell

_FORBIDDEN: dict[Kind, str] = {
    "machines": "they were measured on different machines",
    "workloads": "a workload of this name computes something else now",
    "precisions": "they were measured at different precisions",
}


def compare(a: Run, b: Run, across: Collection[str] = (), threshold: float = statistics.THRESHOLD) -> Comparison:
    """The second run against the first, cell by cell.

    ``across`` holds the kinds of difference that are asked for all the same; ``threshold`` is the share up to which a difference of speed
    counts as none. Raises :class:`runner.errors.UserError` where the runs have no cell in common or differ in a kind not asked for.
    """
    reports = report(a), report(b)
    matched = _match(*reports, across)
    if not matched:
        raise UserError(_nothing_in_common(*reports, a, b, across))
    marks = [_marks(one, other) for one, other in matched]
    found = {kind: [text for each in marks for text in each.get(kind, ())] for kind in _FORBIDDEN}
    found["machines"] = _other_machine(*reports)
    _refuse({kind: texts for kind, texts in found.items() if texts and kind not in across}, a, b)
    levels = [statistics.CONFIDENCE if run.header.settings.get("precision_goal") is None else statistics.ADDED_CONFIDENCE for run in (a, b)]
    seconds = _seconds(a), _seconds(b)
    ratios = [_ratio(seconds[0].get(one.cell, []), seconds[1].get(other.cell, []), max(levels), threshold) for one, other in matched]
    pairs = tuple(_pair(*both, ratio, mark) for both, ratio, mark in zip(matched, ratios, marks, strict=True))
    return Comparison(
        a=_source(a, reports[0], [one for one, _ in matched]),
        b=_source(b, reports[1], [other for _, other in matched]),
        across=tuple(kind for kind in _FORBIDDEN if found[kind]),
        differences=differences.between(*reports, pairs),
        pairs=pairs,
        means=tuple(_means(pairs, ratios, max(levels), threshold)),
        confidence=statistics.CONFIDENCE,
        threshold=threshold,
    )


# --- the same cells -------------------------------------------------------------------------------------------------------


def _match(a: Report, b: Report, across: Collection[str]) -> list[Matched]:
    """Cells that are the same, in the order of A. Where precisions or machines may differ, those that are left over are matched without
    their precision, or with any GPU for another."""
    left, right = a.cells(), b.cells()
    matched: list[Matched] = []
    for loose in [(), *([across] if {"machines", "precisions"} & set(across) else [])]:
        waiting: dict[Where, list[CellRow]] = {}
        for cell in right:
            waiting.setdefault(_where(cell, loose), []).append(cell)
        again: list[CellRow] = []
        for cell in left:
            rivals = waiting.get(_where(cell, loose))
            if rivals:
                matched.append((cell, rivals.pop(0)))
            else:
                again.append(cell)
        taken = {other.cell for _, other in matched}
        left, right = again, [cell for cell in right if cell.cell not in taken]
    order = {cell.cell: place for place, cell in enumerate(a.cells())}
    return sorted(matched, key=lambda both: order[both[0].cell])


def _where(cell: CellRow, loose: Collection[str]) -> Where:
    return Where(
        workload=cell.workload,
        variant=tuple(sorted(cell.variant.items())),
        batch=cell.batch,
        mode=cell.mode,
        precision="" if "precisions" in loose else cell.precision,
        framework=cell.framework,
        device="gpu" if "machines" in loose and cell.device != "cpu" else cell.device,
        execution=cell.execution,
        era=cell.era,
    )


def _marks(a: CellRow, b: CellRow) -> dict[Kind, list[str]]:
    """What should be the same in both cells and is not, in words that need no table around them."""
    name = labels.workload(a) + ("" if a.batch is None else f" at batch {a.batch}")
    marks: dict[Kind, list[str]] = {}
    if a.precision != b.precision:
        marks["precisions"] = [f"{name}: {a.precision} in A, {b.precision} in B"]
    elif not comparable(a.measured_precision, b.measured_precision):
        texts = (_classes(cell) for cell in (a, b))
        marks["precisions"] = [f"{name}: {a.precision} in both, but measured as {' in A, '.join(texts)} in B"]
    # The digest of a computation says nothing of its precision, so it must agree across precisions too.
    if a.computation != b.computation:
        marks["workloads"] = [f"{name}: computation {a.computation} in A, {b.computation} in B"]
    return marks


def _classes(cell: CellRow) -> str:
    return " and ".join(f"{operator} {found['class']}" for operator, found in cell.measured_precision.items() if "class" in found)


def _other_machine(a: Report, b: Report) -> list[str]:
    both = a.header.machine, b.header.machine
    if machines.same(*both):
        return []
    return [f"{machines.text(both[0])} in A, {machines.text(both[1])} in B"]


# --- refusals -------------------------------------------------------------------------------------------------------------


def _refuse(found: dict[Kind, list[str]], a: Run, b: Run) -> None:
    if not found:
        return
    lines = [f"{a.name} (A) and {b.name} (B) are not compared as they are:"]
    for kind, texts in found.items():
        lines += [f"- {_FORBIDDEN[kind]} (--across {kind} compares them all the same, and marks it)"]
        lines += [f"  {text}" for text in dict.fromkeys(texts)]
    raise UserError("\n".join(lines))


def _nothing_in_common(first: Report, second: Report, a: Run, b: Run, across: Collection[str]) -> str:
    """Why two runs have no cell in common, as far as it can be told."""
    cells = first.cells(), second.cells()
    for field in ("workload", "framework", "mode", "batch", "precision", "device", "execution", "era", "variant"):
        sides = [sorted({str(getattr(cell, field)) for cell in side}) for side in cells]
        if not set(sides[0]) & set(sides[1]):
            more = {"precision": "; --across precisions compares them all the same"}.get(field, "")
            more = "; --across machines takes one GPU for another" if field == "device" and "machines" not in across else more
            return f"{a.name} and {b.name} have no {field} in common: {' '.join(sides[0])} in A, {' '.join(sides[1])} in B{more}"
    return f"{a.name} and {b.name} have no cell in common: none has the same workload, batch, mode, precision, framework and device"


# --- figures --------------------------------------------------------------------------------------------------------------


def _seconds(run: Run) -> Seconds:
    found: Seconds = {}
    for measured in run.rounds:
        if measured.ok and measured.seconds_per_step is not None:
            found.setdefault(measured.cell, []).append(measured.seconds_per_step)
    return found


def _ratio(a: Sequence[float], b: Sequence[float], level: float, threshold: float) -> Ratio | None:
    bimodal = any(steadiness.two_speeds(side) for side in (a, b))
    return statistics.unpaired_ratio(a, b, level, statistics.BIMODAL_CONFIDENCE if bimodal else level, threshold)


def _pair(a: CellRow, b: CellRow, ratio: Ratio | None, marks: dict[Kind, list[str]]) -> Pair:
    across = []
    if a.precision != b.precision:
        across.append(f"precision {a.precision} → {b.precision}")
    elif "precisions" in marks:
        across.append(f"measured {_classes(a)} → {_classes(b)}")
    if "workloads" in marks:
        across.append("workload changed")
    if a.device != b.device:
        across.append(f"device {a.device} → {b.device}")
    return Pair(
        workload=a.workload,
        variant=a.variant,
        batch=a.batch,
        mode=a.mode,
        framework=a.framework,
        execution=a.execution,
        era=a.era,
        unit=a.unit,
        a=_side(a),
        b=_side(b),
        ratio=ratio.value if ratio else None,
        ratio_low=ratio.low if ratio else None,
        ratio_high=ratio.high if ratio else None,
        ratio_error=ratio.error if ratio else None,
        ratio_freedom=ratio.freedom if ratio else None,
        ratio_rounds=ratio.rounds if ratio else None,
        verdict=ratio.verdict if ratio else None,
        across=tuple(across),
    )


def _side(cell: CellRow) -> Side:
    return Side(**{field.name: getattr(cell, field.name) for field in dataclasses.fields(Side)})


def _means(pairs: Sequence[Pair], ratios: Sequence[Ratio | None], level: float, threshold: float) -> Iterable[MeanOfPairs]:
    groups: dict[tuple[str, str, Column], list[Ratio | None]] = {}
    for pair, ratio in zip(pairs, ratios, strict=True):
        groups.setdefault((pair.mode, pair.a.precision, pair.column), []).append(ratio)
    for (mode, precision, column), some in groups.items():
        mean = statistics.geometric_mean(some, level, threshold)
        if mean.value is not None and mean.finished > 1:
            yield MeanOfPairs(
                mode=mode,
                precision=precision,
                **column._asdict(),
                ratio=mean.value,
                ratio_low=mean.low,
                ratio_high=mean.high,
                verdict=mean.verdict,
                finished=mean.finished,
                of=mean.of,
            )


def _source(run: Run, whole: Report, matched: Sequence[CellRow]) -> Source:
    """The report with the problems and notes of the cells that are compared, numbered anew."""
    ids = {cell.cell for cell in matched}
    problems = [
        dataclasses.replace(problem, rounds={cell: rounds for cell, rounds in problem.rounds.items() if cell in ids})
        for problem in whole.problems
        if ids & problem.rounds.keys()
    ]
    notes = [
        dataclasses.replace(note, cells=tuple(cell for cell in note.cells if cell in ids)) for note in whole.notes if ids & set(note.cells)
    ]
    numbered = tuple(dataclasses.replace(problem, number=number) for number, problem in enumerate(problems, start=1))
    cut = dataclasses.replace(whole, problems=numbered, notes=tuple(notes))
    return Source(name=run.name, report=cut, alone=tuple(cell.cell for cell in whole.cells() if cell.cell not in ids))
