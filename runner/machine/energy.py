"""What a machine tells of the energy that it takes, without root. Meters count up; whoever reads one twice knows what lay between."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner.machine import nvidia

SECONDS = 2.0  # that a region must last at least: meters of GPUs are renewed some ten times a second

# What Apple's chips count, in millijoules, by the names of zeus-apple-silicon, and in which devices' energy it belongs.
APPLE = {"cpu": "cpu_total_mj", "gpu": "gpu_mj", "dram": "dram_mj"}


def read(device: str) -> dict[str, float]:
    """Joules by meter, as far as they concern a device: that of an NVIDIA card for ``cuda``, of processor, GPU and memory on a Mac, of the
    processor's packages where Linux lets a user read RAPL. Empty where nothing is told."""
    found: dict[str, float | None] = {}
    if device == "cuda":
        found["gpu"] = nvidia.joules()
    if sys.platform == "darwin":
        found |= _apple()
    elif device == "cpu":
        found |= _rapl()
    return {name: joules for name, joules in found.items() if joules is not None}


def between(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Joules taken by meter. A meter that stood still tells nothing, one that ran backwards went round: both are left out."""
    return {name: after[name] - before[name] for name in before if name in after and after[name] > before[name]}


def _rapl() -> dict[str, float | None]:
    """Packages by the kernel's powercap interface, which most systems let only root read (CVE-2020-8694)."""
    found: dict[str, float | None] = {}
    for zone in sorted(Path("/sys/class/powercap").glob("intel-rapl:[0-9]*")):
        if zone.name.count(":") == 1:
            with contextlib.suppress(OSError, ValueError):
                name = (zone / "name").read_text(encoding="ascii").strip()
                found[name] = int((zone / "energy_uj").read_text(encoding="ascii")) / 1e6
    return found


def _apple() -> dict[str, float | None]:
    monitor = _apple_monitor()
    if monitor is None:
        return {}
    with contextlib.suppress(Exception):  # the library is not ours, and a sensor that is mum must not end a run
        counted = monitor.get_cumulative_energy()
        values = {name: getattr(counted, field, None) for name, field in APPLE.items()}
        return {name: None if value is None else value / 1000 for name, value in values.items()}
    return {}


@functools.cache
def _apple_monitor() -> Any:
    with contextlib.suppress(Exception):
        from zeus_apple_silicon import AppleEnergyMonitor

        return AppleEnergyMonitor()
    return None
