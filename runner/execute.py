"""A whole run: request, probe, plan, run file, rounds, report."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from frameworks import registry
from frameworks.contract import to_json
from runner import __version__, climb, effort, environment, runfile
from runner.launch import Limits
from runner.machine import awake, ceiling, chip, conditions
from runner.plan import Plan, Settings, estimated_seconds, make_plan
from runner.probe import Found, probe
from runner.progress import watch
from runner.records import Cells, End, Header, named
from runner.report import render
from runner.request import Request, RequestError, references, resolve
from runner.run import Runner
from runner.statistics import Times

RESULT, TABLE, LOGS = "run.jsonl", "report.md", "logs"
MEMORY_SHARE = 0.9  # of the machine that a child may hold where no limit is given


def plan_only(request: Request) -> Plan:
    """What would run, without starting anything: devices are taken as asked for, the CPU where nothing was said."""
    chosen = references(request.frameworks)
    facts = {named(name, era): registry.framework(name) for era in request.eras or ("",) for name in chosen}
    asked = resolve(request, chosen)
    return make_plan(asked.cases, facts, {}, _settings(request, asked.rounds, asked.budget))


def dry_run(request: Request) -> str:
    """The plan as text: every cell in the order of its first round, and a rough time."""
    plan = plan_only(request)
    lines = [f"{cell.label()}" for comparison in plan.comparisons for cell in plan.turns(comparison, 0)]
    settings = plan.settings
    added = settings.precision_goal is not None
    rounds = f"{settings.rounds} to {settings.max_rounds} rounds" if added else f"{settings.rounds} rounds"
    counts = f"{len(plan.cells)} cells in {len(plan.comparisons)} comparisons, {rounds}, {settings.budget:g} s timed each"
    minutes = f"about {max(1, round(estimated_seconds(plan) / 60))} min{f' for {settings.rounds} rounds' if added else ''}"
    lines += ["", *plan.skipped]
    if request.find_batch:
        lines += ["then the same with the batch doubled while that is faster, and narrowed down; the first batch alone is:"]
    return "\n".join([*lines, counts, f"{minutes}, more where a step takes long"])


def start(request: Request, folder: Path, command: list[str]) -> tuple[int, Path]:
    """Run a request from its beginning, with its results in a new folder below ``folder``; the exit status and that folder."""
    _look_at_the_machine(request.strict)
    home = runfile.new_path(folder, datetime.now().astimezone())
    plan, found = prepare(request, home / LOGS)
    header = _header(request, plan, found, command)
    with runfile.RunFile.create(home / RESULT, header) as file:
        return _carry_out(request, plan, found, file, home, {}, [], set()), home


def prepare(request: Request, logs: Path) -> tuple[Plan, dict[str, Found]]:
    """The plan of a request, and what each framework answered when it was asked for its devices."""
    chosen = references(request.frameworks)
    asked = resolve(request, chosen)
    found = _found(request, chosen, logs)
    return _plan(asked.cases, found, _settings(request, asked.rounds, asked.budget)), found


def resume(path: Path) -> int:
    """Take up a run where it ended; what is there is kept, what is missing or has changed is measured."""
    path = result_path(path)
    with runfile.RunFile.open_for_resume(path) as file:
        before = file.run
        request = Request.from_json(_tilde(before.header.settings["request"], back=True))
        _look_at_the_machine(request.strict)
        chosen = references(request.frameworks)
        asked = resolve(climb.so_far(request, before) if request.find_batch else request, chosen)
        found = _found(request, chosen, path.parent / LOGS)
        _same_place(before.header, found)
        plan = _plan(asked.cases, found, _settings(request, asked.rounds, asked.budget))
        if request.find_batch:
            plan = climb.taken_up(plan, before, request.batches[0])
        _add_changed_cells(file, before, plan)
        done = {cell.id: before.finished(cell.id) for cell in plan.cells}
        failed = [cell.id for cell in plan.cells if before.failed(cell.id)]
        return _carry_out(request, plan, found, file, path.parent, done, failed, before.given_up())


def _look_at_the_machine(strict: bool) -> None:
    """Say why this is no time to measure or, where the user is strict, refuse to."""
    found = conditions.against_measuring()
    if found and strict:
        raise RequestError(f"not measured, since --strict was asked for: {'; '.join(found)}. Mend that, or run without --strict")
    for reason in found:
        print(f"This will show in the numbers: {reason}", file=sys.stderr)


def _add_changed_cells(file: runfile.RunFile, before: runfile.Run, plan: Plan) -> None:
    """A workload that was edited since gives cells of a new identity; the old ones are not part of the run any more."""
    known, now = {cell.id for cell in before.header.cells}, {cell.id for cell in plan.cells}
    if known != now:
        file.append(Cells(tuple(cell.record() for cell in plan.cells if cell.id not in known), tuple(sorted(known - now))))


def result_path(path: Path) -> Path:
    """The run file that a person means who names it or its folder."""
    return path / RESULT if path.is_dir() else path


def _carry_out(
    request: Request,
    plan: Plan,
    found: dict[str, Found],
    file: runfile.RunFile,
    home: Path,
    done: dict[str, dict[int, Times]],
    failed: list[str],
    given_up: set[tuple[str, int]],
) -> int:
    interrupted = False
    with awake.awake() as held, watch() as progress, _terminate_is_interrupt():
        for sentence in plan.skipped:
            progress.say(sentence)
        if held is False:
            progress.say("caffeinate is missing: this Mac may fall asleep during the run")
        runner = Runner(plan, found, file.append, progress, home / LOGS, limits(request), request.environment, _ceiling)
        try:
            runner.run(done, failed, given_up)
            if request.find_batch:
                climb.climb(runner, file, request.batches[0], lambda batch: _plan_at(request, found, batch))
        except KeyboardInterrupt:
            interrupted = True
    file.append(End("interrupted" if interrupted else "complete"))
    run = runfile.read(home / RESULT)
    table = render(run, "markdown")
    (home / TABLE).write_text(table, encoding="utf-8")
    print(table)
    print(f"Written to {home / TABLE} and {home / RESULT}", file=sys.stderr)
    if interrupted:
        print(f"Interrupted. To go on: h2h run --resume {home}", file=sys.stderr)
        return 130
    return 0 if run.all_ok() or (request.find_batch and climb.ended_well(run)) else 1


def _settings(request: Request, rounds: int | None, budget: float | None) -> Settings:
    usual = Settings()
    fixed = request.rounds or rounds
    goal = request.precision_goal or (None if fixed or request.find_batch else 100 * effort.PRECISION_GOAL)
    return Settings(
        rounds=fixed or usual.rounds,
        precision_goal=None if goal is None else goal / 100,
        max_rounds=request.max_rounds,
        budget=request.budget or budget or usual.budget,
        alone=request.alone,
        threads=request.threads,
        seed=request.seed,
        checks=request.checks,
        fallback=request.fallback,
    )


def _plan_at(request: Request, found: dict[str, Found], batch: int) -> Plan:
    """The plan of a request with another batch than it says."""
    asked = resolve(dataclasses.replace(request, batches=(batch,)), list(found))
    return _plan(asked.cases, found, _settings(request, asked.rounds, asked.budget))


def _plan(cases: Any, found: dict[str, Found], settings: Settings) -> Plan:
    facts = {name: framework.facts for name, framework in found.items()}
    working = {name: framework for name, framework in found.items() if framework.failure is None}
    gpus = {name: framework.gpu for name, framework in working.items() if framework.gpu}
    # A framework that is missing says nothing about the GPU: the others decide, and its row stands beside theirs.
    if working and len(gpus) == len(working):
        gpus |= {name: next((d for d in facts[name].devices if d != "cpu"), "gpu") for name in facts if name not in working}
    plan = make_plan(cases, facts, gpus, settings)
    if not plan.cells:
        raise RequestError("; ".join(plan.skipped) or "nothing is left to run: no chosen framework has the chosen device")
    return plan


def _found(request: Request, chosen: Sequence[str], logs: Path) -> dict[str, Found]:
    """What each framework answered when it was asked for its devices, in each era where some were named."""
    pythons = absolute(request.pythons)
    if not request.eras:
        return probe(chosen, pythons, request.environment, logs, sys.executable, limits(request))
    if pythons:
        raise RequestError("--era says which interpreter serves each framework, and so does --python: leave one of them away")
    from runner.eras import contestants

    return contestants.probe(chosen, request.eras, request.environment, logs, limits(request))


def absolute(pythons: Mapping[str, str]) -> dict[str, str]:
    """Interpreters by framework as a child that starts in another folder must be told of them."""
    return {name: str(Path(path).expanduser().absolute()) for name, path in pythons.items()}


def limits(request: Request) -> Limits:
    """What a child of this request may take."""
    import psutil

    memory = psutil.virtual_memory().total * MEMORY_SHARE if request.memory_limit is None else request.memory_limit * 2**30
    return Limits(request.start_limit, request.silence_limit, request.total_limit, int(memory))


def _header(request: Request, plan: Plan, found: dict[str, Found], command: list[str]) -> Header:
    return Header(
        headtohead=__version__,
        started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=tuple(_tilde(word) for word in command),
        seed=plan.settings.seed,
        settings={**to_json(plan.settings), "request": _tilde(to_json(request))},
        machine=chip.describe(),
        frameworks={named(framework.facts.name, framework.era): framework.state() for framework in found.values()},
        environment={
            name: value
            for framework in found.values()
            for name, value in environment.chosen(
                environment.of(framework.facts, request.fallback), request.threads, request.environment
            ).items()
        },
        withheld=tuple(environment.withheld(request.environment)),
        cells=tuple(cell.record() for cell in plan.cells),
    )


def _tilde(value: Any, *, back: bool = False) -> Any:
    """The home folder in every text of a JSON value written as ``~``, since its path names a person; or read back."""
    if isinstance(value, dict):
        return {key: _tilde(item, back=back) for key, item in value.items()}
    if isinstance(value, list):
        return [_tilde(item, back=back) for item in value]
    if not isinstance(value, str):
        return value
    home = str(Path.home())
    return value.replace("~", home, 1) if back and value.startswith("~/") else value if back else value.replace(home, "~")


def _same_place(header: Header, found: dict[str, Found]) -> None:
    """Refuse to go on with other versions or on another machine: the rounds would not belong together."""
    for framework in found.values():
        state = header.frameworks.get(named(framework.facts.name, framework.era))
        before: Mapping[str, str] = state.versions if state else {}
        changed = [
            f"{key} was {before.get(key, 'missing')}, is {framework.versions.get(key, 'missing')}"
            for key in sorted({*before, *framework.versions})
            if before.get(key) != framework.versions.get(key)
        ]
        if changed:
            raise RequestError(f"{framework.facts.title} changed since the run began ({'; '.join(changed)}): start a new run")
    machine = chip.describe()
    for key in ("chip", "cores", "system"):
        was, is_ = getattr(header.machine, key), getattr(machine, key)
        if was != is_:
            raise RequestError(f"the run began on another machine ({key} was {was}, is {is_}): start a new run")


def _ceiling(device: str) -> float:
    return ceiling.operations_per_second(device, chip.describe())


@contextlib.contextmanager
def _terminate_is_interrupt() -> Iterator[None]:
    """A polite end from outside keeps results as Ctrl-C does, which itself is ignored in what a script starts behind its back."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
