"""Machines in words, and whether two descriptions are of the same one."""

from __future__ import annotations

from runner.records import Machine
from runner.report import numbers


def text(machine: Machine) -> str:
    """A machine in one line, without its system."""
    gpu = (machine.gpu or "").removeprefix(f"{machine.chip}, ")  # on a Mac the GPU is part of the chip
    facts = [machine.chip, f"{machine.cores} cores", gpu, f"{numbers.memory_text(machine.memory)} memory"]
    return ", ".join(filter(None, [*facts, "under Rosetta" if machine.translated else ""]))


def same(a: Machine, b: Machine) -> bool:
    """Whether two descriptions are of computers alike: all that does not change with the system's version. Memory counts to the GiB,
    since systems differ in how much of it they report."""

    def lasting(machine: Machine) -> tuple[object, ...]:
        memory = round(machine.memory / numbers.GIBIBYTES.size)
        return machine.chip, machine.cores, memory, machine.gpu, machine.architecture, machine.translated

    return lasting(a) == lasting(b)
