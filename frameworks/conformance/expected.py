"""What the reference says about a case, computed once in a process."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy

from frameworks.conformance.case import Case
from frameworks.data import Batch, batches, parameter_values
from frameworks.reference import network, optimizers
from frameworks.reference.elementwise import Array

STEPS = 3
SEED = 0

Arrays = dict[str, Array]


@dataclass(frozen=True)
class Training:
    """Losses of ``STEPS`` steps and the parameters after them; running statistics under both corrections of the variance."""

    losses: tuple[float, ...]
    parameters: Arrays
    biased: Arrays
    unbiased: Arrays


@functools.cache
def weights(case: Case) -> Arrays:
    """The weights that a session is told to load: not those it starts with, so that loading shows."""
    return parameter_values(case.computation, SEED + 1)


@functools.cache
def given(case: Case) -> list[Batch]:
    """The batches that a session with ``SEED`` sees."""
    return batches(case.computation, STEPS, SEED)


@functools.cache
def outputs(case: Case, index: int) -> Array:
    """The outputs in inference on one batch."""
    return network.outputs(case.computation, weights(case), given(case)[index], False)


@functools.cache
def loss(case: Case, index: int) -> float:
    """The loss in inference on one batch."""
    return network.loss(case.computation, weights(case), given(case)[index], False)


@functools.cache
def gradients(case: Case) -> Arrays:
    """Gradients of the training loss on the first batch, to parameters and inputs."""
    return network.gradients(case.computation, weights(case), given(case)[0])


@functools.cache
def training(case: Case, taken: tuple[bool, ...], deviating: bool) -> Training:
    """Three steps, by the optimizer's formula in the language or by the deviating one; those not ``taken`` change no trained parameter."""
    computation = case.computation
    parameters: Arrays = {name: network.wide(value) for name, value in weights(case).items()}
    biased, unbiased = parameters, parameters
    state, losses = optimizers.State(), []
    for number, (batch, moves) in enumerate(zip(given(case), taken, strict=True)):
        losses.append(network.loss(computation, parameters, batch, True))
        biased = network.statistics(computation, {**parameters, **biased}, batch, unbiased=False)
        unbiased = network.statistics(computation, {**parameters, **unbiased}, batch, unbiased=True)
        if not moves:
            continue
        slopes = gradients(case) if number == 0 else network.gradients(computation, parameters, batch, to_inputs=False)
        trained = {name: slope for name, slope in slopes.items() if name in parameters}
        parameters, state = optimizers.update(computation.optimizer, parameters, trained, state, deviating=deviating)
    return Training(tuple(losses), parameters, biased, unbiased)


def largest(values: Array) -> float:
    """The largest magnitude; 0 of nothing."""
    return float(numpy.abs(values).max(initial=0.0))
