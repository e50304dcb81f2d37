"""The doctor's report as markdown or JSON: what was found, then what is the matter with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from frameworks.contract import to_json
from runner.doctor.finding import SEVERITIES, Finding
from runner.doctor.setup import Setup
from runner.grid import grid
from runner.report import numbers
from runner.report.text import escape

NAMED = ("torch", "tensorflow", "tensorflow-macos", "tensorflow-cpu", "tensorflow-metal", "keras", "numpy", "protobuf")


def markdown(setup: Setup, findings: Sequence[Finding]) -> str:
    """A title with the machine, a table of what is there, and the findings, the worst first."""
    machine = setup.machine
    title = [machine.chip, _cores(setup), f"{numbers.memory_text(machine.memory)} memory", machine.system, machine.gpu]
    parts = [f"## headtohead doctor: {', '.join(escape(fact) for fact in title if fact)}", grid(["", "found"], _table(setup))]
    for severity in SEVERITIES:
        chosen = [finding for finding in findings if finding.severity == severity]
        if chosen:
            parts.append(f"### {severity.capitalize()}{'s' if len(chosen) > 1 else ''}")
            parts.append("\n".join(f"- `{f.code}`: {escape(f.what)}: {_sentence(f.cause)} Remedy: {_sentence(f.remedy)}" for f in chosen))
    parts.append(verdict(findings))
    return "\n\n".join(parts)


def verdict(findings: Sequence[Finding]) -> str:
    """One line: whether a run would work."""
    errors, warnings = (sum(finding.severity == severity for finding in findings) for severity in ("error", "warning"))
    if errors:
        return f"A run would fail, in part at least: {errors} error{'s' if errors > 1 else ''}."
    return f"A run would work; {warnings} thing{'s' if warnings > 1 else ''} would bend its results." if warnings else "All is well."


def data(setup: Setup, findings: Sequence[Finding]) -> dict[str, Any]:
    """The same as plain JSON values; of all packages only those that frameworks need."""
    return {
        "ok": not any(finding.severity == "error" for finding in findings),
        "machine": to_json(setup.machine),
        "cores": {"performance": setup.cores[0], "efficiency": setup.cores[1]},
        "virtual": setup.virtual,
        "conditions": dict(setup.conditions),
        "frameworks": {
            name: {
                **to_json(setup.found[name].state()),
                "python": ".".join(map(str, python.version)),
                "architecture": python.machine,
                "packages": {package: one.version for package, one in python.packages.items() if package in NAMED},
            }
            for name, python in setup.interpreters.items()
        },
        "findings": [to_json(finding) for finding in findings],
    }


def render(setup: Setup, findings: Sequence[Finding], format: str) -> str:
    """The report in a format of the command line."""
    return json.dumps(data(setup, findings), indent=2, allow_nan=False) if format == "json" else markdown(setup, findings)


def _cores(setup: Setup) -> str:
    fast, slow = setup.cores
    kinds = f" ({fast} performance, {slow} efficiency)" if fast and slow else ""
    return f"{setup.machine.cores} cores{kinds}"


def _table(setup: Setup) -> list[list[str]]:
    rows = []
    for name, python in setup.interpreters.items():
        found = setup.found[name]
        if python.failure:
            rows.append([escape(found.facts.title), escape(f"no answer from {python.path}")])
            continue
        packages = [f"{package} {python.packages[package].version}" for package in NAMED if package in python.packages]
        devices = ", ".join(found.devices) or found.state().status.replace("_", " ")
        version = f"Python {'.'.join(map(str, python.version))} {python.machine}"
        rows.append([escape(found.facts.title), escape("; ".join([version, ", ".join(packages) or "no packages", f"devices: {devices}"]))])
    state = {
        "power": setup.conditions.get("power"),
        "thermal state": setup.conditions.get("thermal"),
        "memory pressure": setup.conditions.get("memory_pressure"),
        "load": setup.conditions.get("load"),
    }
    rows.append(["now", escape(", ".join(f"{what} {value}" for what, value in state.items() if value is not None))])
    for place in setup.places:
        room = "not writable" if not place.writable else "writable"
        free = "" if place.free is None else f", {place.free / 2**30:,.0f} GiB free"
        rows.append([escape(f"folder for {place.what}"), room + free])
    return rows


def _sentence(text: str) -> str:
    text = escape(text).strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
