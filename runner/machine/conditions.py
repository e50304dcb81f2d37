"""The state of the machine that changes a number and not the plan: read between rounds, cheaply and without root."""

from __future__ import annotations

import os
import sys
from typing import Any

import psutil

from runner.machine import mac


def now() -> dict[str, Any]:
    """``load``: processes wanting to run, one-minute average; ``memory_available`` and ``swap_used`` in bytes; ``nice`` of this process;
    on a Mac also :func:`runner.machine.mac.conditions`."""
    return {
        **(mac.conditions() if sys.platform == "darwin" else {}),
        "load": round(os.getloadavg()[0], 2),
        "memory_available": psutil.virtual_memory().available,
        "swap_used": psutil.swap_memory().used,
        "nice": os.nice(0),
    }
