"""``h2h conform``: the conformance suite put to adapters, each in a process of its own, and its findings as a matrix."""

from __future__ import annotations

import csv
import io
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frameworks import registry
from frameworks.contract import CellFailure
from runner import environment
from runner.grid import grid
from runner.launch import Child, Limits
from runner.progress import note_line


@dataclass(frozen=True)
class Conformance:
    """What one adapter was found to do on one device in one precision; ``findings`` are those of ``frameworks.conformance``.

    ``failure`` is set when the suite did not come to its end.
    """

    framework: str
    device: str
    precision: str
    execution: str
    findings: tuple[Mapping[str, Any], ...]
    failure: CellFailure | None = None

    @property
    def title(self) -> str:
        return f"{self.framework} {self.device} {self.execution}"

    @property
    def failures(self) -> list[Mapping[str, Any]]:
        return [finding for finding in self.findings if not finding["ok"]]

    @property
    def passed(self) -> bool:
        return self.failure is None and not self.failures


def conform(
    references: Sequence[str],
    device: str,
    precisions: Sequence[str],
    executions: Sequence[str],
    pythons: Mapping[str, str],
    extra: Mapping[str, str] | None = None,
    *,
    brief: bool = False,
) -> list[Conformance]:
    """Ask every adapter in every precision, one after the other; with ``brief`` only the first case of each layer. ``pythons`` maps names
    of frameworks to interpreters, if not this one; ``extra`` are variables for the children."""
    results = []
    for precision in precisions:
        for reference in references:
            facts = registry.framework(reference)
            backend = device if device != "gpu" else next((name for name in facts.devices if name != "cpu"), "gpu")
            for execution in [name for name in executions if name in facts.executions] or facts.executions[:1]:
                python = pythons.get(facts.name, sys.executable)
                results.append(_ask(reference, backend, precision, execution, python, extra or {}, brief))
    return results


def _ask(reference: str, device: str, precision: str, execution: str, python: str, extra: Mapping[str, str], brief: bool) -> Conformance:
    facts = registry.framework(reference)
    findings: list[Mapping[str, Any]] = []
    asked = {"framework": registry.portable(reference), "device": device, "precision": precision, "execution": execution, "brief": brief}
    with tempfile.TemporaryDirectory(prefix="h2h-") as folder, note_line() as say:
        private = Path(folder)
        variables = environment.build(private, facts.environment, None, extra)
        failure, child = None, None
        try:
            child = Child({"conform": asked}, folder=private, log=private / "log", environment=variables, python=python, limits=Limits())
            while (event := child.event()).kind != "conformed":
                if event.kind == "finding":
                    findings.append(event.data)
                    say(f"{facts.title} {device} {precision}: {event.data['case']}")
            child.release()
        except CellFailure as error:
            failure = error
        finally:
            if child is not None:
                child.close()
    return Conformance(facts.title, device, precision, execution, tuple(findings), failure)


def render(results: Sequence[Conformance], format: str) -> str:
    """The matrix of layers and adapters with the largest error in each, then every failure and everything unsupported."""
    if format == "json":
        return json.dumps([as_json(result) for result in results], indent=2)
    if format == "csv":
        text = io.StringIO()
        rows = [{**_keys(result), **finding} for result in results for finding in result.findings]
        if rows:
            writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        return text.getvalue().rstrip("\n")
    parts = []
    for precision in dict.fromkeys(result.precision for result in results):
        parts += _section(precision, [result for result in results if result.precision == precision])
    return "\n\n".join(parts)


def as_json(result: Conformance) -> dict[str, Any]:
    """All of it as plain JSON values."""
    failure = result.failure
    ended = None if failure is None else {"status": failure.status, "reason": failure.reason, "remedy": failure.remedy}
    return {**_keys(result), "passed": result.passed, "failure": ended, "findings": list(result.findings)}


def _keys(result: Conformance) -> dict[str, str]:
    return {"framework": result.framework, "device": result.device, "precision": result.precision, "execution": result.execution}


def _section(precision: str, results: Sequence[Conformance]) -> list[str]:
    layers = list(dict.fromkeys(finding["layer"] for result in results for finding in result.findings))
    rows = [[layer, *(_cell(result, layer) for result in results)] for layer in layers]
    cases = {finding["case"] for result in results for finding in result.findings}
    parts = [
        f"### Conformance in {precision}: largest relative error of {len(cases)} cases (less is better)",
        grid(["layer", *(result.title for result in results)], rows),
    ]
    for result in results:
        lines = [f"- {f['case']}, {f['what']}: {_error(f)} {f['reason']}".rstrip() for f in result.failures]
        if result.failure is not None:
            lines.append(f"- the suite did not end: {result.failure.status}: {result.failure.reason}; {result.failure.remedy}".rstrip("; "))
        if lines:
            parts.append("\n".join([f"**{result.title} fails:**", "", *lines]))
        missing = [f for f in result.findings if f["status"] == "unsupported"]
        if missing:
            listed = [f"- {f['case']}: {f['reason']}" for f in missing]
            parts.append("\n".join([f"{result.title} has no:", "", *dict.fromkeys(listed)]))
        declared = sorted({f["reason"] for f in result.findings if f["ok"] and f["status"] == "ok" and f["reason"]})
        if declared:
            parts.append(
                "\n".join([f"{result.title} deviates, and agrees with what it declares:", "", *(f"- {text}" for text in declared)])
            )
    return parts


def _cell(result: Conformance, layer: str) -> str:
    findings = [finding for finding in result.findings if finding["layer"] == layer]
    if not findings:
        return "n/a"
    failed = [finding for finding in findings if not finding["ok"]]
    errors = [finding["error"] for finding in findings if finding["error"] is not None]
    largest = f"{max(errors):.1e}" if errors else "ok"
    if failed:
        return f"FAILS ({len(failed)} of {len(findings)}) {largest}"
    unsupported = sum(finding["status"] == "unsupported" for finding in findings)
    return "unsupported" if unsupported == len(findings) else largest + (f", {unsupported} unsupported" if unsupported else "")


def _error(finding: Mapping[str, Any]) -> str:
    if finding["error"] is None:
        return f"{finding['status']}:"
    return f"error {finding['error']:.2e}, allowed {finding['tolerance']:.0e}."


def run(
    frameworks: Sequence[str], device: str, precisions: Sequence[str], executions: Sequence[str], pythons: Mapping[str, str], format: str
) -> int:
    """Carry out ``h2h conform`` and print; 0 when all adapters pass."""
    results = conform(frameworks, device, precisions, executions, pythons)
    print(render(results, format))
    return 0 if all(result.passed for result in results) else 1
