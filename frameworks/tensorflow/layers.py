"""The tree of ``contract.Node`` as a Keras model through the functional API: Keras' own layers, channels last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from frameworks.contract import Computation, Node
from frameworks.tensorflow import device, modules, windows
from frameworks.tensorflow.place import Model, Place
from frameworks.tensorflow.weights import Weight

layers = tf.keras.layers


def model(computation: Computation, precision: str, execution: str, dropout: bool) -> tuple[Callable[..., Any], tuple[Weight, ...], Any]:
    """What computes the network, its parameters, and the Keras model (None for the operators that are plain functions).

    It takes a tensor, or a list of them where there are several inputs, in the computation's order, each ``[batch, *shape]``, and
    ``training``. Where there is no batch, a layer gets a batch of one, an operator exactly the shapes written.
    """
    network = computation.network
    if network.kind in OPERATORS:
        return OPERATORS[network.kind](network, computation.batch is not None, execution), (), None
    made = Model(execution, dropout)
    floating, integer = device.input_types(precision)
    for tensor in computation.inputs:
        dtype = integer if tensor.integer else floating
        made.inputs[tensor.name] = tf.keras.Input(tensor.shape, batch_size=computation.batch or 1, dtype=dtype.name, name=tensor.name)
    inputs = list(made.inputs.values())
    outputs = build(Place(network, network.name, made), inputs[0])
    keras_model = tf.keras.Model(inputs if len(inputs) > 1 else inputs[0], outputs)
    return keras_model, tuple(made.weights), keras_model


def build(at: Place, x: Any) -> Any:
    """The node applied to the symbolic tensor."""
    return BUILDERS[at.node.kind](at, x)


# --- structure ----------------------------------------------------------------------------------------------------------


def sequence(at: Place, x: Any) -> Any:
    for child in at.children():
        x = build(child, x)
    return x


def residual(at: Place, x: Any) -> Any:
    body, *shortcut = at.children()
    return layers.Add(name=at.name)([build(body, x), build(shortcut[0], x) if shortcut else x])


def branches(at: Place, x: Any) -> Any:
    merge = {"concat": layers.Concatenate, "add": layers.Add, "multiply": layers.Multiply}[at["merge"]]
    paths = [build(path, x) for path in at.children()]
    return merge(name=at.name)(paths) if len(paths) > 1 else paths[0]


def named_input(at: Place, x: Any) -> Any:
    return at.model.inputs[at["name"]]


# --- dense, tables and tokens ------------------------------------------------------------


def dense(at: Place, x: Any) -> Any:
    layer = layers.Dense(at["units"], use_bias=at["bias"], name=at.name)
    y = layer(x)
    at.holds(kernel=layer.kernel, bias=layer.bias)
    return y


def embedding(at: Place, x: Any) -> Any:
    layer = layers.Embedding(at["vocabulary"], at["units"], name=at.name)
    y = layer(x)
    at.model.embeddings[at.path] = at.model.embeddings[at.node.name] = layer
    at.holds(table=layer.embeddings)
    return y


def position_embedding(at: Place, x: Any) -> Any:
    layer = modules.PositionEmbedding(at["length"], at.name)
    y = layer(x)
    at.holds(table=layer.table)
    return y


def class_token(at: Place, x: Any) -> Any:
    layer = modules.ClassToken(name=at.name)
    y = layer(x)
    at.holds(token=layer.token)
    return y


# --- normalisation ------------------------------------------------------------------------------------------------------


def batch_norm(at: Place, x: Any) -> Any:
    layer = layers.BatchNormalization(momentum=at["keep"], epsilon=at["eps"], name=at.name)
    y = layer(x)
    at.holds(scale=layer.gamma, offset=layer.beta, mean=layer.moving_mean, variance=layer.moving_variance)
    return y


def layer_norm(at: Place, x: Any) -> Any:
    layer = layers.LayerNormalization(epsilon=at["eps"], name=at.name)
    y = layer(x)
    at.holds(scale=layer.gamma, offset=layer.beta)
    return y


def rms_norm(at: Place, x: Any) -> Any:
    layer = getattr(layers, "RMSNormalization", modules.RMSNormalization)(epsilon=at["eps"], name=at.name)
    y = layer(x)
    at.holds(scale=layer.scale)
    return y


def group_norm(at: Place, x: Any) -> Any:
    layer = getattr(layers, "GroupNormalization", modules.GroupNormalization)(groups=at["groups"], epsilon=at["eps"], name=at.name)
    y = layer(x)
    at.holds(scale=layer.gamma, offset=layer.beta)
    return y


# --- activations --------------------------------------------------------------------------------------------------------


def relu(at: Place, x: Any) -> Any:
    return layers.ReLU(name=at.name)(x)


def relu6(at: Place, x: Any) -> Any:
    return layers.ReLU(6.0, name=at.name)(x)


def leaky_relu(at: Place, x: Any) -> Any:
    return layers.LeakyReLU(at["slope"], name=at.name)(x)  # called alpha by Keras 2 and negative_slope by Keras 3


def gelu(at: Place, x: Any) -> Any:
    tanh = at["form"] == "tanh"
    if tf.as_dtype(x.dtype) == tf.float64:  # only here: Keras' own divides by a root of two that it rounded to float32
        return layers.Activation(modules.gelu_tanh if tanh else modules.gelu_erf, name=at.name)(x)
    return layers.Activation((lambda x: tf.keras.activations.gelu(x, approximate=True)) if tanh else "gelu", name=at.name)(x)


def hard_swish(at: Place, x: Any) -> Any:
    own = "hard_silu" if hasattr(tf.keras.activations, "hard_silu") else lambda x: x * tf.nn.relu6(x + 3.0) / 6.0
    return layers.Activation(own, name=at.name)(x)


def activation(keras_name: str) -> Callable[[Place, Any], Any]:
    """The builder of an activation without attributes."""
    return lambda at, x: layers.Activation(keras_name, name=at.name)(x)


def softmax(at: Place, x: Any) -> Any:
    return layers.Softmax(name=at.name)(x)


# --- pooling and dropout ---


def global_avg_pool2d(at: Place, x: Any) -> Any:
    return layers.GlobalAveragePooling2D(name=at.name)(x)


def dropout(at: Place, x: Any) -> Any:
    return layers.Dropout(at.rate("rate"), name=at.name)(x)


# --- shapes -------------------------------------------------------------------------------------------------------------


def flatten(at: Place, x: Any) -> Any:
    return layers.Flatten(name=at.name)(x)


def reshape(at: Place, x: Any) -> Any:
    return layers.Reshape(at.node.gives, name=at.name)(x)


def transpose(at: Place, x: Any) -> Any:
    return layers.Permute((2, 1), name=at.name)(x)


def select_token(at: Place, x: Any) -> Any:
    return x[:, at["index"]]


def mean_tokens(at: Place, x: Any) -> Any:
    return layers.GlobalAveragePooling1D(name=at.name)(x)


# --- attention, recurrence, polynomial ----------------------------------------------------------------------------------


def attention(at: Place, x: Any) -> Any:
    heads, kv_heads, units, rotary = at["heads"], at["kv_heads"], at["head_units"], at["rotary"]
    bias, causal, rate = at["bias"], at["causal"], at.rate("dropout")
    if rotary is None and kv_heads == heads and device.version() >= (2, 10):  # which brought use_causal_mask
        layer = layers.MultiHeadAttention(heads, units, use_bias=bias, dropout=rate, name=at.name)
        y = layer(x, x, use_causal_mask=causal)
    elif rotary is None and hasattr(layers, "GroupQueryAttention"):
        layer = layers.GroupQueryAttention(units, heads, kv_heads, use_bias=bias, dropout=rate, name=at.name)
        y = layer(x, x, use_causal_mask=causal)
    else:
        layer = modules.Attention(heads, kv_heads, units, causal, rotary, bias, rate, at.name)
        y = layer(x)
    parts = {
        part: getattr(layer, f"_{part}_dense", None) or getattr(layer, f"{part}_dense") for part in ("query", "key", "value", "output")
    }
    kernels = {f"{part}_kernel": own.kernel for part, own in parts.items()}
    at.holds(**kernels, **{f"{part}_bias": own.bias for part, own in parts.items() if bias})
    return y


def unembedding(at: Place, x: Any) -> Any:
    layer = modules.Unembedding(at.model.embeddings[at["of"]], at["bias"], at.name)
    y = layer(x)
    at.holds(bias=layer.bias)
    return y


def lstm(at: Place, x: Any) -> Any:
    layer = layers.LSTM(at["units"], **_recurrent(at))
    y = layer(x)
    at.holds(kernel=layer.cell.kernel, recurrent_kernel=layer.cell.recurrent_kernel, bias=layer.cell.bias)
    return y


def gru(at: Place, x: Any) -> Any:
    layer = layers.GRU(at["units"], reset_after=True, **_recurrent(at))
    y = layer(x)
    cell = layer.cell
    at.holds(kernel=cell.kernel, recurrent_kernel=cell.recurrent_kernel, bias=(cell.bias, 0), recurrent_bias=(cell.bias, 1))
    return y


def _recurrent(at: Place) -> dict[str, Any]:
    """Keras' own start values are orthogonal matrices, whose decomposition not every type and device has."""
    cudnn = device.leaves_cudnn(at.model.execution)
    return {"return_sequences": at["sequences"], "recurrent_initializer": "glorot_uniform", "name": at.name, **cudnn}


