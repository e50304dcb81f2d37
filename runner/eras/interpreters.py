"""The interpreter that an era asks for: named, on the PATH, through pyenv, or among uv's own. None is ever downloaded."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from runner.eras import uv
from runner.errors import UserError
from runner.machine.commands import ask

_ABOUT = "import platform; print(platform.python_version(), platform.machine(), platform.python_implementation())"


def find(version: str, named: Path | None = None) -> Path:
    """An interpreter of this version (``3.10``) for this machine's processor. Raises :class:`UserError`, which says what to do."""
    if named is not None:
        path = Path(shutil.which(named.expanduser()) or named.expanduser().absolute())
        if (reason := unfit(path, version)) is not None:
            raise UserError(f"{named} {reason}")
        return path
    for path in _candidates(version):
        if unfit(path, version) is None:
            return path
    raise UserError(
        f"there is no Python {version} on the PATH, in pyenv or among uv's own; install one (`uv python install {version}`, "
        f"`pyenv install {version}`) or name one with --python"
    )


def unfit(path: Path, version: str) -> str | None:
    """Why an interpreter cannot serve, as the end of a sentence that begins with its name; None where it can."""
    said = ask([str(path), "-I", "-c", _ABOUT], timeout=30.0)
    if said is None or len(said.split()) != 3:
        return "is no working Python"
    found, machine, implementation = said.split()
    if implementation != "CPython":
        return f"is {implementation}, for which the frameworks have no wheels"
    if found.split(".")[:2] != version.split("."):
        return f"is Python {found}, and Python {version} is needed"
    if machine != platform.machine():
        return f"is built for {machine}, and {platform.machine()} is needed"
    return None


def _candidates(version: str) -> Iterator[Path]:
    """Where such an interpreter may be, what takes no other program to find first."""
    yield Path(sys.executable)
    for folder in os.get_exec_path():
        for name in (f"python{version}", "python3"):
            if (path := Path(folder) / name).is_file():
                yield path
    pyenv = shutil.which("pyenv") or str(Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "bin" / "pyenv")
    if (prefix := ask([pyenv, "prefix", version])) is not None:
        yield Path(prefix.split(os.pathsep)[0]) / "bin" / "python"
    own = ask([uv.binary(), "python", "find", version, "--managed-python", "--no-python-downloads", "--no-config"], timeout=30.0)
    if own is not None:
        yield Path(own)
