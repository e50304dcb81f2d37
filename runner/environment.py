"""The environment of a child: built from a list, not inherited, so that a stray variable cannot decide a comparison."""

from __future__ import annotations

import os
import site
from collections.abc import Mapping
from pathlib import Path

from frameworks.contract import Framework

# What a process needs to run at all, to find libraries and devices, and to get right results from a BLAS.
INHERITED = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "VIRTUAL_ENV",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_HOME",
    "NVIDIA_VISIBLE_DEVICES",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
)

# Variables of these families change speed or results; one that is set in the caller's shell was set for a reason.
SIGNIFICANT = (
    *("PYTORCH_", "TORCH", "TF_", "XLA_", "KERAS_", "JAX_", "MLX_"),
    *("OMP_", "KMP_", "MKL_", "OPENBLAS_", "VECLIB_", "CUDA_", "CUDNN_", "NVIDIA_TF32"),
)

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def of(framework: Framework, fallback: bool) -> dict[str, str]:
    """What an adapter asks for, with or without leave to run on the CPU what the device lacks."""
    return {**framework.environment, **(framework.fallback if fallback else {})}


def chosen(framework: Mapping[str, str], threads: int | None, extra: Mapping[str, str]) -> dict[str, str]:
    """The part that decides speed or results: what the adapter asks for, threads, what was passed on, what the user adds; later wins."""
    passed = {name: os.environ[name] for name in INHERITED if name in os.environ and name.startswith(SIGNIFICANT) and name != "CUDA_HOME"}
    counts = {} if threads is None else dict.fromkeys(THREADS, str(threads))
    return {**framework, **counts, **passed, **extra}


def withheld(extra: Mapping[str, str]) -> list[str]:
    """Names set in the caller's shell that could change results and are not passed on; ``--env NAME=VALUE`` passes one."""
    return sorted(name for name in os.environ if name.startswith(SIGNIFICANT) and name not in INHERITED and name not in extra)


def build(private: Path, framework: Mapping[str, str], threads: int | None, extra: Mapping[str, str]) -> dict[str, str]:
    """All variables of a child whose home and caches are under ``private``: a compilation starts from an empty cache each time."""
    home, temporary = private / "home", private / "tmp"
    for folder in (home, temporary):
        folder.mkdir(parents=True, exist_ok=True)
    return {
        **{name: os.environ[name] for name in INHERITED if name in os.environ},
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "TMPDIR": str(temporary),
        "TORCHINDUCTOR_CACHE_DIR": str(home / "inductor"),
        "TRITON_CACHE_DIR": str(home / "triton"),
        "CUDA_CACHE_PATH": str(home / "cuda"),
        "KERAS_HOME": str(home / "keras"),
        "PYTHONUSERBASE": site.getuserbase(),  # packages installed for the user alone stay where they are
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        **chosen(framework, threads, extra),
    }
