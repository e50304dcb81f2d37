"""``h2h check --write``: golden curves computed by two frameworks in float64 and kept where both agree."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from frameworks import registry
from frameworks.contract import CellFailure, Computation, Job, to_json
from runner import __version__, environment, golden
from runner.golden import Entry, Golden, GoldenError, Outputs
from runner.launch import Child, Limits
from runner.progress import note_line
from runner.spec import catalog
from runner.spec.workload import Workload, digest, load_workload

FRAMEWORKS = ("pytorch", "tensorflow")
AGREEMENT = 1e-9
ROUNDED = 1e-6  # where a framework declares that it rounds constants to float32 first
GROWTH = 2.0**-16  # of the sensitivity to float32's rounding: float64's is 2^-29 of that, and grows freely where the other is saturated
SILENCE = 3600.0  # seconds; one step of a large network in float64 takes minutes
SEED = 0


@dataclass(frozen=True)
class Computed:
    """What one framework computed: versions, and the curve (:class:`frameworks.parity.Curve`) as plain JSON."""

    framework: str
    versions: Mapping[str, str]
    curve: Mapping[str, Any]


def run(names: Sequence[str]) -> int:
    """Make the golden files of workloads, of the whole library where none is named, and say which; 0."""
    paths = [catalog.find(name) for name in names] or catalog.all_workloads()
    workloads = [load_workload(path) for path in paths]
    for workload in workloads:
        path = golden.path_of(workload.path)
        made = compute(workload)
        golden.write(path, made)
        deviation = max(entry.deviation for entry in made.curves)
        print(f"Written to {path}: curves of {workload.name}, on which {' and '.join(FRAMEWORKS)} differ by {deviation:.1e} at most")
    return 0


def compute(workload: Workload) -> Golden:
    """The curves of every variant (:func:`golden.variants`). Raises :class:`GoldenError` where a framework fails or the two part."""
    mode = "train" if "train" in workload.modes else "infer"
    entries: dict[str, Entry] = {}
    versions: dict[str, Mapping[str, str]] = {}
    for variant in golden.variants(workload):
        computation = golden.small(workload.resolve(**variant))  # type: ignore[arg-type]
        name = digest(computation)
        if name in entries:
            continue
        both = [_ask(framework, workload, computation, mode) for framework in FRAMEWORKS]
        versions |= {computed.framework: computed.versions for computed in both}
        shown = {key: value for key, value in variant.items() if key != "batch"}
        curve = both[0].curve
        entries[name] = Entry(
            variant=shown,
            computation=name,
            batch=computation.batch,
            seed=SEED,
            deviation=agreement(workload.name, both[0], both[1]),
            losses=curve["losses"],
            deviating=curve["deviating"],
            sensitivity=_rounded(curve["sensitivity"]),
            outputs=Outputs(tuple(curve["shape"]), tuple(curve["values"]), _rounded(curve["moved"])),
        )
    today = datetime.now(timezone.utc).date().isoformat()
    return Golden(workload.name, __version__, today, versions, tuple(entries.values()))


def _ask(framework: str, workload: Workload, computation: Computation, mode: str) -> Computed:
    facts = registry.framework(framework)
    job = Job(framework, computation, mode, "cpu", "float64", facts.executions[0], seed=SEED)  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory(prefix="h2h-") as folder, note_line() as say:
        child = None
        try:
            child = Child(
                {"golden": to_json(job), "sensitivity": framework == FRAMEWORKS[0]},
                folder=Path(folder),
                log=Path(folder) / "log",
                environment=environment.build(Path(folder), facts.environment, None, {}),
                python=sys.executable,
                limits=Limits(silence=SILENCE, total=10 * SILENCE),
            )
            versions: Mapping[str, str] = {}
            while (event := child.event()).kind != "curve":
                if event.kind == "imported":
                    versions = event.data["versions"]
                elif event.kind == "phase":
                    say(f"{workload.name} in {facts.title}: {event.data['name']}")
            child.release()
            return Computed(framework, versions, event.data)
        except CellFailure as failure:
            remedy = f"; {failure.remedy}" if failure.remedy else ""
            raise GoldenError(
                f"no golden curve of {workload.name}: {facts.title} failed: {failure.reason}{remedy}. Two frameworks must agree on one"
            ) from failure
        finally:
            if child is not None:
                child.close()


def _rounded(moved: Any) -> Any:
    """A sensitivity in two digits; the first framework measures it, and its size is all that matters."""
    if isinstance(moved, Mapping):
        return {kind: _rounded(each) for kind, each in moved.items()}
    if isinstance(moved, Sequence):
        return tuple(map(_rounded, moved))
    return None if moved is None else float(f"{moved:.1e}")


def agreement(workload: str, one: Computed, other: Computed) -> float:
    """The largest relative deviation between two frameworks. Raises :class:`GoldenError` where they part."""
    if one.curve["shape"] != other.curve["shape"]:
        shapes = f"{one.curve['shape']} and {other.curve['shape']}"
        raise GoldenError(f"no golden curve of {workload}: outputs of {one.framework} and {other.framework} are {shapes}")
    usual = ROUNDED if one.curve["rounds"] or other.curve["rounds"] else AGREEMENT
    sensitivity = one.curve["sensitivity"]
    largest = 0.0
    for what, index, first, second, scale in _pairs(one.curve, other.curve):
        error = abs(first - second) / scale
        allowed = usual if what == "output" or sensitivity is None else max(usual, GROWTH * max(sensitivity["float32"][:index]))
        largest = max(largest, error)
        if error > allowed:
            raise GoldenError(
                f"no golden curve of {workload}: {one.framework} and {other.framework} part at {what} {index}: {first!r} and {second!r}, "
                f"{error:.1e} of {scale:.4g}, and {allowed:.0e} is allowed; one of them computes something else"
            )
    return largest


def _pairs(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[str, int, float, float, float]]:
    found = []
    for key, what in (("values", "output"), ("losses", "the loss of step"), ("deviating", "the loss by the other formula of step")):
        if one[key] is not None:
            largest = max(map(abs, one[key])) or 1.0
            for index, (first, second) in enumerate(zip(one[key], other[key], strict=True), 1):
                found.append((what, index, first, second, largest if key == "values" else abs(first) or largest))
    return found
