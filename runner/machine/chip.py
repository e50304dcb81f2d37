"""The machine in a few words that stay the same from day to day, without its name or its user's."""

from __future__ import annotations

import functools
import os
import platform
import sys
from pathlib import Path

from runner.machine.commands import ask
from runner.records import Machine


@functools.cache
def describe() -> Machine:
    """The machine that this runs on."""
    import psutil

    mac = sys.platform == "darwin"
    return Machine(
        chip=(_mac_chip() if mac else _linux_chip()) or platform.processor() or platform.machine(),
        cores=os.cpu_count() or 1,
        memory=psutil.virtual_memory().total,
        system=_mac_system() if mac else f"{platform.system()} {platform.release()}",
        architecture=platform.machine(),
        python=platform.python_version(),
        gpu=_mac_gpu() if mac else _nvidia_gpu(),
        translated=mac and ask(["sysctl", "-n", "sysctl.proc_translated"]) == "1",
    )


def _mac_chip() -> str | None:
    return ask(["sysctl", "-n", "machdep.cpu.brand_string"])


def _mac_system() -> str:
    # The build counts: GPU kernels ship with the system and change between builds of one version.
    version, build = ask(["sw_vers", "-productVersion"]), ask(["sw_vers", "-buildVersion"])
    return f"macOS {version or platform.mac_ver()[0]}" + (f" ({build})" if build else "")


def _mac_gpu() -> str | None:
    cores = ask(["sh", "-c", "ioreg -rc AGXAccelerator -d 1 | sed -n 's/.*\"gpu-core-count\" = //p'"])
    chip = _mac_chip()
    return f"{chip}, {cores} GPU cores" if chip and cores and cores.isdigit() else None


def _linux_chip() -> str | None:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return next((" ".join(line.partition(":")[2].split()) for line in text.splitlines() if line.startswith("model name")), None)


def _nvidia_gpu() -> str | None:
    names = ask(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"])
    return ", ".join(names.splitlines()) if names else None
