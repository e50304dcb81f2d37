"""Environments of eras: made whole by the real uv from wheels on the disk, or not at all; verified, found elsewhere, removed."""

from __future__ import annotations

import json
import os
import platform
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from runner.cli import app
from runner.eras import environments, interpreters, overview, uv
from runner.eras.environments import Environment, create, remove, serving
from runner.eras.overview import verified
from runner.errors import UserError
from runner.spec import catalog
from runner.spec import era as era_module
from runner.spec.era import load_era
from runner.spec.lock import heading, lock_path

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
PLATFORM = "linux-x86_64"
ERA = f"""name: then
python: "{HERE}"
frameworks:
  pytorch:
    all: [torch==1.12.1, numpy<1.24]
"""
GOOD = "import numpy\n__version__ = '1.12.1'\n"


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cache folder, wheels and platform of the test alone, and no network."""
    monkeypatch.setattr(environments, "folder", lambda: tmp_path / "cache" / "eras")
    monkeypatch.setattr(environments, "this_platform", lambda: PLATFORM)
    monkeypatch.setattr(era_module, "this_platform", lambda: PLATFORM)
    for name, value in {
        "UV_OFFLINE": "1",
        "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": str(tmp_path),
        "UV_CACHE_DIR": str(tmp_path / "uv"),
    }.items():
        monkeypatch.setenv(name, value)


def wheel(folder: Path, name: str, version: str, code: str) -> None:
    """A wheel of one module."""
    about = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{name}.py", code)
        file.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        file.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{about}/RECORD", f"{name}.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n")


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Environment]:
    """An environment of an era of our own, not made yet, whose package `torch` is the code given."""

    def made(code: str = GOOD, wheels: bool = True) -> Environment:
        path = tmp_path / "then.yaml"
        path.write_text(ERA)
        era = load_era(path)
        lock = lock_path(era, "pytorch", PLATFORM)
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.write_text(f"{heading(era, 'pytorch', PLATFORM)}\nnumpy==1.23.3\ntorch==1.12.1\n")
        if wheels:
            wheel(tmp_path, "numpy", "1.23.3", "")
            wheel(tmp_path, "torch", "1.12.1", code)
        (environment,) = environments.environments(era)
        return environment

    return made


def rename(about: Path, name: str, version: str) -> None:
    """Make an installed package look like another. Its files are links into uv's cache, so none is written to."""
    (about / "METADATA").unlink()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    about.rename(about.with_name(f"{name}-{version}.dist-info"))


def silent(line: str) -> None:
    pass


def left(tmp_path: Path) -> list[str]:
    """Everything below the cache folder, hidden files too."""
    return sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "cache").rglob("*"))


