"""The digests of the library's workloads, by which a cell of a run proves to be the work that a figure is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from runner.claims.model import Number


class Computations(Protocol):
    """Something that knows workloads by name."""

    def digest(self, workload: str, batch: int | None, parameters: Mapping[str, Number]) -> str | None:
        """The digest of a workload's computation, as a run file has it; None where there is no such workload or parameter."""


class Library:
    """The workloads that come along, each read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int | None, tuple[tuple[str, Number], ...]], str | None] = {}

    def digest(self, workload: str, batch: int | None, parameters: Mapping[str, Number]) -> str | None:
        key = (workload, batch, tuple(sorted(parameters.items())))
        if key not in self._known:
            self._known[key] = self._computed(workload, batch, parameters)
        return self._known[key]

    @staticmethod
    def _computed(workload: str, batch: int | None, parameters: Mapping[str, Number]) -> str | None:
        from runner.plan import digest
        from runner.spec import catalog
        from runner.spec.problems import SpecError
        from runner.spec.workload import load_workload

        try:
            return digest(load_workload(catalog.find(workload)).resolve(batch, **parameters))
        except SpecError:
            return None
