"""Rules about frameworks: whether they answer, and whether what is installed belongs together."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from runner.doctor import plugin
from runner.doctor.finding import Finding
from runner.doctor.setup import Interpreter, Package, Setup
from runner.probe import Found

TENSORFLOW = ("tensorflow-macos", "tensorflow", "tensorflow-cpu")
CHECKED = {"pytorch": ("torch",), "tensorflow": (*TENSORFLOW, "tensorflow-metal", "keras", "tf-keras")}
"""The packages that make up a framework."""

NUMPY_2_SINCE = {"torch": (2, 3), "tensorflow": (2, 18), "tensorflow-cpu": (2, 18), "tensorflow-macos": (2, 18)}
"""The first versions that work with NumPy 2, from their release notes. Older ones do not say so in their metadata."""


def answers(setup: Setup) -> Iterator[Finding]:
    """Frameworks that are missing or do not import, as the probe in a child saw it."""
    for name, found in setup.found.items():
        failure = found.failure
        if failure is not None and not setup.interpreters[name].failure:
            yield Finding(
                "error",
                failure.status,
                f"{found.facts.title} is not installed" if failure.status == "not_installed" else f"{found.facts.title} does not work",
                failure.reason,
                failure.remedy or "see the end of what it prints when you import it in that Python",
            )


def metal_plugin(setup: Setup) -> Iterator[Finding]:
    """The Metal plug-in against TensorFlow, macOS and Python."""
    python = setup.interpreters.get("tensorflow")
    if python is None or not setup.apple_silicon:
        return
    tensorflow, metal = python.installed(*TENSORFLOW), python.installed("tensorflow-metal")
    if metal is None and python.version[:2] > plugin.LAST_PYTHON:
        yield Finding(
            "warning",
            "plugin_python",
            f"there is no tensorflow-metal for Python {_minor(python)}",
            "the last plug-in, 1.2.0, has wheels up to Python 3.12",
            f"make an environment with Python 3.12: pip install {plugin.GOOD}; name it with --python tensorflow=PATH",
        )
    elif metal is None and tensorflow is not None:
        yield Finding(
            "warning",
            "plugin_missing",
            "TensorFlow sees no GPU: tensorflow-metal is not installed",
            f"{tensorflow[0]} {tensorflow[1].version} computes on the CPU alone",
            f"pip install {plugin.GOOD}",
        )
    if metal is None or tensorflow is None:
        return
    lacking = plugin.missing_symbols(_real_version(python, tensorflow), metal[1].version)
    pair = f"TensorFlow {_real_version(python, tensorflow)} with tensorflow-metal {metal[1].version}"
    if lacking:
        yield Finding(
            "error",
            "plugin_mismatch",
            f"{pair} cannot load",
            f"the plug-in needs {lacking} symbol{'s' if lacking > 1 else ''} that this TensorFlow lacks, so that its import fails",
            f"pip install {plugin.GOOD}; or, for the CPU alone, pip uninstall tensorflow-metal",
        )
    elif lacking is None:
        yield Finding(
            "warning",
            "plugin_unknown",
            f"{pair} is a pair that nobody has tried",
            "it is not in the table of pairs",
            f"h2h env check decides it from the files; known to load: {plugin.GOOD}",
        )


def _real_version(python: Interpreter, tensorflow: tuple[str, Package]) -> str:
    """tensorflow-macos 2.16 is an empty shell around tensorflow."""
    inner = python.packages.get("tensorflow")
    return inner.version if tensorflow[0] == "tensorflow-macos" and inner is not None else tensorflow[1].version


def gpu(setup: Setup) -> Iterator[Finding]:
    """A GPU in the machine that a working framework does not see."""
    for name, found in setup.found.items():
        if found.failure is not None or found.gpu is not None:
            continue
        if setup.apple_silicon and "mps" in found.facts.devices:
            yield Finding(
                "warning",
                "gpu_not_seen",
                f"{found.facts.title} finds no GPU that computes right",
                "a virtual machine's GPU fails" if setup.virtual else "a small product of matrices on MPS failed or was wrong",
                "MPS needs macOS 12.3, a native arm64 Python and a GPU of its own; --device cpu measures the rest",
            )
        elif setup.apple_silicon and "metal" in found.facts.devices and setup.interpreters[name].installed("tensorflow-metal"):
            yield Finding(
                "warning",
                "gpu_not_seen",
                f"{found.facts.title} finds no GPU that computes right",
                "tensorflow-metal is installed, and offers no device or one that fails",
                f"pip install {plugin.GOOD}; --device cpu measures the rest",
            )
        elif setup.platform == "linux" and setup.machine.gpu and "cuda" in found.facts.devices:
            yield _no_cuda(setup, name, found)


def _no_cuda(setup: Setup, name: str, found: Found) -> Finding:
    python = setup.interpreters[name]
    torch = python.packages.get("torch")
    cpu_build = (torch is not None and "+cpu" in torch.version) if name == "pytorch" else "tensorflow-cpu" in python.packages
    return Finding(
        "warning",
        "gpu_not_seen",
        f"{found.facts.title} does not see the {setup.machine.gpu}",
        "it is a build for the CPU" if cpu_build else "its CUDA libraries are missing, or newer than the driver supports",
        "install a CUDA build: pip install torch" if name == "pytorch" else "pip install 'tensorflow[and-cuda]'",
    )


def requirements(setup: Setup) -> Iterator[Finding]:
    """What frameworks ask of other packages (NumPy, protobuf, Keras, ...) against what is there."""
    for name, python in setup.interpreters.items():
        works = name in setup.found and setup.found[name].failure is None
        for package in (package for package in CHECKED.get(name, ()) if package in python.packages):
            for text in python.packages[package].requires:
                unmet = _unmet(text, python, setup.platform)
                if unmet:
                    yield Finding(
                        "warning" if works else "error",
                        "requirement",
                        f"{package} {python.packages[package].version} needs {unmet[0]}, and there is {unmet[1]}",
                        "another package asked for that version, or it was upgraded by hand",
                        f"pip install '{unmet[0]}' in {python.path}, or make a new environment from frameworks/eras",
                    )


def _unmet(text: str, python: Interpreter, platform: str) -> tuple[str, str] | None:
    """What is asked for and what there is instead; None where the requirement is met, not for here, or not to be read."""
    here = {
        "python_version": _minor(python),
        "python_full_version": ".".join(map(str, python.version)),
        "platform_machine": python.machine,
        "sys_platform": platform,
        "platform_system": {"darwin": "Darwin", "linux": "Linux"}.get(platform, platform),
        "extra": "",
    }
    try:
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate(here):
            return None
        asked = f"{requirement.name}{requirement.specifier}"
        have = python.packages.get(canonicalize_name(requirement.name))
        if have is None:
            return asked, "none"
        met = requirement.specifier.contains(Version(have.version), prereleases=True)
        return None if met else (asked, have.version)
    except (InvalidRequirement, InvalidVersion):
        return None


def numpy_2(setup: Setup) -> Iterator[Finding]:
    """NumPy 2 beside a framework that was built for NumPy 1 and does not say so."""
    for name, python in setup.interpreters.items():
        numpy = python.packages.get("numpy")
        if numpy is None or _numbers(numpy.version)[:1] < (2,):
            continue
        for package, since in NUMPY_2_SINCE.items():
            mine = package == "torch" if name == "pytorch" else name == "tensorflow" and package in TENSORFLOW
            if mine and package in python.packages and _numbers(python.packages[package].version)[:2] < since:
                yield Finding(
                    "error",
                    "numpy_2",
                    f"{package} {python.packages[package].version} does not work with NumPy {numpy.version}",
                    f"it was built for NumPy 1; from {'.'.join(map(str, since))} on it takes 2",
                    f"pip install 'numpy<2' in {python.path}",
                )


def wheels(setup: Setup) -> Iterator[Finding]:
    """Wheels that were built for another processor or a newer macOS, as their tags say."""
    for name, python in setup.interpreters.items():
        for package in (package for package in (*CHECKED.get(name, ()), "numpy") if package in python.packages):
            tags = [re.fullmatch(r".*macosx_(\d+)_(\d+)_(\w+)", tag) for tag in python.packages[package].tags]
            built = [(int(tag[1]), int(tag[2]), tag[3]) for tag in tags if tag]
            title = f"{package} {python.packages[package].version}"
            if built and not any(machine in (python.machine, "universal2") for _, _, machine in built):
                yield Finding(
                    "error",
                    "wheel_processor",
                    f"{title} was built for {built[0][2]}, and its Python for {python.machine}",
                    "the environment was copied from another machine, or its Python was exchanged",
                    "make the environment anew",
                )
            elif built and setup.system_version is not None and min(built)[:2] > (*setup.system_version, 0)[:2]:
                yield Finding(
                    "error",
                    "wheel_macos",
                    f"{title} was built for macOS {min(built)[0]}.{min(built)[1]} or later, and this is {_dotted(setup.system_version)}",
                    "it was installed on another system, or with a check overridden",
                    "update macOS, or install an older version: pip chooses one that fits",
                )


def duplicates(setup: Setup) -> Iterator[Finding]:
    """Two packages that are the same framework, or one that is there twice."""
    for name, python in setup.interpreters.items():
        both = [package for package in TENSORFLOW if package in python.packages]
        shell = "tensorflow-macos" in both and _numbers(python.packages["tensorflow-macos"].version)[:2] >= (2, 13)
        if name == "tensorflow" and len(both) > 1 and not (shell and both == ["tensorflow-macos", "tensorflow"]):
            yield Finding(
                "warning",
                "two_tensorflows",
                f"{' and '.join(both)} are both installed",
                "they write the same files over each other, and removing one breaks the other",
                f"pip uninstall {' '.join(both)}, then install one of them",
            )
        for package in (
            package for package in (*CHECKED.get(name, ()), "numpy") if package in python.packages and python.packages[package].copies > 1
        ):
            yield Finding(
                "warning",
                "installed_twice",
                f"{package} is installed {python.packages[package].copies} times in the Python of {name}",
                "an upgrade that was broken off, or a user's folder beside the environment's, left an old version behind",
                f"pip uninstall {package} until none is left, then install it again",
            )


def openmp(setup: Setup) -> Iterator[Finding]:
    """More than one OpenMP runtime where one process would load them."""
    for name, python in setup.interpreters.items():
        theirs = {"pytorch": "torch", "tensorflow": "tensorflow"}.get(name, name)
        loaded = [file for file in python.openmp if not file.startswith(tuple({"torch/", "tensorflow/"} - {f"{theirs}/"}))]
        if len(loaded) > 1:
            yield Finding(
                "warning",
                "two_openmp",
                f"the Python of {name} has {len(loaded)} OpenMP runtimes: {', '.join(loaded)}",
                "conda's or Intel's beside the framework's own; loaded into one process they abort it or share its cores twice",
                "install NumPy and the framework from one source, all by pip or all by conda",
            )


def keras(setup: Setup) -> Iterator[Finding]:
    """Which Keras answers to ``tf.keras``, and which optimizer it will choose."""
    python = setup.interpreters.get("tensorflow")
    tensorflow = python.installed(*TENSORFLOW) if python else None
    if python is None or tensorflow is None:
        return
    version, found = _numbers(_real_version(python, tensorflow))[:2], python.packages.get("keras")
    if setup.given.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True"):
        there = "tf-keras" in python.packages
        yield Finding(
            "warning" if there else "error",
            "legacy_keras",
            "TF_USE_LEGACY_KERAS asks for Keras 2",
            "tf.keras is then the package tf-keras" + ("" if there else ", which is not installed"),
            "leave the variable away for Keras 3" if there else "pip install tf-keras, or leave the variable away",
        )
    elif found is not None and version >= (2, 16) and _numbers(found.version)[:1] < (3,):
        yield Finding(
            "error",
            "keras_old",
            f"TensorFlow {'.'.join(map(str, version))} needs Keras 3, and there is {found.version}",
            "Keras was pinned or left behind by an older TensorFlow",
            "pip install --upgrade keras",
        )
    elif setup.apple_silicon and (2, 11) <= version < (2, 16):
        yield Finding(
            "note",
            "legacy_optimizer",
            f"Keras of TensorFlow {'.'.join(map(str, version))} chooses its legacy optimizers here",
            "its newer ones are slow on Apple silicon, and Keras itself says so and exchanges them",
            "rows name the class that ran; TensorFlow 2.16 and later have one kind",
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version.partition("+")[0])))


def _minor(python: Interpreter) -> str:
    return ".".join(map(str, python.version[:2]))


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


RULES = (answers, metal_plugin, gpu, requirements, numpy_2, wheels, duplicates, openmp, keras)
