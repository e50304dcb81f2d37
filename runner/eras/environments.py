"""The environments of eras: one for each framework, made whole or not at all, found again, held against their locks, and removed."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import psutil
from packaging.utils import canonicalize_name
from packaging.version import Version

from frameworks import registry
from runner.eras import interpreters, uv
from runner.errors import UserError
from runner.spec.era import PLATFORMS, Era, this_platform
from runner.spec.lock import Lock, lock_path, read_lock

IMPORT_SECONDS = 300.0  # the first import of a framework compiles all of its modules

PASSING = ".h2h-"

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Environment:
    """One framework of one era on this machine, made or not.

    ``place`` is where it is looked for; a link there leads to one that is kept elsewhere.
    """

    era: Era
    framework: str
    lock: Lock
    place: Path

    @property
    def home(self) -> Path:
        """The folder itself."""
        return self.place.resolve()

    @property
    def python(self) -> Path:
        return self.place / "bin" / "python"

    @property
    def made(self) -> bool:
        return (self.place / "pyvenv.cfg").is_file()

    @property
    def title(self) -> str:
        return f"{registry.framework(self.framework).title} of {self.era.name}"

    def differences(self) -> list[str]:
        """How a made environment differs from its lock, in words; nothing where it is as it should be."""
        if not self.python.exists():
            return [f"its interpreter {os.path.realpath(self.python)} is gone"]
        site = self.place / "lib" / f"python{self.era.python}" / "site-packages"
        if not site.is_dir():
            return [f"it is not of Python {self.era.python}"]
        installed = {canonicalize_name(one.name): one.version for one in importlib.metadata.distributions(path=[str(site)])}
        wanted = {name: version for name, (version, _) in self.lock.pins.items()}
        found = [f"{name} {wanted[name]} is missing" for name in wanted if name not in installed]
        found += [
            f"{name} is {version}, not {wanted[name]}"
            for name, version in installed.items()
            if name in wanted and not same_version(version, wanted[name])
        ]
        return sorted(found + [f"{name} {version} is too much" for name, version in installed.items() if name not in wanted])


def same_version(installed: str, wanted: str) -> bool:
    """Whether a version is the one wanted; a build from another index, such as ``2.13.0+cpu``, is."""
    found, asked = Version(installed), Version(wanted)
    return found == asked or (asked.local is None and Version(found.public) == asked)


def folder() -> Path:
    """Where environments are kept and looked for: the cache folder of the user, since each can be made again."""
    return platformdirs.user_cache_path("headtohead") / "eras"


def environments(era: Era, frameworks: tuple[str, ...] = ()) -> list[Environment]:
    """Those of an era on this platform, of all its frameworks where none is named. Raises :class:`UserError`."""
    platform = this_platform()
    if platform is None:
        here = f"{os.uname().sysname} {os.uname().machine}"
        have = " and ".join(PLATFORMS.values())
        hint = "; on Apple silicon, use an arm64 Python" if sys.platform == "darwin" else ""
        raise UserError(f"eras have locks for {have}, not for {here}{hint}")
    for name in frameworks:
        if name not in era.frameworks:
            raise UserError(f"the era {era.name} has no {name}; it has {', '.join(era.frameworks)}")
    found = []
    for name in frameworks or tuple(era.frameworks):
        lock, problems = read_lock(lock_path(era, name, platform))
        if lock is None or problems:
            raise UserError("\n".join(map(str, problems)))
        found.append(Environment(era, name, lock, folder() / era.name / name))
    return found


# --- making -----------------------------------------------------------------------------------------------------------------


def create(environment: Environment, *, into: Path | None = None, python: Path | None = None, tell: Tell) -> bool:
    """Make an environment from its lock, or make it anew where it differs; whether there was anything to do.

    It is built in a folder beside its own and takes its name when it is whole and the framework imports, so that nothing is left of one
    that failed. ``into`` keeps it below another folder, with a link in the usual place. Raises :class:`UserError`.
    """
    place = environment.place
    if place.is_symlink() and not place.exists():
        place.unlink()  # what was kept elsewhere is gone
    home = environment.home if into is None else into.expanduser().resolve() / environment.era.name / environment.framework
    if place.exists() and home != environment.home:
        raise UserError(f"{environment.title} is kept in {place.resolve()}; remove it first: h2h env remove {environment.era.name}")
    if environment.made and not environment.differences():
        return False
    if home.exists() and not (home / "pyvenv.cfg").is_file():
        raise UserError(f"{home} is there already and is no environment; name another folder with --into")
    interpreter = interpreters.find(environment.era.python, python)
    with _parents(home, place) as making:
        tell(f"{environment.title}: {len(environment.lock.pins)} packages for {interpreter}")
        _build(environment, making, interpreter, tell)
        if home.exists():
            _remove(home)
        making.rename(home)
        if home != place:
            place.unlink(missing_ok=True)
            place.symlink_to(home)
    return True


@contextlib.contextmanager
def _parents(home: Path, place: Path) -> Iterator[Path]:
    """The folder to build in, its parents made; after a failure all of that is gone again."""
    making = _passing(home, "new")
    missing = [folder for path in (home, place) for folder in path.parents if not folder.exists()]
    try:
        for path in (home, place):
            path.parent.mkdir(parents=True, exist_ok=True)
            _sweep(path.parent)
        yield making
    except BaseException as error:
        shutil.rmtree(making, ignore_errors=True)
        for made in dict.fromkeys(missing):  # innermost first; one that holds something else by now stays
            with contextlib.suppress(OSError):
                made.rmdir()
        if isinstance(error, uv.UvError) and error.no_room:
            free = shutil.disk_usage(_existing(home)).free / 2**30
            raise UserError(
                f"the disk is full: {free:.1f} GiB are free at {_existing(home)} now that the half-made environment is gone; "
                "make room, or name a folder on another disk with --into (and for uv's cache with UV_CACHE_DIR)"
            ) from None
        if isinstance(error, OSError):
            raise UserError(f"{error.filename or home} cannot be written: {error.strerror}; name another folder with --into") from None
        raise


def _build(environment: Environment, making: Path, interpreter: Path, tell: Tell) -> None:
    def progress(line: str) -> None:
        if line.strip() and not line.startswith((" + ", " - ", " ~ ", "Using", "Resolved", "error", "  ")):
            tell(line.strip())

    uv.run(["venv", "--quiet", "--relocatable", "--python", str(interpreter), str(making)])
    python = making / "bin" / "python"
    uv.run(["pip", "sync", "--no-build", "--python", str(python), str(environment.lock.path)], tell=progress)
    package = registry.framework(environment.framework).package
    try:
        done = subprocess.run(
            [str(python), "-I", "-c", f"import numpy, {package}"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=IMPORT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"{environment.title} was installed, but does not import within {IMPORT_SECONDS:.0f} s") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"])[-1]
        raise UserError(f"{environment.title} was installed, but does not import here: {last[:300]}")


def _passing(home: Path, state: str) -> Path:
    """A folder beside another for a state that passes; its name says whose it is, so that one left behind can be told."""
    return home.with_name(f"{PASSING}{home.name}-{state}.{os.getpid()}")


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _sweep(parent: Path) -> None:
    """Remove what a process that was killed left half made."""
    for left in parent.glob(f"{PASSING}*"):
        owner = left.suffix.lstrip(".")
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(left, ignore_errors=True)


# --- removing ---------------------------------------------------------------------------------------------------------------


def remove(environment: Environment) -> bool:
    """Remove an environment, wherever it is kept; whether there was one. Raises :class:`UserError`."""
    place, home = environment.place, environment.home
    there = environment.made
    try:
        if there:
            _remove(home)
        if place.is_symlink():
            place.unlink()
        for parent in (home.parent, place.parent):
            if parent.is_dir():
                _sweep(parent)
                with contextlib.suppress(OSError):  # others are in it
                    parent.rmdir()
    except OSError as error:
        raise UserError(f"{error.filename or home} cannot be removed: {error.strerror}") from None
    return there


def _remove(home: Path) -> None:
    """It loses its name before its files, so that a removal which is interrupted leaves no half of it under the name."""
    going = _passing(home, "old")
    home.rename(going)
    shutil.rmtree(going)


# --- using ------------------------------------------------------------------------------------------------------------------


def serving(environment: Environment) -> tuple[str | None, str]:
    """The interpreter that has the versions of an era, or None and why there is none.

    It is that of the era's environment or, where there is none, the one at hand if it has the versions that the era pins.
    """
    if environment.made:
        differences = environment.differences()
        if not differences:
            return str(environment.python), ""
        return None, f"{environment.title} differs from its lock: {'; '.join(differences[:3])}"
    if here_as(environment):
        return sys.executable, ""
    return None, f"{environment.title} is not installed"


def here_as(environment: Environment) -> bool:
    """Whether the environment at hand has the versions that the era pins."""
    platform = this_platform()
    assert platform is not None
    for package, wanted in environment.era.versions(environment.framework, platform).items():
        try:
            if not same_version(importlib.metadata.version(package), wanted):
                return False
        except importlib.metadata.PackageNotFoundError:
            return False
    return True