def test_it_is_made_verified_served_and_removed(tmp_path: Path, make: Callable[..., Environment]) -> None:
    environment = make()
    assert not environment.made
    assert verified(environment) == ("PyTorch of then: not made; h2h env create then --framework pytorch", False)
    said: list[str] = []
    assert create(environment, tell=said.append)
    assert said[0].startswith("PyTorch of then: 2 packages for ")
    assert environment.differences() == []
    assert verified(environment) == ("PyTorch of then: all 2 packages are as its lock says", True)
    assert serving(environment) == (str(environment.python), "")
    done = subprocess.run([environment.python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=True)
    assert done.stdout == "1.12.1\n"
    assert [path.name for path in environment.home.parent.iterdir()] == ["pytorch"]
    assert not create(environment, tell=silent)
    assert remove(environment)
    assert left(tmp_path) == ["cache/eras"]
    assert not remove(environment)


def test_its_scripts_work_where_it_was_moved_to(make: Callable[..., Environment]) -> None:
    environment = make()
    create(environment, tell=silent)
    activate = (environment.home / "bin" / "activate").read_text()
    assert f"{environments.PASSING}pytorch" not in activate


def test_kept_elsewhere_it_is_found_all_the_same(tmp_path: Path, make: Callable[..., Environment]) -> None:
    environment = make()
    create(environment, into=tmp_path / "mine", tell=silent)
    home = tmp_path / "mine" / "then" / "pytorch"
    assert environment.home == home
    assert environment.differences() == []
    with pytest.raises(UserError, match=r"is kept in .*mine/then/pytorch; remove it first: h2h env remove then"):
        create(environment, into=tmp_path / "other", tell=silent)
    assert remove(environment)
    assert not home.parent.exists()
    assert (tmp_path / "mine").is_dir()
    assert left(tmp_path) == ["cache/eras"]


def test_kept_elsewhere_and_gone_it_is_made_in_the_usual_place(tmp_path: Path, make: Callable[..., Environment]) -> None:
    environment = make()
    create(environment, into=tmp_path / "mine", tell=silent)
    (tmp_path / "mine").rename(tmp_path / "lost")
    assert not environment.made
    assert create(environment, tell=silent)
    assert environment.home == environment.place
    assert environment.made


def test_one_that_differs_is_named_not_served_and_made_anew(tmp_path: Path, make: Callable[..., Environment]) -> None:
    environment = make()
    create(environment, tell=silent)
    site = environment.home / "lib" / f"python{HERE}" / "site-packages"
    rename(site / "torch-1.12.1.dist-info", "torch", "1.13.0")
    rename(site / "numpy-1.23.3.dist-info", "scipy", "1.0")
    differences = ["numpy 1.23.3 is missing", "scipy 1.0 is too much", "torch is 1.13.0, not 1.12.1"]
    assert environment.differences() == differences
    assert verified(environment) == (
        f"PyTorch of then differs from its lock: {'; '.join(differences)}; h2h env create then --framework pytorch makes it anew",
        False,
    )
    assert serving(environment) == (None, f"PyTorch of then differs from its lock: {'; '.join(differences)}")
    assert create(environment, tell=silent)
    assert environment.differences() == []
    assert [path.name for path in environment.home.parent.iterdir()] == ["pytorch"]


def test_an_interpreter_that_is_gone(make: Callable[..., Environment]) -> None:
    environment = make()
    create(environment, tell=silent)
    environment.python.unlink()
    environment.python.symlink_to("/nowhere/python")
    assert environment.differences() == ["its interpreter /nowhere/python is gone"]


@pytest.mark.parametrize(
    ("installed", "same"), [("2.13.0", True), ("2.13", True), ("2.13.0+cpu", True), ("2.13.1", False), ("2.13.0rc1", False)]
)
def test_which_versions_are_the_same(installed: str, same: bool) -> None:
    assert environments.same_version(installed, "2.13.0") is same


# --- what goes wrong leaves nothing behind ----------------------------------------------------------------------------------


def test_a_framework_that_does_not_import(tmp_path: Path, make: Callable[..., Environment]) -> None:
    environment = make("raise ImportError('symbol not found in flat namespace')")
    with pytest.raises(UserError, match="was installed, but does not import here: ImportError: symbol not found in flat namespace"):
        create(environment, tell=silent)
    assert not (tmp_path / "cache").exists()


def test_packages_that_are_nowhere(tmp_path: Path, make: Callable[..., Environment]) -> None:
    environment = make(wheels=False)
    with pytest.raises(UserError, match=r"uv says: .*numpy was not found"):
        create(environment, tell=silent)
    assert not (tmp_path / "cache").exists()


def test_no_network(tmp_path: Path, make: Callable[..., Environment], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("UV_OFFLINE", "UV_NO_INDEX"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(UserError, match="uv cannot reach the package index"):
        create(make(wheels=False), tell=silent)
    assert not (tmp_path / "cache").exists()


def test_a_failure_leaves_what_was_there_before(make: Callable[..., Environment]) -> None:
    environment = make()
    create(environment, tell=silent)
    environment.python.unlink()
    wheel(Path(os.environ["UV_FIND_LINKS"]), "torch", "1.12.1", "raise ImportError('no')")
    subprocess.run([uv.binary(), "cache", "clean", "--quiet"], check=True)
    with pytest.raises(UserError, match="does not import"):
        create(environment, tell=silent)
    assert environment.made
    assert [path.name for path in environment.home.parent.iterdir()] == ["pytorch"]


def pretend(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Another program in uv's place."""
    path = folder / "pretended-uv"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(uv, "binary", lambda: str(path))


def test_a_full_disk(tmp_path: Path, make: Callable[..., Environment], monkeypatch: pytest.MonkeyPatch) -> None:
    environment = make()
    said = "error: Failed to install: torch-1.12.1.whl\\n  Caused by: failed to copy file: No space left on device (os error 28)"
    pretend(tmp_path, monkeypatch, f'case "$1" in venv) mkdir -p "$6/bin";; *) printf "{said}" >&2; exit 2;; esac')
    with pytest.raises(UserError, match=r"the disk is full: [\d.]+ GiB are free at .* name a folder on another disk with --into"):
        create(environment, tell=silent)
    assert not (tmp_path / "cache").exists()


def test_an_interruption(tmp_path: Path, make: Callable[..., Environment]) -> None:
    def interrupt(line: str) -> None:
        if "packages for" not in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        create(make(), tell=interrupt)
    assert not (tmp_path / "cache").exists()


def test_what_a_killed_process_left_is_swept_away(tmp_path: Path, make: Callable[..., Environment]) -> None:
    environment = make()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    for owner in (dead.pid, os.getppid()):
        (environment.place.parent / f"{environments.PASSING}pytorch-new.{owner}" / "bin").mkdir(parents=True)
    create(environment, tell=silent)
    assert sorted(path.name for path in environment.place.parent.iterdir()) == [
        f"{environments.PASSING}pytorch-new.{os.getppid()}",
        "pytorch",
    ]


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, make: Callable[..., Environment]) -> None:
    (tmp_path / "mine" / "then" / "pytorch").mkdir(parents=True)
    with pytest.raises(UserError, match="is there already and is no environment"):
        create(make(), into=tmp_path / "mine", tell=silent)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path, make: Callable[..., Environment]) -> None:
    (tmp_path / "mine").mkdir(mode=0o500)
    with pytest.raises(UserError, match="cannot be written: Permission denied; name another folder with --into"):
        create(make(), into=tmp_path / "mine", tell=silent)


def test_a_file_where_a_folder_is_wanted(tmp_path: Path, make: Callable[..., Environment]) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(UserError, match="cannot be written: Not a directory; name another folder with --into"):
        create(make(), into=tmp_path / "mine", tell=silent)


def test_a_platform_without_locks(make: Callable[..., Environment], monkeypatch: pytest.MonkeyPatch) -> None:
    era = make().era
    monkeypatch.setattr(environments, "this_platform", lambda: None)
    with pytest.raises(UserError, match="eras have locks for macOS on Apple silicon and Linux on x86-64, not for"):
        environments.environments(era)


def test_a_framework_that_an_era_has_not(make: Callable[..., Environment]) -> None:
    with pytest.raises(UserError, match="the era then has no tensorflow; it has pytorch"):
        environments.environments(make().era, ("tensorflow",))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (["Downloading torch (740MiB)", "  × Failed to download `torch`", "  ╰─▶ error sending request for url"], "uv cannot reach"),
        (["error: Disk quota exceeded (os error 122)"], "the disk is full"),
        (
            ["Using Python", "  × No solution found:", "  ╰─▶ Because torch==1 has no wheels"],
            "uv says: No solution found: Because torch==1 has no wheels",
        ),
        ([], "uv says: nothing"),
    ],
)
def test_what_uv_says_in_words(said: list[str], message: str) -> None:
    assert str(uv.explained(said)).startswith(message)


