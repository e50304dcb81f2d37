"""The tree of ``contract.Node`` as a Keras model through the functional API: Keras' own layers, channels last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
import tensorflow as tf

from frameworks.contract import Computation, Node, Unsupported, join
from frameworks.tensorflow import device, modules
from frameworks.tensorflow.weights import Weight

layers = tf.keras.layers


@dataclass
class Model:
    """What the builders share while they build: how the cell runs, the named inputs, and what was made so far."""

    execution: str
    dropout: bool
    inputs: dict[str, Any] = field(default_factory=dict)
    embeddings: dict[str, Any] = field(default_factory=dict)
    weights: list[Weight] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """A node and its path in the model that is being built."""

    node: Node
    path: str
    model: Model

    def __getitem__(self, attribute: str) -> Any:
        return self.node.attributes[attribute]

    @property
    def name(self) -> str | None:
        """What its Keras layer is called; None leaves it to Keras."""
        return self.path or None

    def children(self) -> list[Place]:
        return [Place(child, join(self.path, child.name), self.model) for child in self.node.children]

    def rate(self, attribute: str) -> float:
        """A dropout rate, 0 where dropout is switched off."""
        return float(self[attribute]) if self.model.dropout else 0.0

    def holds(self, **variables: Any) -> None:
        """Note where the node's parameters live, by their canonical names: a variable, or a pair of one and a row."""
        for parameter in self.node.parameters:
            variable, row = variables[parameter.name], None
            if isinstance(variable, tuple):
                variable, row = variable
            self.model.weights.append(Weight(join(self.path, parameter.name), parameter.shape, parameter.trainable, variable, row))


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


# --- convolutions and dense ---------------------------------------------------------------------------------------------


def conv1d(at: Place, x: Any) -> Any:
    before, after = at["padding"]
    x, padding = _pad_1d(at, x, before, after)
    layer = layers.Conv1D(
        at["filters"],
        at["kernel"],
        strides=at["stride"],
        padding=padding,
        dilation_rate=at["dilation"],
        groups=at["groups"],
        use_bias=at["bias"],
        name=at.name,
    )
    return _convolve(at, layer, x)


def conv2d(at: Place, x: Any) -> Any:
    x, padding = _pad_2d(at, x, at["kernel"], at["dilation"])
    layer = layers.Conv2D(
        at["filters"],
        at["kernel"],
        strides=at["stride"],
        padding=padding,
        dilation_rate=at["dilation"],
        groups=at["groups"],
        use_bias=at["bias"],
        name=at.name,
    )
    return _convolve(at, layer, x)


def depthwise_conv2d(at: Place, x: Any) -> Any:
    if at["stride"][0] != at["stride"][1]:
        raise Unsupported(f"{at.path}: TensorFlow's depthwise convolution needs the same stride in both directions")
    x, padding = _pad_2d(at, x, at["kernel"], at["dilation"])
    layer = layers.DepthwiseConv2D(
        at["kernel"],
        strides=at["stride"],
        padding=padding,
        depth_multiplier=at["multiplier"],
        dilation_rate=at["dilation"],
        use_bias=at["bias"],
        name=at.name,
    )
    return _convolve(at, layer, x)


def conv2d_transpose(at: Place, x: Any) -> Any:
    kernel, stride, sides, extra = at["kernel"], at["stride"], at["padding"], at["output_padding"]
    if at.node.gives[:2] == tuple(n * s for n, s in zip(at.node.takes[0][:2], stride, strict=True)) and all(
        before == max(k - s, 0) // 2 for k, s, (before, _) in zip(kernel, stride, sides, strict=True)
    ):
        layer = layers.Conv2DTranspose(at["filters"], kernel, strides=stride, padding="same", use_bias=at["bias"], name=at.name)
        return _convolve(at, layer, x)
    grown = [max(e - after, 0) for e, (_, after) in zip(extra, sides, strict=True)]
    layer = layers.Conv2DTranspose(
        at["filters"], kernel, strides=stride, padding="valid", output_padding=grown, use_bias=at["bias"], name=at.name
    )
    cut = [(before, max(after - e, 0)) for e, (before, after) in zip(extra, sides, strict=True)]
    return _unless_zero(layers.Cropping2D, cut, _convolve(at, layer, x))


