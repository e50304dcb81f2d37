"""The device code of TensorFlow against doubles of the Metal plug-in: old versions, devices that fail, calls that nobody answers."""

from __future__ import annotations

import contextlib
import functools
import platform
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import pytest

tf = pytest.importorskip("tensorflow")

from frameworks.contract import Unsupported  # noqa: E402
from frameworks.tensorflow import device  # noqa: E402

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


class OnMetal:
    """A tensor of the plug-in: its values are the CPU's, its device is not."""

    backing_device = device = GPU

    def __init__(self, value: Any) -> None:
        self.value = value
        self.dtype = value.dtype

    def __getitem__(self, index: Any) -> OnMetal:
        return OnMetal(self.value[index])

    def __float__(self) -> float:
        return float(self.value)


class TensorFlowOnAMac:
    """TensorFlow as it shows itself with the plug-in; what is not about devices is the real one. ``gpu``: ``works``, ``fails``, ``wrong``,
    ``on the CPU`` (what is placed on it lands elsewhere), or None; ``refuses`` names types that it has no products for."""

    def __init__(self, version: str = "2.18.1", gpu: str | None = "works", refuses: tuple[str, ...] = (), keras: Any = None) -> None:
        self.__version__ = version
        self.number = tuple(map(int, version.split(".")[:2]))
        self.gpu, self.refuses = gpu, refuses
        self.where = "cpu"
        self.calls: list[str] = []
        self.errors, self.float32 = tf.errors, tf.float32
        self.keras = keras or tf.keras
        self.sysconfig = SimpleNamespace(get_build_info=dict)
        self.details: dict[str, Any] = {}
        self.memory: Callable[[], dict[str, int]] = self._no_memory
        self.config = SimpleNamespace(
            list_physical_devices=lambda kind: [SimpleNamespace(name=GPU)] if gpu is not None else [],
            experimental=SimpleNamespace(get_device_details=lambda found: self.details, get_memory_info=lambda name: self.memory()),
        )
        self.test = SimpleNamespace()
        if self.number >= (2, 12):
            self.test.experimental = SimpleNamespace(sync_devices=lambda: self.calls.append("sync_devices"))

    def __getattr__(self, name: str) -> Any:
        return getattr(tf, name)

    @contextlib.contextmanager
    def device(self, name: str) -> Iterator[None]:
        before, self.where = self.where, "gpu" if "GPU" in name else "cpu"
        if self.where == "gpu" and self.gpu is None:
            raise tf.errors.InvalidArgumentError(None, None, f"Could not satisfy device specification '{name}'")
        yield
        self.where = before

    def ones(self, shape: tuple[int, ...]) -> Any:
        value = tf.ones(shape)
        if self.where != "gpu":
            return value
        if self.gpu == "fails":
            raise tf.errors.InternalError(None, None, "Failed copying input tensor from CPU:0 to GPU:0")
        return value if self.gpu == "on the CPU" else OnMetal(value * (0.0 if self.gpu == "wrong" else 1.0))

    def cast(self, value: Any, kind: Any) -> Any:
        return OnMetal(tf.cast(value.value, kind)) if isinstance(value, OnMetal) else tf.cast(value, kind)

    def matmul(self, a: Any, b: Any) -> Any:
        if not isinstance(a, OnMetal):
            return tf.matmul(a, b)
        if a.dtype.name in self.refuses:
            raise tf.errors.InvalidArgumentError(None, None, f"No OpKernel was registered to support Op 'MatMul' with {a.dtype.name}")
        return OnMetal(tf.matmul(a.value, b.value))

    def reduce_sum(self, value: Any) -> Any:
        return OnMetal(tf.reduce_sum(value.value)) if isinstance(value, OnMetal) else tf.reduce_sum(value)

    def function(self, function: Any, jit_compile: bool | None = None) -> Any:
        if jit_compile:

            def refuse(*arguments: Any) -> Any:
                raise tf.errors.NotFoundError(None, None, "could not find registered platform with name: METAL")

            return refuse
        return function

    def _no_memory(self) -> dict[str, int]:
        raise ValueError("Failed getting memory info for GPU:0: the device does not support it")


@pytest.fixture
def become(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., TensorFlowOnAMac]]:
    def on(version: str = "2.18.1", **more: Any) -> TensorFlowOnAMac:
        double = TensorFlowOnAMac(version, **more)
        monkeypatch.setattr(device, "tf", double)
        monkeypatch.setattr(device, "_GPU", "metal")
        monkeypatch.setattr(sys, "platform", "darwin")
        monkeypatch.setattr(platform, "system", lambda: "Darwin")
        monkeypatch.setattr(platform, "machine", lambda: "arm64")
        monkeypatch.setattr(platform, "processor", lambda: "arm")
        device._synchronise.cache_clear()
        return double

    yield on
    device._synchronise.cache_clear()


def test_metal_is_chosen_where_it_computes_right(become: Callable[..., TensorFlowOnAMac]) -> None:
    double = become()
    assert device.available() == {"cpu": "arm", "metal": "Apple GPU (arm64)"}
    double.details = {"device_name": "METAL"}
    assert device.available()["metal"] == "METAL"


