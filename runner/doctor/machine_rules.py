"""Rules about the machine: processor, system, Python's architecture, and what a run needs of both."""

from __future__ import annotations

from collections.abc import Iterator

from runner.doctor.finding import Finding
from runner.doctor.setup import Setup

MPS_SINCE = (12, 3)
BFLOAT16_SINCE = (14,)
OLDEST_PYTHON = (3, 10)
ROOM_TO_RUN = 2**29  # bytes on disk below which a run would fail
ROOM = 5 * 2**30  # and below which it may: Inductor, XLA and swap write meanwhile
MEMORY_LEFT = 2 * 2**30
ARM_PYTHON = "install a native one: `uv python install 3.12`, python.org's universal2 installer, or conda-forge for osx-arm64"


def rosetta(setup: Setup) -> Iterator[Finding]:
    """An x86 Python on Apple silicon: this one, or a framework's."""
    if setup.machine.translated:
        yield Finding(
            "error",
            "rosetta",
            "this Python is an x86 program under Rosetta",
            f"it was built for x86_64 and the machine is an {setup.machine.chip}: speeds are those of an emulation, and no GPU is seen",
            f"{ARM_PYTHON}, and make a new environment with it",
        )
    for name, python in setup.interpreters.items():
        if setup.apple_silicon and not setup.machine.translated and python.machine == "x86_64":
            yield Finding(
                "error",
                "rosetta",
                f"the Python of {name} is an x86 program, which Rosetta would run",
                f"{python.path} was built for x86_64 and the machine is an {setup.machine.chip}",
                f"{ARM_PYTHON}, and name it with --python {name}=PATH",
            )


def pythons(setup: Setup) -> Iterator[Finding]:
    """Interpreters that do not answer, or are too old."""
    for name, python in setup.interpreters.items():
        if python.failure:
            yield Finding(
                "error",
                "python_broken",
                f"the Python of {name} does not answer: {python.failure}",
                f"{python.path} is not a working interpreter",
                f"name another with --python {name}=PATH, or make its environment anew",
            )
        elif python.version[:2] < OLDEST_PYTHON:
            yield Finding(
                "error",
                "python_old",
                f"the Python of {name} is {_dotted(python.version)}",
                "adapters need Python 3.10 or later",
                "make an environment with Python 3.10 to 3.12",
            )


def system(setup: Setup) -> Iterator[Finding]:
    """The version of macOS, Intel Macs, virtual machines."""
    if setup.platform != "darwin":
        return
    version = setup.system_version
    if not setup.apple_silicon:
        yield Finding(
            "warning",
            "intel_mac",
            "this is a Mac with an Intel processor",
            "PyTorch 2.2.2 and TensorFlow 2.16.2 are the last with wheels for it, and headtohead's pins are newer",
            "install torch==2.2.2 and tensorflow==2.16.2 with numpy<2 for rows of the CPU",
        )
    if version is None:
        yield Finding(
            "note",
            "macos_unknown",
            "the version of macOS is not known",
            "neither sw_vers nor Python told it",
            "see whether sw_vers works in a terminal",
        )
    elif setup.apple_silicon and version < MPS_SINCE:
        yield Finding(
            "warning",
            "macos_old",
            f"macOS is {_dotted(version)}",
            "MPS and the Metal plug-in need macOS 12.3 or later",
            "update macOS, or measure the CPU with --device cpu",
        )
    elif setup.apple_silicon and version < BFLOAT16_SINCE:
        yield Finding(
            "note",
            "macos_bfloat16",
            f"macOS is {_dotted(version)}",
            "MPS computes in bfloat16 from macOS 14 on, and newer wheels of PyTorch need that version",
            "leave bfloat16 out, or update macOS",
        )
    if setup.virtual:
        yield Finding(
            "warning",
            "virtual_machine",
            "macOS runs in a virtual machine",
            "its GPU is a paravirtual one, which frameworks may list and then fail on, and its speeds are those of the host",
            "use its results as a test of correctness alone",
        )


