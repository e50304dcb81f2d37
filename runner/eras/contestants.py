"""Frameworks of eras as contestants of a run: which interpreter serves each, and what it answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from frameworks import registry
from frameworks.contract import CellFailure
from runner import probe as probes
from runner.eras.environments import environments, serving
from runner.launch import Limits
from runner.probe import Found
from runner.records import named
from runner.spec.era import Era, load_era


def probe(references: Sequence[str], eras: Sequence[str], extra: Mapping[str, str], logs: Path, limits: Limits) -> dict[str, Found]:
    """Ask each framework of each era for versions and usable devices. One without an environment is found as not installed.

    Raises :class:`UserError` for an era that there is not, and where eras have no locks for this machine.
    """
    found = {}
    for name in eras:
        era = load_era(name)
        for reference in references:
            facts = registry.framework(reference)
            python, failure = _interpreter(era, facts.name)
            if python is None:
                one = Found(facts, "", failure=failure)
            else:
                one = probes.probe([reference], {}, extra, logs / era.name, python, limits)[reference]
            found[named(reference, name)] = dataclasses.replace(one, era=name)
    return found


def _interpreter(era: Era, framework: str) -> tuple[str | None, CellFailure | None]:
    if framework not in era.frameworks:
        return None, CellFailure("unsupported", f"the era {era.name} has no {framework}", f"it has {', '.join(era.frameworks)}")
    (environment,) = environments(era, (framework,))
    python, reason = serving(environment)
    if python is None:
        return None, CellFailure("not_installed", reason, f"h2h env create {era.name} --framework {framework}")
    return python, None
