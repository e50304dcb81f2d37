"""``h2h coverage``: which steps run whole on the GPU of a Mac, as a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from frameworks.contract import MODES, to_json
from runner.coverage import metal, mps
from runner.coverage.judge import Judged, judge
from runner.coverage.record import EXECUTIONS, record
from runner.errors import UserError
from runner.grid import grid
from runner.report.text import escape
from runner.request import check_words
from runner.spec import catalog
from runner.spec.workload import load_workload

PRECISIONS = ("float32", "bfloat16", "float16", "mixed_bfloat16", "mixed_float16")
"""Those that the GPU of a Mac has."""

UNSEEN = """\
`whole`: every operator of the step has a kernel for the GPU. Those that have none are named; they run on the CPU with copies to and fro,
or, in PyTorch without --allow-fallback, end the step with an error. Counters, shapes and keys of random numbers, a few whole numbers each,
are the host's work and not counted. `fused`: whether there is a kernel for the optimizer's whole update.

What this cannot see: kernels that exist and refuse a type, size or macOS version when called (PyTorch's table has no types); what operators
that PyTorch makes of others call inside; another way that a framework's older version goes than the one that recorded (PyTorch {pytorch},
TensorFlow {tensorflow}, which also decides what TensorFlow itself brings to every device); graph rewrites and compilation; and whether a
kernel computes right."""


def run(
    names: Sequence[str],
    frameworks: Sequence[str],
    modes: Sequence[str],
    precisions: Sequence[str],
    torch: str | None,
    plugin: str | None,
    pythons: Mapping[str, str],
    format: str,
) -> int:
    """Judge the steps of workloads, of the whole library where none is named, and print; 0 when all are whole."""
    check_words("framework", frameworks, tuple(EXECUTIONS))
    check_words("mode", modes)
    for precision in precisions:
        if precision not in PRECISIONS:
            check_words("precision", [precision])
            raise UserError(f"the GPU of a Mac has no {precision}; it has {', '.join(PRECISIONS)}")
    table = mps.torch(torch)
    kernels = metal.plugin(plugin or metal.known()[-1])
    workloads = [load_workload(path) for path in ([catalog.find(name) for name in names] or catalog.all_workloads())]
    absolute = {name: str(Path(path).expanduser().absolute()) for name, path in pythons.items()}
    found = record(workloads, tuple(frameworks) or tuple(EXECUTIONS), tuple(modes) or MODES, tuple(precisions) or ("float32",), absolute)
    results = [judge(each, table, kernels) for each in found.steps]
    print(render(results, found.versions, format))
    return 0 if all(result.whole for result in results) else 1


def render(results: Sequence[Judged], versions: Mapping[str, str], format: str) -> str:
    """The steps as a table with what it cannot show below, or as JSON or CSV."""
    if format == "json":
        return json.dumps([{**to_json(result), "whole": result.whole} for result in results], indent=2)
    if format == "csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        fields = list(to_json(results[0])) if results else []
        writer.writerow([*fields, "whole"])
        for result in results:
            values = to_json(result).values()
            writer.writerow([*(" ".join(value) if isinstance(value, list) else value for value in values), result.whole])
        return text.getvalue().rstrip("\n")
    rows = [
        [
            escape(r.workload),
            r.mode,
            r.precision,
            escape(r.gpu),
            str(r.operators),
            _verdict(r),
            {None: "", True: "yes", False: "no"}[r.fused],
        ]
        for r in results
    ]
    sides = ["left", "left", "left", "left", "right", "left", "left"]
    listing = grid(["workload", "mode", "precision", "GPU", "operators", "runs", "fused"], rows, sides)
    counted = f"{sum(result.whole for result in results)} of {len(results)} steps run whole on the GPU."
    told = UNSEEN.format(**{name: versions.get(name, "none") for name in EXECUTIONS})
    return "\n\n".join((listing, counted, told))


def _verdict(result: Judged) -> str:
    if result.status != "ok":
        return escape(f"{result.status}: {result.reason}")
    parts = ["whole"] if result.whole else []
    if result.falls_back:
        parts.append("on the CPU: " + ", ".join(result.falls_back))
    if result.unknown:
        parts.append("unknown " + ", ".join(result.unknown))
    return escape("; ".join(parts))
