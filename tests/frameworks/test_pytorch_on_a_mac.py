"""The device code of PyTorch against doubles of MPS: several versions of PyTorch and macOS, calls that do not exist yet, GPUs that fail."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from frameworks.contract import Unsupported  # noqa: E402
from frameworks.pytorch import FRAMEWORKS, device  # noqa: E402

NO_FLOAT64 = "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. Please use float32 instead."
OUT_OF_MEMORY = "MPS backend out of memory (MPS allocated: 0 bytes, other allocations: 0 bytes, max allowed: 7.93 GB)."


class TorchOnAMac:
    """PyTorch as it shows itself on a Mac; what is not about MPS is the real one. ``gpu``: ``works``, ``fails``, ``wrong``, or None.

    It has what its version has: ``torch.mps`` since 2.0, autocast for MPS since 2.5, ``torch.amp.GradScaler`` since 2.3, whose steps
    work on MPS since 2.8, ``torch.backends.mps.get_name`` since 2.9.
    """

    def __init__(self, version: str = "2.13.0", macos: tuple[int, int] = (15, 1), gpu: str | None = "works") -> None:
        self.__version__ = version
        self.number = tuple(map(int, version.split(".")[:2]))
        self.macos, self.gpu = macos, gpu
        self.waits: list[str] = []
        self.version = SimpleNamespace(cuda=None)
        self.backends = SimpleNamespace(cuda=torch.backends.cuda, cudnn=torch.backends.cudnn, mkldnn=torch.backends.mkldnn)
        self.backends.mps = SimpleNamespace(is_available=lambda: gpu is not None)
        if self.number >= (2, 9):
            self.backends.mps.get_name = lambda: "Apple M1 Pro"
        self.amp = SimpleNamespace(GradScaler=self._scaler) if self.number >= (2, 3) else SimpleNamespace()
        self.cuda = SimpleNamespace(amp=SimpleNamespace(GradScaler=lambda: self._scaler("cuda")))

    def __getattr__(self, name: str) -> Any:
        if name == "mps" and self.number >= (2, 0):
            return SimpleNamespace(synchronize=lambda: self.waits.append("synchronize"))
        if name == "mps" or (name == "compile" and self.number < (2, 0)):
            raise AttributeError(name)
        return getattr(torch, name)

    def ones(self, *shape: int, device: str = "cpu", dtype: Any = None) -> Any:
        self._check(device, dtype)
        return torch.ones(*shape, dtype=dtype) * (0.0 if device == "mps" and self.gpu == "wrong" else 1.0)

    def zeros(self, *shape: int, device: str = "cpu") -> Any:
        self._check(device, None)
        return SimpleNamespace(cpu=lambda: self.waits.append("read back"))

    def autocast(self, device: str, dtype: Any) -> Any:
        if device == "mps" and self.number < (2, 5):
            raise RuntimeError("User specified an unsupported autocast device_type 'mps'")
        return torch.autocast("cpu", dtype=dtype)

    def _check(self, device: str, dtype: Any) -> None:
        if device == "cuda":
            raise AssertionError("Torch not compiled with CUDA enabled")
        if device != "mps":
            return
        if self.gpu is None:
            raise RuntimeError("PyTorch is not linked with support for mps devices")
        if self.gpu == "fails":
            raise RuntimeError(OUT_OF_MEMORY)
        if dtype is torch.float64:
            raise TypeError(NO_FLOAT64)
        if dtype is torch.bfloat16 and self.macos < (14, 0):
            raise TypeError("MPS BFloat16 is only supported on MacOS 14 or newer")

    def _scaler(self, device: str) -> Any:
        if device == "mps" and self.number < (2, 8):

            def step(optimizer: Any) -> None:
                raise NotImplementedError("The operator 'aten::_amp_foreach_non_finite_check_and_unscale_' is not currently implemented")

            return SimpleNamespace(scale=lambda loss: loss * 2.0, step=step, update=lambda: None)
        return torch.amp.GradScaler("cpu")


@pytest.fixture
def become(monkeypatch: pytest.MonkeyPatch) -> Callable[..., TorchOnAMac]:
    def on(version: str = "2.13.0", **more: Any) -> TorchOnAMac:
        double = TorchOnAMac(version, **more)
        monkeypatch.setattr(device, "torch", double)
        monkeypatch.setattr(platform, "machine", lambda: "arm64")
        monkeypatch.setattr(platform, "processor", lambda: "arm")
        return double

    return on


VERSIONS = ("1.12.1", "2.0.1", "2.4.1", "2.7.0", "2.13.0")


@pytest.mark.parametrize("version", VERSIONS)
def test_mps_is_chosen_where_it_computes_right(version: str, become: Callable[..., TorchOnAMac]) -> None:
    become(version)
    named = "Apple M1 Pro" if version == "2.13.0" else "Apple GPU (arm64)"
    assert device.available() == {"cpu": "arm", "mps": named}


@pytest.mark.parametrize("gpu", [None, "fails", "wrong"])
def test_mps_is_left_out_where_it_does_not(gpu: str | None, become: Callable[..., TorchOnAMac]) -> None:
    """A virtual machine says that MPS is available and then has no memory for it."""
    become(gpu=gpu)
    assert device.available() == {"cpu": "arm"}
    with pytest.raises(Unsupported, match="finds no working MPS") as caught:
        device.check_supported("mps", "float32", "eager", "train")
    assert "macOS 12.3" in caught.value.remedy


@pytest.mark.parametrize("version", VERSIONS)
def test_a_wait_is_a_synchronisation_or_a_read_back(version: str, become: Callable[..., TorchOnAMac]) -> None:
    double = become(version)
    device.wait("mps")
    assert double.waits == ["read back" if version == "1.12.1" else "synchronize"]
    device.wait("cpu")
    assert len(double.waits) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_memory_of_mps_is_not_told_and_never_zero(version: str, become: Callable[..., TorchOnAMac]) -> None:
    become(version)
    device.reset_peak_memory("mps")
    assert device.peak_memory("mps") is None


def supported(precision: str, execution: str = "eager", mode: str = "train") -> str:
    """``yes``, or the reason why not."""
    try:
        device.check_supported("mps", precision, execution, mode)
    except Unsupported as failure:
        assert failure.remedy
        return failure.reason
    return "yes"


@pytest.mark.parametrize(
    ("version", "macos", "precision", "words"),
    [
        *((version, (15, 1), "float32", "yes") for version in VERSIONS),
        *((version, (15, 1), "float64", "MPS has no float64") for version in VERSIONS),
        *((version, (15, 1), "tf32", "only on CUDA") for version in VERSIONS),
        ("2.13.0", (15, 1), "bfloat16", "yes"),
        ("2.7.0", (13, 6), "bfloat16", "cannot compute in bfloat16 on MPS"),
        ("2.7.0", (13, 6), "mixed_bfloat16", "cannot compute in bfloat16 on MPS"),
        ("2.7.0", (14, 0), "bfloat16", "yes"),
        ("1.12.1", (15, 1), "mixed_float16", "has no autocast on MPS"),
        ("2.4.1", (15, 1), "mixed_bfloat16", "has no autocast on MPS"),
        ("2.7.0", (15, 1), "mixed_bfloat16", "yes"),
        ("2.7.0", (15, 1), "mixed_float16", "loss scaler of PyTorch 2.7.0 does not work on MPS"),
    ],
)
def test_precisions_by_version_and_macos(
    version: str, macos: tuple[int, int], precision: str, words: str, become: Callable[..., TorchOnAMac]
) -> None:
    become(version, macos=macos)
    assert words in supported(precision)


def test_mixed_float16_is_measured_where_losses_are_scaled(become: Callable[..., TorchOnAMac]) -> None:
    become("2.7.0")
    assert supported("mixed_float16", mode="infer") == "yes", "nothing is scaled in inference"
    become("2.13.0")
    assert supported("mixed_float16") == "yes"


@pytest.mark.parametrize(("version", "words"), [("1.12.1", "came with PyTorch 2.0"), ("2.4.1", "for MPS since PyTorch 2.7")])
def test_inductor_by_version(version: str, words: str, become: Callable[..., TorchOnAMac]) -> None:
    become(version)
    assert words in supported("float32", "inductor")


def test_inductor_where_python_is_too_new_for_it(become: Callable[..., TorchOnAMac], monkeypatch: pytest.MonkeyPatch) -> None:
    import torch._dynamo.eval_frame as eval_frame

    def refuse() -> None:
        raise RuntimeError("Python 3.15+ not yet supported for torch.compile")

    become("2.13.0")
    assert supported("float32", "inductor") == "yes"
    monkeypatch.setattr(eval_frame, "check_if_dynamo_supported", refuse)
    assert "torch.compile does not work here" in supported("float32", "inductor")


def test_fallback_is_off_unless_it_is_asked_for() -> None:
    (facts,) = FRAMEWORKS
    assert facts.environment["PYTORCH_ENABLE_MPS_FALLBACK"] == "0"
    assert facts.fallback == {"PYTORCH_ENABLE_MPS_FALLBACK": "1"}


def test_switches_of_mps_are_told_where_they_count(become: Callable[..., TorchOnAMac], monkeypatch: pytest.MonkeyPatch) -> None:
    become()
    monkeypatch.setenv("PYTORCH_ENABLE_MPS_FALLBACK", "0")
    monkeypatch.setenv("PYTORCH_MPS_FAST_MATH", "1")
    monkeypatch.delenv("PYTORCH_MPS_PREFER_METAL", raising=False)
    told = {name: value for name, value in device.set_precision("float32", "mps").items() if "MPS" in name}
    assert told == {"PYTORCH_ENABLE_MPS_FALLBACK": "0", "PYTORCH_MPS_FAST_MATH": "1"}
    assert not any("MPS" in name for name in device.set_precision("float32", "cpu"))
    assert device.set_precision("mixed_bfloat16", "mps")["autocast"] == "mps bfloat16"


def test_grouped_attention_is_not_asked_of_mps(become: Callable[..., TorchOnAMac]) -> None:
    become()
    assert not device.grouped_attention("mps")
    assert device.grouped_attention("cpu")


def test_versions_of_a_mac_name_its_system(become: Callable[..., TorchOnAMac], monkeypatch: pytest.MonkeyPatch) -> None:
    become("2.0.1")
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "mac_ver", lambda: ("14.5", ("", "", ""), "arm64"))
    found = device.versions()
    assert (found["torch"], found["macos"]) == ("2.0.1", "14.5")
    assert "cuda" not in found


def test_the_double_fails_as_it_should() -> None:
    """What the tests above rest on."""
    with pytest.raises(TypeError, match="float64"):
        TorchOnAMac().ones(1, device="mps", dtype=torch.float64)
    with contextlib.suppress(AttributeError):
        assert not TorchOnAMac("1.12.1").mps
