"""Golden curves on disk: strict JSON beside the workloads, one number a line, so that a change shows in review.

The file of a workload of the library is ``workloads/golden/NAME.json``; that of a person's own ``mine.yaml`` is ``mine.golden.json``.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from frameworks.contract import Computation, to_json
from runner.errors import UserError
from runner.spec import catalog
from runner.spec.document import Number
from runner.spec.suite import load_suite
from runner.spec.workload import Workload, digest

SCHEMA = 1
BATCH = 2
LINE_BATCH = 8  # where the batch is a line of points, of which two say nothing
LONE_BATCH = 64  # where batch normalisation sees one number of each sample: by few of them it multiplies rounding


class GoldenError(UserError):
    """A golden file cannot be used or made; the message names the file and what to do."""


@dataclass(frozen=True)
class Outputs:
    """The shape of the first batch's outputs, the elements that are kept, and how far those move with the weights, see
    :class:`frameworks.parity.Curve`."""

    shape: tuple[int, ...]
    values: tuple[float, ...]
    moved: Mapping[str, float] | None


@dataclass(frozen=True)
class Entry:
    """One curve, see :class:`frameworks.parity.Curve`. ``computation`` is the digest of what it is of, at its own small batch.

    ``deviation`` is the largest relative one between the two frameworks that computed it.
    """

    variant: Mapping[str, Any]
    computation: str
    batch: int | None
    seed: int
    deviation: float
    losses: tuple[float, ...] | None
    deviating: tuple[float, ...] | None
    sensitivity: Mapping[str, tuple[float, ...]] | None
    outputs: Outputs


@dataclass(frozen=True)
class Golden:
    """All curves of one workload. ``frameworks`` holds the versions that computed them, ``written`` the day."""

    workload: str
    headtohead: str
    written: str
    frameworks: Mapping[str, Mapping[str, str]]
    curves: tuple[Entry, ...]


def path_of(workload: Path) -> Path:
    """Where the golden file of a workload file is, or would be."""
    library = catalog.library()
    if library in workload.resolve().parents:
        return library / "golden" / f"{workload.stem}.json"
    return workload.with_suffix(".golden.json")


def small(computation: Computation) -> Computation:
    """What a curve is of: the same in a batch of :data:`BATCH`, of :data:`LINE_BATCH` where an input is spread over the batch, or of
    :data:`LONE_BATCH` where batch normalisation has one place of each sample: two numbers are normalised to 1 and -1, whatever they are."""
    if computation.batch is None:
        return computation
    line = any(tensor.fill == "linspace" for tensor in computation.inputs)
    lone = any(node.kind == "batch_norm" and math.prod(node.takes[0][:-1]) == 1 for _, node in computation.network.walk())
    return dataclasses.replace(computation, batch=LONE_BATCH if lone else LINE_BATCH if line else BATCH)


def variants(workload: Workload) -> list[dict[str, Number]]:
    """What a workload has curves of, as arguments of ``resolve``: its own variants and, in the library, what suites ask for besides."""
    found = workload.variants()
    path = workload.path.resolve()
    if catalog.library() in path.parents:
        for suite in map(load_suite, catalog.all_suites()):
            for cell in suite.cells:
                if cell.parameters and catalog.find(cell.workload, beside=suite.path) == path:
                    found += [{**variant, **cell.parameters} for variant in workload.variants()]
    return found


def find(workload: Path, computation: Computation) -> dict[str, Any] | None:
    """The curve of a computation, at whatever batch, as plain JSON; None where there is none. Raises :class:`GoldenError`."""
    path = path_of(workload)
    if not path.exists():
        return None
    wanted = digest(small(computation))
    return next((to_json(entry) for entry in read(path).curves if entry.computation == wanted), None)


def write(path: Path, golden: Golden) -> None:
    """Write a file, its folder included. Raises :class:`GoldenError`."""
    text = json.dumps({"schema": SCHEMA, **to_json(golden)}, indent=1, allow_nan=False, ensure_ascii=False)
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise GoldenError(f"{path}: cannot be written: {error.strerror or error}") from error


def read(path: Path) -> Golden:
    """Read a file. Raises :class:`GoldenError` for anything that :func:`write` would not have written."""
    try:
        data = json.loads(path.read_bytes(), parse_constant=_refuse)
        if not isinstance(data, dict):
            raise ValueError("an object was expected")
        if data["schema"] != SCHEMA:
            raise ValueError(f"its schema is {data['schema']!r}, and this headtohead reads {SCHEMA}")
        return Golden(
            workload=_text(data, "workload"),
            headtohead=_text(data, "headtohead"),
            written=_text(data, "written"),
            frameworks={name: dict(versions) for name, versions in data["frameworks"].items()},
            curves=tuple(_entry(each) for each in data["curves"]),
        )
    except OSError as error:
        raise GoldenError(f"{path}: cannot be read: {error.strerror or error}") from error
    except KeyError as error:
        raise _damaged(path, f"it lacks {error.args[0]!r}") from error
    except ValueError as error:
        raise _damaged(path, str(error)) from error
    except (TypeError, AttributeError) as error:
        raise _damaged(path, "a value in it is of another kind than it should be") from error


def _damaged(path: Path, what: str) -> GoldenError:
    return GoldenError(f"{path}: is no file of golden curves: {what}; restore it from a copy, or make it anew with h2h check --write")


def _entry(data: Mapping[str, Any]) -> Entry:
    outputs = data["outputs"]
    return Entry(
        variant=dict(data["variant"]),
        computation=_text(data, "computation"),
        batch=None if data["batch"] is None else _whole(data, "batch"),
        seed=_whole(data, "seed"),
        deviation=_numbers("deviation", [data["deviation"]])[0],
        losses=None if data["losses"] is None else _numbers("losses", data["losses"]),
        deviating=None if data["deviating"] is None else _numbers("deviating", data["deviating"]),
        sensitivity=None if data["losses"] is None else {kind: _numbers(kind, moved) for kind, moved in data["sensitivity"].items()},
        outputs=Outputs(
            shape=tuple(int(extent) for extent in outputs["shape"]),
            values=_numbers("values", outputs["values"]),
            moved=None if outputs["moved"] is None else {kind: _numbers(kind, [moved])[0] for kind, moved in outputs["moved"].items()},
        ),
    )


def _text(data: Mapping[str, Any], name: str) -> str:
    if not isinstance(data[name], str):
        raise ValueError(f"{name} must be text, not {data[name]!r:.40}")
    return str(data[name])


def _whole(data: Mapping[str, Any], name: str) -> int:
    if type(data[name]) is not int or data[name] < 0:
        raise ValueError(f"{name} must be a whole number, not {data[name]!r:.40}")
    return int(data[name])


def _numbers(name: str, values: Any) -> tuple[float, ...]:
    if not isinstance(values, list) or not values:
        raise ValueError(f"{name} must be numbers, not {values!r:.40}")
    for value in values:
        if type(value) not in (int, float) or not math.isfinite(value):
            raise ValueError(f"{name} must be finite numbers, not {value!r:.40}")
    return tuple(float(value) for value in values)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number in JSON")
