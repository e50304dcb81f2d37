"""``h2h selftest``: the first hour with a machine in a few minutes, and one file that shows how it went.

The doctor first; then the conformance suite, in brief, on the GPU of each framework that works (or the CPU); then a suite of workloads,
whose cells prove their wait, their precision and their results as in every run. Whatever fails is in the bundle, and the rest goes on.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from frameworks import registry
from runner import bundle, conform, execute, runfile, scrub
from runner.doctor import show
from runner.doctor.examine import examine
from runner.doctor.setup import Setup, gather
from runner.errors import UserError
from runner.plan import estimated_seconds
from runner.report import render
from runner.request import Request, references
from runner.spec import catalog

USUAL, WITHOUT_GPU = "mps-vs-metal", "quick"
SECONDS = 120.0  # that the suite may take, as far as that can be told beforehand
ROUNDS = 3


@dataclass(frozen=True)
class Options:
    """What the command line says. ``suite`` None: :data:`USUAL` where every framework that works has a GPU, else :data:`WITHOUT_GPU`."""

    frameworks: tuple[str, ...] = ()
    pythons: Mapping[str, str] = dataclasses.field(default_factory=dict)
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    suite: str | None = None
    into: Path = Path("reports/runs")
    to: Path | None = None


def run(options: Options) -> int:
    """Carry it out, print what happens, write the bundle; 0 where nothing failed, 1 otherwise."""
    to = options.to or Path(f"headtohead-{datetime.now().astimezone():%Y-%m-%d-%H%M%S}.zip")
    if to.exists():
        raise bundle.BundleError(f"{to}: exists already and is not overwritten; choose another name with --to")
    request = Request(
        workloads=(),
        suites=(),
        frameworks=options.frameworks,
        pythons=dict(options.pythons),
        environment=dict(options.environment),
    )
    _say("doctor")
    setup = gather(
        references(options.frameworks), execute.absolute(request.pythons), options.environment, options.into, execute.limits(request)
    )
    findings = examine(setup)
    text = show.markdown(setup, findings)
    print(text)
    failed = any(finding.severity == "error" for finding in findings)
    results = _conformance(setup, options)
    if results:
        print("\n" + conform.render(results, "markdown"))
    contents = bundle.Contents(show.data(setup, findings), text, [conform.as_json(result) for result in results])
    try:
        status, home = _suite(_with_suite(request, setup, options), options)
        with contextlib.suppress(bundle.BundleError):
            ran = bundle.of_run(home)
            contents = dataclasses.replace(contents, run=ran.run, logs=ran.logs)
    except UserError as error:  # nothing could be run; what was found out is worth its bundle all the same
        print(f"\nNothing was measured: {error}")
        status = 1
    bundle.write(to, contents, scrub.of_this_machine())
    print(f"\nWritten to {to}: no host name, user name or path is in it. `h2h report {to}` reads it anywhere.", file=sys.stderr)
    return 1 if failed or status or not all(result.passed for result in results) else 0


def _conformance(setup: Setup, options: Options) -> list[conform.Conformance]:
    """The first case of each layer, on the best device of every framework that answered."""
    results = []
    for reference in references(options.frameworks):
        found = setup.found[registry.framework(reference).name]
        if found.failure is None:
            _say(f"conformance of {found.facts.title}")
            results += conform.conform(
                [reference], found.gpu or "cpu", ("float32",), (), {found.facts.name: found.python}, options.environment, brief=True
            )
    return results


def _with_suite(request: Request, setup: Setup, options: Options) -> Request:
    """The request with a suite that this machine can run."""
    working = [found for found in setup.found.values() if found.failure is None]
    has_gpu = bool(working) and all(found.gpu for found in working)
    suite = options.suite or (USUAL if has_gpu else WITHOUT_GPU)
    if options.suite is None and suite == USUAL and not _exists(USUAL):
        suite = WITHOUT_GPU
    devices = ("gpu",) if has_gpu and suite == WITHOUT_GPU else ()
    return dataclasses.replace(request, suites=(suite,), devices=devices)


def _exists(suite: str) -> bool:
    try:
        catalog.find_suite(suite)
    except UserError:
        return False
    return True


def _suite(request: Request, options: Options) -> tuple[int, Path]:
    """Run it in as many rounds as fit; the status and the folder of the run."""
    rounds = ROUNDS
    while rounds > 1 and estimated_seconds(execute.plan_only(dataclasses.replace(request, rounds=rounds))) > SECONDS:
        rounds -= 1
    _say(f"suite {request.suites[0]}, {rounds} round{'s' if rounds > 1 else ''}")
    return execute.start(dataclasses.replace(request, rounds=rounds), options.into, ["h2h", *sys.argv[1:]])


def _say(what: str) -> None:
    print(f"\n# {what}\n", file=sys.stderr)


def report(path: Path, format: str) -> str:
    """A bundle as text: the run's report, and in markdown also what the doctor and the conformance suite said."""
    contents = bundle.read(path)
    with bundle.run_file(contents) as file:
        parts = [render(runfile.read(file), format)] if file is not None else []
    if format != "markdown":
        if not parts:
            raise bundle.BundleError(f"{path}: holds no run; --format markdown shows what the doctor said")
        return parts[0]
    if file is None:
        parts.append("Nothing was measured.\n")
    if contents.doctor_text:
        parts.append(contents.doctor_text.strip() + "\n")
    if contents.conformance:
        parts.append(_conformed(contents.conformance) + "\n")
    return "\n".join(parts)


def _conformed(results: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for result in results:
        checked = result.get("findings", [])
        failed = [finding for finding in checked if not finding.get("ok")]
        words = "passed" if result.get("passed") else f"failed {len(failed)}"
        ended = result.get("failure") or {}
        why = f"; it did not end: {ended.get('reason')}" if ended else ""
        lines.append(
            f"- {result.get('framework')} {result.get('device')} {result.get('precision')}: {words} of {len(checked)} findings{why}"
        )
        lines += [
            f"  - {finding.get('case')}, {finding.get('what')}: {finding.get('reason') or finding.get('error')}" for finding in failed
        ]
    return "\n".join(["### Conformance", "", *lines])
