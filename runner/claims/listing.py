"""All published figures as text: by source, and within it by machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runner.claims import flat, labels
from runner.claims.differences import DIFFERENCES
from runner.claims.labels import Field
from runner.claims.model import Claim, Source
from runner.report.text import escape

FIELDS: tuple[Field, ...] = (
    ("machine", "left", labels.machine),
    ("what", "left", lambda claim: escape(claim.of)),
    ("workload", "left", labels.workload),
    ("mode", "left", labels.mode),
    ("batch", "right", labels.batch),
    ("input", "left", lambda claim: escape(claim.input) or labels.ABSENT),
    ("framework", "left", labels.framework),
    ("versions", "left", lambda claim: escape(" ".join(map(" ".join, claim.versions.items()))) or labels.ABSENT),
    ("precision", "left", labels.precision),
    ("metric", "left", lambda claim: escape(claim.metric)),
    ("published", "right", labels.figure),
)


def render(sources: Sequence[Source], format: str) -> str:
    """The figures as markdown, JSON or CSV, ending in a newline."""
    writers = {"markdown": _markdown, "json": flat.list_json, "csv": flat.list_csv}
    return writers[format](sources)


def _markdown(sources: Sequence[Source]) -> str:
    claims = [claim for source in sources for claim in source.claims]
    parts = [f"## Published figures: {len(claims):,} of {len(sources)} source{'s' if len(sources) != 1 else ''}"]
    if marks := labels.legend(claims):
        parts.append(f"{marks}. `–` under workload: no workload of the library is that network.")
    for source in sources:
        parts += _source(source)
    return "\n\n".join(parts) + "\n"


def _source(source: Source) -> Iterable[str]:
    yield labels.heading(source)
    yield "\n".join(f"- {line}" for line in _conditions(source))
    shared, table = labels.table(_by_machine(source.claims), FIELDS, fixed=("machine", "published"))
    if shared:
        yield f"All rows: {shared}."
    yield table


def _by_machine(claims: Sequence[Claim]) -> list[Claim]:
    """The figures of one machine together, machines in the order in which they come."""
    order = {title: place for place, title in enumerate(dict.fromkeys(claim.machine.title for claim in claims))}
    return sorted(claims, key=lambda claim: order[claim.machine.title])


def _conditions(source: Source) -> Iterable[str]:
    """How the figures were made, one line each."""
    software = ", ".join(filter(None, (source.system, source.software)))
    if software:
        yield f"Software: {escape(software)}"
    names = {"warm_up": "warm-up"}
    said = [f"{names.get(key, key)}: {escape(text)}" for key, text in source.protocol.items() if text != "not stated"]
    unsaid = [names.get(key, key) for key, text in source.protocol.items() if text == "not stated"]
    yield "Protocol: " + "; ".join([*said, *([f"not stated: {', '.join(unsaid)}"] if unsaid else [])])
    told: dict[str, set[str]] = {}
    for claim in source.claims:
        for code, text in claim.differences.items():
            told.setdefault(code, set()).add(text)
    if told:
        differences = (f"{DIFFERENCES[code].short} ({escape('; '.join(sorted(texts)))})" for code, texts in told.items())
        yield "Differs from ours: " + ", ".join(differences)
    if source.caveat:
        yield f"Caveat: {escape(source.caveat)}"
    if source.only_in_pictures:
        yield f"Only in pictures: {escape('; '.join(source.only_in_pictures))}"
