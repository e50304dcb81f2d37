"""The libraries of a TensorFlow or a plug-in, out of a wheel or out of an installed environment."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from runner.errors import UserError
from runner.wheels import macho
from runner.wheels.fetch import Wheel
from runner.wheels.macho import Library
from runner.wheels.pairing import ENTRY

TENSORFLOWS = ("tensorflow", "tensorflow-macos")
PLUGINS = ("tensorflow-metal",)
PLUGIN_LIBRARY = "libmetal_plugin.dylib"
_SUFFIXES = (".so", ".dylib")


@dataclass(frozen=True)
class Package:
    """One distribution: a wheel, or what is installed in a ``site-packages`` folder."""

    distribution: str
    version: str
    place: Path

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"


def of_wheel(wheel: Wheel) -> Package:
    """A wheel as a package."""
    return Package(wheel.distribution, wheel.version, wheel.path)


def installed(site_packages: Path, distributions: tuple[str, ...]) -> Package | None:
    """The first of these distributions that is installed there with files of its own, nothing imported."""
    for distribution in distributions:
        for folder in sorted(site_packages.glob(f"{distribution.replace('-', '_')}-*.dist-info")):
            return Package(distribution, folder.name.removesuffix(".dist-info").rpartition("-")[2], site_packages)
    return None


def site_packages(python: str) -> Path:
    """Where an interpreter's packages are. Raises :class:`UserError`."""
    code = "import sysconfig; print(sysconfig.get_path('platlib'))"
    try:
        done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(f"{python}: is no Python interpreter that runs here: {error}") from error
    return Path(done.stdout.strip())


def tensorflow_libraries(package: Package) -> dict[str, Library]:
    """What is in the process once TensorFlow is imported, by file name: its entry and all that this links to, through others too."""
    found: dict[str, Library] = {}
    with _library_files(package, "tensorflow") as files:
        if ENTRY not in files:
            hint = " of its own: its wheel only asks for tensorflow" if package.distribution == "tensorflow-macos" else ""
            raise UserError(f"{package.place}: {package} has no {ENTRY}{hint}")
        waiting = [ENTRY]
        while waiting:
            name = waiting.pop()
            if name not in found and name in files:
                with files[name].on_disk() as path:
                    found[name] = macho.read(path)
                waiting += found[name].links
    return found


def plugin_library(package: Package) -> Library:
    """The plug-in's own library."""
    with plugin_file(package) as path:
        return macho.read(path)


@contextlib.contextmanager
def plugin_file(package: Package) -> Iterator[Path]:
    """The plug-in's own library as a file, for as long as the context lasts."""
    with _library_files(package, "tensorflow-plugins") as files:
        if PLUGIN_LIBRARY not in files:
            raise UserError(f"{package.place}: {package} has no {PLUGIN_LIBRARY}")
        with files[PLUGIN_LIBRARY].on_disk() as path:
            yield path


@contextlib.contextmanager
def member(wheel: Wheel, name: str) -> Iterator[bytes]:
    """The bytes of one file of a wheel. Raises :class:`UserError` where it has none of this name."""
    with _archive(wheel.path) as archive:
        try:
            yield archive.read(name)
        except KeyError as error:
            raise UserError(f"{wheel.path}: has no {name}") from error


@dataclass(frozen=True)
class _File:
    """A library in an archive, or a plain file."""

    name: str
    archive: zipfile.ZipFile | None = None
    path: Path | None = None

    @contextlib.contextmanager
    def on_disk(self) -> Iterator[Path]:
        if self.path is not None:
            yield self.path
            return
        assert self.archive is not None
        with tempfile.TemporaryDirectory(prefix="h2h-") as folder:
            path = Path(folder) / PurePosixPath(self.name).name
            with self.archive.open(self.name) as packed, path.open("wb") as file:
                shutil.copyfileobj(packed, file, 1 << 20)
            yield path


@contextlib.contextmanager
def _library_files(package: Package, top: str) -> Iterator[Mapping[str, _File]]:
    """The libraries below a package's top folder by their file names."""
    if package.place.is_dir():
        paths = sorted((package.place / top).rglob("*"))
        yield {path.name: _File(path.name, path=path) for path in paths if path.suffix in _SUFFIXES}
        return
    with _archive(package.place) as archive:
        names = [name for name in archive.namelist() if name.startswith(f"{top}/") and name.endswith(_SUFFIXES)]
        yield {PurePosixPath(name).name: _File(name, archive) for name in names}


@contextlib.contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (OSError, zipfile.BadZipFile) as error:
        raise UserError(f"{path}: cannot be read as a wheel: {error}; download it again") from error


def tensorflow_of(version: str) -> str:
    """The distribution that holds TensorFlow of this version for Apple silicon: a name of its own before 2.16."""
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    return "tensorflow-macos" if numbers < [2, 16] else "tensorflow"
