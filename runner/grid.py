"""Tables of texts, the same from every command; markdown ones as narrow as they can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def grid(headers: Sequence[str], rows: Sequence[Sequence[str]], sides: Sequence[str] | None = None) -> str:
    """A table of texts; ``sides`` aligns its columns, ``left`` where nothing is said."""
    import tabulate

    tabulate.MIN_PADDING = 0  # a table must fit into a terminal, and headers are its widest texts
    return tabulate.tabulate(
        rows, headers=list(headers), tablefmt="pipe", colalign=tuple(sides or ["left"] * len(headers)), disable_numparse=True
    )


def table(rows: Sequence[Mapping[str, str]], format: str) -> str:
    """Rows with the same keys as markdown, JSON or CSV."""
    if format == "json":
        import json

        return json.dumps(rows, indent=2)
    if format == "csv":
        import csv
        import io

        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().rstrip("\n")
    return grid(list(rows[0]), [list(row.values()) for row in rows])
