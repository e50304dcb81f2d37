"""The report as JSON: one object, unrounded, with flat cells whose keys are those of :class:`runner.report.rows.CellRow`."""

from __future__ import annotations

import dataclasses
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
                **dataclasses.asdict(mean),
                "column": dict(mean.column._asdict()),
                "ratio_to": dict(mean.ratio_to._asdict()),
            }
            for table in report.tables
            for mean in table.means
        ],
        "problems": report.problems,
        "notes": report.notes,
    }
    return json.dumps(to_json(data), allow_nan=False, indent=2) + "\n"
