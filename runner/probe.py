"""What is installed: each framework asked once in a process of its own, so that a missing or broken one is a row and not an error."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from frameworks import registry
from frameworks.contract import CellFailure, Framework
from runner import environment
from runner.launch import Child, Limits
from runner.records import FrameworkState, named


@dataclass(frozen=True)
class Found:
    """``versions`` and ``devices`` are empty where the framework did not answer; ``failure`` says why."""

    facts: Framework
    python: str
    versions: Mapping[str, str] = field(default_factory=dict)
    devices: Mapping[str, str] = field(default_factory=dict)
    failure: CellFailure | None = None
    era: str = ""

    @property
    def gpu(self) -> str | None:
        """The backend that serves its GPU, if it sees one."""
        return next((name for name in self.devices if name != "cpu"), None)

    def state(self) -> FrameworkState:
        """As the run file's header holds it."""
        failure = self.failure
        return FrameworkState(
            title=named(self.facts.title, self.era),
            status=failure.status if failure else "ok",
            reason=failure.reason if failure else "",
            remedy=failure.remedy if failure else "",
            versions=self.versions,
            devices=self.devices,
        )


def probe(
    references: Sequence[str], pythons: Mapping[str, str], extra: Mapping[str, str], logs: Path, default: str, limits: Limits
) -> dict[str, Found]:
    """Ask each framework for versions and usable devices, one after the other. ``pythons`` maps names to interpreters."""
    return {
        reference: _ask(reference, pythons.get(registry.framework(reference).name, default), extra, logs, limits)
        for reference in references
    }


def _ask(reference: str, python: str, extra: Mapping[str, str], logs: Path, limits: Limits) -> Found:
    facts = registry.framework(reference)
    with tempfile.TemporaryDirectory(prefix="h2h-") as private:
        variables = environment.build(Path(private), facts.environment, None, extra)
        try:
            child = Child(
                {"probe": reference},
                folder=Path(private),
                log=logs / f"probe-{facts.name}.log",
                environment=variables,
                python=python,
                limits=limits,
            )
        except CellFailure as failure:
            return Found(facts, python, failure=failure)
        versions: Mapping[str, str] = {}
        try:
            versions = child.expect("imported").data["versions"]
            devices = child.expect("probed").data["devices"]
            child.release()
            return Found(facts, python, versions, devices)
        except CellFailure as failure:
            return Found(facts, python, versions, failure=failure)
        finally:
            child.close()
