"""Two runs beside each other: the same cells, how their speeds compare, and what else differs between the runs. Pure functions."""

from __future__ import annotations

from runner.compare.model import Comparison


def render(comparison: Comparison, format: str) -> str:
    """A comparison in one of :data:`runner.report.FORMATS`, ending in a newline."""
    from runner.compare import markdown, tables

    return {"markdown": markdown.render, "json": tables.as_json, "csv": tables.as_csv}[format](comparison)
