"""TensorFlow: models by the functional API and a custom training loop, as in the Keras guides."""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

from frameworks.contract import Job, Session
from frameworks.data import batches

from .base import HandAdapter, HandSession

layers = keras.layers


def conv(x: tf.Tensor, filters: int, kernel: int, stride: int = 1) -> tf.Tensor:
    if kernel > 1 and stride > 1:
        x = layers.ZeroPadding2D(kernel // 2)(x)
        x = layers.Conv2D(filters, kernel, stride, padding="valid", use_bias=False)(x)
    else:
        x = layers.Conv2D(filters, kernel, stride, padding="same" if kernel > 1 else "valid", use_bias=False)(x)
    return layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)


def resnet50() -> keras.Model:
    image = layers.Input((224, 224, 3))
    x = layers.ReLU()(conv(image, 64, 7, 2))
    x = layers.MaxPooling2D(3, 2)(layers.ZeroPadding2D(1)(x))
    channels = 64
    for width, count, first_stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for index in range(count):
            stride = first_stride if index == 0 else 1
            shortcut = x if stride == 1 and channels == 4 * width else conv(x, 4 * width, 1, stride)
            y = layers.ReLU()(conv(x, width, 1))
            y = layers.ReLU()(conv(y, width, 3, stride))
            x = layers.ReLU()(layers.Add()([conv(y, 4 * width, 1), shortcut]))
            channels = 4 * width
    return keras.Model([image], layers.Dense(1000)(layers.GlobalAveragePooling2D()(x)))


class Positions(layers.Layer):
    def build(self, shape: tuple[int, ...]) -> None:
        self.table = self.add_weight(shape=(512, 768), initializer="uniform", name="table")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return x + self.table[: x.shape[1]]


def bert(sequence: int) -> keras.Model:
    tokens, segments = layers.Input((sequence,), dtype="int32"), layers.Input((sequence,), dtype="int32")
    x = layers.Add()([layers.Embedding(30522, 768)(tokens), layers.Embedding(2, 768)(segments)])
    x = layers.Dropout(0.1)(layers.LayerNormalization(epsilon=1e-12)(Positions()(x)))
    for _ in range(12):
        a = layers.MultiHeadAttention(12, 64, dropout=0.1)(x, x)
        x = layers.LayerNormalization(epsilon=1e-12)(layers.Add()([x, layers.Dropout(0.1)(a)]))
        y = layers.Dense(768)(layers.Dense(3072, activation="gelu")(x))
        x = layers.LayerNormalization(epsilon=1e-12)(layers.Add()([x, layers.Dropout(0.1)(y)]))
    pooled = layers.Dropout(0.1)(layers.Dense(768, activation="tanh")(x[:, 0]))
    return keras.Model([tokens, segments], layers.Dense(2)(pooled))


class TensorFlowLoop(HandSession):
    def __init__(self, job: Job) -> None:
        settings = job.computation.optimizer
        vision = any(tensor.name == "image" for tensor in job.computation.inputs)
        model = resnet50() if vision else bert(job.computation.inputs[0].shape[0])
        cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        decay = settings["weight_decay"] if vision else 0.0
        if vision:
            optimizer = keras.optimizers.SGD(settings["learning_rate"], settings["momentum"])
        else:
            optimizer = keras.optimizers.AdamW(
                settings["learning_rate"], weight_decay=settings["weight_decay"], beta_1=0.9, beta_2=0.999, epsilon=settings["eps"]
            )

        @tf.function
        def train_step(inputs: list[tf.Tensor], target: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = cross_entropy(target, model(inputs, training=True))
            gradients = tape.gradient(loss, model.trainable_variables)
            if decay:
                gradients = [g + decay * w for g, w in zip(gradients, model.trainable_variables, strict=True)]
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return loss

        self.train_step = train_step
        self.data = [([tf.constant(v) for v in b.inputs.values()], tf.constant(b.target)) for b in batches(job.computation, job.batches)]
        self.step_number = 0

    def step(self) -> None:
        inputs, target = self.data[self.step_number % len(self.data)]
        self.step_number += 1
        self.last_loss = self.train_step(inputs, target)

    def wait(self) -> None:
        self.last_loss.numpy()


class Loop(HandAdapter):
    def build(self, job: Job) -> Session:
        return TensorFlowLoop(job)
