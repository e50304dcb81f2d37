"""Optimizers: weights, gradients and state in; weights and state out.

Two formulas that frameworks are known to use instead are here too, so that a declared deviation can be held to what it declares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy

from frameworks.reference.elementwise import Array

Settings = Mapping[str, Any]
Arrays = Mapping[str, Array]

# What a declared deviation says (a word of its sentence), by optimizer.
DEVIATIONS = {"adam": "epsilon", "adamw": "epsilon", "sgd": "decay"}


@dataclass(frozen=True)
class State:
    """What an optimizer remembers: steps taken, and first and second moments by parameter (``u`` of ``sgd`` is the first)."""

    steps: int = 0
    first: Arrays = field(default_factory=dict)
    second: Arrays = field(default_factory=dict)


def update(
    settings: Settings, weights: Arrays, gradients: Arrays, state: State, *, deviating: bool = False
) -> tuple[dict[str, Array], State]:
    """One step of the optimizer ``settings["kind"]`` over the weights that have a gradient; the others stay as they are.

    ``deviating`` takes the other formula: Adam's epsilon added before the bias correction, or ``sgd`` with decoupled weight decay.
    """
    changed, first, second = dict(weights), {}, {}
    for name, gradient in gradients.items():
        old = (state.first.get(name, numpy.zeros_like(gradient)), state.second.get(name, numpy.zeros_like(gradient)))
        changed[name], first[name], second[name] = _RULES[settings["kind"]](
            settings, weights[name], gradient, old, state.steps + 1, deviating
        )
    return changed, State(state.steps + 1, first, second)


def _sgd(settings: Settings, w: Array, g: Array, old: tuple[Array, Array], step: int, deviating: bool) -> tuple[Array, Array, Array]:
    rate, momentum, decay = settings["learning_rate"], settings["momentum"], settings["weight_decay"]
    if deviating:
        w = w - rate * decay * w
    else:
        g = g + decay * w
    u = momentum * old[0] + g
    return w - rate * (g + momentum * u if settings["nesterov"] else u), u, old[1]


def _adam(settings: Settings, w: Array, g: Array, old: tuple[Array, Array], step: int, deviating: bool) -> tuple[Array, Array, Array]:
    rate, beta1, beta2, eps = settings["learning_rate"], settings["beta1"], settings["beta2"], settings["eps"]
    m = beta1 * old[0] + (1 - beta1) * g
    v = beta2 * old[1] + (1 - beta2) * g * g
    correction = 1 - beta2**step
    root = (numpy.sqrt(v) + eps) / numpy.sqrt(correction) if deviating else numpy.sqrt(v / correction) + eps
    return w - rate * m / (1 - beta1**step) / root, m, v


def _adamw(settings: Settings, w: Array, g: Array, old: tuple[Array, Array], step: int, deviating: bool) -> tuple[Array, Array, Array]:
    return _adam(settings, w - settings["learning_rate"] * settings["weight_decay"] * w, g, old, step, deviating)


_RULES: dict[str, Callable[[Settings, Array, Array, tuple[Array, Array], int, bool], tuple[Array, Array, Array]]] = {
    "sgd": _sgd,
    "adam": _adam,
    "adamw": _adamw,
}
