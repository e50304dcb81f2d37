"""The adapter of TensorFlow: what the contract asks for, put together from the modules beside it."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy
import tensorflow as tf

from frameworks import contract
from frameworks.contract import GLIMPSE, CellFailure, Job, Unsupported
from frameworks.data import Batch, batches, parameter_values
from frameworks.tensorflow import device, layers, operators, training, weights

EPSILON = "Keras adds Adam's epsilon before it corrects the second moment's bias: in step t it counts 1 / sqrt(1 - beta2^t) times as much"
ROUNDING = (
    "Keras rounds constants (attention's scale, momentum and betas, slopes) to float32 before it computes with them in float64; "
    "its GELU, which does so too, is written out there"
)
SCALING = "Keras' LossScaleOptimizer skips the update and halves its scale after a step whose scaled gradients overflow"

OUT_OF_MEMORY = re.compile(
    r"out of memory|OOM when allocating|failed to allocate (?:memory|request)|CUDA_ERROR_OUT_OF_MEMORY", re.IGNORECASE
)
NOT_IMPLEMENTED = re.compile(
    r"No OpKernel was registered|No registered '|Could not satisfy explicit device specification|Cannot assign a device for operation"
    r"|Detected unsupported operations when trying to compile|could not find registered (?:platform|compiler|transfer manager)"
    r"|not compilable|not in (?:the )?list of allowed values|(?:is|are) not (?:currently )?supported|not (?:yet )?implemented",
    re.IGNORECASE,
)


class TensorFlowAdapter(contract.Adapter):
    """TensorFlow through ``tf.keras``, Keras 2 or 3."""

    def versions(self) -> dict[str, str]:
        return device.versions()

    def devices(self) -> dict[str, str]:
        return device.available()

    def build(self, job: Job) -> TensorFlowSession:
        device.set_threads(job.threads)
        device.check_supported(job.device, job.precision, job.execution, job.mode)
        return TensorFlowSession(job)

    def operators(self, job: Job) -> list[dict[str, Any]]:
        return operators.record(lambda: TensorFlowSession(job))

    def failure(self, error: BaseException) -> CellFailure | None:
        for cause in _causes(error):
            text = str(cause)
            if isinstance(cause, CellFailure):
                return cause
            if isinstance(cause, (MemoryError, tf.errors.ResourceExhaustedError)) or OUT_OF_MEMORY.search(text):
                return CellFailure(
                    "out_of_memory", f"TensorFlow could not get the memory it needs: {device.first_line(cause)}", "try a smaller batch"
                )
            if isinstance(cause, (NotImplementedError, tf.errors.UnimplementedError)) or NOT_IMPLEMENTED.search(text):
                return Unsupported(
                    f"TensorFlow {tf.__version__} lacks an operator that the workload needs: {device.first_line(cause)}",
                    "try another execution, precision, device or version",
                )
        return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An exception and those that it was raised from, since Keras wraps what it meets."""
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__


