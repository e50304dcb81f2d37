"""What depends on the device and on the version of PyTorch: finding, waiting, memory, precision switches, what is supported."""

from __future__ import annotations

import contextlib
import os
import platform
import re
from collections.abc import Callable
from typing import Any

import numpy
import torch

from frameworks.contract import Unsupported

TYPES = {
    "float32": torch.float32,
    "tf32": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "mixed_bfloat16": torch.float32,
    "mixed_float16": torch.float32,
}
"""The type of parameters and inputs in each precision."""

AUTOCAST = {"mixed_bfloat16": torch.bfloat16, "mixed_float16": torch.float16}
"""The type that autocast computes in."""

TITLES = {"cpu": "the CPU", "mps": "MPS", "cuda": "CUDA"}

MPS_SWITCHES = (
    "PYTORCH_ENABLE_MPS_FALLBACK",
    "PYTORCH_MPS_FAST_MATH",
    "PYTORCH_MPS_PREFER_METAL",
    "PYTORCH_MPS_HIGH_WATERMARK_RATIO",
    "PYTORCH_MPS_LOW_WATERMARK_RATIO",
)
"""Variables that MPS reads when it starts, and that change results, speed or memory."""


def version() -> tuple[int, int]:
    """Major and minor version of PyTorch."""
    numbers = re.findall(r"\d+", torch.__version__)
    return int(numbers[0]), int(numbers[1])


def versions() -> dict[str, str]:
    """Versions and builds that decide speed or results."""
    found = {"torch": torch.__version__, "numpy": numpy.__version__}
    blas = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    if blas:
        found["blas"] = blas.group(1)
    if torch.backends.mkldnn.is_available():
        found["onednn"] = (re.findall(r"MKL-DNN v([\d.]+)", torch.__config__.show()) or ["unknown"])[0]
    if torch.version.cuda:
        found["cuda"] = torch.version.cuda
        found["cudnn"] = str(torch.backends.cudnn.version())
    if platform.system() == "Darwin":
        found["macos"] = platform.mac_ver()[0]
    return found


def available() -> dict[str, str]:
    """The devices on which a small product of matrices comes out right, with their human names."""
    return {device: _name(device) for device in ("cpu", "mps", "cuda") if _computes(device)}


def _computes(device: str) -> bool:
    try:
        ones = torch.ones(2, 2, device=device)
        return float((ones @ ones).sum()) == 8.0
    except Exception:  # a device that fails in any way is not available
        return False


def _name(device: str) -> str:
    if device == "cuda":
        return str(torch.cuda.get_device_name())
    if device == "mps":
        with contextlib.suppress(Exception):  # not in older versions
            return str(torch.backends.mps.get_name())
        return f"Apple GPU ({platform.machine()})"
    return platform.processor() or platform.machine()


def wait(device: str) -> None:
    """Return when everything that was enqueued on the device is done. On the CPU every call has finished when it returns."""
    if device == "cuda":
        torch.cuda.synchronize()
    elif device == "mps":
        if hasattr(torch, "mps") and hasattr(torch.mps, "synchronize"):
            torch.mps.synchronize()
        else:
            torch.zeros(1, device="mps").cpu()  # the stream is in order, so a read-back comes after all before it


def reset_peak_memory(device: str) -> None:
    """Forget the peak of what came before."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()


def peak_memory(device: str) -> int | None:
    """Peak of device memory in bytes since the reset; None where PyTorch keeps none: MPS tells what is allocated now, the CPU nothing."""
    return int(torch.cuda.max_memory_allocated()) if device == "cuda" else None


def set_threads(threads: int | None) -> None:
    """Threads of one operator on the CPU; None leaves PyTorch's own choice."""
    if threads is not None:
        torch.set_num_threads(threads)


def set_precision(precision: str, device: str) -> dict[str, Any]:
    """Pin every switch that changes how a type is computed, and return all as they now read.

    TensorFloat-32 is on for products and convolutions in ``tf32`` alone; half types are summed in float32, as other frameworks do.
    """
    tf32 = precision == "tf32"
    if hasattr(torch, "set_float32_matmul_precision"):
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
    wanted = (
        (torch.backends.cuda.matmul, "allow_tf32", tf32),
        (torch.backends.cudnn, "allow_tf32", tf32),
        (torch.backends.cuda.matmul, "allow_fp16_reduced_precision_reduction", False),
        (torch.backends.cuda.matmul, "allow_bf16_reduced_precision_reduction", False),
        (torch.backends.cuda.matmul, "allow_fp16_accumulation", False),
        (torch.backends.cudnn, "benchmark", False),
        (torch.backends.cudnn, "deterministic", False),
    )
    switches: dict[str, Any] = {}
    for module, name, value in wanted:
        if _has_switch(module, name):
            setattr(module, name, value)
            switches[f"{'cudnn' if module is torch.backends.cudnn else 'cuda.matmul'}.{name}"] = getattr(module, name)
    if hasattr(torch.backends.cuda, "allow_fp16_bf16_reduction_math_sdp"):
        torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(False)
        switches["cuda.fp16_bf16_reduction_math_sdp"] = torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
    if hasattr(torch, "get_float32_matmul_precision"):
        switches["float32_matmul_precision"] = torch.get_float32_matmul_precision()
    if device == "mps":
        switches |= {name: os.environ[name] for name in MPS_SWITCHES if name in os.environ}
    if precision in AUTOCAST:
        switches["autocast"] = f"{device} {numpy_name(AUTOCAST[precision])}"
    return switches


