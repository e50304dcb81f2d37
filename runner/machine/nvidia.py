"""The state of an NVIDIA GPU, through NVML: read only, without root, and without touching CUDA."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

Value = TypeVar("Value")

# Reasons for which NVML says that clocks are held down and that change a speed; idling and a user's own setting are none.
# https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
REASONS = {
    0x0000000000000004: "power cap",
    0x0000000000000008: "hardware slowdown",
    0x0000000000000020: "thermal slowdown by the driver",
    0x0000000000000040: "thermal slowdown by the hardware",
    0x0000000000000080: "power brake",
}


@dataclass(frozen=True)
class Sample:
    """One look: clock of the multiprocessors and its highest, in MHz; degrees Celsius; why clocks are held down; None where NVML is mum."""

    clock: int | None
    clock_highest: int | None
    temperature: int | None
    held_down: tuple[str, ...]


def sample() -> Sample | None:
    """The state of the GPU that children use, or None where there is none."""
    gpu = _gpu()
    if gpu is None:
        return None
    nvml, handle = gpu
    reasons = _told(lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)) or 0
    return Sample(
        _told(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
        _told(lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM)),
        _told(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
        tuple(word for bit, word in REASONS.items() if reasons & bit),
    )


def joules() -> float | None:
    """Energy that the GPU has taken since its driver was loaded (Volta and later), or None."""
    gpu = _gpu()
    if gpu is None:
        return None
    nvml, handle = gpu
    taken = _told(lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle))
    return None if taken is None else float(taken) / 1000


def _told(ask: Callable[[], Value]) -> Value | None:
    """What a function of NVML answers; many cards and containers lack some."""
    try:
        return ask()
    except Exception:  # NVMLError is made at run time, and a library of another version may lack the function itself
        return None


@functools.cache
def _gpu() -> tuple[Any, Any] | None:
    """NVML and the handle of the first GPU that CUDA shows to a child, by its place on the bus as ``CUDA_DEVICE_ORDER`` has it there."""
    with contextlib.suppress(Exception):
        import pynvml

        pynvml.nvmlInit()
        first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
        if first.isdigit():
            return pynvml, pynvml.nvmlDeviceGetHandleByIndex(int(first))
        if first.startswith("GPU-"):
            return pynvml, pynvml.nvmlDeviceGetHandleByUUID(first)
    return None
