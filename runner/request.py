"""What a person asked for, and its translation into cases and choices. Everything that is wrong with it ends here, with exit status 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from frameworks import registry
from frameworks.contract import DEVICES, MODES, PRECISIONS
from runner import golden
from runner.errors import UserError
from runner.plan import Case, Choice
from runner.spec import catalog
from runner.spec.problems import SpecError, did_you_mean
from runner.spec.suite import Suite, load_suite
from runner.spec.workload import Workload, digest, load_workload

ON_A_MAC = "mps-vs-metal"
"""The suite that is run on a Mac with Apple silicon where nothing is named."""


class RequestError(UserError):
    """The request itself was wrong; the message says what to say instead."""


@dataclass(frozen=True)
class Request:
    """The options of ``h2h run``, as the run file keeps them for ``--resume``. Empty means: not said."""

    workloads: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    executions: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    batches: tuple[int, ...] = ()
    find_batch: bool = False  # climb from the one batch
    parameters: Mapping[str, float] = field(default_factory=dict)
    rounds: int | None = None
    precision_goal: float | None = None  # per cent
    max_rounds: int = 20
    budget: float | None = None
    alone: bool = False
    threads: int | None = None
    seed: int = 0
    checks: bool = True
    fallback: bool = False
    strict: bool = False  # refuse to measure on a machine in no state for it
    pythons: Mapping[str, str] = field(default_factory=dict)
    eras: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    start_limit: float = 180.0
    silence_limit: float = 600.0
    total_limit: float = 7200.0
    memory_limit: float | None = None  # GiB

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Request:
        """The inverse of ``contract.to_json``."""
        fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
        return cls(**fields)


@dataclass(frozen=True)
class Asked:
    """Cases with their choices, and the suite's own settings where one was named."""

    cases: tuple[tuple[Case, Choice], ...]
    rounds: int | None
    budget: float | None


def with_usual_suite(request: Request, system: str, machine: str) -> Request:
    """The request, with :data:`ON_A_MAC` where it names nothing to run and ``platform`` says that this is a Mac with Apple silicon."""
    named = request.workloads or request.suites
    return request if named or (system, machine) != ("Darwin", "arm64") else replace(request, suites=(ON_A_MAC,))


def resolve(request: Request, frameworks: Sequence[str]) -> Asked:
    """Load every workload and multiply it out. Raises :class:`RequestError` and :class:`SpecError`."""
    check_words("device", request.devices)
    check_words("precision", request.precisions)
    check_words("mode", request.modes)
    for name in request.eras:
        catalog.find_era(name)
    suites = [load_suite(catalog.find_suite(name)) for name in request.suites]
    if not request.workloads and not suites:
        raise RequestError("say what to run: a workload (h2h list workloads), a path to your own file, or --suite NAME (h2h list suites)")
    problems = []
    cases: list[tuple[Case, Choice]] = []
    for name in request.workloads:
        try:
            workload = load_workload(catalog.find(name))
            cases += _multiply(workload, request, _choice(request, frameworks))
        except SpecError as error:
            problems.extend(error.problems)
    for suite in suites:
        try:
            cases += _of_suite(suite, request, frameworks)
        except SpecError as error:
            problems.extend(error.problems)
    if problems:
        raise SpecError(problems)
    _check_executions(request.executions, frameworks)
    return Asked(
        tuple(cases),
        next((suite.rounds for suite in suites if suite.rounds), None),
        next((suite.budget for suite in suites if suite.budget), None),
    )


def _of_suite(suite: Suite, request: Request, frameworks: Sequence[str]) -> list[tuple[Case, Choice]]:
    cases: list[tuple[Case, Choice]] = []
    for entry in suite.cells:
        chosen = _choice(request, [name for name in frameworks if not entry.frameworks or name in entry.frameworks])
        choice = Choice(
            frameworks=chosen.frameworks,
            modes=request.modes or tuple(entry.modes) or MODES,
            devices=request.devices or tuple(entry.devices),
            precisions=request.precisions or tuple(entry.precisions) or ("float32",),
            executions=request.executions or tuple(entry.executions),
            eras=chosen.eras,
        )
        workload = load_workload(catalog.find(entry.workload, beside=suite.path))
        cases += _multiply(workload, request, choice, batches=tuple(entry.batch), parameters=entry.parameters)
    return cases


def _choice(request: Request, frameworks: Sequence[str]) -> Choice:
    return Choice(
        frameworks=tuple(frameworks),
        modes=request.modes or MODES,
        devices=request.devices,
        precisions=request.precisions or ("float32",),
        executions=request.executions,
        eras=request.eras or ("",),
    )


def _multiply(
    workload: Workload,
    request: Request,
    choice: Choice,
    batches: tuple[int, ...] = (),
    parameters: Mapping[str, Any] | None = None,
) -> list[tuple[Case, Choice]]:
    chosen = {**(parameters or {}), **{name: value for name, value in request.parameters.items() if name in workload.parameters}}
    unknown = [name for name in request.parameters if name not in workload.parameters]
    if unknown and len(request.workloads) == 1 and not request.suites:
        raise RequestError(f"{workload.name} has no parameter {unknown[0]}; it has {', '.join(workload.parameters) or 'none'}")
    wanted: tuple[int | None, ...] = request.batches or batches or (None,)
    modes = tuple(mode for mode in choice.modes if mode in workload.modes)
    asked_in_vain = request.modes and not modes and len(request.workloads) == 1 and not request.suites
    if asked_in_vain:
        raise RequestError(f"{workload.name} has no mode {request.modes[0]}; it has {', '.join(workload.modes)}")
    cases: dict[str, tuple[Case, Choice]] = {}
    for variant in workload.variants():
        values = {**variant, **chosen}
        for batch in wanted:
            resolved = dict(values)
            if batch is not None:
                resolved["batch"] = batch
            computation = workload.resolve(**resolved)
            shown = {name: value for name, value in resolved.items() if name != "batch"}
            curve = golden.find(workload.path, computation) if request.checks else None
            case = Case(workload.name, workload.unit, shown, computation, workload.modes, digest(computation), curve)
            cases.setdefault(case.digest, (case, choice))
    return list(cases.values())


WORDS = {"device": ("gpu", *DEVICES), "precision": PRECISIONS, "mode": MODES}


def check_words(what: str, given: Sequence[str], known: Sequence[str] = ()) -> None:
    """Refuse a word that is no ``device``, ``precision`` or ``mode``, or none of ``known``, with the nearest that is."""
    known = known or WORDS[what]
    for word in given:
        if word not in known:
            raise RequestError(f"no {what} is called {word!r}; {did_you_mean(word, known)}")


def references(given: Sequence[str]) -> list[str]:
    """The frameworks named, all that are known where none is, as references that hold in any folder. Raises :class:`RequestError`."""
    named = [registry.portable(name) for name in given] or registry.names()
    try:
        for name in named:
            registry.framework(name)
    except registry.UnknownFramework as error:
        raise RequestError(str(error)) from error
    return named


def _check_executions(given: Sequence[str], frameworks: Sequence[str]) -> None:
    known = sorted({name for reference in frameworks for name in registry.framework(reference).executions})
    check_words("execution", given, known)
