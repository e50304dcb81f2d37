"""Published figures beside a run, as text: first those that can be compared, then the others by source, with why not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from runner.claims import flat, labels
from runner.claims.compare import Comparison, Comparisons
from runner.claims.differences import DIFFERENCES
from runner.claims.model import Source
from runner.claims.verdicts import TOLERANCE
from runner.grid import grid
from runner.report import numbers
from runner.report.markdown import date
from runner.report.text import escape

Field = tuple[str, str, Callable[[Comparison], str]]

_EXPLAINED = {difference.short for difference in DIFFERENCES.values()}


def render(found: Comparisons, format: str) -> str:
    """The comparisons as markdown, JSON or CSV, ending in a newline."""
    writers = {"markdown": _markdown, "json": flat.compared_json, "csv": flat.compared_csv}
    return writers[format](found)


def _markdown(found: Comparisons) -> str:
    machine = found.header.machine
    named = [machine.chip, machine.gpu or ""]
    chip = escape(", ".join(named[1:] if named[1].startswith(named[0]) else filter(None, named)))
    parts = [f"## Published figures beside the run of {date(found.header.started)} on {chip}", _summary(found)]
    good = [each for each in found.beside if each.verdict != "not comparable"]
    if good:
        parts += ["### Comparable", _legend(), _good(found, good), *_notes(good)]
    bad = [each for each in found.beside if each.verdict == "not comparable"]
    for source in found.sources:
        if of_source := [each for each in bad if each.claim.source == source.name]:
            parts += _bad(source, of_source)
    if marks := labels.legend(each.claim for each in found.beside):
        parts.append(f"{marks}.")
    return "\n\n".join(parts) + "\n"


def _summary(found: Comparisons) -> str:
    verdicts = [each.verdict for each in found.beside]
    words = ("reproduced", "faster now", "slower now", "not comparable")
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in words if word in verdicts)
    lines = [f"{len(verdicts):,} published figures have a cell of this run beside them" + (f": {counts}." if counts else ".")]
    if found.absent:
        others = ", ".join(f"{count:,} {why}" for why, count in found.absent.items())
        lines.append(f"{sum(found.absent.values()):,} have none: {others}; `h2h claims --list` shows all.")
    return " ".join(lines)


def _legend() -> str:
    return (
        "Now ÷ then: how many times as fast as published; of a speed-up, how many times as large. *Reproduced*: the measured interval "
        f"lies wholly within {numbers.percent(TOLERANCE)} of the figure as it was rounded; *faster* and *slower now*: wholly beyond."
    )


def _framework(each: Comparison) -> str:
    return f"{labels.framework(each.claim)} {labels.precision(each.claim)}"


_WHAT: tuple[Field, ...] = (
    ("machine", "left", lambda each: labels.machine(each.claim)),
    ("workload", "left", lambda each: labels.workload(each.claim)),
    ("mode", "left", lambda each: labels.mode(each.claim)),
    ("batch", "right", lambda each: labels.batch(each.claim)),
    ("framework", "left", _framework),
    ("published", "right", lambda each: labels.figure(each.claim)),
    ("here", "right", lambda each: labels.measured(each.claim, each.measured)),
)


def _good(found: Comparisons, comparisons: Sequence[Comparison]) -> str:
    fields: tuple[Field, ...] = (
        ("source", "left", lambda each: escape(each.claim.source)),
        *_WHAT,
        ("now ÷ then", "right", lambda each: labels.ratio(each.ratio)),
        ("versions", "left", lambda each: _versions(found, each)),
        ("verdict", "left", lambda each: each.verdict),
    )
    return _grid(comparisons, fields)


def _versions(found: Comparisons, each: Comparison) -> str:
    """``same``, or the versions then and now."""
    if each.versions != "other":
        return each.versions
    state = found.header.frameworks[each.claim.framework]
    then = " ".join(f"{name} {version}" for name, version in each.claim.versions.items())
    now = " ".join(version for name, version in state.versions.items() if name in each.claim.versions)
    return escape(f"{then}, now {now or 'another'}")


def _notes(comparisons: Sequence[Comparison]) -> Iterable[str]:
    """Differences that do not forbid a comparison, by source."""
    lines: dict[str, None] = {}
    for each in comparisons:
        for note in each.notes:
            lines[f"- {escape(each.claim.source)}, {note.short}: {escape(note.text)}"] = None
    if lines:
        yield "Differences that are smaller than the tolerance, or taken to be:\n\n" + "\n".join(lines)


def _bad(source: Source, comparisons: Sequence[Comparison]) -> Iterable[str]:
    order = {title: place for place, title in enumerate(dict.fromkeys(each.claim.machine.title for each in comparisons))}
    rows = sorted(comparisons, key=lambda each: order[each.claim.machine.title])
    yield f"{labels.heading(source)}; not comparable"
    fields: tuple[Field, ...] = (
        *_WHAT,
        ("versions", "left", lambda each: each.versions),
        ("not comparable", "left", lambda each: escape(each.said.partition(": ")[2])),
    )
    yield _grid(rows, fields)
    told: dict[str, dict[str, None]] = {}
    for each in rows:
        for reason in each.reasons:
            if reason.short in _EXPLAINED:
                told.setdefault(reason.short, {})[reason.text] = None
    if told:
        yield "\n".join(f"- {short}: {escape('; '.join(texts))}" for short, texts in told.items())


def _grid(comparisons: Sequence[Comparison], fields: Sequence[Field]) -> str:
    rows = [[text(each) for _, _, text in fields] for each in comparisons]
    return grid([header for header, _, _ in fields], rows, [side for _, side, _ in fields])
