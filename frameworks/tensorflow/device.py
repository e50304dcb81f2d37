"""What depends on the device and on the version of TensorFlow: finding, waiting, memory, precision switches, what is supported."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import re
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy

from frameworks.contract import CellFailure, Unsupported
from frameworks.tensorflow import FRAMEWORKS

os.environ.update(FRAMEWORKS[0].environment)  # TensorFlow reads these when it loads, so also where nobody else has set them

import tensorflow as tf

POLICIES = {
    "float32": "float32",
    "tf32": "float32",
    "float64": "float64",
    "bfloat16": "bfloat16",
    "float16": "float16",
    "mixed_bfloat16": "mixed_bfloat16",
    "mixed_float16": "mixed_float16",
}
"""The Keras dtype policy of each precision."""

NAMES = {"cpu": "/device:CPU:0", "metal": "/device:GPU:0", "cuda": "/device:GPU:0"}

TITLES = {"cpu": "the CPU", "metal": "Metal", "cuda": "CUDA"}

HOST_WORK = {"StatelessRandomGetKeyCounter", "StatelessRandomGetAlg", "StatelessRandomGetKeyCounterAlg"}
"""Operators that make a key of a few numbers for a step's random numbers, which is no computation of the workload's."""

_GPU = "metal" if sys.platform == "darwin" else "cuda"

for _gpu in tf.config.list_physical_devices("GPU"):
    with contextlib.suppress(RuntimeError, ValueError):  # the runtime has started already, or the plug-in does not know of it
        tf.config.experimental.set_memory_growth(_gpu, True)
tf.config.set_soft_device_placement(False)


def version() -> tuple[int, int]:
    """Major and minor version of TensorFlow."""
    numbers = re.findall(r"\d+", tf.__version__)
    return int(numbers[0]), int(numbers[1])


def keras_version() -> tuple[int, int]:
    """Major and minor version of the Keras behind ``tf.keras``."""
    numbers = re.findall(r"\d+", _keras_version())
    return int(numbers[0]), int(numbers[1])


def _keras_version() -> str:
    return str(getattr(tf.keras, "__version__", None) or metadata.version("keras"))  # that of 2.13 to 2.15 does not say


def versions() -> dict[str, str]:
    """Versions and builds that decide speed or results."""
    found = {"tensorflow": tf.__version__, "keras": _keras_version(), "numpy": numpy.__version__}
    build = tf.sysconfig.get_build_info()
    for key in ("cuda_version", "cudnn_version"):
        if build.get(key):
            found[key.replace("_version", "")] = str(build[key])
    if platform.system() == "Darwin":
        found["macos"] = platform.mac_ver()[0]
        with contextlib.suppress(metadata.PackageNotFoundError):
            found["tensorflow-metal"] = metadata.version("tensorflow-metal")
    return found


def available() -> dict[str, str]:
    """The devices on which a small product of matrices comes out right, with their human names."""
    return {device: _name(device) for device in dict.fromkeys(("cpu", _GPU)) if _computes(device)}


def _computes(device: str) -> bool:
    try:
        with tf.device(NAMES[device]):
            ones = tf.ones((2, 2))
            product = tf.matmul(ones, ones)
            return device_name(product) == device and float(tf.reduce_sum(product)) == 8.0
    except Exception:  # a device that fails in any way is not available
        return False


def _name(device: str) -> str:
    if device != "cpu":
        with contextlib.suppress(Exception):  # not every plug-in answers
            details = tf.config.experimental.get_device_details(tf.config.list_physical_devices("GPU")[0])
            return str(details["device_name"])
        return f"Apple GPU ({platform.machine()})" if device == "metal" else "GPU"
    return platform.processor() or platform.machine()


def scope(device: str) -> Any:
    """The context that a step runs in: everything on this device, an operator without a kernel for it is an error."""
    return tf.device(NAMES[device])


def place(device: str, building: bool) -> bool:
    """Say whether TensorFlow may put an operator that has no kernel for the device on the CPU, and return what is set.

    While a model is built it may, since that only makes start values. In a step it may not, but for Metal: the plug-in has no kernels for
    the keys of random numbers, so that nothing with dropout would run. :func:`on_the_cpu` tells what is run there.
    """
    tf.config.set_soft_device_placement(building or device == "metal")
    return bool(tf.config.get_soft_device_placement())


def on_the_cpu(function: Any, arguments: tuple[Any, ...]) -> list[str]:
    """The operators of a compiled function that have kernels for the CPU alone, but for those that only make keys of random numbers."""
    from tensorflow.python.framework import kernels  # not public, but the same since 1.8

    graph = function.get_concrete_function(*arguments).graph.as_graph_def()
    nodes = [*graph.node, *(node for inner in graph.library.function for node in inner.node_def)]
    names = {node.op for node in nodes} - HOST_WORK
    found = {name: {kernel.device_type for kernel in kernels.get_registered_kernels_for_op(name).kernel} for name in names}
    return sorted(name for name, devices in found.items() if "CPU" in devices and not devices & {"GPU", "DEFAULT"})


def wait(result: Any) -> None:
    """Return when the step that gave this result, and everything enqueued before now, is done.

    On the CPU a step has finished when its call returns: operators run synchronously, and a ``tf.function`` returns after the last of its
    operators, assignments included. On a GPU the call returns when the kernels are in the device's one compute stream, in order:
    ``sync_devices`` waits for that stream, and so does copying a number to the host that a kernel enqueued only now computes, which
    is what remains for versions and plug-ins without it.
    """
    _synchronise()()
    tf.reshape(result, [-1])[:1].numpy()


@functools.lru_cache(maxsize=1)
def _synchronise() -> Callable[[], None]:
    function = getattr(getattr(tf.test, "experimental", None), "sync_devices", None)  # since 2.12
    if function is not None:
        with contextlib.suppress(tf.errors.OpError):  # a plug-in may have no kernel for it
            function()
            return function  # type: ignore[no-any-return]
    return lambda: None


def reset_peak_memory(device: str) -> None:
    """Forget the peak of what came before."""
    if device != "cpu":
        with contextlib.suppress(Exception):  # not in older versions, not in every plug-in
            tf.config.experimental.reset_memory_stats("GPU:0")


def peak_memory(device: str) -> int | None:
    """Peak of device memory in bytes since the reset; None where TensorFlow does not tell: the CPU, plug-ins that keep no count."""
    if device != "cpu":
        with contextlib.suppress(Exception):
            return int(tf.config.experimental.get_memory_info("GPU:0")["peak"]) or None
    return None


def set_threads(threads: int | None) -> None:
    """Threads of one operator, and operators at a time, on the CPU; None leaves TensorFlow's own choice, one a core for both.

    TensorFlow takes them only before it computes for the first time; later, another number is a :class:`CellFailure`.
    """
    if threads is None or threads == thread_count():
        return
    try:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
    except RuntimeError as error:
        raise CellFailure(
            "unsupported", f"TensorFlow has already started, its threads cannot be set to {threads} any more", "use a fresh process"
        ) from error


def thread_count() -> int:
    """The threads that an operator on the CPU may use."""
    chosen = int(tf.config.threading.get_intra_op_parallelism_threads())
    if chosen:
        return chosen
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_precision(precision: str, device: str) -> dict[str, Any]:
    """Pin every switch that changes how a type is computed, and return all as they now read.

    TensorFloat-32 is on in ``tf32`` alone, for products and convolutions alike. Half types are summed in float32. The variables of the
    environment were pinned before TensorFlow was loaded. Keras' float type stays set, since Keras rounds the constants of a step to it.
    """
    tf.config.experimental.enable_tensor_float_32_execution(precision == "tf32")
    tf.config.optimizer.set_experimental_options({"auto_mixed_precision": False, "auto_mixed_precision_onednn_bfloat16": False})
    tf.keras.backend.set_floatx("float64" if precision == "float64" else "float32")
    tf.keras.mixed_precision.set_global_policy(POLICIES[precision])
    options = tf.config.optimizer.get_experimental_options()
    pinned = (name for name in FRAMEWORKS[0].environment if "FP" in name or "TF32" in name)
    return {
        "tensor_float_32_execution": tf.config.experimental.tensor_float_32_execution_enabled(),
        "auto_mixed_precision": bool(options.get("auto_mixed_precision", False)),
        "keras_policy": tf.keras.mixed_precision.global_policy().name,
        "keras_floatx": tf.keras.backend.floatx(),
        **{name: os.environ.get(name, "") for name in pinned},
    }


def types(precision: str) -> tuple[Any, Any]:
    """The types of parameters and of computation in a precision."""
    policy = POLICIES[precision]
    compute = tf.as_dtype(policy.replace("mixed_", ""))
    return (tf.float32 if policy.startswith("mixed_") else compute), compute


def input_types(precision: str) -> tuple[Any, Any]:
    """The types that inputs and targets are kept in: floating-point ones, and integers.

    Integers are int64, since TensorFlow keeps int32 of a graph in host memory.
    """
    return types(precision)[0], tf.int64


def native(variable: Any) -> tf.Variable:
    """The ``tf.Variable`` of a Keras variable."""
    return variable if isinstance(variable, tf.Variable) else variable._value if hasattr(variable, "_value") else variable.value


def device_name(tensor: Any) -> str:
    """Which of our devices a live tensor or variable is on."""
    found = str(tensor.device or tensor.backing_device)
    return _GPU if "GPU" in found else "cpu" if "CPU" in found else found


def compiled(function: Callable[..., Any], execution: str) -> Any:
    """The function as the execution runs it: as it is, as a graph, or as a graph that XLA compiles whole."""
    if execution == "eager":
        return function
    return tf.function(function, jit_compile=True) if execution == "xla" else tf.function(function)


def compile_count(function: Any) -> int:
    """How often a compiled function was traced so far; 0 for one that is not compiled."""
    return int(function.experimental_get_tracing_count()) if hasattr(function, "experimental_get_tracing_count") else 0


def check_supported(device: str, precision: str, execution: str, mode: str) -> None:
    """Raise :class:`Unsupported` for what this version cannot do on this device, in either mode; a product of matrices is tried."""
    if device != "cpu" and (device != _GPU or not tf.config.list_physical_devices("GPU")):
        raise Unsupported(f"TensorFlow {tf.__version__} finds no {TITLES.get(device, device)} device here", _device_remedy(device))
    if precision == "tf32" and (device != "cuda" or _compute_capability() < (8, 0)):
        raise Unsupported("TensorFloat-32 exists only on CUDA devices of compute capability 8.0 and above", "use --precision float32")
    if precision == "float64" and device == "metal":
        raise Unsupported("Metal has no float64", "use --precision float32")
    compute = types(precision)[1]
    try:
        with scope(device):
            ones = tf.cast(tf.ones((2, 2)), compute)
            product = compiled(lambda a: tf.matmul(a, a), execution)(ones)
            total = float(tf.cast(product[0, 0], tf.float32))
    except (tf.errors.OpError, NotImplementedError, TypeError, ValueError) as error:
        raise Unsupported(
            f"TensorFlow {tf.__version__} cannot multiply in {compute.name} on {TITLES[device]} ({execution}): {first_line(error)}",
            "use --execution graph" if execution == "xla" else "use --precision float32",
        ) from error
    if total != 2.0:
        raise Unsupported(f"{TITLES[device]} computes 1 + 1 as {total} in {compute.name}", "use --precision float32")


def _compute_capability() -> tuple[int, int]:
    details = tf.config.experimental.get_device_details(tf.config.list_physical_devices("GPU")[0])
    return tuple(details.get("compute_capability", (0, 0)))


def _device_remedy(device: str) -> str:
    if device == "metal":
        return "install tensorflow-metal beside a TensorFlow that it loads with, in a native arm64 Python on a Mac with an Apple GPU"
    if device == "cuda":
        return "install tensorflow[and-cuda] and a driver that it supports"
    return "use --device cpu"


def first_line(error: BaseException) -> str:
    """What an error says, in its first line, bounded."""
    text = str(getattr(error, "message", None) or error).strip()
    return text.splitlines()[0][:300] if text else type(error).__name__


def optimizer_class(kind: str) -> Callable[..., Any]:
    """The Keras class that people get for ``sgd``, ``adam`` or ``adamw``.

    On Apple silicon the classes of Keras 2.11 to 2.15 are slow, and Keras itself tells people there to use the legacy ones. AdamW has none,
    and would have its update compiled by XLA, which Metal does not have.
    """
    module, name = tf.keras.optimizers, {"sgd": "SGD", "adam": "Adam", "adamw": "AdamW"}[kind]
    if kind == "adamw" and keras_version() < (2, 10):
        raise Unsupported(
            f"AdamW of Keras {_keras_version()} decays weights by 1 - rate * decay instead of rate * decay", "use TensorFlow 2.10"
        )
    if (2, 11) <= keras_version() < (3, 0) and sys.platform == "darwin" and platform.machine() == "arm64":
        return functools.partial(module.AdamW, jit_compile=False) if kind == "adamw" else getattr(module.legacy, name)
    return getattr(module if hasattr(module, name) else module.experimental, name)  # type: ignore[no-any-return]


class LossScaling:
    """Keras' loss scaling for mixed float16, with its own defaults, around an optimizer; one face for Keras 2 and Keras 3."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer)
        self._unscales = not hasattr(self.optimizer, "get_scaled_loss")  # Keras 3 takes the gradients of the scaled loss as they are

    def scaled(self, loss: Any) -> Any:
        """The loss times the scale of now."""
        return self.optimizer.scale_loss(loss) if self._unscales else self.optimizer.get_scaled_loss(loss)

    def taken(self, gradients: list[Any]) -> list[Any]:
        """Gradients of the scaled loss as ``apply_gradients`` takes them."""
        return gradients if self._unscales else self.optimizer.get_unscaled_gradients(gradients)

    def coupled(self, decay: float) -> Any:
        """A weight decay as it goes with what :meth:`taken` gives."""
        return self.optimizer.scale_loss(tf.constant(decay)) if self._unscales else decay

    def scale(self) -> float:
        """The scale of now."""
        return float(native(self.optimizer.dynamic_scale) if self._unscales else self.optimizer.loss_scale)


def make_slots(optimizer: Any, variables: list[Any]) -> None:
    """Create the optimizer's own variables now, since a compiled step must not."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    if hasattr(inner, "build"):
        optimizer.build(variables)
    else:  # the classes that Keras had before 2.11, and has as legacy ones
        _ = inner.iterations
        inner._create_all_weights(variables)


def leaves_cudnn(execution: str) -> dict[str, Any]:
    """Arguments for a recurrent layer: XLA cannot compile cuDNN's, and only Keras 3 has a switch for it."""
    return {"use_cudnn": False} if execution == "xla" and keras_version() >= (3, 0) else {}
