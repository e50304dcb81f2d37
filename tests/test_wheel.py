"""The wheel, installed alone into a new environment and used from an empty folder, behaves as the checkout does."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)], check=True)
    (built,) = folder.glob("headtohead-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it depends on, and no framework."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    lock = ROOT / "frameworks" / "eras" / "current.txt"
    subprocess.run([str(folder / "bin" / "pip"), "install", "-q", "-c", str(lock), str(wheel)], check=True)
    return folder / "bin"


def h2h(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(installed / "h2h"), *words], cwd=folder, capture_output=True, text=True, check=False)


def test_the_wheel_holds_the_library_and_nothing_of_the_workshop(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {"runner", "frameworks", "workloads"} <= tops
    assert not any("__pycache__" in name or name.startswith(("tests/", "reports/")) for name in names)
    library = [*(ROOT / "workloads").rglob("*.yaml"), *(ROOT / "frameworks" / "eras").rglob("*.*")]
    checkout = {str(path.relative_to(ROOT)) for path in library}
    figures = {f"runner/claims/published/{path.name}" for path in (ROOT / "reports" / "claims").glob("*.yaml")}
    assert figures and checkout | figures <= set(names)


def test_what_needs_no_framework_works_without_one(installed: Path, tmp_path: Path) -> None:
    assert "resnet50" in h2h(installed, tmp_path, "list").stdout
    assert "pip install 'headtohead[pytorch]'" in h2h(installed, tmp_path, "list", "frameworks").stdout
    assert "25,557,032 parameters" in h2h(installed, tmp_path, "show", "resnet50").stdout
    assert "tf-metal-experiments" in h2h(installed, tmp_path, "claims", "--list", "--chip", "M1 Max").stdout
    assert h2h(installed, tmp_path, "new", "mine").returncode == 0
    assert h2h(installed, tmp_path, "validate", "mine.yaml").stdout == "1 file valid\n"


def test_a_run_without_frameworks_has_all_rows_and_writes_them_here(installed: Path, tmp_path: Path) -> None:
    done = h2h(installed, tmp_path, "run", "--suite", "quick")
    assert done.returncode == 1, done.stderr
    assert "not installed" in done.stdout.replace("_", " ")
    assert "pip install 'headtohead[tensorflow]'" in done.stdout
    (run,) = (tmp_path / "reports" / "runs").iterdir()
    again = h2h(installed, tmp_path, "report", str(run))
    assert (again.returncode, again.stdout.strip()) == (0, done.stdout.strip())


def test_one_framework_missing_is_a_row_beside_the_others(installed: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    words = ["run", "mlp-mnist", "--mode", "infer", "--rounds", "1", "--budget", "0.1", "--device", "cpu"]
    done = h2h(installed, tmp_path, *words, "--python", f"pytorch={sys.executable}")
    assert done.returncode == 1, done.stderr
    assert "not installed" in done.stdout.replace("_", " ")
    assert "PyTorch" in done.stdout
    assert '"status":"ok"' in next((tmp_path / "reports" / "runs").glob("*/run.jsonl")).read_text().replace(": ", ":")
