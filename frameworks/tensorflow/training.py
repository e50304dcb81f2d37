"""Losses, optimizers and the steps: a custom training loop around ``tf.GradientTape``, the whole step one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from frameworks.tensorflow import device

Step = Callable[[Any, Any], Any]


def loss_function(kind: str) -> Callable[[Any, Any], Any]:
    """The loss of (target, outputs), computed in float32 or wider."""
    function = LOSSES[kind]()
    return lambda target, y: function(target, tf.cast(y, tf.float32) if y.dtype.size < 4 else y)


def sum_squared_error() -> Callable[[Any, Any], Any]:
    return lambda target, y: tf.reduce_sum(tf.square(y - tf.cast(target, y.dtype)))


LOSSES: dict[str, Callable[[], Callable[[Any, Any], Any]]] = {
    "softmax_cross_entropy": lambda: tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    "mean_squared_error": lambda: tf.keras.losses.MeanSquaredError(),
    "sum_squared_error": sum_squared_error,
    "binary_cross_entropy": lambda: tf.keras.losses.BinaryCrossentropy(from_logits=True),
}


def make_optimizer(settings: Mapping[str, Any], variables: list[Any], precision: str) -> Optimizer:
    """The optimizer of a computation, its slots created."""
    return Optimizer(settings, variables, precision)


class Optimizer:
    """Keras' own optimizer, with the loss scaled in mixed float16 and with coupled weight decay, which Keras' SGD has not."""

    def __init__(self, settings: Mapping[str, Any], variables: list[Any], precision: str) -> None:
        self.variables = variables
        self.keras = OPTIMIZERS[settings["kind"]](settings)
        self._decay = float(settings.get("weight_decay", 0.0)) if settings["kind"] == "sgd" else 0.0
        self.scaled: Callable[[Any], Any] = lambda loss: loss
        self.unscaled: Callable[[list[Any]], list[Any]] = list
        self._unscales_itself = False
        if precision == "mixed_float16":
            self.keras, self.scaled, self.unscaled, self._unscales_itself = device.loss_scaling(self.keras)
        device.make_slots(self.keras, variables)

    def apply(self, gradients: list[Any]) -> None:
        """Update the variables with the gradients of the scaled loss."""
        if not self._unscales_itself:
            gradients = self.unscaled(gradients)
        if self._decay:
            decay = self.scaled(self._decay) if self._unscales_itself else self._decay
            gradients = [tf.convert_to_tensor(g) + decay * tf.convert_to_tensor(w) for g, w in zip(gradients, self.variables, strict=True)]
        self.keras.apply_gradients(zip(gradients, self.variables, strict=True))


def sgd(settings: Mapping[str, Any]) -> Any:
    return device.optimizer_class("sgd")(
        learning_rate=settings["learning_rate"], momentum=settings["momentum"], nesterov=settings["nesterov"]
    )


def adam(settings: Mapping[str, Any]) -> Any:
    return device.optimizer_class("adam")(
        learning_rate=settings["learning_rate"], beta_1=settings["beta1"], beta_2=settings["beta2"], epsilon=settings["eps"]
    )


def adamw(settings: Mapping[str, Any]) -> Any:
    return device.optimizer_class("adamw")(
        learning_rate=settings["learning_rate"],
        weight_decay=settings["weight_decay"],
        beta_1=settings["beta1"],
        beta_2=settings["beta2"],
        epsilon=settings["eps"],
    )


OPTIMIZERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {"sgd": sgd, "adam": adam, "adamw": adamw}


def train_step(model: Callable[..., Any], loss: Callable[[Any, Any], Any], optimizer: Optimizer) -> Step:
    """One step of training: forward, loss, backward, update. It gives the loss before the update."""
    variables, scaled, apply = optimizer.variables, optimizer.scaled, optimizer.apply

    def step(inputs: Any, target: Any) -> Any:
        with tf.GradientTape() as tape:
            value = loss(target, model(inputs, training=True))
            objective = scaled(value)
        apply(tape.gradient(objective, variables))
        return value

    return step


def infer_step(model: Callable[..., Any]) -> Step:
    """One forward pass with evaluation behaviour. It gives the outputs."""

    def step(inputs: Any, target: Any) -> Any:
        return model(inputs, training=False)

    return step


def all_gradients(
    model: Callable[..., Any], loss: Callable[[Any, Any], Any], optimizer: Optimizer | None, variables: list[Any], inputs: Any, target: Any
) -> tuple[Any, list[Any], list[Any]]:
    """Outputs, and the gradients as training computes them to the variables and to those inputs that have one (None for others)."""
    given = inputs if isinstance(inputs, list) else [inputs]
    with tf.GradientTape() as tape:
        tape.watch([x for x in given if x.dtype.is_floating])
        y = model(inputs, training=True)
        value = loss(target, y)
        if optimizer:
            value = optimizer.scaled(value)
    found = tape.gradient(value, [*variables, *given], unconnected_gradients=tf.UnconnectedGradients.NONE)
    of_variables = [tf.zeros_like(w) if g is None else g for g, w in zip(found, variables, strict=False)]
    of_inputs = [tf.zeros_like(x) if g is None and x.dtype.is_floating else g for g, x in zip(found[len(variables) :], given, strict=True)]
    if optimizer:
        of_variables, of_inputs = optimizer.unscaled(of_variables), optimizer.unscaled(of_inputs)
    return y, of_variables, of_inputs
