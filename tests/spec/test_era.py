"""Era files and their locks: what may stand in them, and that those which come along fit each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from runner.eras import make_locks
from runner.spec import catalog
from runner.spec.era import PLATFORMS, Era, load_era
from runner.spec.lock import check_locks, heading, lock_path, read_lock
from runner.spec.problems import SpecError
from runner.spec.validate import validate

ROOT = Path(__file__).parents[2]
ERA = """name: mine
python: "3.10"
until: 2022-09-30
frameworks:
  pytorch:
    all: [torch==1.12.1, numpy<1.24]
  tensorflow:
    macos-arm64: [tensorflow-macos==2.9.2, tensorflow-metal==0.5.0]
    linux-x86_64: [tensorflow-cpu==2.9.1]
    all: [numpy<1.24]
"""
PINS = {
    ("pytorch", "macos-arm64"): "numpy==1.23.3\ntorch==1.12.1\n",
    ("pytorch", "linux-x86_64"): "numpy==1.23.3\ntorch==1.12.1\n",
    ("tensorflow", "macos-arm64"): "numpy==1.23.3\ntensorflow-macos==2.9.2\ntensorflow-metal==0.5.0\n",
    ("tensorflow", "linux-x86_64"): "numpy==1.23.3\ntensorflow-cpu==2.9.1\n",
}

ERAS = [load_era(path) for path in catalog.all_eras()]


@pytest.fixture
def era(tmp_path: Path) -> Era:
    """An era whose locks fit it."""
    path = tmp_path / "mine.yaml"
    path.write_text(ERA)
    made = load_era(path)
    for (framework, platform), pins in PINS.items():
        lock = lock_path(made, framework, platform)
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.write_text(f"{heading(made, framework, platform)}\n{pins}")
    return made


def messages(era: Era) -> list[str]:
    return [str(problem).removeprefix(f"{era.path.parent}/") for problem in check_locks(era)]


def edit(era: Era, framework: str, platform: str, before: str, after: str) -> None:
    lock = lock_path(era, framework, platform)
    text = lock.read_text()
    assert before in text
    lock.write_text(text.replace(before, after))


# --- those that come along ------------------------------------------------------------------------------------------------


def test_the_eras_that_come_along_in_the_order_of_time() -> None:
    assert [era.name for era in ERAS] == ["2022-05", "2023-03", "2024-07", "last-metal", "current"]
    assert [era.path.stem for era in ERAS] == [era.name for era in ERAS]


@pytest.mark.parametrize("era", ERAS, ids=lambda era: era.name)
def test_its_locks_fit_it(era: Era) -> None:
    assert check_locks(era) == []


@pytest.mark.parametrize("era", ERAS, ids=lambda era: era.name)
def test_every_era_has_both_frameworks(era: Era) -> None:
    assert {"torch"} == set(era.versions("pytorch", "macos-arm64")) == set(era.versions("pytorch", "linux-x86_64"))
    assert "tensorflow-metal" in era.versions("tensorflow", "macos-arm64")
    assert {"tensorflow-cpu"} == set(era.versions("tensorflow", "linux-x86_64"))


def test_today_is_what_the_project_installs() -> None:
    """The era `current` pins what the extras do, and its locks keep to the constraints of pip."""
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 cannot read pyproject.toml")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    surroundings = {"macos-arm64": ("darwin", "arm64"), "linux-x86_64": ("linux", "x86_64")}
    constraints = [Requirement(line) for line in (ROOT / "frameworks/eras/current.txt").read_text().splitlines()]
    current = load_era("current")
    for platform, (system, machine) in surroundings.items():
        here = {"sys_platform": system, "platform_machine": machine, "python_version": "3.11", "python_full_version": "3.11.9"}
        pins = {one.name: str(one.specifier) for one in constraints if one.marker is None or one.marker.evaluate(here)}
        for framework in ("pytorch", "tensorflow"):
            asked = [Requirement(text) for text in extras[framework]]
            wanted = {r.name: str(r.specifier).lstrip("=") for r in asked if r.marker is None or r.marker.evaluate(here)}
            assert current.versions(framework, platform) == wanted
            lock, _ = read_lock(lock_path(current, framework, platform))
            assert lock is not None
            assert {name: f"=={version}" for name, (version, _) in lock.pins.items()}.items() <= pins.items()


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS, ids=lambda era: era.name)
def test_its_locks_are_made_again_the_same(era: Era) -> None:
    """Needs PyPI. What has been withdrawn from it since would show here."""
    for framework, platforms in era.frameworks.items():
        for platform in platforms:
            assert make_locks.make(era, framework, platform) == lock_path(era, framework, platform).read_text()


@pytest.mark.slow
@pytest.mark.parametrize("era", [era for era in ERAS if era.python != "3.10"], ids=lambda era: era.name)
def test_macos_resolves_for_the_oldest_python_too(era: Era) -> None:
    for framework in era.frameworks:
        assert "numpy==" in make_locks.make(era, framework, "macos-arm64", python="3.10")


# --- era files ----------------------------------------------------------------------------------------------------------


def test_what_a_file_asks_for(era: Era) -> None:
    assert (era.python, era.until, era.constraints) == ("3.10", "2022-09-30", None)
    assert [str(one) for one in era.frameworks["tensorflow"]["macos-arm64"]] == [
        "tensorflow-macos==2.9.2",
        "tensorflow-metal==0.5.0",
        "numpy<1.24",
    ]
    assert era.versions("tensorflow", "linux-x86_64") == {"tensorflow-cpu": "2.9.1"}
    assert era.versions("tensorflow", "plan9-mips") == {}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"3.10"', "3.10", "2:9: `python` must be text, got the number 3.1: YAML reads `3.10` so; write the version in quotes, such as"),
        ('"3.10"', '"3"', "2:9: `python` must be major and minor version of Python, got '3'; such as `\"3.10\"`"),
        ("2022-09-30", "2022-13-01", "3:8: `until` must be a day, got '2022-13-01'; such as `2022-08-31`"),
        ("python:", "pyhton:", "2:1: an era has no key `pyhton`; did you mean `python`?"),
        ("  pytorch:", "  pytorhc:", "5:3: there is no framework `pytorhc`; did you mean `pytorch`?"),
        ("macos-arm64:", "macos:", "8:5: `tensorflow` has no key `macos`; did you mean `macos-arm64`?"),
        ("torch==1.12.1, ", "", "6:5: `pytorch` pins no package for linux-x86_64; name the framework's own version with `==`"),
        ("torch==1.12.1", "torch==1.12.*", "6:5: `pytorch` pins no package for macos-arm64; name the framework's own version with `==`"),
        ("[torch==1.12.1, numpy<1.24]", "torch==1.12.1", "6:10: `all` must be a list of packages, got the text 'torch==1.12.1'"),
        ("torch==1.12.1,", "torch=1.12.1,", "6:11: `torch=1.12.1` asks for no package"),
        ("tensorflow-cpu==2.9.1", "'tensorflow-cpu==2.9.1; os_name == \"posix\"'", "9:20: `tensorflow-cpu==2.9.1; os_name =="),
        (
            "tensorflow-cpu==2.9.1",
            "tensorflow-cpu==2.9.1, NumPy",
            "8:5: `tensorflow` asks twice for numpy on linux-x86_64; keep one of them",
        ),
        ("until: 2022-09-30", "constraints: none.txt", "3:14: there is no file"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, before: str, after: str, message: str) -> None:
    assert ERA.count(before) == 1
    path = tmp_path / "mine.yaml"
    path.write_text(ERA.replace(before, after))
    _, problems = validate([path])
    assert any(str(problem).removeprefix(f"{path}:").startswith(message) for problem in problems), problems


def test_a_name_that_is_none() -> None:
    with pytest.raises(SpecError, match="there is no era of this name; did you mean `2022-05`"):
        load_era("2022-06")


# --- locks --------------------------------------------------------------------------------------------------------------


def test_locks_that_fit(era: Era) -> None:
    assert messages(era) == []
    assert validate([era.path]) == (1, [])


def test_a_missing_lock_and_one_too_many(era: Era) -> None:
    lock_path(era, "pytorch", "macos-arm64").rename(era.path.parent / "locks" / "mine" / "jax-macos-arm64.txt")
    assert messages(era) == [
        "locks/mine/pytorch-macos-arm64.txt: there is no such lock; `make locks` makes it anew",
        "locks/mine/jax-macos-arm64.txt: the era mine has no such environment; remove the file",
    ]


@pytest.mark.parametrize(("before", "after"), [("numpy<1.24]", "numpy<1.25]"), ("2022-09-30", "2022-10-01"), ('"3.10"', '"3.11"')])
def test_a_lock_that_an_edit_left_behind(era: Era, before: str, after: str) -> None:
    era.path.write_text(ERA.replace(before, after))
    found = messages(load_era(era.path))
    assert found
    assert all(re.match(r"locks/mine/.*:1:1: the lock was made from something else than mine.yaml says; not from", one) for one in found)


def test_a_lock_that_was_edited_by_hand(era: Era) -> None:
    edit(era, "pytorch", "linux-x86_64", "torch==1.12.1\n", "torch==1.13.0\n")
    assert messages(era) == [
        "locks/mine/pytorch-linux-x86_64.txt:3:1: torch is 1.13.0; mine.yaml asks for torch==1.12.1; `make locks` makes it anew"
    ]


def test_a_build_from_another_index_is_the_same_version(era: Era) -> None:
    edit(era, "pytorch", "linux-x86_64", "torch==1.12.1\n", "torch==1.12.1+cpu\n")
    assert messages(era) == []


@pytest.mark.parametrize("line", ["torch>=1.12.1", "torch", "torch==", "torch==new", "torch==1.12.1 ; python_version < '3.11'"])
def test_a_line_that_is_no_pin(era: Era, line: str) -> None:
    edit(era, "pytorch", "linux-x86_64", "numpy==1.23.3", f"numpy==1.23.3\n{line}")
    assert "locks/mine/pytorch-linux-x86_64.txt:3:1: a lock has lines such as `torch==1.12.1` and no others" in messages(era)[0]


def test_a_package_locked_twice_and_numpy_missing(era: Era) -> None:
    edit(era, "pytorch", "linux-x86_64", "numpy==1.23.3", "torch==1.12.1")
    found = messages(era)
    assert any(":3:1: torch is locked twice; first in line 2" in one for one in found)
    assert any("the lock lacks numpy; every adapter needs it" in one for one in found)


@pytest.mark.parametrize("package", ["tensorflow", "tensorflow-macos"])
@pytest.mark.parametrize(
    ("version", "fits"), [("2.18.1", True), ("2.19.0", True), ("2.20.0", False), ("2.20.0rc0", False), ("2.100", False)]
)
def test_the_plug_in_never_stands_beside_a_tensorflow_that_it_cannot_load(era: Era, package: str, version: str, fits: bool) -> None:
    era.path.write_text(ERA.replace("tensorflow-macos==2.9.2", f"{package}=={version}"))
    era = load_era(era.path)
    lock = lock_path(era, "tensorflow", "macos-arm64")
    pins = f"numpy==1.23.3\n{package}=={version}\ntensorflow-metal==0.5.0\n"
    lock.write_text(f"{heading(era, 'tensorflow', 'macos-arm64')}\n{pins}")
    said = f"{package} {version} stands beside tensorflow-metal; no tensorflow-metal loads with TensorFlow 2.20 or newer"
    assert any(said in one for one in messages(era)) is not fits


def test_every_platform_has_a_target_of_uv() -> None:
    assert set(make_locks.TARGETS) == set(PLATFORMS)
