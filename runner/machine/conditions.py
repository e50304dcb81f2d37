"""The state of the machine that changes a number and not the plan: read between rounds, cheaply and without root."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil

from runner.machine import mac

LOADED = 0.2  # the share of all processors that others may use before a machine counts as loaded


def now() -> dict[str, Any]:
    """What can be read at once. Keys with nothing to say are left out.

    ``load``: processes wanting to run, one-minute average; ``memory_available`` and ``swap_used`` in bytes; ``memory_pressure``: per cent
    of the last ten seconds in which some process waited for memory (Linux); ``nice`` of this process; ``clock``: of the processor, in MHz;
    ``throttled``: how often its cores were slowed for heat since the system started; ``power``: ``ac`` or ``battery``; on a Mac
    also :func:`runner.machine.mac.conditions`.
    """
    found: dict[str, Any] = {
        "load": round(os.getloadavg()[0], 2),
        "memory_available": psutil.virtual_memory().available,
        "swap_used": psutil.swap_memory().used,
        "memory_pressure": _memory_pressure(),
        "nice": os.nice(0),
        "clock": _clock(),
        "throttled": _throttled(),
        "power": _power(),
        **(mac.conditions() if sys.platform == "darwin" else {}),
    }
    return {name: value for name, value in found.items() if value is not None}


def against_measuring(seconds: float = 1.0) -> list[str]:
    """Why this is no time to measure, in words; looks at the machine for so long. Nothing where all is well."""
    state = now()
    cores = psutil.cpu_count() or 1
    busy = psutil.cpu_percent(interval=seconds) / 100
    found = []
    if busy > LOADED:
        found.append(f"other processes use {busy:.0%} of the processors")
    elif state["load"] > cores:
        found.append(f"the load average is {state['load']} on {cores} processors")
    if state.get("power") == "battery":
        found.append("the machine runs on battery")
    if state.get("low_power"):
        found.append("low-power mode is on")
    if state.get("thermal", "nominal") != "nominal":
        found.append(f"the system reports thermal pressure ({state['thermal']})")
    return found


class Others:
    """How much of the processors processes that are none of ours use, from its making on."""

    def __init__(self, ours: Iterable[int]) -> None:
        self._ours = [os.getpid(), *ours]
        self._began = self._read()

    def used(self) -> dict[str, float]:
        """``others``: processors in use by others on average, ``stolen``: processors that the host of a virtual machine kept. Nothing
        where less than half a second has passed, since processor time is counted in hundredths."""
        wall, busy, stolen, own = (now - before for now, before in zip(self._read(), self._began, strict=True))
        if wall < 0.5:
            return {}
        return {"others": round(max(0.0, busy - own) / wall, 3), "stolen": round(stolen / wall, 3)}

    def _read(self) -> tuple[float, float, float, float]:
        times = psutil.cpu_times()
        busy = sum(getattr(times, name, 0.0) for name in ("user", "nice", "system", "irq", "softirq"))
        return time.monotonic(), busy, getattr(times, "steal", 0.0), sum(_seconds(pid) for pid in self._ours)


def _seconds(pid: int) -> float:
    """Processor time of a process and of the children that it has now or has waited for."""
    used = 0.0
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for each in (process, *(process.children(recursive=True) if pid != os.getpid() else ())):
            with contextlib.suppress(psutil.Error):
                times = each.cpu_times()
                used += times.user + times.system
                if pid != os.getpid():
                    used += getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return used


def _memory_pressure() -> float | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        # some avg10=0.00 avg60=0.00 avg300=0.00 total=0
        return float(Path("/proc/pressure/memory").read_text(encoding="ascii").split()[1].partition("=")[2])
    return None


def _clock() -> int | None:
    with contextlib.suppress(Exception):  # psutil raises several kinds where a system does not tell
        frequency = psutil.cpu_freq()
        return round(frequency.current) if frequency and frequency.current else None
    return None


def _throttled() -> int | None:
    """Of all cores together, as the kernel of an Intel machine counts it."""
    counts = []
    with contextlib.suppress(OSError, ValueError):
        for file in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/thermal_throttle/core_throttle_count"):
            counts.append(int(file.read_text(encoding="ascii")))
    return sum(counts) if counts else None


def _power() -> str | None:
    with contextlib.suppress(Exception):
        battery = psutil.sensors_battery()
        return None if battery is None or battery.power_plugged is None else "ac" if battery.power_plugged else "battery"
    return None
