"""Rules about variables: those that reach a child, and those of the shell that do not."""

from __future__ import annotations

from collections.abc import Iterator

from runner.doctor.finding import Finding
from runner.doctor.setup import Setup

GIVEN = {
    "PYTORCH_ENABLE_MPS_FALLBACK": ("1", "fallback", "operators that MPS lacks run on the CPU behind its back, copies included"),
    "PYTORCH_MPS_FAST_MATH": ("1", "fast_math", "Metal's fast mathematics rounds otherwise, and results change"),
    "PYTORCH_MPS_PREFER_METAL": ("1", "prefer_metal", "products of matrices go through other kernels than usual"),
    "PYTORCH_MPS_HIGH_WATERMARK_RATIO": ("0.0", "watermark", "without the limit of memory the whole system may come to a stop"),
    "TF_ENABLE_ONEDNN_OPTS": ("0", "onednn", "TensorFlow computes on the CPU without oneDNN"),
    "KMP_DUPLICATE_LIB_OK": ("TRUE", "duplicate_openmp", "two OpenMP runtimes in a process may crash it or give wrong results"),
    "NVIDIA_TF32_OVERRIDE": ("1", "tf32_override", "float32 products are computed in TensorFloat-32"),
}
"""Variables whose value, compared in capitals, changes what is measured: the value, the finding's code, what it does."""

LOADER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def given(setup: Setup) -> Iterator[Finding]:
    """What children are given that changes results."""
    for name, (value, code, effect) in GIVEN.items():
        if setup.given.get(name, "").strip().upper() == value:
            yield Finding("warning", code, f"{name}={setup.given[name]} is given to frameworks", effect, f"leave --env {name} away")
    backend = setup.given.get("KERAS_BACKEND", "tensorflow")
    if backend != "tensorflow":
        yield Finding(
            "error",
            "keras_backend",
            f"KERAS_BACKEND={backend} is given to TensorFlow",
            "tf.keras would compute in another framework, and its layers would not fit a TensorFlow step",
            "leave --env KERAS_BACKEND away",
        )
    for name in LOADER:
        if setup.given.get(name):
            yield Finding(
                "warning",
                "library_path",
                f"{name} is set",
                "frameworks may load libraries from there instead of their own; children are given it, since some installations need it",
                f"unset {name}, unless yours is one of those",
            )
    threads = {name: setup.given[name] for name in THREADS if name in setup.given}
    if len(set(threads.values())) > 1:
        yield Finding(
            "warning",
            "threads_differ",
            f"thread counts differ: {', '.join(f'{name}={count}' for name, count in threads.items())}",
            "each framework reads another of these variables, so that rivals would have different numbers of threads",
            "use --threads, which sets them all",
        )


def withheld(setup: Setup) -> Iterator[Finding]:
    """What the shell has and no child is given."""
    names = sorted(name for name in setup.shell if name != "PYTHONPATH")
    if names:
        yield Finding(
            "note",
            "withheld",
            f"set in your shell, and not passed on: {', '.join(names)}",
            "children start from an environment of their own, so that a stray variable decides nothing; your other programs do see it",
            "--env NAME=VALUE passes one on, and the result says so",
        )
    if setup.shell.get("PYTHONPATH"):
        yield Finding(
            "warning",
            "pythonpath",
            "PYTHONPATH is set, and not passed on",
            "packages that are found through it alone are missing in children",
            "install them, or name an interpreter that has them with --python FRAMEWORK=PATH",
        )


RULES = (given, withheld)
