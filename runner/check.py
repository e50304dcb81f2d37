"""``h2h check``: every cell held against its golden curve, each in a process of its own, with nothing timed."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from frameworks.contract import CellFailure, to_json
from runner import environment, execute
from runner.grid import grid
from runner.launch import Child, Limits
from runner.plan import Cell, case_label
from runner.probe import Found
from runner.progress import note_line
from runner.report import numbers
from runner.report.text import escape
from runner.request import Request
from runner.run import foreseen
from runner.spec import catalog

USUAL = "quick"  # the suite whose workloads are checked where none is named


@dataclass(frozen=True)
class Checked:
    """One cell and how it came out. ``status`` is one of ``contract.Status``, or ``unverified`` where there is no golden curve.

    ``error`` and ``tolerance`` are relative, ``steps`` and ``values`` count what was compared; None where it did not come to that.
    """

    workload: str
    mode: str
    precision: str
    framework: str
    device: str
    execution: str
    status: str
    reason: str = ""
    remedy: str = ""
    error: float | None = None
    tolerance: float | None = None
    steps: int | None = None
    values: int | None = None
    seconds: float | None = None


def run(request: Request, everything: bool, format: str) -> int:
    """Check the cells of a request and print them; 0 when all are ok, 130 when it was interrupted, with what there was until then."""
    if everything:
        request = dataclasses.replace(request, workloads=tuple(summary.name for summary in catalog.summaries(catalog.all_workloads())))
    elif not request.workloads:
        print(f"Checking the workloads of the suite {USUAL}; --all checks the whole library, which takes long.", file=sys.stderr)
        request = dataclasses.replace(request, suites=(USUAL,))
    results: list[Checked] = []
    interrupted = False
    try:
        for result in check(request):
            results.append(result)  # one by one: what was found stays
    except KeyboardInterrupt:
        interrupted = True
    print(render(results, format))
    if interrupted:
        print("Interrupted: the cells that are not listed were not checked.", file=sys.stderr)
        return 130
    return 0 if all(result.status == "ok" for result in results) else 1


def check(request: Request) -> Iterator[Checked]:
    """Ask every cell in turn. Cells that differ in the batch alone are one, since the curve has a batch of its own."""
    asked: set[object] = set()
    with tempfile.TemporaryDirectory(prefix="h2h-") as folder, note_line() as say:
        logs = Path(folder) / "logs"
        plan, found = execute.prepare(request, logs)
        for cell in plan.cells:
            what = cell.case.golden["computation"] if cell.case.golden else cell.case.digest
            key = (cell.case.workload, what, cell.mode, cell.precision, cell.served, cell.device, cell.execution)
            if key not in asked:
                asked.add(key)
                say(cell.label())
                yield _ask(cell, found[cell.served], Path(folder) / cell.id, logs, request, execute.limits(request))


def _ask(cell: Cell, found: Found, private: Path, logs: Path, request: Request, limits: Limits) -> Checked:
    name = case_label(dataclasses.replace(cell.case, computation=dataclasses.replace(cell.case.computation, batch=None)))
    base = Checked(name, cell.mode, cell.precision, cell.title, cell.device, cell.execution, "ok")
    if cell.case.golden is None:
        reason = "there is no golden curve of this computation"
        return dataclasses.replace(base, status="unverified", reason=reason, remedy="h2h check --write makes one")
    child = None
    try:
        if (failure := foreseen(cell, found)) is not None:
            raise failure
        child = Child(
            {"check": to_json(dataclasses.replace(cell.job, golden=cell.case.golden))},
            folder=private,
            log=logs / f"{cell.id}.log",
            environment=environment.build(private, environment.of(found.facts, request.fallback), request.threads, request.environment),
            python=found.python,
            limits=limits,
        )
        data = child.expect("parity").data
        child.release()
        return dataclasses.replace(base, **data)
    except CellFailure as failure:
        return dataclasses.replace(base, status=failure.status, reason=failure.reason, remedy=failure.remedy)
    finally:
        if child is not None:
            child.close()


def render(results: Sequence[Checked], format: str) -> str:
    """The cells as a table, then every reason; or unrounded as JSON or CSV."""
    if format == "json":
        return json.dumps([to_json(result) for result in results], indent=2, allow_nan=False)
    if format == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, [field.name for field in dataclasses.fields(Checked)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(to_json(result) for result in results)
        return text.getvalue().rstrip("\n")
    headers = ["workload", "mode", "precision", "framework", "status", "compared", "error", "allowed"]
    table = grid(headers, [_row(result) for result in results])
    reasons: dict[str, list[str]] = {}
    for result in results:
        if result.status != "ok":
            remedy = f" Remedy: {escape(result.remedy)}." if result.remedy else ""
            cell = f"{result.workload} {result.mode} {result.precision} {_who(result)}"
            reasons.setdefault(f"{escape(result.reason)}.{remedy}", []).append(escape(cell))
    listed = "\n".join(f"- {'; '.join(cells)}: {reason}" for reason, cells in reasons.items())
    ok = sum(result.status == "ok" for result in results)
    said = f"{ok} of {len(results)} cells follow their golden curves. Errors are relative."
    return "\n\n".join(filter(None, (table, said, listed)))


def _row(result: Checked) -> list[str]:
    compared = numbers.compared(result.steps, result.values)
    errors = [numbers.deviation(result.error), numbers.deviation(result.tolerance)]
    words = [result.workload, result.mode, result.precision, _who(result), result.status.replace("_", " ")]
    return [*map(escape, words), compared, *errors]


def _who(result: Checked) -> str:
    return f"{result.framework} {result.device} {result.execution}"
