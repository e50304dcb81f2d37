"""Runs of several machines, or of one at several times, in one table with a column for each. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from runner.runreader import Run


def render(runs: Sequence[Run], format: str, against: Sequence[str] = (), short: bool = False) -> str:
    """The joined report in one of :data:`runner.report.FORMATS`, ending in a newline; ``against`` and ``short`` are those
    of :func:`runner.report.render`. Raises :class:`runner.errors.UserError` where the runs cannot be joined."""
    from runner.join import markdown, tables
    from runner.join.joining import join

    writers = {"markdown": markdown.brief if short else markdown.render, "json": tables.as_json, "csv": tables.as_csv}
    return writers[format](join(runs, against))
