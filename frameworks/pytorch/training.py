"""Losses, optimizers and the step: PyTorch's own classes with the implementation that they choose themselves."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from frameworks.contract import Unsupported

Inputs = tuple[Tensor, ...]
Loss = Callable[[Tensor, Tensor], Tensor]
Forward = Callable[..., Any]
Context = Callable[[], contextlib.AbstractContextManager[Any]]


def _softmax_cross_entropy(outputs: Tensor, target: Tensor) -> Tensor:
    """``outputs`` ``[batch, classes]`` or, channels first, ``[batch, classes, ...]``."""
    return F.cross_entropy(outputs, target)


def _softmax_cross_entropy_last(outputs: Tensor, target: Tensor) -> Tensor:
    """``outputs`` ``[batch, ..., classes]``."""
    return F.cross_entropy(outputs.flatten(0, -2), target.flatten())


def _mean_squared_error(outputs: Tensor, target: Tensor) -> Tensor:
    return F.mse_loss(outputs, target)


def _sum_squared_error(outputs: Tensor, target: Tensor) -> Tensor:
    return F.mse_loss(outputs, target, reduction="sum")


def _binary_cross_entropy(outputs: Tensor, target: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(outputs, target)


LOSSES: dict[str, Loss] = {
    "softmax_cross_entropy": _softmax_cross_entropy,
    "mean_squared_error": _mean_squared_error,
    "sum_squared_error": _sum_squared_error,
    "binary_cross_entropy": _binary_cross_entropy,
}


def loss_function(name: str, *, rank: int, channels_first: bool, widen: bool) -> Loss:
    """The loss on outputs of ``rank`` axes, batch included. With ``widen``, outputs of a half type are made float32 before it."""
    loss = LOSSES[name]
    if name == "softmax_cross_entropy" and rank > 2 and not channels_first:
        loss = _softmax_cross_entropy_last
    if not widen:
        return loss
    return lambda outputs, target: loss(outputs.float(), target)


def _sgd(parameters: Iterable[nn.Parameter], settings: Mapping[str, Any]) -> torch.optim.Optimizer:
    return torch.optim.SGD(
        parameters,
        lr=settings["learning_rate"],
        momentum=settings["momentum"],
        nesterov=settings["nesterov"],
        weight_decay=settings["weight_decay"],
    )


def _adam(parameters: Iterable[nn.Parameter], settings: Mapping[str, Any]) -> torch.optim.Optimizer:
    return torch.optim.Adam(
        parameters, lr=settings["learning_rate"], betas=(settings["beta1"], settings["beta2"]), eps=settings["eps"], weight_decay=0.0
    )


def _adamw(parameters: Iterable[nn.Parameter], settings: Mapping[str, Any]) -> torch.optim.Optimizer:
    return torch.optim.AdamW(
        parameters,
        lr=settings["learning_rate"],
        betas=(settings["beta1"], settings["beta2"]),
        eps=settings["eps"],
        weight_decay=settings["weight_decay"],
    )


OPTIMIZERS: dict[str, Callable[[Iterable[nn.Parameter], Mapping[str, Any]], torch.optim.Optimizer]] = {
    "sgd": _sgd,
    "adam": _adam,
    "adamw": _adamw,
}


def optimizer(settings: Mapping[str, Any], module: nn.Module) -> torch.optim.Optimizer:
    """The optimizer over all trainable parameters of a module. Raises :class:`Unsupported` for ``none``."""
    if settings["kind"] not in OPTIMIZERS:
        raise Unsupported("the workload has no optimizer, so it cannot be trained", "use --mode infer")
    return OPTIMIZERS[settings["kind"]]([parameter for parameter in module.parameters() if parameter.requires_grad], settings)


def forward(module: nn.Module, loss: Loss, context: Context | None) -> Forward:
    """From inputs and target to the loss, under ``context`` where there is one."""

    def run(inputs: Inputs, target: Tensor) -> Tensor:
        return loss(module(*inputs), target)

    return _within(run, context)


def predict(module: nn.Module, context: Context | None) -> Forward:
    """From inputs to outputs, under ``context`` where there is one."""

    def run(inputs: Inputs) -> Tensor:
        outputs: Tensor = module(*inputs)
        return outputs

    return _within(run, context)


def _within(function: Forward, context: Context | None) -> Forward:
    if context is None:
        return function

    def run(*arguments: Any) -> Tensor:
        with context():
            result: Tensor = function(*arguments)
        return result

    return run


def train_step(forward: Forward, optimizer: torch.optim.Optimizer, scaler: Any) -> Callable[[Inputs, Tensor], Tensor]:
    """One forward, backward and update; gives the loss before the update. ``scaler`` is None where losses are not scaled."""

    def step(inputs: Inputs, target: Tensor) -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss: Tensor = forward(inputs, target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    def scaled_step(inputs: Inputs, target: Tensor) -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss: Tensor = forward(inputs, target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return step if scaler is None else scaled_step


def infer_step(predict: Forward) -> Callable[[Inputs], Tensor]:
    """One forward without recording for gradients."""

    def step(inputs: Inputs) -> Tensor:
        with torch.inference_mode():
            outputs: Tensor = predict(inputs)
        return outputs

    return step
