"""``h2h doctor`` on recorded Macs, with interpreters and frameworks that are broken in earnest."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runner.cli import app
from tests.doctor.site import Dist, python
from tests.doctor.test_broken import SOUND
from tests.macs.conftest import Become
from tests.macs.conftest import recorded as recorded  # a fixture

pytestmark = pytest.mark.alone

APPLE = Path(__file__).parent.parent / "fakes" / "apple"
FAKES = [word for name in ("pytorch", "tensorflow") for word in ("--framework", f"{APPLE}:{name}")]


def doctor(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    """The status and what ``--format json`` says."""
    with pytest.raises(SystemExit) as end:
        app(["doctor", *words, "--format", "json"], prog_name="h2h")
    return int(end.value.code or 0), json.loads(capsys.readouterr().out)


def codes(said: Mapping[str, Any], severity: str = "") -> list[str]:
    """Codes of findings but for those that the machine of the test itself brings about."""
    own = {"busy", "nice", "memory_low", "withheld", "pythonpath", "disk_full"}
    return [one["code"] for one in said["findings"] if one["code"] not in own and severity in ("", one["severity"])]


def test_a_sound_mac_passes(recorded: Become, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded("m1")
    mine = python(tmp_path / "env", SOUND)
    status, said = doctor(capsys, *FAKES, "--python", f"pytorch={mine}", "--python", f"tensorflow={mine}", "--into", str(tmp_path / "runs"))
    assert (status, said["ok"], codes(said)) == (0, True, [])
    assert said["machine"]["chip"] == "Apple M1"
    assert said["cores"] == {"performance": 4, "efficiency": 4}
    assert list(said["frameworks"]["pytorch"]["devices"]) == ["cpu", "mps"]
    assert said["frameworks"]["tensorflow"]["architecture"] == "arm64"


@pytest.mark.parametrize(
    ("mac", "expected"),
    [
        ("m1-pro-battery", {"on_battery", "memory_pressure", "wheel_macos", "macos_bfloat16"}),
        ("m3-max-hot", {"hot"}),
        ("m4-low-power", {"low_power"}),
        ("virtual", {"virtual_machine", "gpu_not_seen"}),
        ("bare", {"no_caffeinate", "programs_missing", "wheel_macos", "macos_bfloat16"}),
        ("nonsense", set()),
        ("rosetta", {"rosetta"}),
    ],
)
def test_each_recorded_mac_has_the_findings_that_it_should(
    mac: str, expected: set[str], recorded: Become, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gpu = "works" if recorded(mac).gpu_works else "fails"
    mine = python(tmp_path / "env", SOUND)
    pythons = ["--python", f"pytorch={mine}", "--python", f"tensorflow={mine}"]
    _, said = doctor(capsys, *FAKES, *pythons, "--env", f"H2H_FAKE_GPU={gpu}", "--into", str(tmp_path / "runs"))
    assert expected <= set(codes(said))
    assert set(codes(said, "error")) <= {"wheel_macos", "rosetta"}


TORCH = {"torch": SOUND["torch"], "typing_extensions": SOUND["typing_extensions"]}

IMPORTS = {
    "it is missing": (None, "not_installed", "there is no package torch"),
    "it aborts": ("import os; os.abort()", "broken_import", "SIGABRT"),
    "an instruction that the processor lacks": (
        "import os, signal; os.kill(os.getpid(), signal.SIGILL)",
        "broken_import",
        "SIGILL",
    ),
    "a library that misses a symbol": (
        'raise ImportError("dlopen(libtorch.dylib, 0x0006): Symbol not found: (__ZN3tsl8internal10LogMessageC1EPKcii)")',
        "broken_import",
        "Symbol not found",
    ),
    "it raises what nobody expects": ("raise SystemError('initialization of _C failed')", "crashed", "initialization of _C failed"),
    "it leaves": ("raise SystemExit(0)", "broken_import", "ended with status 0"),
    "it hangs": ("import time; time.sleep(600)", "stalled", "did not import within 3 s"),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_a_framework_that_breaks_on_import_is_a_finding(
    name: str, recorded: Become, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded("m1")
    source, code, words = IMPORTS[name]
    modules = {"numpy": "__version__ = '2.0.2'", **({"torch": source} if source is not None else {})}
    mine = python(tmp_path / "env", TORCH if source is not None else {}, modules)
    limit = ["--start-limit", "3"] if "sleep" in (source or "") else []
    status, said = doctor(capsys, "--framework", "pytorch", "--python", f"pytorch={mine}", "--into", str(tmp_path / "runs"), *limit)
    (finding,) = [one for one in said["findings"] if one["severity"] == "error"]
    assert (status, finding["code"]) == (1, code)
    assert words in finding["cause"]
    assert finding["remedy"]


def test_an_unpinned_install_on_apple_silicon(recorded: Become, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded("m1")
    broken = "raise ImportError('dlopen(libmetal_plugin.dylib, 0x0006): symbol not found in flat namespace')"
    newest = {**SOUND, "tensorflow": Dist("2.21.0", ("numpy>=1.26.0", "protobuf<8.0.0,>=6.31.1"))}
    mine = python(tmp_path / "env", newest, {"tensorflow": broken})
    status, said = doctor(capsys, "--framework", "tensorflow", "--python", f"tensorflow={mine}", "--into", str(tmp_path / "runs"))
    assert status == 1
    assert set(codes(said, "error")) == {"broken_import", "plugin_mismatch", "requirement"}


def test_the_doctor_imports_no_framework_and_no_numpy() -> None:
    code = (
        "import sys\nfrom runner.cli import system\nfrom runner.doctor import examine, setup, show\nfrom pathlib import Path\n"
        "from runner.launch import Limits\n"
        f"found = setup.gather([{f'{APPLE}:pytorch'!r}], {{}}, {{}}, Path('.'), Limits())\n"
        "show.render(found, examine.examine(found), 'json')\n"
        "print([name for name in ('torch', 'tensorflow', 'keras', 'jax', 'mlx', 'numpy') if name in sys.modules])"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == "[]"
