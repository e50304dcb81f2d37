"""The state of the machine that changes a number and not the plan: read between rounds, cheaply and without root."""

from __future__ import annotations

import os

import psutil


def now() -> dict[str, float | int | None]:
    """``load``: processes wanting to run, one-minute average; ``memory_available`` and ``swap_used`` in bytes; ``nice`` of this process."""
    return {
        "load": round(os.getloadavg()[0], 2),
        "memory_available": psutil.virtual_memory().available,
        "swap_used": psutil.swap_memory().used,
        "nice": os.nice(0),
    }
