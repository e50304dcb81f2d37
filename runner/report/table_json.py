"""The report as JSON: one object, unrounded, with flat cells whose keys are those of :class:`runner.report.rows.CellRow`."""

from __future__ import annotations

import json

from frameworks.contract import to_json
from runner.report.rows import Report

SCHEMA = 1


def render(report: Report) -> str:
    """Strict JSON, indented, ending in a newline."""
    header = report.header
    data = {
        "schema": SCHEMA,
        "headtohead": header.headtohead,
        "started": header.started,
        "complete": report.complete,
        "command": header.command,
        "seed": header.seed,
        "settings": header.settings,
        "machine": header.machine,
        "frameworks": header.frameworks,
        "environment": header.environment,
        "cells": report.cells(),
        "means": [
            {
                "mode": mean.mode,
                "precision": mean.precision,
                **mean.column._asdict(),
                **{f"to_{name}": value for name, value in mean.ratio_to._asdict().items()},
                "ratio": mean.ratio,
                "finished": mean.finished,
                "of": mean.of,
            }
            for table in report.tables
            for mean in table.means
        ],
        "problems": report.problems,
        "notes": report.notes,
    }
    return json.dumps(to_json(data), allow_nan=False, indent=2) + "\n"
