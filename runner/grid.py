"""Markdown tables as narrow as they can be, the same from every command."""

from __future__ import annotations

from collections.abc import Sequence


def grid(headers: Sequence[str], rows: Sequence[Sequence[str]], sides: Sequence[str] | None = None) -> str:
    """A table of texts; ``sides`` aligns its columns, ``left`` where nothing is said."""
    import tabulate

    tabulate.MIN_PADDING = 0  # a table must fit into a terminal, and headers are its widest texts
    return tabulate.tabulate(
        rows, headers=list(headers), tablefmt="pipe", colalign=tuple(sides or ["left"] * len(headers)), disable_numparse=True
    )
