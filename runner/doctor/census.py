"""What an interpreter has, from the metadata of its packages alone. Its text is run there by ``-c``: the standard library of 3.8 is enough.

Prints one JSON object: ``version``, ``machine``, ``packages`` by normalised name with ``version``, ``requires``, ``tags`` of its wheel and
``copies`` (how many folders claim to be it), and ``openmp``, the OpenMP runtimes beside a framework as ``package/lib/file``.
"""

from __future__ import annotations

import json
import platform
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

DETAILED = ("torch", "tensorflow", "tensorflow-cpu", "tensorflow-macos", "tensorflow-metal", "keras", "tf-keras", "numpy")


def packages() -> dict[str, dict[str, Any]]:
    """Every distribution; requirements and wheel tags of those that decide whether a framework works."""
    found: dict[str, dict[str, Any]] = {}
    for distribution in metadata.distributions():
        try:
            name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()
        except (KeyError, TypeError):  # the rest of a package that was removed by hand
            continue
        if name in found:
            found[name]["copies"] += 1
            continue
        detailed = name in DETAILED
        found[name] = {
            "version": str(distribution.version),
            "requires": list(distribution.requires or ()) if detailed else [],
            "tags": re.findall(r"^Tag: (\S+)", distribution.read_text("WHEEL") or "", re.M) if detailed else [],
            "copies": 1,
        }
    return found


def openmp() -> list[str]:
    """Files that are an OpenMP runtime, where one of the frameworks would load it from."""
    homes = [Path(folder) / package for folder in sys.path for package in ("torch", "tensorflow", "numpy", "numpy.libs")]
    folders = [*(home / inner for home in homes for inner in ("", "lib", ".dylibs", ".libs")), Path(sys.prefix, "lib")]
    runtime = re.compile(r"lib(omp|iomp5|gomp)([-.].*)?\.(dylib|so)")
    files = {file.resolve(): file for folder in folders for file in folder.glob("lib*omp*") if runtime.match(file.name)}
    return sorted("/".join(file.parts[-3:]) for file in files.values())


if __name__ == "__main__":
    said = {"version": list(sys.version_info[:3]), "machine": platform.machine(), "packages": packages(), "openmp": openmp()}
    print(json.dumps(said))
