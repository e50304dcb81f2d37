"""From a run to what a person or a program reads: rows, then markdown, CSV or JSON. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from runner.runreader import Run

FORMATS = ("markdown", "csv", "json")


def render(run: Run, format: str, against: Sequence[str] = (), short: bool = False) -> str:
    """The report of a run in one of :data:`FORMATS`, ending in a newline.

    Ratios are to what ``against`` names (:func:`runner.report.reference.references`); ``short`` leaves one table of the markdown.
    Raises ``ValueError`` for another format, :class:`runner.errors.UserError` where ``against`` names nothing that is in the run.
    """
    from runner.report import brief, markdown, reference, table_csv, table_json
    from runner.report.rows import report

    writers = {"markdown": brief.render if short else markdown.render, "csv": table_csv.render, "json": table_json.render}
    if format not in writers:
        raise ValueError(f"no report format is called {format!r}; there are {', '.join(FORMATS)}")
    made = report(run, against)
    reference.check(list(dict.fromkeys(cell.column for cell in made.cells())), against)
    return writers[format](made)