class TensorFlowSession(contract.Session):
    """One workload in TensorFlow: the model, its optimizer, its batches, and the step."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._scope = device.scope(job.device)
        self._warnings = _Warnings()
        try:
            device.place(job.device, building=True)
            with self._scope:
                self._build()
            self._switches["soft_device_placement"] = device.place(job.device, building=False)
            self.wait()
        except BaseException:
            self._warnings.close()
            raise

    def _build(self) -> None:
        job, computation = self._job, self._job.computation
        device.reset_peak_memory(job.device)
        self._switches = device.set_precision(job.precision, job.device)
        tf.keras.utils.set_random_seed(job.seed)
        self._model, self._weights, keras_model = layers.model(computation, job.precision, job.execution, job.dropout)
        self._trained = list(keras_model.trainable_variables) if keras_model else []
        self._untrained = [device.native(variable) for variable in keras_model.non_trainable_variables] if keras_model else []
        self.load(parameter_values(computation, job.seed))
        self._loss_of = training.loss_function(computation.loss) if computation.loss else None
        self._optimizer: training.Optimizer | None = None
        if job.mode == "train":
            if self._loss_of is None:
                raise Unsupported("the workload has no loss, so it cannot be trained", "use --mode infer")
            self._optimizer = training.Optimizer(computation.optimizer, self._trained, job.precision)
            step = training.train_step(self._model, self._loss_of, self._optimizer)
        else:
            step = training.infer_step(self._model)
        self._step = device.compiled(step, job.execution)
        self._batches = [self._on_device(batch) for batch in batches(computation, job.batches, job.seed)]
        self._next = self._last = 0
        self._result: Any = None

    def _inputs(self, index: int) -> list[Any]:
        inputs = self._batches[index][0]
        return inputs if isinstance(inputs, list) else [inputs]

    def _on_device(self, batch: Batch) -> tuple[Any, Any]:
        """The inputs (a tensor, or a list of several in order) and the target."""
        inputs = [self._tensor(array) for array in batch.inputs.values()]
        target = None if batch.target is None else self._tensor(batch.target, target=True)
        return inputs[0] if len(inputs) == 1 else inputs, target

    def _tensor(self, array: numpy.ndarray, target: bool = False) -> Any:
        floating, integer = device.input_types(self._job.precision)
        if target and floating.size < 4:
            floating = tf.float32
        if self._lone() and not target:
            array = array[None]
        kind = floating if array.dtype.kind == "f" else integer
        return tf.identity(tf.constant(array.astype(kind.as_numpy_dtype)))

    def _lone(self) -> bool:
        """Whether a batch of one stands for no batch, since Keras' layers need one."""
        return self._job.computation.batch is None and self._job.computation.network.kind not in layers.OPERATORS

    def step(self) -> None:
        inputs, target = self._batches[self._next]
        self._last = self._next
        self._next = (self._next + 1) % len(self._batches)
        with self._scope:
            self._result = self._step(inputs, target)

    def wait(self) -> None:
        with self._scope:
            device.wait(self._inputs(-1)[0] if self._result is None else self._result)

    def loss(self) -> float:
        if self._job.mode == "train":
            return float(self._done())
        if self._loss_of is None:
            raise ValueError("the workload has no loss")
        with self._scope:
            return float(self._loss_of(self._batches[self._last][1], self._done()))

    def outputs(self) -> numpy.ndarray:
        if self._job.mode == "train":
            raise ValueError("outputs are kept in mode infer only")
        array: numpy.ndarray = self._done().numpy()
        array = array[0] if self._lone() else array
        return array if array.dtype.kind in "iu" else array.astype(numpy.float64)

    def glimpse(self) -> numpy.ndarray:
        with self._scope:
            part = self._done()
            while part.shape.num_elements() > GLIMPSE:
                part = part[0] if part.shape.rank > 1 else part[:GLIMPSE]
            array: numpy.ndarray = part.numpy()
        return array if array.dtype.kind in "iu" else array.astype(numpy.float64)

    def _done(self) -> Any:
        if self._result is None:
            raise RuntimeError("there is nothing to read: no step was done yet")
        return self._result

    def gradients(self) -> dict[str, numpy.ndarray]:
        of_variables, of_inputs = self._compute_gradients()
        found = weights.read_gradients(self._weights, self._trained, of_variables)
        for tensor, gradient in zip(self._job.computation.inputs, of_inputs, strict=True):
            if gradient is not None:
                array = gradient.numpy().astype(numpy.float64)
                found[f"inputs/{tensor.name}"] = array[0] if self._lone() else array
        return found

    def _compute_gradients(self) -> tuple[list[Any], list[Any]]:
        """Gradients on the next batch to variables and inputs, from the uncompiled model in training; its state is put back.

        With loss scaling, at the largest scale not above the present one that overflows nowhere.
        """
        if self._loss_of is None:
            raise Unsupported("the workload has no loss, so it has no gradients")
        scaling = self._optimizer.scaling if self._optimizer else None
        scale = scaling.scale() if scaling else 1.0
        with self._scope:
            before = [tf.identity(variable) for variable in self._untrained]
            while True:
                found = training.all_gradients(self._model, self._loss_of, self._trained, *self._batches[self._next], scale)
                for variable, value in zip(self._untrained, before, strict=True):
                    variable.assign(value)
                if scale <= 1.0 or all(bool(tf.reduce_all(tf.math.is_finite(gradient))) for gradient in found[0]):
                    return found
                scale /= 2.0

    def parameters(self) -> dict[str, numpy.ndarray]:
        return weights.read(self._weights)

    def load(self, parameters: Mapping[str, numpy.ndarray]) -> None:
        with self._scope:
            weights.load(self._weights, parameters)

    def graph(self) -> Any:
        """The GraphDef of a step with the shapes of results, traced and not run; for the execution ``graph``."""
        with self._scope:
            return self._step.get_concrete_function(*self._batches[0]).graph.as_graph_def(add_shapes=True)

    def placement(self) -> dict[str, dict[str, list[str]]]:
        inputs = [tensor for index in range(len(self._batches)) for tensor in self._inputs(index)]
        found = {
            "parameters": _where([device.native(weight.variable) for weight in self._weights]),
            "inputs": _where(inputs),
        }
        found["outputs"] = _where([self._done()])  # a training step keeps the loss alone of what it computes
        if self._job.mode == "train":
            found["gradients"] = _where(self._compute_gradients()[0])  # a step keeps none, so these are of one like it
        return found

    def memory(self) -> int | None:
        return device.peak_memory(self._job.device)

    def facts(self) -> dict[str, Any]:
        return {
            "optimizer": self._optimizer.class_name() if self._optimizer else None,
            "layout": "channels last",
            "threads": device.thread_count(),
            "compilations": device.compile_count(self._step),
            "graph_breaks": None if self._job.execution == "eager" else 0,
            "deviations": self._deviations(),
            "switches": self._switches,
            "fallbacks": self._fallbacks(),
            "warnings": self._warnings.texts(),
        }

    def _fallbacks(self) -> list[str]:
        if not self._switches["soft_device_placement"] or self._result is None:
            return []
        step = self._step if hasattr(self._step, "get_concrete_function") else tf.function(self._step)
        with self._scope:
            return device.on_the_cpu(step, self._batches[0])

    def _deviations(self) -> list[str]:
        found = []
        if self._job.precision == "float64":
            found.append(ROUNDING)
        if self._optimizer and self._job.computation.optimizer["kind"] in ("adam", "adamw"):
            found.append(EPSILON)
        return [*found, SCALING] if self._optimizer and self._optimizer.scaling else found

    def close(self) -> None:
        self._warnings.close()


