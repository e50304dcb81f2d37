"""Recorded operators held against what a version of PyTorch or of tensorflow-metal has kernels for: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runner.coverage.metal import Plugin
from runner.coverage.mps import Torch
from runner.coverage.record import Recorded
from runner.coverage.translate import FUSED, on_mps

# The operation that updates one parameter at once, by optimizer. Keras 3 does not use them, Keras 2 and its legacy optimizers do.
FUSED_METAL = {"sgd": "ResourceApplyGradientDescent", "momentum": "ResourceApplyKerasMomentum", "adam": "ResourceApplyAdam"}

INTEGERS = {"int32", "int64", "uint32", "uint64", "bool"}
FEW = 16  # numbers: a shape, an axis, a counter, the key of a random stream


@dataclass(frozen=True)
class Judged:
    """One step on one GPU.

    ``falls_back`` lists operators without a kernel there, ``on_host`` those that only count or work out shapes and keys, a few whole
    numbers that are in the host's memory anyway, and ``unknown`` those that the version's table lacks. ``fused`` says whether there is a
    fused kernel for the optimizer, None without one. ``status`` is one of ``contract.Status``: other than ``ok`` where nothing could be
    recorded, for the ``reason`` given.
    """

    workload: str
    mode: str
    precision: str
    framework: str
    gpu: str
    operators: int
    falls_back: tuple[str, ...]
    on_host: tuple[str, ...]
    unknown: tuple[str, ...]
    fused: bool | None
    status: str = "ok"
    reason: str = ""

    @property
    def whole(self) -> bool:
        return self.status == "ok" and not self.falls_back and not self.unknown


def judge(recorded: Recorded, torch: Torch, plugin: Plugin) -> Judged:
    """A step of PyTorch on MPS, or of TensorFlow on Metal."""
    step = recorded.step
    gpu = f"MPS, torch {torch.version}" if step.framework == "pytorch" else f"Metal, plug-in {plugin.version}"
    named = (step.workload, step.mode, step.precision, step.framework, gpu)
    if recorded.failure is not None:
        return Judged(*named, 0, (), (), (), None, recorded.failure.status, recorded.failure.reason)
    if step.framework == "pytorch":
        states = on_mps((operator["name"] for operator in recorded.operators), torch)
        missing = sorted(name for name, state in states.items() if state == "missing")
        unknown = sorted(name for name, state in states.items() if state is None)
        fused = torch.state(FUSED[step.optimizer]) == "mps" if step.optimizer in FUSED else None
        return Judged(*named, len(states), tuple(missing), (), tuple(unknown), fused)
    without = [
        operator for operator in recorded.operators if not operator["every_device"] and not plugin.has(operator["name"], operator["types"])
    ]
    small = [operator for operator in without if _few_integers(operator)]
    large = [operator for operator in without if operator not in small]
    fused = None
    if step.optimizer != "none":
        fused = plugin.has(FUSED_METAL.get(step.optimizer, ""), {"T": "float"})
    return Judged(*named, len(recorded.operators), _listed(large), _listed(small), (), fused)


def _few_integers(operator: Mapping[str, Any]) -> bool:
    types, numbers = set(operator["types"].values()), operator["numbers"]
    return bool(types) and types <= INTEGERS and numbers is not None and numbers <= FEW


def _listed(operators: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(sorted({_typed(operator["name"], operator["types"]) for operator in operators}))


def _typed(name: str, types: Mapping[str, str]) -> str:
    """An operation with its types, those of shapes and indices only where there are no others."""
    told = {key: kind for key, kind in types.items() if key in ("T", "dtype", "SrcT", "DstT", "Tparams", "element_dtype")} or types
    return f"{name}({', '.join(told.values())})" if told else name
