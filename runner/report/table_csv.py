"""The report as CSV: a header and one line a cell, unrounded, with the keys of :class:`runner.report.model.CellRow`."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from typing import Any

from runner.report.model import CellRow, Report
from runner.report.text import one_line

NAMES = tuple(each.name for each in dataclasses.fields(CellRow))


def render(report: Report) -> str:
    """RFC 4180 but for the line ends, which are plain newlines. What is missing is empty; other values than text are as in JSON."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(NAMES)
    writer.writerows([field(getattr(cell, name)) for name in NAMES] for cell in report.cells())
    return text.getvalue()


def field(value: Any) -> str:
    """A JSON value as one field; empty for none."""
    if value is None:
        return ""
    if isinstance(value, str):
        return one_line(value)
    return json.dumps(value, allow_nan=False)
