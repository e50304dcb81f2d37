"""Published figures in words, for tables: safe in markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from runner.claims.model import Basis, Claim, Source
from runner.claims.units import Interval
from runner.grid import grid
from runner.report import labels, numbers
from runner.report.text import escape

Field = tuple[str, str, Callable[[Claim], str]]  # header, alignment, text

MARKS: dict[Basis, tuple[str, str]] = {
    "derived": ("†", "derived from published figures"),
    "read_off": ("‡", "read off a picture by eye"),
    "secondhand": ("§", "told by another text than the one that measured"),
}
ABSENT = "–"


def figure(claim: Claim) -> str:
    """A published figure with its unit and mark: ``140 img/s``, ``3,360 s †``; or why there is none."""
    if claim.figure is None:
        return escape(claim.missing)
    low, high = claim.figure.low, claim.figure.high
    said = number(low) if low == high else f"{number(low)}–{number(high)}"
    mark = MARKS[claim.basis][0] if claim.basis in MARKS else ""
    return " ".join(filter(None, [f"{'> ' if claim.figure.at_least else ''}{said}", escape(claim.unit), mark]))


def number(value: float) -> str:
    """A published number as it was printed, but for more digits than anyone reads."""
    return f"{value:,.6f}".rstrip("0").rstrip(".") if 1e-4 <= abs(value) < 1 else f"{float(f'{value:.6g}'):,.10g}"


def measured(claim: Claim, value: Interval | None) -> str:
    """A measured figure in the claim's unit, with its interval as a share."""
    if value is None:
        return ABSENT
    around = ""
    if value.low is not None and value.high is not None and value.low > 0:
        around = f" ±{numbers.percent((value.high / value.low) ** 0.5 - 1)}"
    return f"{numbers.significant(value.value)}{around} {escape(claim.unit)}"


def ratio(value: Interval | None) -> str:
    """``1.21 [1.18, 1.24]``."""
    if value is None:
        return ABSENT
    interval = "" if value.low is None else f" [{numbers.ratio(value.low)}, {numbers.ratio(value.high)}]"
    return numbers.ratio(value.value) + interval


def framework(claim: Claim) -> str:
    """``pytorch mps eager``, ``tensorflow cpu graph``; with what a ratio is against."""
    device = claim.device if claim.device in ("cpu", "unknown") else claim.backend or claim.device
    said = " ".join(filter(None, [claim.framework, "" if device == "unknown" else device, claim.execution]))
    other = claim.against_device or (claim.against_machine.title if claim.against_machine else "")
    return escape(f"{said} ÷ {other}" if other else said)


def workload(claim: Claim) -> str:
    """The workload of the library with its parameters: ``bert-base sequence=128``."""
    if claim.best_of:
        return escape("best of " + ", ".join(claim.workloads))
    values = [f"{name}={value}" for name, value in claim.parameters.items()]
    values += [f"{name}={number(low)}–{number(high)}" for name, (low, high) in claim.sweep.items()]
    return escape(" ".join([claim.workload, *values])) if claim.workload else ABSENT


def batch(claim: Claim) -> str:
    if claim.best_of:
        return ", ".join(numbers.whole(target.batch) for target in claim.best_of)
    return ABSENT if claim.batch is None else numbers.whole(claim.batch)


def mode(claim: Claim) -> str:
    return labels.MODES[claim.mode]


def machine(claim: Claim) -> str:
    return escape(claim.machine.title)


def precision(claim: Claim) -> str:
    return escape("not stated" if claim.precision == "unknown" else claim.precision)


def legend(claims: Iterable[Claim]) -> str:
    """What the marks mean, as far as there are any."""
    used = dict.fromkeys(claim.basis for claim in claims if claim.basis in MARKS and claim.figure is not None)
    return "; ".join(f"{MARKS[basis][0]} {MARKS[basis][1]}" for basis in MARKS if basis in used)


def table(claims: Sequence[Claim], fields: Sequence[Field], fixed: Sequence[str] = ()) -> tuple[str, str]:
    """What all rows share, in words, and the table of the rest; columns named in ``fixed`` always stay."""
    texts = [[text(claim) for _, _, text in fields] for claim in claims]
    shared = [
        column
        for column, (header, _, _) in enumerate(fields)
        if header not in fixed and len({row[column] for row in texts}) == 1 and (len(texts) > 1 or texts[0][column] == ABSENT)
    ]
    said = [f"{fields[column][0]} {texts[0][column]}" for column in shared if texts[0][column] != ABSENT]
    kept = [column for column in range(len(fields)) if column not in shared]
    rows = [[row[column] for column in kept] for row in texts]
    return ", ".join(said), grid([fields[column][0] for column in kept], rows, [fields[column][1] for column in kept])


def heading(source: Source) -> str:
    """Where the figures of a source are from, with their date: a heading and a line."""
    return f"### {escape(source.title)} ({escape(source.name)})\n\n{' , '.join(source.urls).replace(' , ', ', ')}; {escape(source.date)}"
