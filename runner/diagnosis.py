"""What the death of a child means: a status, a reason in one sentence and a remedy, from its exit status and the end of its log."""

from __future__ import annotations

import platform
import re
import signal

from frameworks.contract import CellFailure, Status

# A dynamic library that misses a symbol or cannot be opened at all, by kind and not by the name of one symbol.
_PLUGIN = re.compile(r"(symbol not found|undefined symbol|Library not loaded|image not found|dlopen\(|cannot open shared object)", re.I)
_MEMORY = re.compile(r"(out of memory|OutOfMemory|Cannot allocate memory|std::bad_alloc|failed to allocate|RESOURCE_EXHAUSTED)", re.I)
_WATCHDOG = re.compile(r"(kIOGPUCommandBufferCallbackError\w*|Impacting Interactivity)", re.I)


def of_death(status: int, imported: bool, log: str) -> CellFailure:
    """Why a child ended without an answer. ``status`` is negative for the signal that ended it, as ``subprocess`` has it."""
    how = _how(status)
    line = _telling_line(log)
    if _WATCHDOG.search(log):
        return CellFailure("crashed", f"the system ended the GPU's work, which held up the display: {line}", "try a smaller batch")
    if _PLUGIN.search(log) and not imported:
        return CellFailure(
            "broken_import", f"a library of the framework does not load ({how}): {line}", "install versions that belong together"
        )
    if _MEMORY.search(log):
        return CellFailure("out_of_memory", f"the process ended for want of memory ({how}): {line}", "try a smaller batch")
    kind: Status = "crashed" if imported else "broken_import"
    where = "" if imported else " while the framework was imported"
    return CellFailure(kind, f"the process {how}{where}" + (f": {line}" if line else ""), _remedy(status))


def at_exit(status: int | None) -> str | None:
    """A note on a child that had delivered its result and then did not leave cleanly."""
    return None if status == 0 else f"after its result was delivered the process {_how(status)}"


def _how(status: int | None) -> str:
    if status is None:
        return "did not end by itself"
    if status < 0:
        return f"was ended by {_signal_name(-status)}"
    return f"ended with status {status}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _remedy(status: int) -> str:
    if status == -signal.SIGKILL:
        return "nobody here ended it: the system does so when memory runs out; try a smaller batch"
    if status == -signal.SIGILL:
        build = platform.machine()
        return f"the processor does not know an instruction of this {build} build: on a Mac, an x86 Python under Rosetta?"
    return "the cell's log has what it printed"


def _telling_line(log: str) -> str:
    """The last line that names an error, or the last one."""
    lines = [" ".join(line.split()) for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"error|fatal|abort|symbol|memory|dlopen|kIOGPU", line, re.I)]
    chosen = (telling or lines or [""])[-1]
    return chosen if len(chosen) <= 200 else chosen[:197] + "..."