def _has_switch(module: Any, name: str) -> bool:
    try:
        getattr(module, name)
    except (AttributeError, AssertionError):  # older versions, which know fewer switches, raise either
        return False
    return True


def numpy_name(kind: torch.dtype) -> str:
    """``float32`` for ``torch.float32``."""
    return str(kind).rpartition(".")[2]


def autocast(precision: str, device: str) -> contextlib.AbstractContextManager[Any]:
    """The context that a step of a mixed precision computes in."""
    context: contextlib.AbstractContextManager[Any] = torch.autocast(device, dtype=AUTOCAST[precision])
    return context


def grad_scaler(device: str) -> Any:
    """The loss scaler that PyTorch recommends for mixed float16, with its own defaults."""
    if hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler(device)
    return torch.cuda.amp.GradScaler()


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function through ``torch.compile`` with its default back end, Inductor."""
    made: Callable[..., Any] = torch.compile(function)
    return made


def forget_compiled() -> None:
    """Drop what was compiled before, since code that is compiled too often falls back to eager execution without an error."""
    torch._dynamo.reset()


def compile_counts() -> tuple[int, int]:
    """Graphs compiled and graph breaks so far in this process. The break that ``torch.optim`` itself calls for before its compiled update
    is left out, since nothing is computed outside of a graph for it."""
    from torch._dynamo.utils import counters

    breaks = sum(count for reason, count in counters["graph_break"].items() if "torch._dynamo.graph_break()" not in reason)
    return int(counters["stats"]["unique_graphs"]), breaks


def grouped_attention(device: str) -> bool:
    """Whether scaled_dot_product_attention takes fewer key heads than query heads itself."""
    return version() >= (2, 5) and device in ("cpu", "cuda")


def check_supported(device: str, precision: str, execution: str, mode: str) -> None:
    """Raise :class:`Unsupported` for what this version on this device cannot do."""
    if not _computes(device):
        raise Unsupported(f"PyTorch {torch.__version__} finds no working {TITLES.get(device, device)} here", _device_remedy(device))
    if execution == "inductor":
        _check_inductor(device)
    if precision == "tf32" and (device != "cuda" or torch.cuda.get_device_capability()[0] < 8):
        raise Unsupported("TensorFloat-32 exists only on CUDA devices of compute capability 8.0 and above", "use --precision float32")
    if precision == "float64" and device == "mps":
        raise Unsupported("MPS has no float64", "use --precision float32")
    if "bfloat16" in precision and device == "cuda" and torch.cuda.get_device_capability()[0] < 8:
        raise Unsupported("bfloat16 needs a CUDA device of compute capability 8.0 or above", "use --precision float16")
    for kind in (TYPES[precision], AUTOCAST.get(precision, torch.float32)):
        if not _holds(device, kind):
            raise Unsupported(
                f"PyTorch {torch.__version__} cannot compute in {numpy_name(kind)} on {TITLES[device]} here", "use --precision float32"
            )
    if precision in AUTOCAST:
        _check_mixed(device, precision, mode)


def _device_remedy(device: str) -> str:
    if device == "mps":
        return "MPS needs an Apple GPU, macOS 12.3 or later and a native arm64 Python"
    if device == "cuda":
        return "install a CUDA build of PyTorch and a driver that it supports"
    return "use --device cpu"


def _check_inductor(device: str) -> None:
    if not hasattr(torch, "compile"):
        raise Unsupported(f"torch.compile came with PyTorch 2.0, this is {torch.__version__}", "use --execution eager")
    if device == "mps" and version() < (2, 7):
        raise Unsupported(f"Inductor generates code for MPS since PyTorch 2.7, this is {torch.__version__}", "use --execution eager")
    import torch._dynamo.eval_frame as eval_frame

    if hasattr(eval_frame, "check_if_dynamo_supported"):
        try:
            eval_frame.check_if_dynamo_supported()
        except RuntimeError as error:
            raise Unsupported(f"torch.compile does not work here: {error}", "use --execution eager") from error


def _holds(device: str, kind: torch.dtype) -> bool:
    try:
        value = torch.ones(2, 2, device=device, dtype=kind)
        return float((value @ value).sum()) == 8.0
    except (TypeError, RuntimeError):  # MPS says TypeError, missing kernels are RuntimeErrors
        return False


def _check_mixed(device: str, precision: str, mode: str) -> None:
    try:
        with autocast(precision, device):
            enabled = torch.ones(2, 2, device=device) @ torch.ones(2, 2, device=device)
    except RuntimeError as error:
        raise Unsupported(f"PyTorch {torch.__version__} has no autocast on {TITLES[device]}: {error}", "use --precision float32") from error
    if enabled.dtype != AUTOCAST[precision]:
        raise Unsupported(
            f"autocast of PyTorch {torch.__version__} on {TITLES[device]} does not compute in {numpy_name(AUTOCAST[precision])} here",
            "use --precision float32",
        )
    if precision == "mixed_float16" and mode == "train" and not _scales_losses(device):
        raise Unsupported(
            f"the loss scaler of PyTorch {torch.__version__} does not work on {TITLES[device]}", "use --precision mixed_bfloat16"
        )


def _scales_losses(device: str) -> bool:
    weight = torch.nn.Parameter(torch.ones(1, device=device))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    try:
        scaler = grad_scaler(device)
        scaler.scale(weight.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    except (TypeError, RuntimeError, AssertionError):  # versions that scale on CUDA alone say it in each of these ways
        return False
    return bool(scaler.is_enabled()) and float(weight.detach()) == 0.5  # or switch themselves off and let losses pass as they are
