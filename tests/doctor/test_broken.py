"""Broken set-ups, each with its finding, its cause and its remedy; and that a sound one has none."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from frameworks.contract import CellFailure
from runner.doctor import plugin, show
from runner.doctor.examine import examine
from runner.doctor.finding import Finding
from runner.doctor.setup import Interpreter, Package, Place, Setup, census, place
from runner.probe import Found
from runner.records import Machine
from tests.doctor.site import Dist, python

GIB = 2**30

SOUND: dict[str, Dist] = {
    "torch": Dist("2.13.0", ("numpy ; extra == 'never'", "typing-extensions>=4.10.0"), ("cp311-none-macosx_14_0_arm64",)),
    "typing_extensions": Dist("4.15.0"),
    "tensorflow": Dist(
        "2.18.1", ("numpy<2.1.0,>=1.26.0", "protobuf!=4.21.0,<6.0.0dev,>=3.20.3", "keras>=3.5.0"), ("cp311-cp311-macosx_12_0_arm64",)
    ),
    "tensorflow-metal": Dist("1.2.0", ("wheel~=0.35", "six>=1.15.0"), ("cp311-cp311-macosx_12_0_arm64",)),
    "wheel": Dist("0.45.1"),
    "six": Dist("1.17.0"),
    "keras": Dist("3.15.1", ("numpy",), ("py3-none-any",)),
    "protobuf": Dist("5.29.6"),
    "numpy": Dist("2.0.2", (), ("cp311-cp311-macosx_14_0_arm64",)),
}


def found(name: str, *devices: str, failure: CellFailure | None = None) -> Found:
    from frameworks import registry

    return Found(registry.framework(name), "python", {name: "1"}, dict.fromkeys(devices, "a device"), failure)


def packages(**changes: Dist | None) -> dict[str, Package]:
    """Those of a sound Mac with changes; None takes one away."""
    chosen = {**SOUND, **{name.replace("_", "-") if name != "typing_extensions" else name: dist for name, dist in changes.items()}}
    return {name.replace("_", "-"): Package(dist.version, dist.requires, dist.tags) for name, dist in chosen.items() if dist is not None}


MAC = Machine("Apple M1 Pro", 10, 16 * GIB, "macOS 14.5 (23F79)", "arm64", "3.11.7", "Apple M1 Pro, 16 GPU cores")
PYTHON = Interpreter("env/bin/python", (3, 11, 7), "arm64", packages())
CONDITIONS: dict[str, Any] = {
    "load": 1.2,
    "memory_available": 10 * GIB,
    "swap_used": 0,
    "nice": 0,
    "power": "ac",
    "low_power": False,
    "thermal": "nominal",
    "cpu_speed_limit": None,
    "memory_pressure": "normal",
}
BASE = Setup(
    platform="darwin",
    machine=MAC,
    interpreters={"pytorch": PYTHON, "tensorflow": PYTHON},
    found={"pytorch": found("pytorch", "cpu", "mps"), "tensorflow": found("tensorflow", "cpu", "metal")},
    apple_silicon=True,
    system_version=(14, 5),
    cores=(8, 2),
    conditions=CONDITIONS,
    places=(Place("results", "reports/runs", True, 100 * GIB),),
)
LINUX = dataclasses.replace(
    BASE,
    platform="linux",
    machine=Machine("AMD EPYC", 16, 64 * GIB, "Linux 6.8", "x86_64", "3.11.7", "NVIDIA H200"),
    apple_silicon=False,
    system_version=None,
    cores=(None, None),
    interpreters=dict.fromkeys(
        ("pytorch", "tensorflow"),
        Interpreter("env/bin/python", (3, 11, 7), "x86_64", {"torch": Package("2.13.0+cpu"), "tensorflow-cpu": Package("2.21.0")}),
    ),
    found={"pytorch": found("pytorch", "cpu"), "tensorflow": found("tensorflow", "cpu")},
)


def with_python(base: Setup = BASE, **changes: Any) -> Setup:
    """Both frameworks in an interpreter with changes."""
    changed = dataclasses.replace(base.interpreters["tensorflow"], **changes)
    return dataclasses.replace(base, interpreters={"pytorch": changed, "tensorflow": changed})


def with_packages(**changes: Dist | None) -> Setup:
    return with_python(packages=packages(**changes))


def failing(name: str, status: Any, reason: str, remedy: str = "mend it") -> Setup:
    broken = {**BASE.found, name: found(name, failure=CellFailure(status, reason, remedy))}
    return dataclasses.replace(BASE, found=broken)


def now(**changes: Any) -> Setup:
    return dataclasses.replace(BASE, conditions={**CONDITIONS, **changes})


def given(**variables: str) -> Setup:
    return dataclasses.replace(BASE, given=variables)


def without_gpu(name: str, base: Setup = BASE, **changes: Any) -> Setup:
    return dataclasses.replace(base, found={**base.found, name: found(name, "cpu")}, **changes)


# severity, code, words of the cause, words of the remedy
BROKEN: Mapping[str, tuple[Callable[[], Setup], str, str, str, str]] = {
    "x86 Python under Rosetta": (
        lambda: dataclasses.replace(BASE, machine=dataclasses.replace(MAC, translated=True, architecture="x86_64")),
        *("error", "rosetta", "built for x86_64", "uv python install"),
    ),
    "a framework's Python is x86": (
        lambda: with_python(machine="x86_64"),
        *("error", "rosetta", "built for x86_64", "--python tensorflow=PATH"),
    ),
    "Python 3.9": (lambda: with_python(version=(3, 9, 18)), "error", "python_old", "3.10 or later", "Python 3.10 to 3.12"),
    "an interpreter that is none": (
        lambda: with_python(failure="it cannot be started: Permission denied"),
        *("error", "python_broken", "not a working interpreter", "--python pytorch=PATH"),
    ),
    "macOS 11": (
        lambda: dataclasses.replace(with_python(packages={}), system_version=(11, 7)),
        *("warning", "macos_old", "12.3 or later", "--device cpu"),
    ),
    "macOS 13 and bfloat16": (
        lambda: with_packages_on((13, 6), torch=Dist("2.2.2"), numpy=Dist("1.26.4")),
        *("note", "macos_bfloat16", "from macOS 14 on", "leave bfloat16 out"),
    ),
    "an Intel Mac": (
        lambda: dataclasses.replace(
            BASE, apple_silicon=False, machine=dataclasses.replace(MAC, chip="Intel Core i7", architecture="x86_64")
        ),
        *("warning", "intel_mac", "2.2.2", "numpy<2"),
    ),
    "a virtual machine": (lambda: dataclasses.replace(BASE, virtual=True), "warning", "virtual_machine", "paravirtual", "correctness"),
    "macOS that does not tell its version": (
        lambda: dataclasses.replace(BASE, system_version=None),
        *("note", "macos_unknown", "sw_vers", "terminal"),
    ),
    "on battery": (lambda: now(power="battery"), "warning", "on_battery", "saves power", "mains"),
    "Low Power Mode": (lambda: now(low_power=True), "warning", "low_power", "speed", "System Settings"),
    "hot": (lambda: now(thermal="serious"), "warning", "hot", "holds the processors back", "cooled"),
    "an Intel processor held back": (lambda: now(cpu_speed_limit=62), "warning", "speed_limit", "heat", "cool"),
    "memory under pressure": (lambda: now(memory_pressure="critical"), "warning", "memory_pressure", "swapped", "close"),
    "little memory": (lambda: now(memory_available=GIB), "warning", "memory_low", "side by side", "--alone"),
    "something else computes": (lambda: now(load=9.0), "warning", "busy", "something else", "wait"),
    "a lowered priority": (lambda: now(nice=10), "warning", "nice", "slow cores", "without nice"),
    "a folder that cannot be written": (
        lambda: dataclasses.replace(BASE, places=(Place("results", "/System/runs", False, None),)),
        *("error", "not_writable", "permissions", "--into"),
    ),
    "a full disk": (
        lambda: dataclasses.replace(BASE, places=(Place("temporary files", "/tmp", True, 10**8),)),
        *("error", "disk_full", "gigabytes", "room"),
    ),
    "a nearly full disk": (
        lambda: dataclasses.replace(BASE, places=(Place("results", "runs", True, 2 * GIB),)),
        *("warning", "disk_full", "gigabytes", "room"),
    ),
    "no caffeinate": (lambda: dataclasses.replace(BASE, missing=("caffeinate",)), "warning", "no_caffeinate", "asleep", "/usr/bin"),
    "no sysctl and no pmset": (
        lambda: dataclasses.replace(BASE, missing=("sysctl", "pmset")),
        *("note", "programs_missing", "/usr/sbin", "terminal"),
    ),
    "no PyTorch": (
        lambda: failing("pytorch", "not_installed", "there is no package torch in Python 3.11.7", "pip install 'headtohead[pytorch]'"),
        *("error", "not_installed", "no package torch", "pip install 'headtohead[pytorch]'"),
    ),
    "an import that fails": (
        lambda: failing("tensorflow", "broken_import", "dlopen(libmetal_plugin.dylib): symbol not found", "reinstall"),
        *("error", "broken_import", "symbol not found", "reinstall"),
    ),
    "an import that hangs": (
        lambda: failing("tensorflow", "stalled", "the framework did not import within 180 s", "--start-limit gives it more time"),
        *("error", "stalled", "did not import", "--start-limit"),
    ),
    "no plug-in": (
        lambda: without_gpu("tensorflow", with_packages(tensorflow_metal=None)),
        *("warning", "plugin_missing", "CPU alone", plugin.GOOD),
    ),
    "TensorFlow 2.20 with the plug-in": (
        lambda: with_packages(tensorflow=Dist("2.20.0")),
        *("error", "plugin_mismatch", "needs 38 symbols", plugin.GOOD),
    ),
    "TensorFlow 2.18 with the plug-in before the last": (
        lambda: with_packages(tensorflow_metal=Dist("1.1.0")),
        *("error", "plugin_mismatch", "needs 1 symbol ", plugin.GOOD),
    ),
    "an empty tensorflow-macos around a TensorFlow too new": (
        lambda: with_packages(tensorflow_macos=Dist("2.16.2"), tensorflow=Dist("2.21.0")),
        *("error", "plugin_mismatch", "needs 40 symbols", plugin.GOOD),
    ),
    "a pair that nobody tried": (
        lambda: with_packages(tensorflow=Dist("2.15.1"), numpy=Dist("1.26.4")),
        *("warning", "plugin_unknown", "table", "h2h env check"),
    ),
    "Python 3.13, for which there is no plug-in": (
        lambda: without_gpu("tensorflow", with_python(version=(3, 13, 1), packages=packages(tensorflow_metal=None))),
        *("warning", "plugin_python", "up to Python 3.12", "Python 3.12"),
    ),
    "MPS that computes wrong": (lambda: without_gpu("pytorch"), "warning", "gpu_not_seen", "failed or was wrong", "--device cpu"),
    "MPS in a virtual machine": (
        lambda: without_gpu("pytorch", virtual=True),
        *("warning", "gpu_not_seen", "virtual machine's GPU", "--device cpu"),
    ),
    "a plug-in that offers no device": (lambda: without_gpu("tensorflow"), "warning", "gpu_not_seen", "no device", plugin.GOOD),
    "a CPU build of PyTorch beside an NVIDIA GPU": (lambda: LINUX, "warning", "gpu_not_seen", "build for the CPU", "pip install torch"),
    "CUDA libraries that the driver does not know": (
        lambda: with_python(LINUX, packages={"torch": Package("2.13.0"), "tensorflow": Package("2.21.0")}),
        *("warning", "gpu_not_seen", "newer than the driver", "tensorflow[and-cuda]"),
    ),
    "NumPy 2 with an old PyTorch": (
        lambda: with_packages(torch=Dist("1.12.1")),
        *("error", "numpy_2", "built for NumPy 1", "numpy<2"),
    ),
    "NumPy 2 with an old TensorFlow": (
        lambda: with_packages(tensorflow=None, tensorflow_macos=Dist("2.9.2"), tensorflow_metal=Dist("0.5.0")),
        *("error", "numpy_2", "built for NumPy 1", "numpy<2"),
    ),
    "protobuf that TensorFlow cannot read": (
        lambda: with_packages(protobuf=Dist("7.36.2")),
        *("warning", "requirement", "another package asked", "protobuf"),
    ),
    "a Keras that is missing, and TensorFlow does not import": (
        lambda: dataclasses.replace(
            failing("tensorflow", "broken_import", "No module named 'keras'"),
            interpreters=with_packages(keras=None).interpreters,
        ),
        *("error", "requirement", "by hand", "keras"),
    ),
    "Keras 2 with TensorFlow 2.18": (lambda: with_packages(keras=Dist("2.15.0")), "error", "keras_old", "pinned", "--upgrade keras"),
    "Keras' legacy optimizers": (
        lambda: with_packages(tensorflow=Dist("2.13.0"), tensorflow_metal=Dist("1.0.0"), keras=Dist("2.13.1"), numpy=Dist("1.24.3")),
        *("note", "legacy_optimizer", "slow on Apple silicon", "name the class"),
    ),
    "legacy Keras asked for and missing": (
        lambda: given(TF_USE_LEGACY_KERAS="1"),
        *("error", "legacy_keras", "not installed", "pip install tf-keras"),
    ),
    "a wheel for another processor": (
        lambda: with_packages(torch=Dist("2.2.2", (), ("cp311-none-macosx_10_9_x86_64",))),
        *("error", "wheel_processor", "copied", "anew"),
    ),
    "a wheel for a newer macOS": (
        lambda: dataclasses.replace(BASE, system_version=(13, 6, 7)),
        *("error", "wheel_macos", "check overridden", "update macOS"),
    ),
    "two TensorFlows": (
        lambda: with_packages(tensorflow_cpu=Dist("2.18.1")),
        *("warning", "two_tensorflows", "over each other", "uninstall"),
    ),
    "a package that is there twice": (
        lambda: with_python(packages={**packages(), "torch": Package("2.13.0", copies=2)}),
        *("warning", "installed_twice", "broken off", "uninstall"),
    ),
    "two OpenMP runtimes": (
        lambda: with_python(openmp=("env/lib/libiomp5.dylib", "torch/lib/libomp.dylib")),
        *("warning", "two_openmp", "abort", "one source"),
    ),
    "fallback on": (lambda: given(PYTORCH_ENABLE_MPS_FALLBACK="1"), "warning", "fallback", "CPU behind its back", "leave --env"),
    "fast math on": (lambda: given(PYTORCH_MPS_FAST_MATH="1"), "warning", "fast_math", "rounds", "leave --env"),
    "Keras on PyTorch": (lambda: given(KERAS_BACKEND="torch"), "error", "keras_backend", "another framework", "leave --env"),
    "no watermark": (lambda: given(PYTORCH_MPS_HIGH_WATERMARK_RATIO="0.0"), "warning", "watermark", "come to a stop", "leave --env"),
    "two OpenMPs allowed": (lambda: given(KMP_DUPLICATE_LIB_OK="True"), "warning", "duplicate_openmp", "crash", "leave --env"),
    "libraries from elsewhere": (
        lambda: given(DYLD_LIBRARY_PATH="/opt/homebrew/lib"),
        *("warning", "library_path", "instead of their own", "unset"),
    ),
    "different numbers of threads": (
        lambda: given(OMP_NUM_THREADS="1", VECLIB_MAXIMUM_THREADS="8"),
        *("warning", "threads_differ", "another of these", "--threads"),
    ),
    "PYTHONPATH": (lambda: dataclasses.replace(BASE, shell={"PYTHONPATH": "/x"}), "warning", "pythonpath", "missing", "--python"),
    "variables that stay behind": (
        lambda: dataclasses.replace(BASE, shell={"PYTORCH_ENABLE_MPS_FALLBACK": "1"}),
        *("note", "withheld", "of their own", "--env"),
    ),
}


def with_packages_on(version: tuple[int, ...], **changes: Dist | None) -> Setup:
    return dataclasses.replace(with_packages(**changes), system_version=version)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_setup_is_found_with_cause_and_remedy(name: str) -> None:
    make, severity, code, cause, remedy = BROKEN[name]
    matching = [finding for finding in examine(make()) if finding.code == code]
    assert matching, [finding.code for finding in examine(make())]
    assert {finding.severity for finding in matching} == {severity}
    assert any(cause in finding.cause for finding in matching), matching
    assert any(remedy in finding.remedy for finding in matching), matching


def test_there_are_enough_of_them() -> None:
    assert len(BROKEN) >= 25


def test_a_sound_mac_has_no_findings() -> None:
    assert examine(BASE) == []
    assert show.verdict([]) == "All is well."


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_setup_raises_no_false_alarms_of_errors(name: str) -> None:
    """What is only a warning or a note makes no error anywhere else."""
    make, severity, _, _, _ = BROKEN[name]
    if severity != "error":
        assert [finding.code for finding in examine(make()) if finding.severity == "error"] == []


def test_the_table_of_pairs_is_that_of_the_pins() -> None:
    text = (Path(__file__).parents[2] / "frameworks" / "eras" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d., ]+) \| ([\d., ]+) \| (\d+) \|$", text, re.M)
    assert len(rows) >= 4
    for tensorflows, plugins, missing in rows:
        for tensorflow in tensorflows.split(", "):
            for plug in plugins.split(", "):
                assert plugin.missing_symbols(tensorflow, plug) == int(missing), (tensorflow, plug)


def test_worst_first_and_each_once() -> None:
    broken = dataclasses.replace(
        now(power="battery", low_power=True), shell={"TF_X": "1"}, places=(Place("results", "x", False, None),) * 2
    )
    assert [finding.severity for finding in examine(broken)] == ["error", "warning", "warning", "note"]


def test_the_report_has_each_finding_and_says_whether_a_run_would_work() -> None:
    broken = dataclasses.replace(with_packages(tensorflow=Dist("2.20.0")), conditions={**CONDITIONS, "power": "battery"})
    text = show.markdown(broken, examine(broken))
    assert text.startswith(
        "## headtohead doctor: Apple M1 Pro, 10 cores (8 performance, 2 efficiency), 16.0 GiB memory, macOS 14.5 (23F79)"
    )
    assert "- `plugin_mismatch`: TensorFlow 2.20.0 with tensorflow-metal 1.2.0 cannot load: the plug-in needs 38 symbols" in text
    assert text.endswith("A run would fail, in part at least: 1 error.")
    said = show.data(broken, examine(broken))
    assert (said["ok"], said["conditions"]["power"]) == (False, "battery")
    assert {finding["code"] for finding in said["findings"]} == {"plugin_mismatch", "on_battery"}
    assert said["frameworks"]["tensorflow"]["packages"]["tensorflow-metal"] == "1.2.0"


# --- the census: an interpreter is asked in a child ------------------------------------------------------------------------


def test_an_interpreter_tells_what_it_has(tmp_path: Path) -> None:
    openmp = ("torch/lib/libomp.dylib", "torch/lib/libompstub.so", "numpy.libs/libgomp-a34b3233.so.1.0.0")
    path = python(tmp_path, {**SOUND, "Old_Package": Dist("1")}, {"numpy": ""}, files=openmp)
    told = census(path)
    assert (told.version, told.machine, told.failure) == ((3, 11, 7), "arm64", "")
    assert told.packages["tensorflow"] == Package("2.18.1", SOUND["tensorflow"].requires, SOUND["tensorflow"].tags)
    assert told.packages["old-package"].version == "1"
    assert set(told.openmp) >= {"torch/lib/libomp.dylib", "site/numpy.libs/libgomp-a34b3233.so.1.0.0"}
    assert not any("libompstub" in file for file in told.openmp)


def test_leftovers_of_a_removed_package_are_no_package(tmp_path: Path) -> None:
    path = python(tmp_path, {"torch": Dist("2.13.0")}, {"numpy": ""})
    (tmp_path / "site" / "torch-1.0.dist-info").mkdir()
    assert census(path).packages["torch"].version == "2.13.0"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("#!/bin/sh\nexit 3\n", "it ended with status 3"),
        ("#!/bin/sh\necho dyld: Library not loaded >&2\nexit 134\n", "Library not loaded"),
        ("#!/bin/sh\necho hello\n", "it ended with status 0"),
        ("no program", "it cannot be started: Exec format error"),
    ],
)
def test_an_interpreter_that_is_none_is_said_to_be_none(tmp_path: Path, text: str, words: str) -> None:
    program = tmp_path / "python"
    program.write_text(text)
    program.chmod(0o755)
    assert words in census(str(program)).failure


def test_an_interpreter_that_is_missing_or_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from runner.doctor import setup

    assert "No such file" in census(str(tmp_path / "none")).failure
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(setup, "CENSUS_SECONDS", 0.2)
    assert "did not answer" in census(str(program)).failure


def test_a_folder_is_judged_by_the_nearest_that_exists(tmp_path: Path) -> None:
    there = place("results", tmp_path / "a" / "b")
    assert there.writable
    assert there.free
    (tmp_path / "file").touch()
    assert list(tmp_path.iterdir()) == [tmp_path / "file"], "nothing is left behind"
    assert not place("results", Path("/proc/none")).writable


def test_findings_say_nothing_twice() -> None:
    for make, *_ in BROKEN.values():
        for finding in examine(make()):
            assert isinstance(finding, Finding)
            texts = (finding.what, finding.cause, finding.remedy)
            assert all(text and not text.endswith(".") for text in texts), texts
            assert len(set(texts)) == 3