def _where(tensors: list[Any]) -> dict[str, list[str]]:
    return {
        "devices": sorted({device.device_name(tensor) for tensor in tensors}),
        "types": sorted({tf.as_dtype(tensor.dtype).name for tensor in tensors}),
    }


class _Warnings(logging.Handler):
    """Keeps what TensorFlow and Keras warn of, through Python's warnings or their loggers, from now until it is closed."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._texts: dict[str, None] = {}
        self._loggers = [tf.get_logger(), logging.getLogger("absl")]
        for logger in self._loggers:
            logger.addHandler(self)
        show = self._shown = warnings.showwarning

        def keep(message: Any, category: Any, filename: str, *rest: Any, **more: Any) -> None:
            if any(part in filename for part in ("tensorflow", "keras")):
                self._texts[f"{category.__name__}: {message}"] = None
            show(message, category, filename, *rest, **more)

        warnings.showwarning = self._keep = keep

    def emit(self, record: logging.LogRecord) -> None:
        self._texts[f"{record.levelname}: {record.getMessage()}"] = None

    def texts(self) -> list[str]:
        return list(self._texts)

    def close(self) -> None:
        for logger in self._loggers:
            logger.removeHandler(self)
        if warnings.showwarning is self._keep:
            warnings.showwarning = self._shown
        super().close()
