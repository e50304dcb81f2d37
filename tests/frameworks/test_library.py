"""Every workload of the library becomes a model of the shape and the parameters that the runner says, in both frameworks. What the
layers compute is the conformance suite's subject, and what the networks do that of their golden curves."""

from __future__ import annotations

import numpy
import pytest

from frameworks.contract import Computation, Shape
from runner.spec import catalog
from runner.spec.workload import load_workload

NAMES = [path.stem for path in catalog.all_workloads()]


def small(name: str) -> Computation:
    """The workload in a batch of two, where it has a batch."""
    workload = load_workload(name)
    return workload.resolve() if workload.batch is None else workload.resolve(batch=2)


def parameters(computation: Computation) -> dict[str, Shape]:
    return {name: parameter.shape for name, parameter in computation.network.all_parameters()}


@pytest.mark.parametrize("name", NAMES)
def test_pytorch_builds_every_workload(name: str) -> None:
    torch = pytest.importorskip("torch")
    from frameworks.pytorch import layers

    computation = small(name)
    with torch.device("meta"):  # shapes alone
        model = layers.build(computation, dropout=True, grouped_attention=True)
        inputs = []
        for tensor in computation.inputs:
            *leading, last = tensor.shape or (1,)
            shape = (last, *leading) if model.inputs[tensor.name].first else tensor.shape
            inputs.append(torch.zeros((computation.batch or 1, *shape), dtype=torch.int64 if tensor.integer else torch.float32))
        outputs = model.module(*inputs)
    gives = computation.network.gives
    assert tuple(outputs.shape) == (computation.batch or 1, *((gives[-1], *gives[:-1]) if model.output.first else gives))
    found = {key: tuple(b.conversion.canonical(_like(b.tensor.shape)).shape) for key, b in model.bindings.items()}
    assert found == parameters(computation)


def _like(shape: Shape) -> numpy.ndarray:
    """An array of a shape that takes no memory."""
    return numpy.broadcast_to(numpy.zeros((), numpy.bool_), tuple(shape))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_tensorflow_builds_every_workload(name: str) -> None:
    tf = pytest.importorskip("tensorflow")
    from frameworks.tensorflow import layers

    computation = small(name)
    _, weights, model = layers.model(computation, "float32", "graph", True)
    assert {weight.name: weight.shape for weight in weights} == parameters(computation)
    if model is not None:
        assert tuple(model.outputs[0].shape) == (computation.batch or 1, *computation.network.gives)
    tf.keras.backend.clear_session()
