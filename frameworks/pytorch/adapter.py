"""PyTorch as the rest of the suite sees it: what it has, a session for a job, and what its exceptions mean."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy
import torch
from torch import Tensor, nn

from frameworks import data
from frameworks.contract import GLIMPSE, Adapter, CellFailure, Job, Session, Unsupported
from frameworks.pytorch import device, layers, modules, operators, training, weights
from frameworks.pytorch.layout import LAST, Layout, from_layout, to_layout

LSTM_BIAS = "nn.LSTM adds a second bias, which is kept at zero and not trained: one more addition than the workload has"
SCALING = "torch.amp.GradScaler skips the update and lowers its scale after a step whose scaled gradients overflow, and reads that back"
HARD_SWISH = "nn.Hardswish on CUDA multiplies by 1/6 rounded to float32, in float64 too"

OUT_OF_MEMORY = re.compile(r"out of memory|can't allocate memory|not enough memory|Invalid buffer size", re.IGNORECASE)
NOT_IMPLEMENTED = re.compile(
    r"not implemented for|not (?:currently )?(?:implemented|supported) (?:for|on|in|by) (?:the )?(?:MPS|Metal)|Could not run '"
    r"|MPS (?:device|framework|backend)? ?(?:does not|doesn't) support|not implemented.*MPS|unsupported device type: mps"
    r"|could not create a primitive"
)
FELL_BACK = re.compile(r"operator '([\w:.]+)' is not currently supported on the MPS backend and will fall back")
NO_COMPILER = re.compile(r"No working C\+\+ compiler|InvalidCxxCompiler|Cannot find a working triton|TritonMissing|C compiler")


class PyTorchAdapter(Adapter):
    """PyTorch on the CPU, MPS and CUDA, eager or compiled by Inductor."""

    def versions(self) -> dict[str, str]:
        return device.versions()

    def devices(self) -> dict[str, str]:
        return device.available()

    def build(self, job: Job) -> PyTorchSession:
        device.check_supported(job.device, job.precision, job.execution, job.mode)
        device.set_threads(job.threads)
        return PyTorchSession(job)

    def operators(self, job: Job) -> list[dict[str, Any]]:
        return operators.record(lambda: PyTorchSession(job))

    def failure(self, error: BaseException) -> CellFailure | None:
        for cause in _causes(error):
            text = str(cause)
            if isinstance(cause, CellFailure):
                return cause
            if isinstance(cause, MemoryError) or type(cause).__name__ == "OutOfMemoryError" or OUT_OF_MEMORY.search(text):
                return CellFailure(
                    "out_of_memory", f"PyTorch could not get the memory it needs: {_first_line(text)}", "try a smaller batch"
                )
            if NO_COMPILER.search(text) or NO_COMPILER.search(type(cause).__name__):
                return Unsupported(
                    f"Inductor finds no compiler for the code that it generates: {_first_line(text)}",
                    "install a C++ compiler (on CUDA also Triton), or use --execution eager",
                )
            if isinstance(cause, NotImplementedError) or NOT_IMPLEMENTED.search(text):
                return Unsupported(
                    f"PyTorch {torch.__version__} lacks an operator that the workload needs: {_first_line(text)}",
                    "try another precision, device or version",
                )
        return None


def _causes(error: BaseException) -> Iterable[BaseException]:
    """An exception and those behind it, the innermost first, since the compiler wraps what it meets."""
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in found:
        found.append(current)
        current = getattr(current, "inner_exception", None) or current.__cause__
    return reversed(found)


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[0][:300]


class PyTorchSession(Session):
    """One job in PyTorch. ``step`` does what a hand-written loop does, and nothing else."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._device = job.device
        self._warnings: dict[str, None] = {}
        self._show_warning = warnings.showwarning
        warnings.showwarning = self._record_warning
        self._compiled = job.execution == "inductor"
        if self._compiled:
            device.forget_compiled()
            self._counts_before = device.compile_counts()
        self._switches = device.set_precision(job.precision, job.device)
        torch.manual_seed(job.seed)
        device.reset_peak_memory(job.device)

        computation = job.computation
        self._model = layers.build(computation, dropout=job.dropout, grouped_attention=device.grouped_attention(job.device))
        self._module = self._model.module.to(device.TYPES[job.precision]).to(job.device)
        self._module.train(job.mode == "train")
        weights.load(self._model.bindings, data.parameter_values(computation, job.seed))
        self._batches = [self._on_device(batch) for batch in data.batches(computation, job.batches, job.seed)]
        self._next = 0
        self._inputs, self._target = self._batches[0]
        self._loss: Tensor | None = None
        self._outputs: Tensor | None = None

        context = (lambda: device.autocast(job.precision, job.device)) if job.precision in device.AUTOCAST else None
        if computation.loss is not None:
            self._forward = training.forward(self._module, self._loss_function(), context)
        self._scaler: Any = None
        self._optimizer: torch.optim.Optimizer | None = None
        if job.mode == "train":
            self._prepare_training()
        else:
            predict = training.predict(self._module, context)
            self._infer = training.infer_step(device.compiled(predict) if self._compiled else predict)
        self.wait()

    def _prepare_training(self) -> None:
        job = self._job
        if job.computation.loss is None or job.computation.target is None:
            raise Unsupported("the workload has no loss, so it cannot be trained", "use --mode infer")
        self._optimizer = training.optimizer(job.computation.optimizer, self._module)
        if job.precision == "mixed_float16":
            self._scaler = device.grad_scaler(job.device)
        forward = self._forward
        if self._compiled:
            forward = device.compiled(forward)
            self._optimizer.step = device.compiled(self._optimizer.step)
        self._train = training.train_step(forward, self._optimizer, self._scaler)

    def _loss_function(self) -> training.Loss:
        computation = self._job.computation
        assert computation.loss is not None
        return training.loss_function(
            computation.loss,
            rank=len(computation.network.gives) + 1,
            channels_first=self._model.output.first,
            widen="float16" in self._job.precision,
        )

    def _on_device(self, batch: data.Batch) -> tuple[training.Inputs, Tensor | None]:
        inputs = tuple(self._put(value, self._model.inputs[name], self._job.precision) for name, value in batch.inputs.items())
        if batch.target is None:
            return inputs, None
        layout = LAST if batch.target.dtype.kind == "i" else self._model.output
        return inputs, self._put(batch.target, layout, "float64" if self._job.precision == "float64" else "float32")

    def _put(self, array: numpy.ndarray, layout: Layout, precision: str) -> Tensor:
        """An array on the device, with a batch of one where the computation has none; integers as int64, which PyTorch indexes with."""
        kind = torch.int64 if array.dtype.kind == "i" else device.TYPES[precision]
        with_batch = array[None] if self._job.computation.batch is None else array
        return torch.from_numpy(numpy.ascontiguousarray(to_layout(with_batch, layout))).to(kind).to(self._device)

    def step(self) -> None:
        inputs, target = self._batches[self._next]
        self._next = (self._next + 1) % len(self._batches)
        if self._optimizer is None:
            self._outputs = self._infer(inputs)
            self._target = target
        else:
            self._loss = self._train(inputs, target)

    def wait(self) -> None:
        device.wait(self._device)

    def loss(self) -> float:
        if self._optimizer is None:
            with torch.inference_mode():
                return float(self._loss_function()(self._last(self._outputs), self._last(self._target)))
        return float(self._last(self._loss))

    def outputs(self) -> numpy.ndarray:
        outputs = from_layout(weights.to_numpy(self._last(self._outputs)), self._model.output)
        return outputs[0] if self._job.computation.batch is None else outputs

    def glimpse(self) -> numpy.ndarray:
        part = self._last(self._outputs)
        while part.numel() > GLIMPSE:
            part = part[0] if part.ndim > 1 else part[:GLIMPSE]
        return weights.to_numpy(part)

    @staticmethod
    def _last(value: Tensor | None) -> Tensor:
        if value is None:
            raise RuntimeError("there is nothing to read: no step was done yet, or it does not give this")
        return value

    def gradients(self) -> dict[str, numpy.ndarray]:
        by_parameter, by_input = self._compute_gradients()
        found = weights.read_gradients(self._model.bindings, by_parameter)
        for tensor, gradient in by_input.items():
            array = from_layout(weights.to_numpy(gradient), self._model.inputs[tensor])
            found[f"inputs/{tensor}"] = array[0] if self._job.computation.batch is None else array
        return found

    def _compute_gradients(self) -> tuple[dict[str, Tensor | None], dict[str, Tensor]]:
        """Gradients on the next batch by parameter and by input, from the uncompiled module in training; its state is put back."""
        batch, target = self._batches[self._next]
        names = self._model.inputs
        inputs = tuple(x.detach().clone().requires_grad_(x.is_floating_point()) for x in batch)
        to_inputs = {name: x for name, x in zip(names, inputs, strict=True) if x.requires_grad}
        to_parameters = self._trainable()
        buffers = [(buffer, buffer.clone()) for buffer in self._module.buffers()]
        self._module.train()
        try:
            loss = self._forward(inputs, target)
            found = self._unscaled(loss, [*to_parameters.values(), *to_inputs.values()])
        finally:
            self._module.train(self._job.mode == "train")
            with torch.no_grad():
                for buffer, before in buffers:
                    buffer.copy_(before)
        by_input = zip(to_inputs.items(), found[len(to_parameters) :], strict=True)
        return (
            dict(zip(to_parameters, found[: len(to_parameters)], strict=True)),
            {name: torch.zeros_like(x) if gradient is None else gradient for (name, x), gradient in by_input},
        )

    def _unscaled(self, loss: Tensor, sources: list[Tensor]) -> list[Tensor | None]:
        """Gradients of the loss; with loss scaling, at the largest scale not above the present one that overflows nowhere."""
        scale = 1.0 if self._scaler is None else float(self._scaler.get_scale())
        while True:
            found = torch.autograd.grad(loss * scale, sources, allow_unused=True, retain_graph=self._scaler is not None)
            if scale <= 1.0 or all(g is None or bool(g.isfinite().all()) for g in found):
                return [None if g is None else g / scale for g in found]
            scale /= 2.0

    def _trainable(self) -> dict[str, Tensor]:
        return {name: binding.tensor for name, binding in self._model.bindings.items() if binding.tensor.requires_grad}

    def parameters(self) -> dict[str, numpy.ndarray]:
        return weights.read(self._model.bindings)

    def load(self, parameters: Mapping[str, numpy.ndarray]) -> None:
        weights.load(self._model.bindings, parameters)

    @property
    def optimizer(self) -> torch.optim.Optimizer | None:
        """The live optimizer, in ``train``."""
        return self._optimizer

    def placement(self) -> dict[str, dict[str, list[str]]]:
        found = {
            "parameters": _where(binding.tensor for binding in self._model.bindings.values()),
            "inputs": _where(x for inputs, _ in self._batches for x in inputs),
        }
        result = self._outputs if self._optimizer is None else self._loss  # a training step keeps the loss alone of what it computes
        if result is not None:
            found["outputs"] = _where([result])
        if self._optimizer is not None:
            gradients = [tensor.grad for tensor in self._trainable().values() if tensor.grad is not None]
            found["gradients"] = _where(gradients)
        return found

    def memory(self) -> int | None:
        return device.peak_memory(self._device)

    def facts(self) -> dict[str, Any]:
        compilations, graph_breaks = 0, None
        if self._compiled:
            graphs, breaks = device.compile_counts()
            compilations, graph_breaks = graphs - self._counts_before[0], breaks - self._counts_before[1]
        return {
            "optimizer": None if self._optimizer is None else _class_name(self._optimizer),
            "layout": "channels first",
            "threads": torch.get_num_threads(),
            "compilations": compilations,
            "graph_breaks": graph_breaks,
            "fallbacks": sorted(set(FELL_BACK.findall(" ".join(self._warnings)))),
            "deviations": deviations(self._job, self._module),
            "switches": dict(self._switches),
            "warnings": list(self._warnings),
        }

    def _record_warning(self, message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        self._warnings[f"{category.__name__}: {' '.join(str(message).split())[:300]}"] = None
        self._show_warning(message, category, *where, **more)

    def close(self) -> None:
        if warnings.showwarning == self._record_warning:
            warnings.showwarning = self._show_warning


def deviations(job: Job, module: nn.Module) -> list[str]:
    """Where PyTorch's own classes, as this job uses them, compute something else than the workload says."""
    kinds = {type(part) for part in module.modules()}
    found = [LSTM_BIAS] if modules.LSTM in kinds else []
    if job.mode == "train" and job.precision == "mixed_float16":
        found.append(SCALING)
    if job.device == "cuda" and job.precision == "float64" and nn.Hardswish in kinds:
        found.append(HARD_SWISH)
    return found


def _where(tensors: Iterable[Tensor]) -> dict[str, list[str]]:
    listed = list(tensors)
    return {
        "devices": sorted({tensor.device.type for tensor in listed}),
        "types": sorted({device.numpy_name(tensor.dtype) for tensor in listed}),
    }


def _class_name(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"
