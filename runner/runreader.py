"""The run file as it is read: streaming, each round summed up at once, so that a long run takes little memory.

A torn last line is forgiven. Anything else that is damaged is a :class:`RunFileError` that names the line, because a report from half
a file would look like one from a whole file.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import orjson

from frameworks.contract import Status
from runner import conditions
from runner.conditions import Conditions
from runner.errors import UserError
from runner.records import SCHEMA, Cells, End, Header, Note, Started
from runner.statistics import Times, median_of
from runner.steadiness import trend

LATENCY = ("count", "median", "p90", "p99")
_STATUSES: dict[str, Status] = {status: status for status in get_args(Status)}


class RunFileError(UserError):
    """The run file cannot be written, taken up or read; the message names the file, the line where there is one, and what to do."""


@dataclass(frozen=True)
class Facts:
    """Those facts of :class:`frameworks.contract.Session` that a report shows; None where the adapter did not tell."""

    optimizer: str | None
    layout: str | None
    threads: int | None
    graph_breaks: int | None
    compilations: int | None
    timed_compilations: int | None
    fallbacks: tuple[str, ...]
    deviations: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """A round as reports need it: a :class:`runner.records.Round` with its blocks summed up. Times in seconds, memory in bytes.

    ``times`` are the seconds per step of its blocks in the order of time, ``seconds_per_step`` their median, None without any;
    ``block_deviation`` is their standard deviation relative to their mean, None for fewer than two; ``trend`` that of
    :func:`runner.steadiness.trend`; ``joules`` by meter were taken by ``energy_steps`` steps.
    """

    cell: str
    round: int
    alone: bool
    status: Status
    reason: str
    remedy: str
    notes: tuple[Note, ...]
    times: tuple[float, ...]
    seconds_per_step: float | None
    block_deviation: float | None
    trend: float | None
    import_seconds: float | None
    build_seconds: float | None
    first_step_seconds: float | None
    warm_up_seconds: float | None
    device_peak: int | None
    process_peak: int | None
    loss_first: float | None
    loss_last: float | None
    latency: Mapping[str, float | None] | None
    joules: Mapping[str, float]
    energy_steps: int
    energy_seconds: float
    matmul_rate: float | None
    parity: Mapping[str, float] | None
    conditions: Conditions
    facts: Facts
    measured_precision: Mapping[str, Mapping[str, Any]]
    log: str | None

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def first_result_seconds(self) -> float | None:
        """From the start of the import to the end of the first step."""
        parts = self.import_seconds, self.build_seconds, self.first_step_seconds
        return None if None in parts else sum(filter(None, parts))


@dataclass(frozen=True)
class Run:
    """What a run file says. Of two records for the same cell and round the later one counts; the header has the cells as they are in
    the end, and there are no rounds of retired ones.

    ``end`` is None while the run goes on, and for ever if it was ended by force.
    """

    path: Path
    header: Header
    started: tuple[Started, ...]
    rounds: tuple[Measured, ...]
    end: End | None

    @property
    def name(self) -> str:
        """What a person calls it: its folder, or the file where it has another name than in a folder of its own."""
        return self.path.absolute().parent.name if self.path.name == "run.jsonl" else self.path.name

    def finished(self, cell: str) -> dict[int, Times]:
        """The rounds of a cell that need not be measured again, those with any result but ``interrupted``, with their blocks, if any."""
        return dict(self._finished.get(cell, ()))

    @functools.cached_property
    def _finished(self) -> dict[str, dict[int, Times]]:
        finished: dict[str, dict[int, Times]] = {}
        for measured in self.rounds:
            if measured.status != "interrupted":
                finished.setdefault(measured.cell, {})[measured.round] = measured.times
        return finished

    def failed(self, cell: str) -> bool:
        """Whether any round of a cell failed, other than by an interruption."""
        return cell in self._failed

    @functools.cached_property
    def _failed(self) -> set[str]:
        return {measured.cell for measured in self.rounds if measured.status not in ("ok", "interrupted")}

    def all_ok(self) -> bool:
        """Whether the run is complete and each of its cells has results, all of them ok."""
        complete = self.end is not None and self.end.reason == "complete"
        measured = {measured.cell for measured in self.rounds}
        return complete and all(m.ok for m in self.rounds) and all(cell.id in measured for cell in self.header.cells)

    def given_up(self) -> set[tuple[str, int]]:
        """Rounds, as comparison and number, that were begun twice or more and still lack results: they end the run itself."""
        begun = Counter((start.comparison, start.round) for start in self.started)
        return {key for start in self.unfinished() if begun[key := (start.comparison, start.round)] > 1}

    def unfinished(self) -> list[Started]:
        """The rounds that were started and have no result for some cells, with those cells."""
        results = {(measured.cell, measured.round) for measured in self.rounds}
        known = {cell.id for cell in self.header.cells}
        lacking: dict[tuple[str, int], Started] = {}
        for start in self.started:
            cells = tuple(cell for cell in start.cells if cell in known and (cell, start.round) not in results)
            if cells:
                lacking[start.comparison, start.round] = Started(start.comparison, start.round, cells)
        return list(lacking.values())


def read(path: Path) -> Run:
    """Read a run file, also one that is being written. Raises :class:`RunFileError`."""
    return read_for_resume(path)[0]


def read_for_resume(path: Path) -> tuple[Run, int, bool]:
    """The run, how many bytes of the file are whole records, and whether the last of them still lacks its newline."""
    reader = _Reader(path)
    whole, terminated = 0, True
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                terminated = line.endswith(b"\n")
                try:
                    reader.take(line)
                except ValueError as error:
                    if not terminated:
                        terminated = True  # what is left once the torn line is cut off
                        break
                    raise RunFileError(f"{path}:{number}: {error}; restore the file from a copy, or run again into a new one") from error
                whole += len(line)
    except OSError as error:
        raise RunFileError(f"{path}: cannot be read: {error.strerror or error}") from error
    return reader.run(), whole, not terminated


class _Reader:
    """Collects records, line by line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: Header | None = None
        self.started: list[Started] = []
        self.rounds: dict[tuple[str, int], Measured] = {}
        self.end: End | None = None
        self.cells: dict[str, str] = {}
        self.retired: set[str] = set()
        self.last_notes: dict[str, tuple[Note, ...]] = {}
        self.last_facts: dict[str, tuple[Mapping[str, Any], Facts]] = {}
        self.last_precision: dict[str, Mapping[str, Mapping[str, Any]]] = {}

    def take(self, line: bytes) -> None:
        """Add one line; ``ValueError`` says what is wrong with it."""
        data = self._object(line)
        kind = data.get("record")
        if self.header is None:
            self._take_header(kind, data)
        elif kind == "round":
            measured = self._measured(data)
            self.rounds[measured.cell, measured.round] = measured
            self.end = None
        elif kind == "started":
            start = _guarded(Started.from_json, data)
            self._whole_number("round", start.round)
            self.started.append(Started(start.comparison, start.round, tuple(self._cell(cell) for cell in start.cells)))
            self.end = None
        elif kind == "cells":
            self._change_cells(self.header, _guarded(Cells.from_json, data))
        elif kind == "end":
            self.end = _guarded(End.from_json, data)
        elif kind == "header":
            raise ValueError("a second header; two run files seem to be joined, each must be a file of its own")
        else:
            raise ValueError(f"unknown record {kind!r}")

    def run(self) -> Run:
        if self.header is None:
            raise RunFileError(f"{self.path}: holds no complete line, so nothing was measured; delete it and run again")
        rounds = tuple(measured for measured in self.rounds.values() if measured.cell not in self.retired)
        return Run(self.path, self.header, tuple(self.started), rounds, self.end)

    def _object(self, line: bytes) -> dict[str, Any]:
        try:
            data = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise ValueError(_damage(line, error)) from error
        if not isinstance(data, dict):
            raise ValueError(f"not a record: an object was expected, not {type(data).__name__}")
        return data

    def _take_header(self, kind: Any, data: dict[str, Any]) -> None:
        if kind != "header":
            raise ValueError("not a run file: the first line must be a header")
        schema = data.get("schema")
        if schema != SCHEMA:
            raise RunFileError(
                f"{self.path}: is in version {schema!r} of the run file, and this headtohead reads version {SCHEMA}; "
                f"use the headtohead that wrote it ({data.get('headtohead', 'version unknown')})"
            )
        self.header = _guarded(Header.from_json, data)
        self.cells = {cell.id: cell.id for cell in self.header.cells}

    def _change_cells(self, header: Header, change: Cells) -> None:
        retired = {self._cell(cell) for cell in change.retired}
        kept = {cell.id: cell for cell in (*header.cells, *change.cells) if cell.id not in retired}
        self.header = dataclasses.replace(header, cells=tuple(kept.values()))
        self.cells |= {cell: cell for cell in kept}
        self.retired = (self.retired | retired) - {cell.id for cell in change.cells}

    def _measured(self, data: dict[str, Any]) -> Measured:
        try:
            status = _STATUSES.get(data["status"])
            if status is None:
                raise ValueError(f"unknown status {data['status']!r}")
            blocks = [(block["steps"], block["seconds"]) for block in data.get("blocks", ())]
            reason, remedy = data.get("reason", ""), data.get("remedy", "")
            impossible = [f"{steps} steps in {seconds} s" for steps, seconds in blocks if not (0 < seconds < math.inf and steps > 0)]
            if impossible:
                blocks = []
                if status == "ok":
                    status, reason, remedy = "suspect", f"the clock gave a block that cannot be: {impossible[0]}", ""
            cell = self._cell(data["cell"])
            times = [seconds / steps for steps, seconds in blocks]
            prepare, memory, loss = data.get("prepare", {}), data.get("memory", {}), data.get("loss", {})
            energy = data.get("energy") or {}
            return Measured(
                cell=cell,
                round=self._whole_number("round", data["round"]),
                alone=data.get("alone", False) is True,
                status=status,
                reason=sys.intern(reason),
                remedy=sys.intern(remedy),
                notes=self._notes(cell, data.get("notes", [])),
                times=tuple(times),
                seconds_per_step=median_of(times) if times else None,
                block_deviation=_deviation(times),
                trend=trend(times),
                import_seconds=_number("import", prepare),
                build_seconds=_number("build", prepare),
                first_step_seconds=_number("first_step", prepare),
                warm_up_seconds=_number("warm_up", prepare),
                device_peak=_number("device_peak", memory),
                process_peak=_number("process_peak", memory),
                loss_first=_number("first", loss),
                loss_last=_number("last", loss),
                latency=None if (latency := data.get("latency")) is None else {name: _number(name, latency) for name in LATENCY},
                joules={str(name): _number(name, energy["joules"]) for name in energy.get("joules", ())},
                energy_steps=_number("steps", energy) or 0,
                energy_seconds=_number("seconds", energy) or 0.0,
                matmul_rate=_number("matmul_rate", data),
                parity=_parity(data.get("parity")),
                conditions=conditions.read(data["conditions"]),
                facts=self._facts(cell, data.get("facts", {})),
                measured_precision=self._precision(cell, data.get("measured_precision", {})),
                log=None if data.get("log") is None else str(data["log"]),
            )
        except KeyError as error:
            raise ValueError(f"round lacks {error.args[0]}") from error
        except (TypeError, AttributeError) as error:
            raise ValueError(f"round of another shape than it should have: {error}") from error

    def _cell(self, cell: Any) -> str:
        if not isinstance(cell, str) or cell not in self.cells:
            raise ValueError(f"cell {cell!r} is not in the header")
        return self.cells[cell]

    @staticmethod
    def _whole_number(name: str, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ValueError(f"{name} must be a whole number from 0, not {value!r}")
        return value

    def _notes(self, cell: str, notes: list[dict[str, Any]]) -> tuple[Note, ...]:
        """The notes of a round, in one object with those of the cell's round before where they are equal, as in most."""
        made = tuple(Note(str(note["code"]), str(note["text"])) for note in notes)
        if self.last_notes.get(cell) != made:
            self.last_notes[cell] = made
        return self.last_notes[cell]

    def _precision(self, cell: str, measured: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
        """The measured precision of a round, shared in the same way."""
        if self.last_precision.get(cell) != measured:
            self.last_precision[cell] = {str(operator): dict(found) for operator, found in measured.items()}
        return self.last_precision[cell]

    def _facts(self, cell: str, facts: Mapping[str, Any]) -> Facts:
        """The facts of a round, shared likewise."""
        before = self.last_facts.get(cell)
        if before is None or before[0] != facts:
            before = self.last_facts[cell] = facts, _usable(facts)
        return before[1]


def _usable(facts: Mapping[str, Any]) -> Facts:
    """What an adapter says of itself, as far as it has the form that the contract asks for: an adapter that says it otherwise loses
    that fact in the report, not the run."""

    def one(name: str, kind: type[Any]) -> Any:
        return facts[name] if type(facts.get(name)) is kind else None

    return Facts(
        optimizer=one("optimizer", str),
        layout=one("layout", str),
        threads=one("threads", int),
        graph_breaks=one("graph_breaks", int),
        compilations=one("compilations", int),
        timed_compilations=one("timed_compilations", int),
        fallbacks=tuple(map(str, one("fallbacks", list) or ())),
        deviations=tuple(map(str, one("deviations", list) or ())),
        warnings=tuple(map(str, one("warnings", list) or ())),
    )


def _deviation(times: list[float]) -> float | None:
    count = len(times)
    if count < 2:
        return None
    mean = sum(times) / count
    return math.dist(times, [mean] * count) / math.sqrt(count - 1) / mean


def _number(name: str, values: Mapping[str, Any]) -> Any:
    value = values.get(name)
    if value is not None and type(value) is not float and type(value) is not int:
        raise ValueError(f"{name} must be a number, not {value!r:.60}")
    return value


def _parity(said: Mapping[str, Any] | None) -> dict[str, float] | None:
    """The comparison with the golden curve, where there was one."""
    return None if said is None else {name: _number(name, said) for name in ("error", "tolerance", "steps", "values")}


def _damage(line: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        line.decode()
    except UnicodeDecodeError as wrong:
        return f"not UTF-8 from byte {wrong.start + 1}"
    return f"not JSON: {error.msg} at column {error.colno}"


def _guarded(make: Any, data: Mapping[str, Any]) -> Any:
    try:
        return make(data)
    except KeyError as error:
        raise ValueError(f"{data['record']} lacks {error.args[0]}") from error
    except (TypeError, AttributeError) as error:
        raise ValueError(f"{data['record']} of another shape than it should have: {error}") from error
