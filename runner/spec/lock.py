"""Locks: every package of one environment in one version, by era, framework and platform; read and checked without a network."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from runner.spec.era import PLATFORMS, Era
from runner.spec.problems import Problem

LOCKS = "locks"
MAKE = "`make locks` makes it anew"
PLUGIN = "tensorflow-metal"
TOO_NEW = (2, 20)  # the first TensorFlow that lacks symbols which the last plug-in needs
_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==(\S+)")


@dataclass(frozen=True)
class Lock:
    """One lock file. ``pins`` maps each package, by its canonical name, to its version and the line that says it."""

    path: Path
    heading: str
    pins: dict[str, tuple[str, int]]

    def version(self, package: str) -> str | None:
        """The version of a package, None where it is not part of the environment."""
        return self.pins.get(canonicalize_name(package), (None, 0))[0]


def lock_path(era: Era, framework: str, platform: str) -> Path:
    """Where the lock of an environment belongs: beside the era's file."""
    return era.path.parent / LOCKS / era.name / f"{framework}-{platform}.txt"


def heading(era: Era, framework: str, platform: str) -> str:
    """The first line of a lock: all that decided it, so that a lock which an edit of the era left behind can be told."""
    asked = " ".join(str(requirement) for requirement in era.frameworks[framework][platform])
    limits = [f"until {era.until}"] if era.until else []
    limits += [f"within {era.constraints.name}"] if era.constraints else []
    return f"# {', '.join([f'Python {era.python}', PLATFORMS[platform], *limits])}: {asked}"


def read_lock(path: Path) -> tuple[Lock | None, list[Problem]]:
    """A lock file and what is wrong with its text; no lock where it cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None, [Problem(str(path), 0, 0, "there is no such lock", remedy=MAKE)]
    except (OSError, UnicodeDecodeError) as error:
        return None, [Problem(str(path), 0, 0, "the lock cannot be read", str(error), MAKE)]
    pins: dict[str, tuple[str, int]] = {}
    problems = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _PIN.fullmatch(line.strip())
        name = canonicalize_name(match[1]) if match else ""
        if match is None or not _is_version(match[2]):
            problems.append(Problem(str(path), number, 1, "a lock has lines such as `torch==1.12.1` and no others", remedy=MAKE))
        elif name in pins:
            problems.append(Problem(str(path), number, 1, f"{name} is locked twice", f"first in line {pins[name][1]}", MAKE))
        else:
            pins[name] = match[2], number
    return Lock(path, lines[0] if lines else "", pins), problems


def check_locks(era: Era) -> list[Problem]:
    """Whether the locks of an era are there, say what its file asks for, and hold nothing that cannot load together."""
    problems, expected = [], set()
    for framework, platforms in era.frameworks.items():
        for platform in platforms:
            path = lock_path(era, framework, platform)
            expected.add(path)
            lock, found = read_lock(path)
            problems += found
            if lock is not None:
                problems += _check(lock, era, framework, platform)
    folder = era.path.parent / LOCKS / era.name
    for path in sorted(folder.glob("*")) if folder.is_dir() else []:
        if path not in expected:
            problems.append(Problem(str(path), 0, 0, f"the era {era.name} has no such environment", remedy="remove the file"))
    return problems


def _check(lock: Lock, era: Era, framework: str, platform: str) -> Iterable[Problem]:
    wanted = heading(era, framework, platform)
    if lock.heading != wanted:
        yield Problem(
            str(lock.path), 1, 1, f"the lock was made from something else than {era.path.name} says", f"not from `{wanted}`", MAKE
        )
    for requirement in era.frameworks[framework][platform]:
        version = lock.version(requirement.name)
        if version is None:
            yield Problem(str(lock.path), 0, 0, f"the lock lacks {requirement.name}", f"{era.path.name} asks for {requirement}", MAKE)
        elif not requirement.specifier.contains(version, prereleases=True):
            line = lock.pins[canonicalize_name(requirement.name)][1]
            yield Problem(str(lock.path), line, 1, f"{requirement.name} is {version}", f"{era.path.name} asks for {requirement}", MAKE)
    if lock.version("numpy") is None:
        yield Problem(str(lock.path), 0, 0, "the lock lacks numpy", "every adapter needs it", f"name it in {era.path.name}")
    for name in ("tensorflow", "tensorflow-macos"):
        version = lock.version(name)
        if version is not None and lock.version(PLUGIN) is not None and Version(version).release >= TOO_NEW:
            line = lock.pins[name][1]
            why = f"no {PLUGIN} loads with TensorFlow {'.'.join(map(str, TOO_NEW))} or newer"
            yield Problem(str(lock.path), line, 1, f"{name} {version} stands beside {PLUGIN}", why, "pin TensorFlow 2.18.1 or older")


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True
