"""Adapters on which a recorded Mac runs; ``H2H_FAKE_GPU`` (``works``, ``fails``) says what became of its GPU."""

from __future__ import annotations

import os
import time

import numpy

from frameworks.contract import Adapter, CellFailure, Job, Session
from frameworks.data import batches, parameter_values
from frameworks.reference.network import forward

MEMORY = "MPS backend out of memory (MPS allocated: 0 bytes, other allocations: 0 bytes, max allowed: 7.93 GB)"


class AppleSession(Session):
    """Steps of a millisecond; training changes the parameters, inference computes its outputs when they are read."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.values = parameter_values(job.computation, job.seed)
        self.data = batches(job.computation, job.batches, job.seed)
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        time.sleep(0.001)
        if self.job.mode == "train":
            for value in self.values.values():
                value += 1e-3

    def wait(self) -> None:
        pass

    def loss(self) -> float:
        return 1.0 / self.steps

    def outputs(self) -> numpy.ndarray:
        batch = self.data[(self.steps - 1) % len(self.data)]
        batched = self.job.computation.batch is not None
        exact = forward(self.job.computation.network, self.values, batch.inputs, training=False, batched=batched)
        return exact.astype(numpy.float32).astype(numpy.float64)

    def gradients(self) -> dict[str, numpy.ndarray]:
        return {name: numpy.ones(value.shape) for name, value in self.values.items()}

    def parameters(self) -> dict[str, numpy.ndarray]:
        return self.values

    def load(self, parameters: dict[str, numpy.ndarray]) -> None:  # type: ignore[override]
        self.values.update(parameters)

    def placement(self) -> dict[str, dict[str, list[str]]]:
        where = {"devices": [self.job.device], "types": ["float32"]}
        return {"parameters": where, "inputs": where, "outputs": where}

    def memory(self) -> int | None:
        return None

    def facts(self) -> dict[str, object]:
        return {"optimizer": "SGD", "layout": "none", "threads": 1, "compilations": 0, "graph_breaks": None, "deviations": []}


class AppleAdapter(Adapter):
    gpu = ""

    def versions(self) -> dict[str, str]:
        return {"fake": "1.0"}

    def devices(self) -> dict[str, str]:
        works = os.environ.get("H2H_FAKE_GPU", "works") == "works"
        return {"cpu": "arm", **({self.gpu: "Apple GPU (arm64)"} if works else {})}

    def build(self, job: Job) -> Session:
        if job.device not in self.devices():
            raise CellFailure("out_of_memory", MEMORY, "try a smaller batch")
        return AppleSession(job)

    def failure(self, error: BaseException) -> CellFailure | None:
        return None


class PyTorchAdapter(AppleAdapter):
    gpu = "mps"


class TensorFlowAdapter(AppleAdapter):
    gpu = "metal"