@pytest.mark.parametrize("gpu", [None, "fails", "wrong", "on the CPU"])
def test_metal_is_left_out_where_it_does_not(gpu: str | None, become: Callable[..., TensorFlowOnAMac]) -> None:
    become(gpu=gpu)
    assert device.available() == {"cpu": "arm"}


def test_without_the_plug_in_the_remedy_is_to_install_it(become: Callable[..., TensorFlowOnAMac]) -> None:
    become(gpu=None)
    with pytest.raises(Unsupported, match="finds no Metal device") as caught:
        device.check_supported("metal", "float32", "graph", "train")
    assert "install tensorflow-metal" in caught.value.remedy


@pytest.mark.parametrize(("version", "calls"), [("2.9.2", []), ("2.13.0", ["sync_devices"] * 2), ("2.18.1", ["sync_devices"] * 2)])
def test_a_wait_is_a_synchronisation_where_there_is_one_and_a_read_back_always(
    version: str, calls: list[str], become: Callable[..., TensorFlowOnAMac]
) -> None:
    double = become(version)
    read: list[str] = []
    result = tf.constant([1.0])
    double.reshape = lambda tensor, shape: Slice(read)  # type: ignore[attr-defined]
    device.wait(result)
    assert (double.calls, read) == (calls, ["read"])


class Slice:
    """What a read-back is asked of."""

    def __init__(self, read: list[str]) -> None:
        self.read = read

    def __getitem__(self, index: Any) -> Slice:
        return self

    def numpy(self) -> None:
        self.read.append("read")


def test_a_plug_in_without_synchronisation_is_read_back(become: Callable[..., TensorFlowOnAMac]) -> None:
    double = become()

    def refuse() -> None:
        raise tf.errors.UnimplementedError(None, None, "SyncDevice is not supported by pluggable devices")

    double.test.experimental = SimpleNamespace(sync_devices=refuse)
    device.wait(tf.constant([1.0]))
    assert device._synchronise()() is None


@pytest.mark.parametrize("told", ["refuses", {"current": 0, "peak": 0}, {"current": 5, "peak": 7}])
def test_memory_is_none_where_the_plug_in_keeps_no_count(told: Any, become: Callable[..., TensorFlowOnAMac]) -> None:
    double = become()
    if told != "refuses":
        double.memory = lambda: told
    device.reset_peak_memory("metal")  # is not there at all, which is no error
    assert device.peak_memory("metal") == (7 if told != "refuses" and told["peak"] else None)
    assert device.peak_memory("cpu") is None


def supported(precision: str, execution: str = "graph") -> str:
    """``yes``, or the reason why not."""
    try:
        device.check_supported("metal", precision, execution, "train")
    except Unsupported as failure:
        assert failure.remedy
        return failure.reason
    return "yes"


@pytest.mark.parametrize(
    ("double", "precision", "execution", "words"),
    [
        ({}, "float32", "graph", "yes"),
        ({}, "float32", "eager", "yes"),
        ({}, "mixed_float16", "graph", "yes"),
        ({}, "float64", "graph", "Metal has no float64"),
        ({}, "tf32", "graph", "only on CUDA"),
        ({"refuses": ("bfloat16",)}, "bfloat16", "graph", "cannot multiply in bfloat16 on Metal"),
        ({"refuses": ("bfloat16",)}, "mixed_bfloat16", "graph", "cannot multiply in bfloat16 on Metal"),
        ({"refuses": ("half", "float16")}, "mixed_float16", "graph", "cannot multiply in float16 on Metal"),
        ({}, "float32", "xla", "platform with name: METAL"),
        ({"gpu": "wrong"}, "float32", "graph", "computes 1 + 1 as 0.0"),
    ],
)
def test_precisions_and_executions_of_the_plug_in(
    double: dict[str, Any], precision: str, execution: str, words: str, become: Callable[..., TensorFlowOnAMac]
) -> None:
    become(**double)
    assert words in supported(precision, execution)


class Classes:
    """Optimizer classes of a module of Keras, by name."""

    def __init__(self, prefix: str, *names: str) -> None:
        for name in names:
            setattr(self, name, f"{prefix}.{name}")


def keras(version: str | None, **optimizers: Any) -> SimpleNamespace:
    module = Classes("optimizers", "SGD", "Adam")
    for name, value in optimizers.items():
        setattr(module, name, value)
    return SimpleNamespace(optimizers=module, **({} if version is None else {"__version__": version}))


LEGACY = Classes("legacy", "SGD", "Adam")


@pytest.mark.parametrize(
    ("version", "kind", "wanted"),
    [
        ("2.9.0", "sgd", "optimizers.SGD"),
        ("2.10.0", "adamw", "experimental.AdamW"),
        ("2.11.0", "adam", "legacy.Adam"),
        ("2.12.0", "sgd", "legacy.SGD"),
        ("2.15.0", "adam", "legacy.Adam"),
        ("3.15.1", "adam", "optimizers.Adam"),
        ("3.15.1", "adamw", "optimizers.AdamW"),
    ],
)
def test_the_optimizer_is_the_one_that_people_get_on_apple_silicon(
    version: str, kind: str, wanted: str, become: Callable[..., TensorFlowOnAMac]
) -> None:
    mine = keras(version, legacy=LEGACY, experimental=Classes("experimental", "AdamW"))
    if version.startswith("3"):
        mine.optimizers.AdamW = "optimizers.AdamW"
    become(keras=mine)
    assert device.optimizer_class(kind) == wanted


