"""The machine in a few words that stay the same from day to day, without its name or its user's."""

from __future__ import annotations

import functools
import os
import platform
import sys
from pathlib import Path

from runner.machine import commands, mac
from runner.records import Machine


@functools.cache
def describe() -> Machine:
    """The machine that this runs on."""
    import psutil

    on_mac = sys.platform == "darwin"
    return Machine(
        chip=(mac.chip() if on_mac else _linux_chip()) or platform.processor() or platform.machine(),
        cores=os.cpu_count() or 1,
        memory=psutil.virtual_memory().total,
        system=mac.system() if on_mac else f"{platform.system()} {platform.release()}",
        architecture=platform.machine(),
        python=platform.python_version(),
        gpu=mac.gpu() if on_mac else nvidia_gpu(),
        translated=on_mac and mac.translated(),
    )


def _linux_chip() -> str | None:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return next((" ".join(line.partition(":")[2].split()) for line in text.splitlines() if line.startswith("model name")), None)


def nvidia_gpu() -> str | None:
    """The NVIDIA cards that the driver sees."""
    names = commands.ask(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"])
    return ", ".join(names.splitlines()) if names else None
