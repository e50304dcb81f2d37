"""How fast a device can be at most, generously: what is faster has not been computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from runner.records import Machine

# The fastest matrix units of any core and card on sale, rounded up: a bound for what has no entry in the table of chips.
CORE_OPERATIONS = 4e12
CARD_OPERATIONS = 5e15
HALF_PRECISION = 2.0  # an Apple GPU does twice as many half-precision as float32 operations, at most
MARGIN = 1.5  # published peaks are at usual clocks


def operations_per_second(device: str, machine: Machine) -> float:
    """A bound that no honest measurement passes on this device of this machine."""
    if device == "cpu":
        return CORE_OPERATIONS * machine.cores
    if device in ("mps", "metal"):
        peak = apple_tflops(machine.chip)
        if peak is not None:
            return peak * 1e12 * HALF_PRECISION * MARGIN
    return CARD_OPERATIONS


def published_peak(device: str, precision: str, chip: str) -> float | None:
    """Published float32 peak of the GPU in operations a second, as far as the table of chips has it; None for other precisions, whose peaks
    Apple's GPUs share with float32 or double, and nobody has published which."""
    peak = apple_tflops(chip) if device in ("mps", "metal") and precision == "float32" else None
    return None if peak is None else peak * 1e12


def apple_tflops(chip: str) -> float | None:
    """Published float32 peak of the full part in TFLOP/s, by the chip's name as macOS gives it (``Apple M1 Max``)."""
    entry = _chips().get(chip.removeprefix("Apple ").strip(), {})
    return entry.get("fp32_tflops")


def _chips() -> dict[str, dict[str, Any]]:
    text = (Path(__file__).parent / "chips.yaml").read_text(encoding="utf-8")
    chips: dict[str, dict[str, Any]] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return chips