def _convolve(at: Place, layer: Any, x: Any) -> Any:
    attributes = at.node.attributes
    if _any_above_one(attributes.get("dilation", 1)) and _any_above_one(attributes["stride"]):
        raise Unsupported(f"{at.path}: Keras has no convolution with both stride and dilation above 1")
    y = layer(x)
    if attributes.get("groups", 1) > 1:
        _try_gradient(at, layer, x)
    at.holds(kernel=layer.weights[0], bias=layer.bias)
    return y


def _any_above_one(value: int | Sequence[int]) -> bool:
    return max([value] if isinstance(value, int) else value) > 1


def _try_gradient(at: Place, layer: Any, x: Any) -> None:
    """Grouped convolutions have no CPU kernel in some versions, which shows only when one runs: try this one on a single sample."""

    def attempt(sample: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(sample)
            total = tf.reduce_sum(layer(sample))
        return tape.gradient(total, [sample, device.native(layer.weights[0])])

    try:
        device.compiled(attempt, at.model.execution)(tf.zeros((1, *x.shape[1:]), x.dtype))
    except (tf.errors.OpError, NotImplementedError) as error:
        raise Unsupported(
            f"{at.path}: TensorFlow {tf.__version__} has no convolution with {at['groups']} groups here: {device.first_line(error)}",
            "use --execution xla, or a GPU",
        ) from error


def _pad_1d(at: Place, x: Any, before: int, after: int) -> tuple[Any, str]:
    if not before and not after:
        return x, "valid"
    if [before, after] == _same(x.shape[1], at["kernel"], at["stride"], at["dilation"]):
        return x, "same"
    return layers.ZeroPadding1D((before, after))(x), "valid"


def _pad_2d(at: Place, x: Any, size: Sequence[int], dilation: Sequence[int] = (1, 1), pad: Any = layers.ZeroPadding2D) -> tuple[Any, str]:
    """The input and the word that give the node's padding: Keras' own words where they mean the same, otherwise a layer that pads."""
    sides = at["padding"]
    if not numpy.any(sides):
        return x, "valid"
    if _is_same(at, x, size, dilation):
        return x, "same"
    return pad([list(side) for side in sides])(x), "valid"


def _is_same(at: Place, x: Any, size: Sequence[int], dilation: Sequence[int] = (1, 1)) -> bool:
    same = [_same(n, k, s, d) for n, k, s, d in zip(x.shape[1:3], size, at["stride"], dilation, strict=True)]
    return [list(side) for side in at["padding"]] == same


def _same(extent: int, size: int, stride: int, dilation: int) -> list[int]:
    """What TensorFlow's SAME pads before and after."""
    total = max((-(-extent // stride) - 1) * stride + dilation * (size - 1) + 1 - extent, 0)
    return [total // 2, total - total // 2]


def _unless_zero(layer: Any, sides: Any, x: Any) -> Any:
    return layer(sides)(x) if numpy.any(sides) else x


def dense(at: Place, x: Any) -> Any:
    layer = layers.Dense(at["units"], use_bias=at["bias"], name=at.name)
    y = layer(x)
    at.holds(kernel=layer.kernel, bias=layer.bias)
    return y


# --- tables and tokens --------------------------------------------------------------------------------------------------


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
    return layers.Activation((lambda x: tf.keras.activations.gelu(x, approximate=True)) if tanh else "gelu", name=at.name)(x)


def hard_swish(at: Place, x: Any) -> Any:
    own = "hard_silu" if hasattr(tf.keras.activations, "hard_silu") else lambda x: x * tf.nn.relu6(x + 3.0) / 6.0
    return layers.Activation(own, name=at.name)(x)


def activation(keras_name: str) -> Callable[[Place, Any], Any]:
    """The builder of an activation without attributes."""
    return lambda at, x: layers.Activation(keras_name, name=at.name)(x)


def softmax(at: Place, x: Any) -> Any:
    return layers.Softmax(name=at.name)(x)


# --- pooling and resizing -----------------------------------------------------------------------------------------------


def max_pool2d(at: Place, x: Any) -> Any:
    x, padding = _pad_2d(at, x, at["size"], pad=modules.ConstantPadding)
    return layers.MaxPooling2D(at["size"], at["stride"], padding, name=at.name)(x)


def avg_pool2d(at: Place, x: Any) -> Any:
    size, stride, sides, extents = at["size"], at["stride"], at["padding"], x.shape[1:3]
    if not numpy.any(sides) or (not at["count_padding"] and _is_same(at, x, size)):
        return layers.AveragePooling2D(size, stride, "same" if numpy.any(sides) else "valid", name=at.name)(x)
    y = layers.AveragePooling2D(size, stride, "valid", name=at.name)(layers.ZeroPadding2D([list(side) for side in sides])(x))
    if at["count_padding"]:
        return y
    cells = []  # inside the image, of each window in one direction
    for n, k, s, (before, _), outputs in zip(extents, size, stride, sides, at.node.gives[:2], strict=True):
        starts = numpy.arange(outputs) * s - before
        cells.append(numpy.minimum(starts + k, n) - numpy.maximum(starts, 0))
    return modules.AverageInside(size[0] * size[1] / numpy.outer(*cells))(y)


def global_avg_pool2d(at: Place, x: Any) -> Any:
    return layers.GlobalAveragePooling2D(name=at.name)(x)


def upsample2d(at: Place, x: Any) -> Any:
    if at["method"] == "bilinear" and tf.as_dtype(x.dtype) == tf.float64:
        raise Unsupported(f"{at.path}: TensorFlow interpolates in float32, whatever it is given", "use --precision float32")
    layer = layers.UpSampling2D(at["factor"], interpolation=at["method"], name=at.name)
    y = layer(x)
    if at.model.execution == "xla":
        _try_values(at, layer, x)
    return y


def _try_values(at: Place, layer: Any, x: Any) -> None:
    """XLA of some versions interpolates wrongly, and silently, at some sizes: hold this one against the layer as it is."""
    sample = tf.cast(tf.random.stateless_uniform((1, *x.shape[1:3], 1), (0, 0)), x.dtype)
    difference = device.compiled(layer, "xla")(sample) - layer(sample)
    if float(tf.reduce_max(tf.abs(difference))) > 0.1:
        raise Unsupported(f"{at.path}: XLA of TensorFlow {tf.__version__} resizes this shape wrongly", "use --execution graph")


def dropout(at: Place, x: Any) -> Any:
    return layers.Dropout(at.rate("rate"), name=at.name)(x)


# --- shapes -------------------------------------------------------------------------------------------------------------


def flatten(at: Place, x: Any) -> Any:
    return layers.Flatten(name=at.name)(x)


def reshape(at: Place, x: Any) -> Any:
    return layers.Reshape(at.node.gives, name=at.name)(x)


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
    return modules.Unembedding(at.model.embeddings[at["of"]], at.name)(x)


def lstm(at: Place, x: Any) -> Any:
    layer = layers.LSTM(at["units"], return_sequences=at["sequences"], name=at.name, **device.leaves_cudnn(at.model.execution))
    y = layer(x)
    at.holds(kernel=layer.cell.kernel, recurrent_kernel=layer.cell.recurrent_kernel, bias=layer.cell.bias)
    return y


def gru(at: Place, x: Any) -> Any:
    layer = layers.GRU(
        at["units"], return_sequences=at["sequences"], reset_after=True, name=at.name, **device.leaves_cudnn(at.model.execution)
    )
    y = layer(x)
    cell = layer.cell
    at.holds(kernel=cell.kernel, recurrent_kernel=cell.recurrent_kernel, bias=(cell.bias, 0), recurrent_bias=(cell.bias, 1))
    return y


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
    "conv1d": conv1d,
    "conv2d": conv2d,
    "depthwise_conv2d": depthwise_conv2d,
    "conv2d_transpose": conv2d_transpose,
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
    "max_pool2d": max_pool2d,
    "avg_pool2d": avg_pool2d,
    "global_avg_pool2d": global_avg_pool2d,
    "upsample2d": upsample2d,
    "dropout": dropout,
    "flatten": flatten,
    "reshape": reshape,
    "tokens": reshape,
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


def copy(node: Node, batched: bool, execution: str) -> Callable[..., Any]:
    """``tf.identity`` gives the same buffer again; XLA has no DeepCopy, and must not give an argument's buffer as its result."""
    if execution == "xla":
        return lambda x, training=False: tf.identity(x)
    return lambda x, training=False: tf.raw_ops.DeepCopy(x=x)


def reduce_sum(node: Node, batched: bool, execution: str) -> Callable[..., Any]:
    axes = [axis + 1 if batched and axis >= 0 else axis for axis in node.attributes["axes"]]
    return lambda x, training=False: tf.reduce_sum(x, axes)


OPERATORS: dict[str, Callable[[Node, bool, str], Callable[..., Any]]] = {"matmul": matmul, "copy": copy, "reduce_sum": reduce_sum}
