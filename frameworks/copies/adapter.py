"""Adapters that pass everything on to a built-in one."""

from __future__ import annotations

import functools
import itertools

from frameworks import registry
from frameworks.contract import Adapter, CellFailure, Job, Session
from frameworks.copies import EXTRA


class Again(Adapter):
    """The same adapter."""

    def __init__(self, name: str) -> None:
        self._original = registry.adapter(name)

    def versions(self) -> dict[str, str]:
        return self._original.versions()

    def devices(self) -> dict[str, str]:
        return self._original.devices()

    def build(self, job: Job) -> Session:
        return self._original.build(job)

    def failure(self, error: BaseException) -> CellFailure | None:
        return self._original.failure(error)


class Slowed(Again):
    """Its sessions do one step in :data:`EXTRA` twice."""

    def build(self, job: Job) -> Session:
        session = super().build(job)
        step, count = session.step, itertools.count(1)

        def slowed() -> None:
            step()
            if next(count) % EXTRA == 0:
                step()

        session.step = slowed  # type: ignore[method-assign]
        return session


pytorch_again = functools.partial(Again, "pytorch")
pytorch_slowed = functools.partial(Slowed, "pytorch")
tensorflow_again = functools.partial(Again, "tensorflow")
tensorflow_slowed = functools.partial(Slowed, "tensorflow")
