"""Numbers as text, the same way everywhere: three significant digits, thousands separators, one unit a column, ``n/a`` for none.

Never scientific notation: a table is read by eye, and digits before the point are compared by their length. Only a relative error has it,
of which the power of ten is all that matters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

MISSING = "n/a"
DIGITS = 3


@dataclass(frozen=True)
class Unit:
    """What a column is counted in; ``size`` is one of it in seconds, bytes, or operations a second."""

    name: str
    size: float

    def text(self, value: float | None) -> str:
        """A value as a number of this unit, without its name."""
        return significant(None if value is None else value / self.size)


SECONDS, MILLISECONDS = Unit("s", 1.0), Unit("ms", 1e-3)
GIGA, TERA = Unit("GFLOP/s", 1e9), Unit("TFLOP/s", 1e12)
MEBIBYTES, GIBIBYTES = Unit("MiB", 2.0**20), Unit("GiB", 2.0**30)


def time_unit(values: Iterable[float | None]) -> Unit:
    """Seconds, unless some of a column's values would then begin with ``0.0``."""
    return MILLISECONDS if any(value < 0.1 for value in values if value is not None) else SECONDS


def operations_unit(values: Iterable[float | None]) -> Unit:
    """TFLOP/s where some value of a column has one, otherwise GFLOP/s."""
    return TERA if any(value >= TERA.size for value in values if value is not None) else GIGA


def memory_unit(values: Iterable[float | None]) -> Unit:
    """GiB where each of a column's values has at least one, otherwise MiB."""
    known = [value for value in values if value is not None]
    return GIBIBYTES if known and min(known) >= GIBIBYTES.size else MEBIBYTES


def significant(value: float | None) -> str:
    """``12345.6`` as ``12,300``, ``0.01234`` as ``0.0123``."""
    if value is None or not math.isfinite(value):
        return MISSING
    rounded = f"{value:.{DIGITS - 1}e}"
    decimals = max(0, DIGITS - 1 - int(rounded.partition("e")[2])) if value else 0
    return f"{float(rounded):,.{decimals}f}"


def ratio(value: float | None) -> str:
    """Two decimals where they are enough (``0.80``, ``1.25``), three significant digits below 0.1 and from 10."""
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{value:.2f}" if 0.1 <= value < 9.995 else significant(value)


def percent(share: float) -> str:
    """``0.031`` as ``3 %``, and one decimal below one percent."""
    return f"{100 * share:,.0f} %" if share >= 0.00995 else f"{100 * share:.1f} %"


def share(value: float | None) -> str:
    """:func:`percent`, or ``n/a``."""
    return MISSING if value is None else percent(value)


def deviation(error: float | None) -> str:
    """A relative error: ``1.8e-07`` as ``2e-7``, and ``0`` where there is none."""
    if error is None:
        return MISSING
    digit, _, power = f"{error:.0e}".partition("e")
    return f"{digit}e{int(power)}" if error else "0"


def compared(steps: int | None, values: int | None) -> str:
    """What was held against a golden curve: ``5 steps``, or ``64 outputs`` of one."""
    if steps is None:
        return MISSING
    return f"{steps} step{'s' if steps != 1 else ''}" if steps == values else f"{values} outputs"


def memory_text(size: int) -> str:
    """Bytes with their unit: ``15.6 GiB``."""
    unit = memory_unit([size])
    return f"{unit.text(size)} {unit.name}"


def whole(value: int | None) -> str:
    """An exact count."""
    return MISSING if value is None else f"{value:,}"


def span(values: Iterable[float]) -> str:
    """``3`` where all values are three, ``3–7`` where they differ; whole numbers stay whole."""
    ordered = sorted(values)
    low, high = (f"{value:,}" if isinstance(value, int) else significant(value) for value in (ordered[0], ordered[-1]))
    return low if low == high else f"{low}–{high}"
