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


class Optimizer:
    """Keras' own optimizer for ``variables``, its slots created.

    Around it what Keras leaves to a training loop: scaling the loss in mixed float16, and coupled weight decay, which its SGD has not.
    """

    def __init__(self, settings: Mapping[str, Any], variables: list[Any], precision: str) -> None:
        self.variables = variables
        self._kind, self._momentum = settings["kind"], settings.get("momentum", 0.0)
        self._decay = float(settings["weight_decay"]) if self._kind == "sgd" else 0.0
        self._keras = self._plain = OPTIMIZERS[self._kind](settings)
        self.scaled: Callable[[Any], Any] = lambda loss: loss
        self.unscaled: Callable[[list[Any]], list[Any]] = list
        self._takes_scaled = False
        if precision == "mixed_float16":
            self._keras, self.scaled, self.unscaled, self._takes_scaled = device.loss_scaling(self._plain)
        device.make_slots(self._keras, variables)

    def apply(self, gradients: list[Any]) -> None:
        """Update the variables with the gradients of the scaled loss."""
        if not self._takes_scaled:
            gradients = self.unscaled(gradients)
        if self._decay:
            decay = self.scaled(tf.constant(self._decay)) if self._takes_scaled else self._decay
            gradients = [tf.convert_to_tensor(g) + decay * tf.convert_to_tensor(w) for g, w in zip(gradients, self.variables)]  # noqa: B905
        self._keras.apply_gradients(zip(gradients, self.variables))  # noqa: B905 - a tape gives one for each, and this runs each step

    def class_name(self) -> str:
        """The real class, with its module; and what scales the loss around it."""
        classes = [type(each) for each in dict.fromkeys((self._keras, self._plain))]
        return " around ".join(f"{each.__module__}.{each.__qualname__}" for each in classes)

    def deviations(self) -> list[str]:
        """Where the class does otherwise than the workload language says."""
        name, found = type(self._plain).__name__, []
        if self._kind in ("adam", "adamw"):
            found.append(
                f"Keras' {name} adds epsilon to the root of the second moment before its bias is corrected,"
                " so that in step t epsilon counts 1 / sqrt(1 - beta2^t) times as much"
            )
        if self._kind == "sgd" and self._momentum and not self._decay and device.is_legacy(self._plain):
            found.append(f"Keras' legacy {name} moves the rows of an embedding, and their momentum, only in steps that use them")
        return found


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
