"""Wheels as files: named by path, found by version in a cache, or downloaded into it with pip when that was asked for."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.errors import UserError

PYTHONS = ("3.10", "3.12", "3.9", "3.13")  # what a library holds does not depend on it; the first for which there is a wheel will do
PLATFORM = "macosx_14_0_arm64"  # pip takes this one and all before it


@dataclass(frozen=True)
class Wheel:
    """A wheel file with what its name says. ``distribution`` is in lower case with hyphens."""

    path: Path
    distribution: str
    version: str


def cache_folder() -> Path:
    """Where downloaded wheels are kept where no folder is named."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headtohead" / "wheels"


def is_path(text: str) -> bool:
    """Whether a person means a wheel file, not a version."""
    return text.endswith(".whl") or "/" in text


def opened(path: Path, distributions: Sequence[str]) -> Wheel:
    """The wheel at a path, which must be one of these distributions. Raises :class:`UserError`."""
    parts = path.name.removesuffix(".whl").split("-")
    if path.suffix != ".whl" or len(parts) < 5:
        raise UserError(f"{path}: is not named like a wheel (NAME-VERSION-PYTHON-ABI-PLATFORM.whl)")
    name = parts[0].lower().replace("_", "-")
    if name not in distributions:
        raise UserError(f"{path}: is a wheel of {name}, and one of {' or '.join(distributions)} is wanted")
    if not path.is_file():
        raise UserError(f"{path}: there is no such file")
    return Wheel(path, name, parts[1])


def find(distribution: str, version: str, cache: Path, download: bool) -> Wheel:
    """The macOS arm64 wheel of a version, from the cache; downloaded into it first where that was asked for and it is not there."""
    pattern = f"{distribution.replace('-', '_')}-{version}-*macosx*.whl"
    found = sorted(cache.glob(pattern))
    if not found and not download:
        raise UserError(f"{distribution} {version} is not in {cache}: --download fetches its wheel, or name the file of one")
    path = found[0] if found else _download(distribution, version, cache, pattern)
    return Wheel(path, distribution, version)


def _download(distribution: str, version: str, cache: Path, pattern: str) -> Path:
    said = ""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="download-", dir=cache) as folder:  # so that the cache never holds half a wheel
            for python in PYTHONS:
                words = ["--no-deps", "--only-binary=:all:", "--platform", PLATFORM, "--python-version", python, "--implementation", "cp"]
                command = [sys.executable, "-m", "pip", "download", "--quiet", *words, "--dest", folder, f"{distribution}=={version}"]
                done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
                if wheels := sorted(Path(folder).glob(pattern)):
                    return wheels[0].rename(cache / wheels[0].name)
                said = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "pip fetched no wheel")
    except OSError as error:
        raise UserError(f"{cache}: wheels cannot be kept there: {error.strerror or error}; --cache names another folder") from error
    raise UserError(f"{distribution} {version} cannot be downloaded for {PLATFORM}: {said}; name the file of a wheel instead")
