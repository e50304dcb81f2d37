"""The records of a run file: what one line of it says.

A run file is JSON Lines: a :class:`Header`, then :class:`Started` and :class:`Round` lines as the run goes on (:class:`Cells` when it is
taken up with other cells), and an :class:`End`.
``to_json`` gives the object of a line; ``from_json`` takes one, ignores keys that it does not know (a later headtohead may add some
without changing what the others mean) and raises ``ValueError`` for a key that is missing. Times are in seconds, memory in bytes.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

from frameworks import contract
from frameworks.contract import Status

SCHEMA = 1

T = TypeVar("T")


class Record:
    """One line of a run file; ``record`` is the word that it starts with."""

    record: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """The object of the line, of plain JSON values."""
        return {"record": self.record, **contract.to_json(self)}


@dataclass(frozen=True)
class Machine:
    """The computer, without anything that says whose it is. ``memory`` in bytes; ``gpu`` is None where none is found;
    ``translated``: an x86 Python on Apple silicon under Rosetta, whose speeds are those of an emulation."""

    chip: str
    cores: int
    memory: int
    system: str
    architecture: str
    python: str
    gpu: str | None = None
    translated: bool = False


@dataclass(frozen=True)
class FrameworkState:
    """What the probe of one framework found: its versions by package and its devices with their human names."""

    title: str
    status: Status
    reason: str = ""
    remedy: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    devices: Mapping[str, str] = field(default_factory=dict)

    @property
    def release(self) -> tuple[str, str]:
        """The framework's own package and version, which stand first but for the interpreter's; empty where nothing was found."""
        return next(((package, version) for package, version in self.versions.items() if package != "python"), ("", ""))


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One number of a table. Rivals share ``comparison``; ``computation`` is the digest of what is computed.

    ``parameters`` counts what training changes, ``not_trained`` running statistics, ``operations`` those of one sample's forward pass
    (of the call without a batch). ``era`` is empty where the cell is of the installed framework and no era was named.
    """

    id: str
    comparison: str
    workload: str
    variant: Mapping[str, Any]
    batch: int | None
    mode: Literal["train", "infer"]
    precision: str
    framework: str
    device: str
    execution: str
    unit: str
    computation: str
    parameters: int
    not_trained: int
    operations: int
    era: str = ""


@dataclass(frozen=True, kw_only=True)
class Header(Record):
    """The first line: all that was known before the first round. ``frameworks`` go by :func:`named`; ``environment`` holds the variables
    that differ from the default, of all children (``{"VARIABLE": "value"}``) or by framework (``{"pytorch": {"VARIABLE": "value"}}``);
    ``withheld`` names those of the user's that no child was given."""

    record: ClassVar[str] = "header"

    schema: int = SCHEMA
    headtohead: str
    started: str
    command: tuple[str, ...]
    seed: int
    settings: Mapping[str, Any]
    machine: Machine
    frameworks: Mapping[str, FrameworkState]
    environment: Mapping[str, Any] = field(default_factory=dict)
    withheld: tuple[str, ...] = ()
    cells: tuple[Cell, ...]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Header:
        known = _known(cls, data)
        known["command"] = tuple(data["command"])
        known["withheld"] = tuple(data.get("withheld", ()))
        known["machine"] = _make(Machine, data["machine"])
        known["frameworks"] = {name: _make(FrameworkState, state) for name, state in data["frameworks"].items()}
        known["cells"] = tuple(_make(Cell, cell) for cell in data["cells"])
        return cls(**known)


@dataclass(frozen=True)
class Cells(Record):
    """Written when a run is taken up whose workloads have changed: cells that it has from now on, and ids of those that it has no more."""

    record: ClassVar[str] = "cells"

    cells: tuple[Cell, ...]
    retired: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Cells:
        return cls(tuple(_make(Cell, cell) for cell in data["cells"]), tuple(data.get("retired", ())))


@dataclass(frozen=True)
class Started(Record):
    """Written before a round, so that one that never came to an end can be told."""

    record: ClassVar[str] = "started"

    comparison: str
    round: int
    cells: tuple[str, ...]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Started:
        return cls(**{**_known(cls, data), "cells": tuple(data["cells"])})


@dataclass(frozen=True)
class Note:
    """Something that a reader of the number must know; ``code`` is one of few, ``text`` says it in a sentence."""

    code: str
    text: str


