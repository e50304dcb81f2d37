"""What a file of published figures says: a source, the machines that it names, and its figures. Frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Number: TypeAlias = "int | float | bool"
Basis = Literal["published", "derived", "read_off", "picture", "secondhand"]

BASES: tuple[Basis, ...] = ("published", "derived", "read_off", "picture", "secondhand")


@dataclass(frozen=True)
class Machine:
    """A machine as the source calls it (``title``) and as the system would: ``chip`` is the processor as macOS names it, or its model
    name, ``gpu`` a graphics card apart from it. None is what the source does not say."""

    name: str
    title: str
    chip: str | None = None
    gpu: str | None = None
    cpu_cores: int | None = None
    gpu_cores: int | None = None
    memory_gb: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A published number: ``low`` and ``high`` differ where the source gives a range, ``digit`` is one of its last printed digit, and
    ``at_least`` says that it is a lower bound."""

    low: float
    high: float
    digit: float
    text: str
    at_least: bool = False


@dataclass(frozen=True)
class Target:
    """One of several workloads over which a figure is the highest."""

    workload: str
    batch: int | None
    parameters: Mapping[str, Number]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One published figure and what it belongs to.

    ``of`` is what was measured in the source's own words, ``workload`` that of the library which is the same network, None if none is;
    ``best_of`` and ``sweep`` stand instead where the figure is the highest over several workloads, or over a range of a parameter's
    values. A time is that of ``steps`` steps or of ``samples`` samples. ``against`` is what a ratio divides by: another ``device`` of the
    same machine, or another ``machine``. ``figure`` is None where there is none, and ``missing`` says why. ``differences`` holds, by the
    codes of :data:`runner.claims.differences.DIFFERENCES`, how its protocol differs from ours, the source's own included.
    """

    source: str
    row: int
    machine: Machine
    of: str
    workload: str | None
    parameters: Mapping[str, Number]
    best_of: tuple[Target, ...]
    sweep: Mapping[str, tuple[float, float]]
    input: str
    mode: Literal["train", "infer"]
    batch: int | None
    framework: str
    device: str
    backend: str
    execution: str
    versions: Mapping[str, str]
    precision: str
    metric: str
    figure: Figure | None
    unit: str
    steps: float | None
    samples: float | None
    against_device: str
    against_machine: Machine | None
    basis: Basis
    derived_from: str
    missing: str
    note: str
    differences: Mapping[str, str]

    @property
    def workloads(self) -> tuple[str, ...]:
        """All workloads of the library that the figure is about."""
        return tuple(target.workload for target in self.best_of) or ((self.workload,) if self.workload else ())


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file: where its figures were published, when, how they were made, and the figures in the source's order.

    ``protocol`` holds texts by the keys of :class:`runner.claims.schema.ProtocolModel`.
    """

    name: str
    title: str
    urls: tuple[str, ...]
    date: str
    caveat: str
    software: str
    system: str
    machines: Mapping[str, Machine]
    protocol: Mapping[str, str]
    differences: Mapping[str, str]
    quotes: tuple[str, ...]
    only_in_pictures: tuple[str, ...]
    related: tuple[str, ...]
    claims: tuple[Claim, ...]
    path: Path
