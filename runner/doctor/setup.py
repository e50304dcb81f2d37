"""What the doctor looks at, gathered without importing a framework: rules read it and measure nothing themselves."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from frameworks import registry
from runner import environment
from runner.launch import Limits
from runner.machine import chip, commands, conditions, mac
from runner.probe import Found, probe
from runner.records import Machine

MAC_PROGRAMS = ("sysctl", "sw_vers", "pmset", "system_profiler", "ioreg", "notifyutil", "caffeinate")

CENSUS_SECONDS = 60.0


@dataclass(frozen=True)
class Package:
    """An installed distribution; ``copies`` counts the folders that claim to be it."""

    version: str
    requires: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    copies: int = 1


@dataclass(frozen=True)
class Interpreter:
    """A Python that frameworks run in; ``failure`` says why it did not answer."""

    path: str
    version: tuple[int, ...] = ()
    machine: str = ""
    packages: Mapping[str, Package] = field(default_factory=dict)
    openmp: tuple[str, ...] = ()
    failure: str = ""

    def installed(self, *names: str) -> tuple[str, Package] | None:
        """The first of these distributions that it has."""
        return next(((name, self.packages[name]) for name in names if name in self.packages), None)


@dataclass(frozen=True)
class Place:
    """A folder that a run writes to: ``free`` bytes, None where nobody tells."""

    what: str
    path: str
    writable: bool
    free: int | None


@dataclass(frozen=True)
class Setup:
    """Everything that rules may ask. ``shell`` holds significant variables of the caller's shell that no child is given, ``given`` those
    that a child is, by ``--env`` or because they are needed to run at all; ``missing`` names programs of macOS that are not there."""

    platform: str
    machine: Machine
    interpreters: Mapping[str, Interpreter]
    found: Mapping[str, Found]
    apple_silicon: bool = False
    virtual: bool = False
    system_version: tuple[int, ...] | None = None
    cores: tuple[int | None, int | None] = (None, None)
    conditions: Mapping[str, Any] = field(default_factory=dict)
    shell: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    places: Sequence[Place] = ()
    missing: Sequence[str] = ()


def gather(references: Sequence[str], pythons: Mapping[str, str], extra: Mapping[str, str], into: Path, limits: Limits) -> Setup:
    """Look at this machine; ``pythons`` maps names of frameworks to interpreters, ``extra`` are variables for children, ``into`` the
    folder of results. Takes as long as the frameworks need for their import."""
    on_mac = sys.platform == "darwin"
    paths = {name: pythons.get(name, sys.executable) for name in map(_name, references)}
    censuses = {path: census(path) for path in dict.fromkeys(paths.values())}
    with tempfile.TemporaryDirectory(prefix="h2h-") as logs:
        answers = probe(references, pythons, extra, Path(logs), sys.executable, limits)
    return Setup(
        platform=sys.platform,
        machine=chip.describe(),
        interpreters={name: censuses[path] for name, path in paths.items()},
        found={found.facts.name: found for found in answers.values()},
        apple_silicon=on_mac and mac.apple_silicon(),
        virtual=on_mac and mac.virtual(),
        system_version=mac.version() if on_mac else None,
        cores=mac.cores() if on_mac else (None, None),
        conditions=conditions.now(),
        shell={name: os.environ[name] for name in (*environment.withheld(extra), *_loader_variables("PYTHONPATH"))},
        given={**{name: os.environ[name] for name in _loader_variables("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")}, **extra},
        places=(place("results", into), place("temporary files", Path(tempfile.gettempdir()))),
        missing=tuple(name for name in MAC_PROGRAMS if _where(name) is None) if on_mac else (),
    )


def _name(reference: str) -> str:
    return registry.framework(reference).name


def _loader_variables(*names: str) -> list[str]:
    return [name for name in names if os.environ.get(name)]


def _where(program: str) -> str | None:
    return shutil.which(program) or shutil.which(program, path=os.pathsep.join(commands.SYSTEM_FOLDERS) or os.devnull)


def census(python: str) -> Interpreter:
    """Ask an interpreter for its packages, in a child that imports none of them."""
    text = (Path(__file__).parent / "census.py").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="h2h-") as private:
        variables = environment.build(Path(private), {}, None, {})
        try:
            done = subprocess.run(
                [python, "-c", text],
                cwd=private,
                env=variables,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=CENSUS_SECONDS,
                check=False,
            )
            said = json.loads(done.stdout)
        except subprocess.TimeoutExpired:
            return Interpreter(python, failure=f"it did not answer within {CENSUS_SECONDS:.0f} s")
        except OSError as error:
            return Interpreter(python, failure=f"it cannot be started: {error.strerror}")
        except ValueError:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            return Interpreter(python, failure=lines[-1][:200] if lines else f"it ended with status {done.returncode}")
    packages = {
        name: Package(one["version"], tuple(one["requires"]), tuple(one["tags"]), one["copies"]) for name, one in said["packages"].items()
    }
    return Interpreter(python, tuple(said["version"]), said["machine"], packages, tuple(said["openmp"]))


def place(what: str, path: Path) -> Place:
    """Whether a folder, or the nearest above it that exists, takes a file, and how much room is left there."""
    folder = path.expanduser().absolute()
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    writable, free = False, None
    with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=folder):
        writable = True
    with contextlib.suppress(OSError):
        free = shutil.disk_usage(folder).free
    return Place(what, str(path), writable, free)