def polynomial(at: Place, x: Any) -> Any:
    layer = modules.Polynomial(at["degree"], at.name)
    y = layer(x)
    at.holds(coefficients=layer.coefficients)
    return y


BUILDERS: dict[str, Callable[[Place, Any], Any]] = {
    "sequence": sequence,
    "residual": residual,
    "branches": branches,
    "input": named_input,
    "conv1d": windows.conv1d,
    "conv2d": windows.conv2d,
    "depthwise_conv2d": windows.depthwise_conv2d,
    "conv2d_transpose": windows.conv2d_transpose,
    "dense": dense,
    "embedding": embedding,
    "position_embedding": position_embedding,
    "class_token": class_token,
    "batch_norm": batch_norm,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "group_norm": group_norm,
    "relu": relu,
    "relu6": relu6,
    "sigmoid": activation("sigmoid"),
    "tanh": activation("tanh"),
    "leaky_relu": leaky_relu,
    "gelu": gelu,
    "silu": activation("swish"),
    "hard_swish": hard_swish,
    "softmax": softmax,
    "max_pool2d": windows.max_pool2d,
    "avg_pool2d": windows.avg_pool2d,
    "global_avg_pool2d": global_avg_pool2d,
    "upsample2d": windows.upsample2d,
    "dropout": dropout,
    "flatten": flatten,
    "reshape": reshape,
    "tokens": reshape,
    "transpose": transpose,
    "select_token": select_token,
    "mean_tokens": mean_tokens,
    "attention": attention,
    "unembedding": unembedding,
    "lstm": lstm,
    "gru": gru,
    "polynomial": polynomial,
}


