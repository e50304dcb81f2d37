"""Recorded operators held against what a version of PyTorch or of tensorflow-metal has kernels for: pure functions."""

from __future__ import annotations

from dataclasses import dataclass

from runner.coverage.metal import Plugin
from runner.coverage.mps import Torch
from runner.coverage.record import Recorded
from runner.coverage.translate import FUSED, on_mps

# The operation that updates one parameter at once, by optimizer. Keras 3 does not use them, Keras 2 and its legacy optimizers do.
FUSED_METAL = {"sgd": "ResourceApplyGradientDescent", "momentum": "ResourceApplyKerasMomentum", "adam": "ResourceApplyAdam"}


@dataclass(frozen=True)
class Judged:
    """One step on one GPU. ``falls_back`` lists operators without a kernel there, ``unknown`` those that the version's table lacks;
    ``fused`` says whether there is a fused kernel for its optimizer, None without an optimizer. ``status`` is one of
    ``contract.Status``: other than ``ok`` where nothing could be recorded, for the ``reason`` given."""

    workload: str
    mode: str
    precision: str
    framework: str
    gpu: str
    operators: int
    falls_back: tuple[str, ...]
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
        return Judged(*named, 0, (), (), None, recorded.failure.status, recorded.failure.reason)
    if step.framework == "pytorch":
        states = on_mps((operator["name"] for operator in recorded.operators), torch)
        missing = sorted(name for name, state in states.items() if state == "missing")
        unknown = sorted(name for name, state in states.items() if state is None)
        fused = torch.state(FUSED[step.optimizer]) == "mps" if step.optimizer in FUSED else None
        return Judged(*named, len(states), tuple(missing), tuple(unknown), fused)
    missing = [
        _typed(operator["name"], operator["types"])
        for operator in recorded.operators
        if not operator["every_device"] and not plugin.has(operator["name"], operator["types"])
    ]
    fused = None
    if step.optimizer != "none":
        fused = plugin.has(FUSED_METAL.get(step.optimizer, ""), {"T": "float"})
    return Judged(*named, len(recorded.operators), tuple(sorted(missing)), (), fused)


def _typed(name: str, types: dict[str, str]) -> str:
    """An operation with its types, those of shapes and indices only where there are no others."""
    told = {key: kind for key, kind in types.items() if key in ("T", "dtype", "SrcT", "DstT", "Tparams", "element_dtype")} or types
    return f"{name}({', '.join(told.values())})" if told else name
