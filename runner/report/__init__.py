"""From a run to what a person or a program reads: rows, then markdown, CSV or JSON. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from runner.runreader import Run

FORMATS = ("markdown", "csv", "json")


def render(run: Run, format: str, against: Sequence[str] = ()) -> str:
    """The report of a run in one of :data:`FORMATS`, ending in a newline, with ratios to what ``against`` names
    (:func:`runner.report.rows.report`). ``ValueError`` for another format."""
    from runner.report import markdown, table_csv, table_json
    from runner.report.rows import report

    writers = {"markdown": markdown.render, "csv": table_csv.render, "json": table_json.render}
    if format not in writers:
        raise ValueError(f"no report format is called {format!r}; there are {', '.join(FORMATS)}")
    return writers[format](report(run, against))
