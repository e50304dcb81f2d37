"""The report as CSV: a header and one line a cell, unrounded, with the keys of :class:`runner.report.model.CellRow`."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from typing import Any

from runner.report.model import CellRow, Report
from runner.report.text import one_line

NAMES = tuple(field.name for field in dataclasses.fields(CellRow))


def render(report: Report) -> str:
    """RFC 4180 but for the line ends, which are plain newlines. What is missing is empty; other values than text are as in JSON."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(NAMES)
    writer.writerows([_field(getattr(cell, name)) for name in NAMES] for cell in report.cells())
    return text.getvalue()


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return one_line(value)
    return json.dumps(value, allow_nan=False)
