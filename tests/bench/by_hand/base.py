"""What the loops have in common: they show nothing of their insides, so they run without checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from frameworks.contract import Adapter, CellFailure, Session


class HandSession(Session):
    def loss(self) -> float:
        return float(self.last_loss)  # type: ignore[attr-defined]

    def outputs(self) -> numpy.ndarray:
        raise NotImplementedError

    def gradients(self) -> dict[str, numpy.ndarray]:
        raise NotImplementedError

    def parameters(self) -> dict[str, numpy.ndarray]:
        return {}

    def load(self, parameters: Mapping[str, numpy.ndarray]) -> None:
        raise NotImplementedError

    def placement(self) -> dict[str, dict[str, list[str]]]:
        return {}

    def memory(self) -> int | None:
        return None

    def facts(self) -> dict[str, Any]:
        return {}


class HandAdapter(Adapter):
    def versions(self) -> dict[str, str]:
        return {}

    def devices(self) -> dict[str, str]:
        return {"cpu": "cpu", "cuda": "cuda"}

    def failure(self, error: BaseException) -> CellFailure | None:
        return None
