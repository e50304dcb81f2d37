"""An adapter that computes with the reference, and mutations that change one detail of what it computes."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy

from frameworks import data
from frameworks.contract import Adapter, CellFailure, Computation, Job, Session, Unsupported
from frameworks.reference import network, optimizers, sequences
from frameworks.reference.layers import LAYERS, Layer

Arrays = dict[str, numpy.ndarray]


@dataclass(frozen=True)
class Mutation:
    """What to get wrong: the computation before it is built, layers of the table, loaded weights, or methods of the session."""

    computation: Callable[[Computation], Computation] = lambda computation: computation
    layers: Mapping[str, Layer] = field(default_factory=dict)
    load: Callable[[str, numpy.ndarray], numpy.ndarray] = lambda name, value: value
    session: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    deviating: bool = False
    deviations: tuple[str, ...] = ()


class ReferenceAdapter(Adapter):
    """The reference behind the contract."""

    def __init__(self, mutation: Mutation | None = None) -> None:
        self.mutation = mutation or Mutation()

    def versions(self) -> dict[str, str]:
        return {"numpy": numpy.__version__}

    def devices(self) -> dict[str, str]:
        return {"cpu": "CPU"}

    def build(self, job: Job) -> ReferenceSession:
        if job.precision not in ("float64", "float32"):
            raise Unsupported(f"the reference has no {job.precision}")
        kind = type("MutatedSession", (ReferenceSession,), dict(self.mutation.session))
        session: ReferenceSession = kind(job, self.mutation)
        return session

    def failure(self, error: BaseException) -> CellFailure | None:
        return None


class ReferenceSession(Session):
    """Float64 throughout; ``float32`` only rounds what is read."""

    def __init__(self, job: Job, mutation: Mutation) -> None:
        self.job = job
        self.mutation = mutation
        self.computation = mutation.computation(job.computation)
        self.values: Arrays = {}
        self.load(data.parameter_values(self.computation, job.seed))
        self.batches = data.batches(self.computation, job.batches, job.seed)
        self.steps = 0
        self.state = optimizers.State()
        self.last_loss = 0.0
        self.last_outputs = numpy.zeros(())

    def step(self) -> None:
        batch = self.batches[self.steps % len(self.batches)]
        training = self.job.mode == "train"
        with self.layers():
            if self.computation.loss is not None:
                self.last_loss = network.loss(self.computation, self.values, batch, training)
            if training:
                self.update(batch)
            else:
                self.last_outputs = network.outputs(self.computation, self.values, batch, False)
        self.steps += 1

    def update(self, batch: data.Batch) -> None:
        running = network.statistics(self.computation, self.values, batch, unbiased=True)
        slopes = network.gradients(self.computation, self.values, batch, to_inputs=False)
        settings, deviating = self.computation.optimizer, self.mutation.deviating
        changed, self.state = optimizers.update(settings, self.values, slopes, self.state, deviating=deviating)
        self.values = {**changed, **running}

    def wait(self) -> None:
        pass

    def loss(self) -> float:
        return self.last_loss

    def outputs(self) -> numpy.ndarray:
        return self.rounded(self.last_outputs)

    def gradients(self) -> Arrays:
        with self.layers():
            found = network.gradients(self.computation, self.values, self.batches[self.steps % len(self.batches)])
        return {name: self.rounded(value) for name, value in found.items()}

    def parameters(self) -> Arrays:
        return copy.deepcopy(self.values)

    def load(self, parameters: Mapping[str, numpy.ndarray]) -> None:
        shapes = {name: parameter.shape for name, parameter in self.computation.network.all_parameters()}
        for name, value in parameters.items():
            if value.shape != shapes[name]:
                raise ValueError(f"{name} has the shape {shapes[name]}, not {value.shape}")
            self.values[name] = self.mutation.load(name, network.wide(value))

    def placement(self) -> dict[str, dict[str, list[str]]]:
        return {part: {"devices": ["cpu"], "types": [self.job.precision]} for part in ("parameters", "inputs", "outputs")}

    def memory(self) -> None:
        return None

    def facts(self) -> dict[str, Any]:
        return {"optimizer": "reference", "deviations": list(self.mutation.deviations)}

    def rounded(self, value: numpy.ndarray) -> numpy.ndarray:
        return value if value.dtype.kind == "i" else value.astype(self.job.precision).astype(numpy.float64)

    @contextlib.contextmanager
    def layers(self) -> Iterator[None]:
        """The layers as this session has them: its masks while training, its mutations always."""
        masked: dict[str, Layer] = {}
        if self.job.mode == "train" and self.job.dropout:
            masked = {"dropout": self.dropout, "attention": self.attention}
        with mock.patch.dict(LAYERS, {**masked, **self.mutation.layers}):
            yield

    def dropout(self, x: numpy.ndarray, attributes: Mapping[str, Any], parameters: Arrays, training: bool) -> numpy.ndarray:
        return x * self.mask(x.shape, attributes["rate"])

    def attention(self, x: numpy.ndarray, attributes: Mapping[str, Any], parameters: Arrays, training: bool) -> numpy.ndarray:
        softmax = sequences.softmax_of
        with mock.patch.object(sequences, "softmax_of", lambda scores: softmax(scores) * self.mask(scores.shape, attributes["dropout"])):
            return sequences.attention(x, attributes, parameters, training)

    def mask(self, shape: tuple[int, ...], rate: float) -> numpy.ndarray:
        """Drawn anew in each step, and the same throughout one."""
        return (numpy.random.RandomState(self.steps).random_sample(shape) >= rate) / (1 - rate)
