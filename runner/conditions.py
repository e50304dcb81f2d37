"""What the record of a round says of the machine's state meanwhile, as a report needs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Conditions:
    """None where the machine did not tell.

    ``canary``: seconds of the slower of the two before and after the round; ``rested`` seconds before it. ``others``, ``stolen``:
    processors that other processes and the host of a virtual machine used. ``throttled``: how often the processor was slowed for heat
    meanwhile; ``speed_limit``: per cent of its speed that an Intel Mac still allowed. ``swapped``: bytes by which swap grew;
    ``memory_pressure``: a word, or per cent of the time. ``clock`` of the GPU in MHz, the median, ``clock_highest`` what it can have;
    ``temperature`` in degrees Celsius; ``held_down``: why its clocks were.
    """

    load: float | None
    canary: float | None
    rested: float
    others: float | None
    stolen: float | None
    power: str | None
    low_power: bool
    thermal: str | None
    throttled: int | None
    speed_limit: int | None
    swapped: int | None
    memory_pressure: str | float | None
    clock: int | None
    clock_highest: int | None
    temperature: int | None
    held_down: tuple[str, ...]


def read(said: Mapping[str, Any]) -> Conditions:
    """From the ``conditions`` of a record; ``TypeError`` or ``AttributeError`` where they have another shape."""
    after = said.get("after") or {}
    gpu = said.get("gpu") or {}
    limit = _higher(said, after, "cpu_speed_limit", min)
    pressure = after.get("memory_pressure")
    if not isinstance(pressure, str) or pressure == "normal":
        before = said.get("memory_pressure")
        pressure = before if isinstance(before, str) else _higher(said, after, "memory_pressure", max)
    return Conditions(
        load=_number(said.get("load")),
        canary=_higher(said, after, "canary", max),
        rested=_number(said.get("rested")) or 0.0,
        others=_number(said.get("others")),
        stolen=_number(said.get("stolen")),
        power="battery" if after.get("power") == "battery" else said.get("power"),
        low_power=said.get("low_power") is True or after.get("low_power") is True,
        thermal=said.get("thermal") if after.get("thermal") in (None, "nominal") else after["thermal"],
        throttled=_grown(said, after, "throttled"),
        speed_limit=limit,
        swapped=_grown(said, after, "swap_used"),
        memory_pressure=pressure,
        clock=_number(gpu.get("clock")) if gpu else None,
        clock_highest=_number(gpu.get("clock_highest")) if gpu else None,
        temperature=_number(gpu.get("temperature")) if gpu else None,
        held_down=tuple(map(str, gpu.get("held_down", ()))) if gpu else (),
    )


def _number(value: Any) -> Any:
    return value if type(value) is float or type(value) is int else None


def _higher(before: Mapping[str, Any], after: Mapping[str, Any], name: str, choose: Any) -> Any:
    """Of the two values before and after the round, the one that ``choose`` takes; the only one where there is but one."""
    first, last = _number(before.get(name)), _number(after.get(name))
    return last if first is None else first if last is None else choose(first, last)


def _grown(before: Mapping[str, Any], after: Mapping[str, Any], name: str) -> int | None:
    first, last = _number(before.get(name)), _number(after.get(name))
    return None if first is None or last is None else max(0, last - first)