# --- operators ----------------------------------------------------------------------------------------------------------


def matmul(node: Node, batched: bool, execution: str) -> Callable[..., Any]:
    return lambda inputs, training=False: tf.matmul(inputs[0], inputs[1])


def dot_product_attention(node: Node, batched: bool, execution: str) -> Callable[..., Any]:
    scale = node.takes[0][-1] ** -0.5

    def attend(inputs: Any, training: bool = False) -> Any:
        query, key, value = inputs
        return tf.matmul(tf.nn.softmax(tf.matmul(query * tf.cast(scale, query.dtype), key, transpose_b=True)), value)

    return attend


def copy(node: Node, batched: bool, execution: str) -> Callable[..., Any]:
    """``tf.identity`` gives the same buffer again; XLA has no DeepCopy, and must not give an argument's buffer as its result."""
    if execution == "xla":
        return lambda x, training=False: tf.identity(x)
    return lambda x, training=False: tf.raw_ops.DeepCopy(x=x)


def reduce_sum(node: Node, batched: bool, execution: str) -> Callable[..., Any]:
    axes = [axis + 1 if batched and axis >= 0 else axis for axis in node.attributes["axes"]]
    return lambda x, training=False: tf.reduce_sum(x, axes)


def argmax(node: Node, batched: bool, execution: str) -> Callable[..., Any]:
    axis = node.attributes["axis"] + batched
    return lambda x, training=False: tf.argmax(x, axis)


def sort(node: Node, batched: bool, execution: str) -> Callable[..., Any]:
    axis = node.attributes["axis"] + batched
    return lambda x, training=False: tf.sort(x, axis)


def concat(node: Node, batched: bool, execution: str) -> Callable[..., Any]:
    axis = node.attributes["axis"] + batched
    return lambda inputs, training=False: tf.concat(inputs, axis)


OPERATORS: dict[str, Callable[[Node, bool, str], Callable[..., Any]]] = {
    "matmul": matmul,
    "dot_product_attention": dot_product_attention,
    "copy": copy,
    "reduce_sum": reduce_sum,
    "argmax": argmax,
    "sort": sort,
    "concat": concat,
}