def test_adamw_of_keras_2_is_not_compiled_by_xla_on_apple_silicon(become: Callable[..., TensorFlowOnAMac]) -> None:
    become(keras=keras("2.13.1", legacy=LEGACY, AdamW=dict))
    made = device.optimizer_class("adamw")
    assert isinstance(made, functools.partial)
    assert made() == {"jit_compile": False}


def test_adamw_of_keras_2_9_is_another_update(become: Callable[..., TensorFlowOnAMac]) -> None:
    become(keras=keras("2.9.0"))
    with pytest.raises(Unsupported, match=r"AdamW of Keras 2\.9\.0"):
        device.optimizer_class("adamw")


def test_a_keras_that_does_not_say_its_version_is_asked_by_its_package(
    become: Callable[..., TensorFlowOnAMac], monkeypatch: pytest.MonkeyPatch
) -> None:
    become(keras=keras(None, legacy=LEGACY))
    monkeypatch.setattr(metadata, "version", lambda name: {"keras": "2.13.1"}[name])
    assert device.keras_version() == (2, 13)
    assert device.optimizer_class("sgd") == "legacy.SGD"


def test_loss_scaling_has_one_face_for_keras_2_and_3(become: Callable[..., TensorFlowOnAMac]) -> None:
    class Keras2:
        loss_scale = 8.0

        def __init__(self, optimizer: Any) -> None:
            pass

        def get_scaled_loss(self, loss: float) -> float:
            return 8.0 * loss

        def get_unscaled_gradients(self, gradients: list[float]) -> list[float]:
            return [each / 8.0 for each in gradients]

    become("2.13.0", keras=SimpleNamespace(mixed_precision=SimpleNamespace(LossScaleOptimizer=Keras2)))
    scaling = device.LossScaling("sgd")
    assert (scaling.scaled(2.0), scaling.taken([16.0]), scaling.coupled(0.1), scaling.scale()) == (16.0, [2.0], 0.1, 8.0)

    class Keras3:
        dynamic_scale = SimpleNamespace(_value=8.0)

        def __init__(self, optimizer: Any) -> None:
            pass

        def scale_loss(self, loss: Any) -> float:
            return 8.0 * float(loss)

    become("2.18.1", keras=SimpleNamespace(mixed_precision=SimpleNamespace(LossScaleOptimizer=Keras3)))
    scaling = device.LossScaling("sgd")
    assert (scaling.scaled(2.0), scaling.taken([16.0]), scaling.scale()) == (16.0, [16.0], 8.0)
    assert scaling.coupled(0.5) == 4.0


def test_versions_of_a_mac_name_system_and_plug_in(become: Callable[..., TensorFlowOnAMac], monkeypatch: pytest.MonkeyPatch) -> None:
    become("2.18.1")
    monkeypatch.setattr(platform, "mac_ver", lambda: ("14.5", ("", "", ""), "arm64"))
    assert device.versions()["macos"] == "14.5"
    assert "tensorflow-metal" not in device.versions()
    monkeypatch.setattr(metadata, "version", lambda name: "1.2.0")
    assert device.versions()["tensorflow-metal"] == "1.2.0"
    assert device.version() == (2, 18)


def test_threads_are_counted_where_the_system_tells_no_affinity(
    become: Callable[..., TensorFlowOnAMac], monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    double = become()
    double.config.threading = SimpleNamespace(get_intra_op_parallelism_threads=lambda: 0)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 10)
    assert device.thread_count() == 10


def test_soft_placement_while_a_model_is_built_and_on_metal_always(become: Callable[..., TensorFlowOnAMac]) -> None:
    double = become()
    allowed: list[bool] = []
    double.config.set_soft_device_placement = allowed.append
    double.config.get_soft_device_placement = lambda: allowed[-1]
    assert [device.place("metal", True), device.place("metal", False), device.place("cpu", False)] == [True, True, False]


def test_what_the_plug_in_has_no_kernels_for_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorflow.python.framework import kernels

    real = kernels.get_registered_kernels_for_op

    def with_the_plug_in(name: str) -> Any:
        found = real(name)
        if name == "MatMul":
            found.kernel.add(op=name, device_type="GPU")
        return found

    def step(values: Any) -> Any:
        return tf.math.erfc(tf.matmul(values, values)) + tf.random.stateless_uniform((2, 2), seed=(1, 2))

    monkeypatch.setattr(kernels, "get_registered_kernels_for_op", with_the_plug_in)
    missing = device.on_the_cpu(tf.function(step), (tf.ones((2, 2)),))
    assert "Erfc" in missing
    assert not {"MatMul", "Identity", "Placeholder"} & set(missing), "what the plug-in has, and what every device has"
    assert not any("KeyCounter" in name for name in missing), "the keys of random numbers are no computation of the workload's"