# --- commands -------------------------------------------------------------------------------------------------------------


def test_the_commands(tmp_path: Path, make: Callable[..., Environment], monkeypatch: pytest.MonkeyPatch) -> None:
    environment = make()
    monkeypatch.setattr(catalog, "all_eras", lambda: [environment.era.path])
    monkeypatch.setattr(overview, "this_platform", lambda: PLATFORM)

    def h2h(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["env", *words], catch_exceptions=False)
        return done.exit_code, done.stdout

    def state() -> str:
        (row,) = json.loads(h2h("list", "--format", "json")[1])
        assert row | {"era": "then", "framework": "pytorch", "versions": "torch 1.12.1", "Python": HERE} == row
        return str(row["state"])

    assert state() == "not made"
    assert h2h("verify", "then") == (1, "PyTorch of then: not made; h2h env create then --framework pytorch\n")
    assert h2h("create", "then") == (0, f"PyTorch of then: made in {environment.home}\n")
    assert h2h("create", "then", "--framework", "pytorch") == (0, f"PyTorch of then: is there, in {environment.home}\n")
    assert state() == "made"
    assert h2h("verify", "then") == (0, "PyTorch of then: all 2 packages are as its lock says\n")
    rename(environment.home / "lib" / f"python{HERE}" / "site-packages" / "torch-1.12.1.dist-info", "torch", "1.13.0")
    assert state() == "differs: torch is 1.13.0, not 1.12.1"
    assert h2h("verify", "then")[0] == 1
    assert h2h("remove", "then") == (0, f"PyTorch of then: removed from {environment.place}\n")
    assert h2h("remove", "then") == (0, "PyTorch of then: there was none\n")