@dataclass(frozen=True)
class Block:
    """``steps`` steps closed by one wait; ``at`` is the monotonic time since the start of the run."""

    steps: int
    seconds: float
    at: float


@dataclass(frozen=True, kw_only=True)
class Round(Record):
    """What one process measured for one cell.

    ``position`` is the cell's place in the order of turns. ``prepare`` has ``import``, ``build``, ``first_step`` and ``warm_up``,
    ``memory`` ``device_peak`` (the framework's own figure) and ``process_peak``, ``loss`` ``first`` and ``last``; what was not reached is
    missing or None. ``facts`` and ``placement`` are those of :class:`frameworks.contract.Session` with ``timed_compilations`` added.
    ``latency`` is :class:`frameworks.timing.Latency` of single inferences; ``energy`` has ``joules`` by meter that ``steps`` steps took in
    ``seconds``; ``matmul_rate`` is that of a large product in the same framework and precision, in operations a second. ``conditions`` are
    those of :mod:`runner.machine.conditions` before the round, with ``after`` for those after it, and what the runner adds of its canary,
    of others' use of the processors (``others``, ``stolen``) and of the ``gpu`` meanwhile.
    ``parity`` is the comparison with the golden curve where one was made: :class:`frameworks.parity.Parity` and its ``seconds``;
    ``measured_precision`` what :func:`frameworks.precision.measure` found, by operator.
    """

    record: ClassVar[str] = "round"

    cell: str
    round: int
    position: int
    alone: bool = False
    status: Status
    reason: str = ""
    remedy: str = ""
    notes: tuple[Note, ...] = ()
    prepare: Mapping[str, float | None] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()
    memory: Mapping[str, int | None] = field(default_factory=dict)
    loss: Mapping[str, float | None] = field(default_factory=dict)
    latency: Mapping[str, float | None] | None = None
    energy: Mapping[str, Any] | None = None
    matmul_rate: float | None = None
    parity: Mapping[str, float] | None = None
    measured_precision: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    placement: Mapping[str, Any] = field(default_factory=dict)
    conditions: Mapping[str, Any]
    log: str | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Round:
        known = _known(cls, data)
        known["notes"] = tuple(_make(Note, note) for note in data.get("notes", ()))
        known["blocks"] = tuple(_make(Block, block) for block in data.get("blocks", ()))
        return cls(**known)


@dataclass(frozen=True)
class End(Record):
    """The last line of a run that came to an end by itself or was stopped in an orderly way."""

    record: ClassVar[str] = "end"

    reason: Literal["complete", "interrupted"]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> End:
        return cls(**_known(cls, data))


def named(framework: str, era: str) -> str:
    """What a framework of an era goes by where frameworks are told apart by name, as in a header: ``pytorch 2022-05``."""
    return f"{framework} {era}" if era else framework


def _make(kind: type[T], data: Mapping[str, Any]) -> T:
    return kind(**_known(kind, data))


def _known(kind: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a JSON object that are fields of the class, each of the type that the field says."""
    name = kind.__name__.lower()
    if not isinstance(data, Mapping):
        raise ValueError(f"a {name} must be an object, not {data!r}")
    fields = dataclasses.fields(kind)
    optional = dataclasses.MISSING
    missing = [f.name for f in fields if f.name not in data and f.default is optional and f.default_factory is optional]
    if missing:
        raise ValueError(f"{name} lacks {', '.join(missing)}")
    known = {f.name: data[f.name] for f in fields if f.name in data}
    expected = _types(typing.cast(Hashable, kind))
    for key, value in known.items():
        if not _fits(value, expected[key]):
            raise ValueError(f"{name}: {key} cannot be {value!r:.60}")
    return known


@functools.cache
def _types(kind: Hashable) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _fits(value: Any, kind: Any) -> bool:
    """Whether a JSON value can stand for a field of this type."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return True
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if origin is types.UnionType:
        return any(_fits(value, each) for each in arguments)
    if origin is tuple:
        return isinstance(value, list | tuple) and all(_fits(item, arguments[0]) for item in value)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_fits(item, arguments[1]) for item in value.values())
    if dataclasses.is_dataclass(kind):
        return isinstance(value, Mapping)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)
