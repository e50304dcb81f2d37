"""Losses, optimizers and the steps: a custom training loop around ``tf.GradientTape``, the whole step one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from frameworks.contract import Unsupported
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
        if settings["kind"] not in OPTIMIZERS:
            raise Unsupported("the workload has no optimizer, so it cannot be trained", "use --mode infer")
        _check_decay_rates(settings, variables)
        self.variables = variables
        self.plain = OPTIMIZERS[settings["kind"]](settings)
        self.scaling = device.LossScaling(self.plain) if precision == "mixed_float16" else None
        self._decay = settings["weight_decay"] if settings["kind"] == "sgd" else 0.0
        self._keras = self.scaling.optimizer if self.scaling else self.plain
        device.make_slots(self._keras, variables)

    def scaled(self, loss: Any) -> Any:
        """The loss whose gradients :meth:`apply` takes."""
        return self.scaling.scaled(loss) if self.scaling else loss

    def apply(self, gradients: list[Any]) -> None:
        """Update the variables. The gradient to a table is made dense: by its rows, Keras' Adam would forget those not used in a step."""
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        if self.scaling:
            gradients = self.scaling.taken(gradients)
        if self._decay:
            decay = self.scaling.coupled(self._decay) if self.scaling else self._decay
            gradients = [g + decay * tf.convert_to_tensor(w) for g, w in zip(gradients, self.variables)]  # noqa: B905
        self._keras.apply_gradients(zip(gradients, self.variables))  # noqa: B905 - AutoGraph's zip of old versions has no strict

    def class_name(self) -> str:
        """The real class, with its module."""
        return f"{type(self.plain).__module__}.{type(self.plain).__qualname__}"


def _check_decay_rates(settings: Mapping[str, Any], variables: list[Any]) -> None:
    """Keras corrects Adam's moments by powers of beta in the type of the variables; with a beta that is 1 there, nothing would change."""
    for name in ("beta1", "beta2"):
        for dtype in {tf.as_dtype(variable.dtype) for variable in variables} if name in settings else ():
            if float(tf.cast(settings[name], dtype)) == 1.0:
                raise Unsupported(
                    f"Keras computes Adam's step in {dtype.name}, in which {name} {settings[name]} is 1, so that no step changes anything",
                    f"use --precision mixed_{dtype.name}",
                )


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
    model: Callable[..., Any], loss: Callable[[Any, Any], Any], variables: list[Any], inputs: Any, target: Any, scale: float
) -> tuple[list[Any], list[Any]]:
    """Gradients of the training loss to the variables and to the inputs (None for integers), at a loss scale that is taken out again."""
    given = inputs if isinstance(inputs, list) else [inputs]
    with tf.GradientTape() as tape:
        tape.watch([x for x in given if x.dtype.is_floating])
        objective = loss(target, model(inputs, training=True)) * scale
    found = tape.gradient(objective, [*variables, *given])
    found = [tf.zeros_like(x) if g is None else tf.convert_to_tensor(g) / scale for g, x in zip(found, [*variables, *given], strict=True)]
    return found[: len(variables)], [g if x.dtype.is_floating else None for g, x in zip(found[len(variables) :], given, strict=True)]
