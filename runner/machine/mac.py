"""What macOS tells of a Mac, without root: every answer may be missing, late, or nonsense, and is then None and never a guess."""

from __future__ import annotations

import json
import platform
import re
import time
from typing import Any

from runner.machine import commands

QUICK = 2.0  # seconds for what is asked between rounds
PATIENT = 20.0  # and for system_profiler, which looks at the hardware itself

PRESSURE = {"1": "normal", "2": "warning", "4": "critical"}
"""Values of ``kern.memorystatus_vm_pressure_level``: the bits of xnu's ``kern_memorystatus.h``."""

HEAT_NAME = "com.apple.system.thermalpressurelevel"
HEAT = {"0": "nominal", "1": "fair", "2": "serious", "3": "critical", "4": "critical"}
"""Values of that notification (nominal, moderate, heavy, trapping, sleeping in the SDK's ``OSThermalNotification.h``), in the words of
``ProcessInfo.thermalState``."""

SOURCES = {"AC Power": "ac", "Battery Power": "battery", "UPS Power": "battery"}


# --- what changes from minute to minute -------------------------------------------------------------------------------------------


def conditions() -> dict[str, Any]:
    """What slows a Mac down: ``power`` (``ac``, ``battery``), ``low_power``, ``thermal`` (``nominal``, ``fair``, ``serious``,
    ``critical``), ``cpu_speed_limit`` (per cent; Intel Macs alone tell it), ``memory_pressure`` (``normal``, ``warning``, ``critical``).
    Each is None where nothing sensible was answered."""
    return {
        "power": power(),
        "low_power": low_power(),
        "thermal": thermal(),
        "cpu_speed_limit": cpu_speed_limit(),
        "memory_pressure": memory_pressure(),
    }


def power() -> str | None:
    """Where its power comes from: ``ac`` or ``battery``."""
    said = re.search(r"drawing from '([^'\n]*)'", _quick("pmset", "-g", "batt"))
    return SOURCES.get(said.group(1)) if said else None


def low_power() -> bool | None:
    """Whether Low Power Mode is on now. Macs with three modes call them ``powermode`` 0 (automatic), 1 (low) and 2 (high)."""
    said = re.search(r"^\s*(?:lowpowermode|powermode)\s+([0-2])\s*$", _quick("pmset", "-g"), re.M)
    return said.group(1) == "1" if said else None


def thermal() -> str | None:
    """How much the system holds the processor back for its heat. A virtual machine knows nothing of it, and would say that all is well."""
    name, _, level = _quick("notifyutil", "-g", HEAT_NAME).strip().rpartition(" ")
    heat = HEAT.get(level) if name.strip() == HEAT_NAME else None
    return None if heat is None or virtual() else heat


def cpu_speed_limit() -> int | None:
    """The share of its speed that the processor is allowed, in per cent."""
    said = re.search(r"\bCPU_Speed_Limit\s*=\s*(\d{1,3})\s*$", _quick("pmset", "-g", "therm"), re.M)
    limit = int(said.group(1)) if said else None
    return limit if limit is not None and 0 < limit <= 100 else None


def memory_pressure() -> str | None:
    """What the kernel says of its memory."""
    return PRESSURE.get(sysctl("kern.memorystatus_vm_pressure_level") or "")


# --- what stays -------------------------------------------------------------------------------------------------------------------


def chip() -> str | None:
    """``Apple M1 Pro``, ``Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz``. Under Rosetta the kernel names a processor that does not exist
    (``VirtualApple @ 2.50GHz``), and the system's profile is asked instead."""
    brand = sysctl("machdep.cpu.brand_string")
    if brand is not None and not brand.startswith("VirtualApple"):
        return brand
    return _profiled("SPHardwareDataType", "chip_type") or _profiled("SPHardwareDataType", "cpu_type")


def system() -> str:
    """``macOS 14.5 (23F79)``. The build counts: GPU kernels ship with the system and change between builds of one version."""
    build = _quick("sw_vers", "-buildVersion").strip()
    said = f" ({build})" if re.fullmatch(r"\w{3,12}", build) else ""
    return f"macOS {'.'.join(map(str, version() or ())) or 'of unknown version'}{said}"