def test_the_python_at_hand_may_have_the_versions(make: Callable[..., Environment], monkeypatch: pytest.MonkeyPatch) -> None:
    environment = make()
    monkeypatch.setattr(environments.importlib.metadata, "version", {"torch": "1.12.1+cpu"}.__getitem__)
    assert serving(environment) == (sys.executable, "")
    assert verified(environment) == ("PyTorch of then: not made, but this Python has its versions", True)
    monkeypatch.setattr(environments.importlib.metadata, "version", {"torch": "1.12.0"}.__getitem__)
    assert serving(environment) == (None, "PyTorch of then is not installed")


# --- interpreters -----------------------------------------------------------------------------------------------------------


def fake_python(folder: Path, name: str, answer: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{answer}\n")
    path.chmod(0o755)
    return path


def test_the_interpreter_at_hand_serves() -> None:
    assert interpreters.find(HERE) == Path(sys.executable)


def test_one_on_the_path_that_only_pretends_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the shims of pyenv do for versions that are not switched on."""
    fake_python(tmp_path / "shims", "python3.98", "echo not found >&2; exit 127")
    good = fake_python(tmp_path / "good", "python3.98", f"echo 3.98.1 {platform.machine()} CPython")
    monkeypatch.setenv("PATH", f"{tmp_path / 'shims'}:{tmp_path / 'good'}:/usr/bin:/bin")
    assert interpreters.find("3.98") == good


def test_one_of_pyenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = fake_python(tmp_path / "bin", "python", f"echo 3.98.1 {platform.machine()} CPython")
    fake_python(tmp_path / "path", "pyenv", f'[ "$1 $2" = "prefix 3.98" ] && echo {tmp_path}')
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    assert interpreters.find("3.98") == good


def test_none_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(
        UserError, match=r"there is no Python 3\.98 on the PATH, in pyenv or among uv's own; install one \(`uv python install 3\.98`"
    ):
        interpreters.find("3.98")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("echo 3.11.7 MACHINE CPython", r"python is Python 3\.11\.7, and Python 3\.98 is needed"),
        ("echo 3.98.0 vax CPython", "python is built for vax, and .* is needed"),
        ("echo 3.98.0 MACHINE PyPy", "python is PyPy, for which the frameworks have no wheels"),
        ("exit 1", "python is no working Python"),
        ("echo hello", "python is no working Python"),
    ],
)
def test_a_named_one_that_cannot_serve(tmp_path: Path, answer: str, message: str) -> None:
    path = fake_python(tmp_path, "python", answer.replace("MACHINE", platform.machine()))
    with pytest.raises(UserError, match=message):
        interpreters.find("3.98", path)


def test_a_named_one_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="none is no working Python"):
        interpreters.find("3.98", tmp_path / "none")
