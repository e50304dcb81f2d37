"""``h2h env check``: pairs that load and pairs that do not, small ones written here and, slowly, all that people could install."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from runner.cli import app
from runner.errors import UserError
from runner.wheels import check, fetch, packages
from tests.wheels import written

# TensorFlow, plug-in, symbols needed, symbols missing: read off the published wheels with llvm-nm.
PUBLISHED = [
    ("2.9.2", "0.5.0", 57, 0),
    ("2.12.0", "0.8.0", 160, 0),
    ("2.13.0", "1.0.0", 160, 0),
    ("2.16.2", "1.1.0", 160, 0),
    ("2.18.0", "1.1.0", 160, 1),
    ("2.18.1", "1.1.0", 160, 1),
    ("2.19.0", "1.1.0", 160, 1),
    ("2.16.2", "1.2.0", 146, 0),
    ("2.18.0", "1.2.0", 146, 0),
    ("2.18.1", "1.2.0", 146, 0),
    ("2.19.0", "1.2.0", 146, 0),
    ("2.20.0", "1.2.0", 146, 38),
    ("2.21.0", "1.2.0", 146, 40),
]


def h2h(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache with a plug-in 1.1.0, a TensorFlow 2.16.2 that it loads with, a 2.18.1 of another logging, and a 2.20.0 that moved it."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    written.metal(folder, "1.1.0")
    written.tensorflow(folder, "2.16.2", written.LOG_BEFORE)
    written.tensorflow(folder, "2.18.1", written.LOG_NOW)
    written.tensorflow(folder, "2.20.0", written.LOG_BEFORE, in_entry=False)
    return folder


def test_a_pair_that_loads_ends_0(cache: Path) -> None:
    done = h2h("env", "check", "--tensorflow", "2.16.2", "--plugin", "1.1.0", "--cache", cache)
    assert done.exit_code == 0, done.output
    assert "| tensorflow 2.16.2 | tensorflow-metal 1.1.0 |              3 |       0 | loads   |" in done.output


def test_the_first_missing_symbol_is_explained_with_a_remedy_and_status_1(cache: Path) -> None:
    done = h2h("env", "check", "--tensorflow", "2.16.2,2.18.1", "--plugin", "1.1.0", "--cache", cache)
    assert done.exit_code == 1
    assert (
        "- tensorflow 2.18.1 with tensorflow-metal 1.1.0 cannot load: the plug-in needs "
        "`tsl::internal::LogMessage::LogMessage(char const*, int, int)`, which no library of tensorflow 2.18.1 defines; "
        "under this name there is only `tsl::internal::LogMessage::LogMessage(char const*, int, absl::LogSeverity)`. "
        "Remedy: tensorflow-metal 1.1.0 loads with tensorflow 2.16.2: pip install tensorflow==2.16.2 tensorflow-metal==1.1.0\n"
    ) in done.output


def test_a_symbol_in_another_library_than_the_plug_in_asks_does_not_load(cache: Path) -> None:
    done = h2h("env", "check", "--tensorflow", "2.20.0", "--plugin", "1.1.0", "--cache", cache, "--format", "json")
    (record,) = json.loads(done.output)
    assert (record["missing"], record["misplaced"], record["loads"]) == ([], [written.LOG], False)
    assert "does not offer it; another one does" in record["reason"]
    assert done.exit_code == 1


def test_csv_has_a_row_a_pair(cache: Path) -> None:
    done = h2h("env", "check", "--tensorflow", "2.16.2,2.18.1", "--plugin", "1.1.0", "--cache", cache, "--format", "csv")
    header, one, other = done.output.strip().splitlines()
    assert header.startswith("tensorflow,plugin,needed,missing")
    assert one.startswith("tensorflow 2.16.2,tensorflow-metal 1.1.0,3,,,,True")
    assert other.startswith(f"tensorflow 2.18.1,tensorflow-metal 1.1.0,3,{written.LOG},,,False")


def test_wheels_by_path_and_an_installed_environment_give_the_same(cache: Path, tmp_path: Path) -> None:
    (plugin,), (tensorflow,) = cache.glob("tensorflow_metal*"), cache.glob("tensorflow-2.18.1*")
    site = tmp_path / "site-packages"
    for wheel, distribution in ((plugin, "tensorflow_metal-1.1.0"), (tensorflow, "tensorflow-2.18.1")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
        (site / f"{distribution}.dist-info").mkdir()
    metal = packages.installed(site, packages.PLUGINS)
    framework = packages.installed(site, packages.TENSORFLOWS)
    assert metal is not None
    assert framework is not None
    done = h2h("env", "check", "--tensorflow", tensorflow, "--plugin", plugin, "--format", "json")
    assert check.render(check.check([framework], [metal]), "json") == done.output.strip()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tensorflow", "2.18.1"], "name both --tensorflow and --plugin"),
        (["--tensorflow", "2.17.0", "--plugin", "1.1.0"], "tensorflow 2.17.0 is not in"),
        (["--tensorflow", "2.12.0", "--plugin", "1.1.0"], "tensorflow-macos 2.12.0 is not in"),
        (["--tensorflow", "newest", "--plugin", "1.1.0"], "'newest' is neither a version"),
        (["--tensorflow", "./none-1.whl", "--plugin", "1.1.0"], "is not named like a wheel"),
        (["--tensorflow", "./tensorflow_metal-1-a-b-c.whl", "--plugin", "1.1.0"], "and one of tensorflow or tensorflow-macos is wanted"),
        (["--tensorflow", "./tensorflow-1-a-b-c.whl", "--plugin", "1.1.0"], "there is no such file"),
        (["--tensorflow", "2.16.2", "--plugin", "1.1.0", "--python", "python3"], "leave it out where versions or wheels are named"),
        (["--python", "/no/such/python"], "is no Python interpreter that runs here"),
    ],
)
def test_a_wrong_request_is_a_plain_message(cache: Path, words: list[str], message: str) -> None:
    done = h2h("env", "check", "--cache", cache, *words)
    assert isinstance(done.exception, UserError)
    assert message in str(done.exception)


def test_an_environment_without_the_plug_in_says_how_to_get_it(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path)], check=True)
    done = h2h("env", "check", "--python", tmp_path / "bin" / "python")
    assert "no tensorflow is installed there" in str(done.exception)
    assert "pip install 'headtohead[tensorflow]'" in str(done.exception)


def test_a_broken_wheel_and_one_that_is_an_empty_shell(cache: Path) -> None:
    (plugin,) = cache.glob("tensorflow_metal*")
    (cache / "tensorflow-2.30.0-cp310-cp310-macosx_12_0_arm64.whl").write_bytes(b"half a download")
    written.wheel(cache, "tensorflow_macos-2.15.1", {"tensorflow/__init__.py": b""})
    for version, message in (("2.30.0", "cannot be read as a wheel"), ("2.15.1", "its wheel only asks for tensorflow")):
        done = h2h("env", "check", "--tensorflow", version, "--plugin", plugin, "--cache", cache)
        assert message in str(done.exception)


def test_downloading_keeps_whole_wheels_only_and_tells_what_pip_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = written.metal(tmp_path, "1.1.0")
    cache = tmp_path / "cache"
    asked = []

    def pip(command: list[str], **more: object) -> subprocess.CompletedProcess[str]:
        asked.append(command[command.index("--python-version") + 1])
        if len(asked) == 2:
            shutil.copy(real, command[command.index("--dest") + 1])
        return subprocess.CompletedProcess(command, 1, "", "ERROR: No matching distribution found\n")

    monkeypatch.setattr(subprocess, "run", pip)
    found = fetch.find("tensorflow-metal", "1.1.0", cache, download=True)
    assert asked == ["3.10", "3.12"]
    assert found.path.parent == cache
    assert [path.name for path in cache.iterdir()] == [real.name]
    assert fetch.find("tensorflow-metal", "1.1.0", cache, download=False) == found
    with pytest.raises(UserError, match="ERROR: No matching distribution found"):
        fetch.find("tensorflow-metal", "9.9", cache, download=True)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("tensorflow", "plugin", "needed", "missing"), PUBLISHED)
def test_the_published_wheels(tensorflow: str, plugin: str, needed: int, missing: int) -> None:
    """Wheels come from the cache (H2H_WHEELS, or the usual folder) and are downloaded into it where they are not there: 3 GB in all."""
    cache = Path(os.environ.get("H2H_WHEELS") or fetch.cache_folder())
    metal = packages.of_wheel(fetch.find("tensorflow-metal", plugin, cache, download=True))
    framework = packages.of_wheel(fetch.find(packages.tensorflow_of(tensorflow), tensorflow, cache, download=True))
    (result,) = check.check([framework], [metal])
    assert (result.pairing.needed, len(result.pairing.missing)) == (needed, missing)
    assert result.pairing.loads == (missing == 0)
    if missing == 1:
        assert "tsl::internal::LogMessage::LogMessage(char const*, int, int)" in result.reason
