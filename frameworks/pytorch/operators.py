"""The operators of a step, as they reach a device: recorded after autograd, on the shapes alone, so that nothing is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from frameworks.contract import Unsupported

UPDATE = "update:"
"""Before the name of an operator that the optimizer calls, since optimizers are written in Python and differ from version to version."""

WHOLE = {"lstm"}
"""Functions that are made of others on the CPU and are operators of their own on MPS."""

VARIANTS = {
    **dict.fromkeys(("convolution", "convolution_backward"), "transposed"),
    "_scaled_dot_product_flash_attention_for_cpu": "is_causal",
}
"""Operators for which another one runs on MPS where this argument is true; they are named with it, as ``convolution[transposed]``."""


class Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Keeps operators by name with overload, as ``add.Tensor``."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, None] = {}
        self.prefix = ""
        self._overflows: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        space, _, name = func.name().partition("::")
        if space != "aten":
            return func(*args, **(kwargs or {}))
        if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
            with self:  # always made of others: without gradients it would arrive here as one
                return func.decompose(*args, **(kwargs or {}))
        self.names[self.prefix + _variant(name, func, args, kwargs or {})] = None
        if name == "_amp_foreach_non_finite_check_and_unscale_":
            self._overflows.append(args[1])
        if name == "_local_scalar_dense":  # a number read back: there is none, so nothing has overflowed, and a step is the first
            return 0.0 if any(args[0] is tensor for tensor in self._overflows) else 1.0
        return func(*args, **(kwargs or {}))


class Calls(TorchFunctionMode):  # type: ignore[misc]
    """Notes calls of :data:`WHOLE`."""

    def __init__(self, names: dict[str, None]) -> None:
        super().__init__()
        self._names = names

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in WHOLE:
            self._names[name] = None
        return func(*args, **(kwargs or {}))


def _variant(name: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    argument = VARIANTS.get(name)
    if argument is None:
        return name
    place = [each.name for each in func._schema.arguments].index(argument)
    given = args[place] if place < len(args) else kwargs.get(argument, False)
    return f"{name}[{argument}]" if given else name


def record(build: Callable[[], Any]) -> list[dict[str, Any]]:
    """The operators of two steps of the session that ``build`` makes, the first of which creates the optimizer's state."""
    try:
        from torch._subclasses.fake_tensor import FakeTensorMode
    except ImportError as error:
        raise Unsupported(f"operators are recorded with PyTorch 2.0 or later, this is {torch.__version__}", "use a later one") from error
    recorder = Recorder()

    def before(*_: Any) -> None:
        recorder.prefix = UPDATE

    def after(*_: Any) -> None:
        recorder.prefix = ""

    session = build()
    if session.optimizer is not None:
        session.optimizer.register_step_pre_hook(before)
        session.optimizer.register_step_post_hook(after)
    with FakeTensorMode(allow_non_fake_inputs=True), recorder, Calls(recorder.names):
        session.step()
        session.step()
    session.close()
    return [{"name": name} for name in sorted(recorder.names)]
