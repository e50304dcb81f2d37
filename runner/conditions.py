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
    after = said.get("after", {})
    gpu = said.get("gpu", {})
    canaries = [value for value in (_number(said, "canary"), _number(after, "canary")) if value is not None]
    pressures = [state.get("memory_pressure") for state in (said, after)]
    return Conditions(
        load=_number(said, "load"),
        canary=max(canaries, default=None),
        rested=_number(said, "rested") or 0.0,
        others=_number(said, "others"),
        stolen=_number(said, "stolen"),
        power="battery" if "battery" in (said.get("power"), after.get("power")) else said.get("power"),
        low_power=said.get("low_power") is True or after.get("low_power") is True,
        thermal=next((state["thermal"] for state in (after, said) if state.get("thermal") not in (None, "nominal")), said.get("thermal")),
        throttled=_grown(said, after, "throttled"),
        speed_limit=min((limit for state in (said, after) if (limit := _number(state, "cpu_speed_limit")) is not None), default=None),
        swapped=_grown(said, after, "swap_used"),
        memory_pressure=next((p for p in pressures if p in ("warning", "critical")), _highest(pressures)),
        clock=_number(gpu, "clock"),
        clock_highest=_number(gpu, "clock_highest"),
        temperature=_number(gpu, "temperature"),
        held_down=tuple(map(str, gpu.get("held_down", ()))),
    )


def _number(said: Mapping[str, Any], name: str) -> Any:
    value = said.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _grown(before: Mapping[str, Any], after: Mapping[str, Any], name: str) -> int | None:
    first, last = _number(before, name), _number(after, name)
    return None if first is None or last is None else max(0, last - first)


def _highest(values: list[Any]) -> float | None:
    return max((value for value in values if isinstance(value, int | float)), default=None)
