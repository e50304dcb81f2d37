"""Interpreters with packages made up for a test: metadata of any distribution, modules that misbehave, and a processor of choice."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy

LAUNCHER = """\
import platform, runpy, sys
sys.path[:] = [{site!r}, *[folder for folder in sys.path if "site-packages" not in folder and folder != {home!r}]]
platform.machine = lambda: {machine!r}
how, what, *rest = sys.argv[1:]
if how == "-c":
    sys.version_info = {version!r}
    sys.argv = ["-c", *rest]
    exec(compile(what, "<string>", "exec"), {{"__name__": "__main__"}})
else:
    sys.path.insert(0, "")
    sys.argv = [what, *rest]
    runpy.run_module(what, run_name="__main__", alter_sys=True)
"""


@dataclass(frozen=True)
class Dist:
    """A distribution as its metadata has it."""

    version: str
    requires: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


def python(
    folder: Path,
    packages: Mapping[str, Dist],
    modules: Mapping[str, str] | None = None,
    *,
    machine: str = "arm64",
    version: tuple[int, ...] = (3, 11, 7),
    files: Iterable[str] = (),
) -> str:
    """The path of an interpreter that has these packages, these modules (source by name), empty ``files``, and NumPy."""
    site = folder / "site"
    site.mkdir(parents=True)
    for name, package in packages.items():
        write_metadata(site, name, package)
    for name, source in (modules or {}).items():
        home = site / name
        home.mkdir()
        (home / "__init__.py").write_text(source)
    if "numpy" not in (modules or {}):
        real = Path(numpy.__file__).parent
        for linked in (real, real.parent / "numpy.libs"):
            if linked.exists():
                (site / linked.name).symlink_to(linked)
    for file in files:
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        (site / file).touch()
    launcher = folder / "launch.py"
    launcher.write_text(LAUNCHER.format(site=str(site), home=str(folder), machine=machine, version=version))
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {launcher} "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def write_metadata(site: Path, name: str, package: Dist) -> None:
    """A ``dist-info`` folder."""
    info = site / f"{name.replace('-', '_')}-{package.version}.dist-info"
    info.mkdir()
    requires = "".join(f"Requires-Dist: {text}\n" for text in package.requires)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {package.version}\n{requires}")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\n" + "".join(f"Tag: {tag}\n" for tag in package.tags))