def version() -> tuple[int, ...] | None:
    """The version of macOS as numbers."""
    for said in (_quick("sw_vers", "-productVersion").strip(), platform.mac_ver()[0]):
        if re.fullmatch(r"\d{1,3}(\.\d{1,4}){0,3}", said):
            return tuple(map(int, said.split(".")))
    return None


def gpu() -> str | None:
    """``Apple M1 Pro, 16 GPU cores``, or the models of the cards of an Intel Mac."""
    name, cores = chip(), gpu_cores()
    if name is not None and cores is not None and not name.startswith("Intel"):
        return f"{name}, {cores} GPU cores"
    models = [model for entry in profile("SPDisplaysDataType") if isinstance(model := entry.get("sppci_model"), str)]
    return ", ".join(dict.fromkeys(models)) or None


def gpu_cores() -> int | None:
    """Cores of an Apple GPU."""
    said = re.search(r'"gpu-core-count" = (\d{1,3})\s*$', _quick("ioreg", "-rc", "AGXAccelerator", "-d", "1"), re.M)
    return _count(said.group(1) if said else _profiled("SPDisplaysDataType", "sppci_cores"))


def cores() -> tuple[int | None, int | None]:
    """Performance and efficiency cores; None where the processor has but one kind, or does not tell."""
    fast, slow = (_count(sysctl(f"hw.perflevel{level}.physicalcpu")) for level in (0, 1))
    return fast, slow


def translated() -> bool:
    """Whether this Python is an x86 program under Rosetta. What it starts is translated as it is, so that a program can be asked."""
    if platform.machine() != "x86_64":
        return False
    return sysctl("sysctl.proc_translated") == "1" or (sysctl("machdep.cpu.brand_string") or "").startswith("VirtualApple")


def apple_silicon() -> bool:
    """Whether the machine is an Apple chip, whatever this Python was built for."""
    return platform.machine() == "arm64" or translated()


def virtual() -> bool:
    """Whether macOS runs in a virtual machine, as on hosted build machines."""
    return sysctl("kern.hv_vmm_present") == "1"


def identity() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of this Mac, and its serial number and hardware identifiers: what must be taken out of anything that is given away."""
    named = (_quick("scutil", "--get", name).strip() for name in ("ComputerName", "LocalHostName", "HostName"))
    registry = _quick("ioreg", "-rd1", "-c", "IOPlatformExpertDevice")
    numbers = re.findall(r'"(?:IOPlatformSerialNumber|IOPlatformUUID)" = "([^"]+)"', registry)
    return tuple(name for name in named if name), tuple(numbers)


# --- asking -----------------------------------------------------------------------------------------------------------------------


def sysctl(name: str) -> str | None:
    """The value of one kernel variable, in one line."""
    said = _quick("sysctl", "-n", name).strip()
    return said if said and "\n" not in said and said.isprintable() else None


def profile(kind: str) -> list[dict[str, Any]]:
    """The entries of one data type of ``system_profiler``; keys are the same in every language, ``mini`` leaves out serial numbers."""
    try:
        entries = json.loads(commands.ask(["system_profiler", "-json", "-detailLevel", "mini", kind], PATIENT) or "null")[kind]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _profiled(kind: str, key: str) -> str | None:
    return next((value for entry in profile(kind) if isinstance(value := entry.get(key), str) and value.isprintable()), None)


_hung: set[str] = set()  # programs that did not answer in time, which would cost as much again in every round


def _quick(*command: str) -> str:
    if command[0] in _hung:
        return ""
    began = time.monotonic()
    said = commands.ask(command, QUICK)
    if said is None and time.monotonic() - began >= QUICK:
        _hung.add(command[0])
    return said or ""


def _count(said: str | None) -> int | None:
    return int(said) if said is not None and re.fullmatch(r"[1-9][0-9]{0,3}", said) else None
