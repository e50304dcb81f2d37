"""The operations of a step's graph with the types of their attributes: traced, so that nothing is computed."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from frameworks.tensorflow import device


def record(build: Callable[[], Any]) -> list[dict[str, Any]]:
    """The operations of the step of the session that ``build`` makes, as they would be where there is a GPU."""
    with _as_on_a_gpu():
        session = build()
        graph = session.graph()
    session.close()
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    functions = {function.signature.name for function in graph.library.function}
    found: dict[tuple[str, tuple[tuple[str, str], ...]], dict[str, Any]] = {}
    for node in nodes:
        if node.op in functions:
            continue
        types = {name: _name(value.type) for name, value in node.attr.items() if value.WhichOneof("value") == "type"}
        key = (node.op, tuple(sorted(types.items())))
        numbers = _numbers(node)
        if key not in found:
            found[key] = {"name": node.op, "types": types, "every_device": _everywhere(node.op, types), "numbers": numbers}
        elif numbers is None or found[key]["numbers"] is not None:
            found[key]["numbers"] = None if numbers is None else max(found[key]["numbers"], numbers)
    return [found[key] for key in sorted(found)]


def _numbers(node: Any) -> int | None:
    """How many numbers the largest result of a node has; None where the graph does not know."""
    largest = 0
    for shape in node.attr["_output_shapes"].list.shape:
        count = tf.TensorShape(shape).num_elements()
        if count is None:
            return None
        largest = max(largest, count)
    return largest


def _name(kind: int) -> str:
    """A type as TensorFlow's sources call it: ``float``, ``half``, ``int32``."""
    name = str(tf.as_dtype(kind).name)
    return {"float16": "half", "float32": "float", "float64": "double"}.get(name, name)


def _everywhere(operation: str, types: dict[str, str]) -> bool:
    """Whether TensorFlow itself brings a kernel for these types to every device, or has the host do such work on every one."""
    from tensorflow.python.framework import kernels  # not public, but the same since 1.8

    if operation in device.HOST_WORK:
        return True
    for kernel in kernels.get_registered_kernels_for_op(operation).kernel:
        if kernel.device_type == "DEFAULT":
            allowed = {each.name: {_name(kind) for kind in each.allowed_values.list.type} for each in kernel.constraint}
            if all(types.get(name) in kinds for name, kinds in allowed.items()):
                return True
    return False


@contextlib.contextmanager
def _as_on_a_gpu() -> Iterator[None]:
    """Keras 3 takes another way through a recurrent layer where there is a GPU: let it think so while a step is traced."""
    try:
        module: Any = importlib.import_module("keras.src.backend.tensorflow.rnn")
        usual = module._is_gpu_available
    except (ImportError, AttributeError):  # Keras 2 decides when the graph runs
        yield
        return
    module._is_gpu_available = lambda: True
    try:
        yield
    finally:
        module._is_gpu_available = usual
