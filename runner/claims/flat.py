"""Published figures and comparisons as flat records, for CSV and JSON: unrounded, every key always there."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from runner.claims.compare import Comparison, Comparisons
from runner.claims.model import Claim, Source
from runner.report.text import one_line

SCHEMA = 1


def claim_record(claim: Claim, source: Source) -> dict[str, Any]:
    """A figure with its source and machine."""
    figure, machine = claim.figure, claim.machine
    return {
        "source": source.name,
        "row": claim.row,
        "url": source.urls[0],
        "date": source.date,
        "machine": machine.title,
        "chip": machine.chip,
        "gpu": machine.gpu,
        "cpu_cores": machine.cpu_cores,
        "gpu_cores": machine.gpu_cores,
        "memory_gb": machine.memory_gb,
        "of": claim.of,
        "workload": claim.workload,
        "parameters": dict(claim.parameters),
        "best_of": [{"workload": each.workload, "batch": each.batch, "parameters": dict(each.parameters)} for each in claim.best_of],
        "sweep": {name: list(ends) for name, ends in claim.sweep.items()},
        "input": claim.input or None,
        "mode": claim.mode,
        "batch": claim.batch,
        "framework": claim.framework,
        "device": claim.device,
        "backend": claim.backend or None,
        "execution": claim.execution or None,
        "precision": claim.precision,
        "versions": dict(claim.versions),
        "metric": claim.metric,
        "claimed": None if figure is None else figure.low,
        "claimed_to": None if figure is None or figure.high == figure.low else figure.high,
        "at_least": figure is not None and figure.at_least,
        "unit": claim.unit,
        "steps": claim.steps,
        "samples": claim.samples,
        "against_device": claim.against_device or None,
        "against_machine": claim.against_machine.title if claim.against_machine else None,
        "basis": claim.basis,
        "derived_from": claim.derived_from or None,
        "missing": claim.missing or None,
        "note": claim.note or None,
        "differences": dict(claim.differences),
    }


def comparison_record(found: Comparison, source: Source) -> dict[str, Any]:
    """A figure with what was measured beside it."""
    measured, ratio = found.measured, found.ratio
    return {
        **claim_record(found.claim, source),
        "cells": list(found.cells),
        "measured": measured.value if measured else None,
        "measured_low": measured.low if measured else None,
        "measured_high": measured.high if measured else None,
        "ratio": ratio.value if ratio else None,
        "ratio_low": ratio.low if ratio else None,
        "ratio_high": ratio.high if ratio else None,
        "chip_matches": found.chip,
        "versions_match": found.versions,
        "reasons": [f"{reason.short}: {reason.text}" for reason in found.reasons],
        "notes": [f"{note.short}: {note.text}" for note in found.notes],
        "verdict": found.verdict,
    }


def list_json(sources: Sequence[Source]) -> str:
    """Sources with their figures."""
    return _json({"schema": SCHEMA, "sources": [_source(source) for source in sources]})


def list_csv(sources: Sequence[Source]) -> str:
    return _csv([claim_record(claim, source) for source in sources for claim in source.claims])


def compared_json(found: Comparisons) -> str:
    """The comparisons, and how many figures have no cell beside them."""
    return _json(
        {"schema": SCHEMA, "started": found.header.started, "comparisons": compared_records(found), "without_a_cell": dict(found.absent)}
    )


def compared_csv(found: Comparisons) -> str:
    return _csv(compared_records(found))


def compared_records(found: Comparisons) -> list[dict[str, Any]]:
    sources = {source.name: source for source in found.sources}
    return [comparison_record(each, sources[each.claim.source]) for each in found.beside]


def _source(source: Source) -> dict[str, Any]:
    return {
        "name": source.name,
        "title": source.title,
        "urls": list(source.urls),
        "date": source.date,
        "caveat": source.caveat or None,
        "system": source.system or None,
        "software": source.software or None,
        "protocol": dict(source.protocol),
        "quotes": list(source.quotes),
        "only_in_pictures": list(source.only_in_pictures),
        "related": list(source.related),
        "claims": [claim_record(claim, source) for claim in source.claims],
    }


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, allow_nan=False, indent=2, ensure_ascii=False) + "\n"


def _csv(records: Sequence[Mapping[str, Any]]) -> str:
    """A header and one line a record; empty where there are none. Other values than text are as in JSON."""
    text = io.StringIO()
    if records:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(records[0])
        writer.writerows([_field(value) for value in record.values()] for record in records)
    return text.getvalue()


def _field(value: Any) -> str:
    if value is None:
        return ""
    return one_line(value) if isinstance(value, str) else json.dumps(value, allow_nan=False, ensure_ascii=False)