def state(setup: Setup) -> Iterator[Finding]:
    """Power, heat, memory and load: whatever slows a machine for a time."""
    now = setup.conditions
    if now.get("power") == "battery":
        yield Finding("warning", "on_battery", "the Mac runs on battery", "macOS saves power then", "connect it to mains")
    if now.get("low_power"):
        yield Finding(
            "warning",
            "low_power",
            "Low Power Mode is on",
            "it takes a third or more of the speed away",
            "System Settings, Battery (or Energy): Low Power Mode, never",
        )
    if now.get("thermal") in ("serious", "critical"):
        yield Finding(
            "warning",
            "hot",
            f"the machine is hot: thermal state {now['thermal']}",
            "macOS holds the processors back",
            "wait until it has cooled, and lift the machine off soft ground",
        )
    limit = now.get("cpu_speed_limit")
    if limit is not None and limit < 100:
        yield Finding(
            "warning", "speed_limit", f"the processor may run at {limit} % of its speed", "macOS holds it back for its heat", "let it cool"
        )
    if now.get("memory_pressure") in ("warning", "critical"):
        yield Finding(
            "warning",
            "memory_pressure",
            f"the kernel says of its memory: {now['memory_pressure']}",
            "other programs hold most of it, and what is measured would be swapped",
            "close browsers and whatever else is large",
        )
    available = now.get("memory_available")
    if available is not None and available < MEMORY_LEFT:
        yield Finding(
            "warning",
            "memory_low",
            f"{available / 2**30:.1f} GiB of memory are free",
            "a framework alone takes one, and rivals are held in memory side by side",
            "close other programs, or use --alone and smaller batches",
        )
    load = now.get("load")
    if load is not None and load > max(1.0, 0.5 * setup.machine.cores):
        yield Finding(
            "warning",
            "busy",
            f"{load:.1f} processes want to run, on {setup.machine.cores} cores",
            "something else computes here",
            "wait until it has ended; the process list says what it is",
        )
    if (now.get("nice") or 0) > 0:
        yield Finding(
            "warning",
            "nice",
            f"this process runs at a lowered priority (nice {now['nice']})",
            "children inherit it, and macOS keeps such processes on its slow cores",
            "start h2h without nice, and not as a background job",
        )


def room(setup: Setup) -> Iterator[Finding]:
    """Folders to write to."""
    for place in setup.places:
        if not place.writable:
            yield Finding(
                "error",
                "not_writable",
                f"the folder for {place.what}, {place.path}, cannot be written",
                "its permissions, or the disk is read-only or full",
                "start h2h in a folder of your own, or name one with --into" if place.what == "results" else "set TMPDIR to another folder",
            )
        elif place.free is not None and place.free < ROOM:
            yield Finding(
                "error" if place.free < ROOM_TO_RUN else "warning",
                "disk_full",
                f"{place.free / 2**30:.1f} GiB are free for {place.what}",
                "compilers and swap write several gigabytes while a run goes on",
                "make room on the disk",
            )


def programs(setup: Setup) -> Iterator[Finding]:
    """Programs of macOS that are not there."""
    if "caffeinate" in setup.missing:
        yield Finding(
            "warning",
            "no_caffeinate",
            "caffeinate is missing",
            "without it the Mac may fall asleep during a run, and blocks that were slept through are measured again",
            "keep it awake: System Settings, or PATH with /usr/bin in it",
        )
    others = [name for name in setup.missing if name != "caffeinate"]
    if others:
        yield Finding(
            "note",
            "programs_missing",
            f"{', '.join(others)} cannot be found",
            "they belong to macOS, in /usr/bin and /usr/sbin; what they tell is missing in results",
            "see whether they work in a terminal",
        )


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


RULES = (rosetta, pythons, system, state, room, programs)
