"""Losses with the targets that they accept, and optimizers with their settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from frameworks.contract import Shape
from runner.spec.schema import Settings, TargetModel
from runner.spec.shapes import ShapeError, written
from runner.spec.values import Flag, Fraction, NotNegative, Positive


@dataclass(frozen=True)
class Loss:
    """``target_shape`` derives the target's shape from the output's, per sample; ``fits`` says what is wrong with a target, or nothing;
    it continues the loss's name."""

    kind: str
    target_shape: Callable[[Shape], Shape]
    fits: Callable[[TargetModel, Shape], str]


def _classes(output: Shape) -> Shape:
    if not output:
        raise ShapeError("softmax_cross_entropy wants classes along the last axis, and the network gives a single number per sample")
    return output[:-1]


def _class_indices(target: TargetModel, output: Shape) -> str:
    if target.fill != "integers":
        return f"compares with integers, and the target's fill is `{target.fill}`"
    if target.below is not None and target.below > output[-1]:
        return f"has {output[-1]:,} classes in the output {written(output)}, and the target's integers go up to {target.below - 1:,}"
    return ""


def _numbers(target: TargetModel, output: Shape) -> str:
    return "compares with numbers, and the target's fill is `integers`" if target.fill == "integers" else ""


def _probabilities(target: TargetModel, output: Shape) -> str:
    if target.fill in ("uniform", "linspace") and 0 <= target.low <= target.high <= 1:
        return ""
    span = f" from {target.low:g} to {target.high:g}" if target.fill in ("uniform", "linspace") else ""
    return f"compares with numbers from 0 to 1, and the target's fill is `{target.fill}`{span}"


LOSSES: Mapping[str, Loss] = {
    loss.kind: loss
    for loss in (
        Loss("softmax_cross_entropy", _classes, _class_indices),
        Loss("mean_squared_error", lambda output: output, _numbers),
        Loss("sum_squared_error", lambda output: output, _numbers),
        Loss("binary_cross_entropy", lambda output: output, _probabilities),
    )
}


class Optimizer(Settings):
    """An update rule's settings; :meth:`fault` says what is wrong with their combination, or nothing."""

    kind: ClassVar[str]

    def fault(self) -> str:
        return ""


class Sgd(Optimizer):
    kind = "sgd"

    learning_rate: Positive
    momentum: Fraction = 0.0
    nesterov: Flag = False
    weight_decay: NotNegative = 0.0

    def fault(self) -> str:
        return "nesterov needs a momentum above 0" if self.nesterov and not self.momentum else ""


class Adam(Optimizer):
    kind = "adam"
    hints: ClassVar[dict[str, str]] = {"eps": "frameworks differ here, so it must be said; 1e-8 is the paper's"}

    learning_rate: Positive
    beta1: Fraction = 0.9
    beta2: Fraction = 0.999
    eps: Positive


class Adamw(Adam):
    kind = "adamw"
    hints: ClassVar[dict[str, str]] = {**Adam.hints, "weight_decay": "frameworks differ here, so it must be said; 0.01 is usual"}

    weight_decay: NotNegative


class NoUpdate(Optimizer):
    kind = "none"


OPTIMIZERS: Mapping[str, type[Optimizer]] = {optimizer.kind: optimizer for optimizer in (Sgd, Adam, Adamw, NoUpdate)}
