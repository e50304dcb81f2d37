"""``h2h env check``: pairs of TensorFlow and plug-in decided by symbols, and the first that is missing explained."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.errors import UserError
from runner.grid import grid
from runner.progress import note_line
from runner.report.text import one_line
from runner.wheels import fetch, packages
from runner.wheels.macho import Library, demangled
from runner.wheels.packages import Package
from runner.wheels.pairing import Pairing, alternatives, pair

# For each plug-in, the newest TensorFlow that its notes or its users name, and that resolves.
PARTNERS = {"0.5.0": "2.9.2", "0.8.0": "2.12.0", "1.0.0": "2.13.0", "1.1.0": "2.16.2", "1.2.0": "2.18.1"}

UNSEEN = (
    "Decided by the names of symbols alone: what a pair computes, and how fast, only a Mac tells. "
    "A pair that loads may still be one that nobody has run."
)


@dataclass(frozen=True)
class Checked:
    """One pair. ``reason`` and ``remedy`` are empty where it loads."""

    tensorflow: str
    plugin: str
    pairing: Pairing
    reason: str = ""
    remedy: str = ""


def run(tensorflows: Sequence[str], plugins: Sequence[str], python: str | None, cache: Path | None, download: bool, format: str) -> int:
    """Check every TensorFlow with every plug-in, or the installed pair where none is named, and print; 0 when all load."""
    folder = cache or fetch.cache_folder()
    if tensorflows or plugins:
        if not (tensorflows and plugins):
            raise UserError("name both --tensorflow and --plugin, or neither to check what is installed")
        if python is not None:
            raise UserError("--python checks what is installed there; leave it out where versions or wheels are named")
        asked = [_named(text, packages.TENSORFLOWS, folder, download) for text in tensorflows]
        metals = [_named(text, packages.PLUGINS, folder, download) for text in plugins]
    else:
        asked, metals = _installed(python or sys.executable)
    results = check(asked, metals)
    print(render(results, format))
    return 0 if all(result.pairing.loads for result in results) else 1


def _named(text: str, distributions: tuple[str, ...], cache: Path, download: bool) -> Package:
    if fetch.is_path(text):
        return packages.of_wheel(fetch.opened(Path(text), distributions))
    if not re.fullmatch(r"\d+(\.\w+)*", text):
        raise UserError(f"{text!r} is neither a version (2.18.1) nor a wheel's file (./NAME.whl)")
    distribution = packages.tensorflow_of(text) if distributions == packages.TENSORFLOWS else distributions[0]
    return packages.of_wheel(fetch.find(distribution, text, cache, download))


def _installed(python: str) -> tuple[list[Package], list[Package]]:
    place = packages.site_packages(python)
    # The empty shells among the distributions have the same name as the real one or stand beside it.
    tensorflow = packages.installed(place, packages.TENSORFLOWS)
    plugin = packages.installed(place, packages.PLUGINS)
    for package, name in ((tensorflow, "tensorflow"), (plugin, "tensorflow-metal")):
        if package is None:
            raise UserError(
                f"{place}: no {name} is installed there, so there is no pair to check; on Apple silicon "
                "pip install 'headtohead[tensorflow]' installs both. --python names another interpreter; --tensorflow and --plugin "
                "name versions or wheels"
            )
    assert tensorflow is not None and plugin is not None
    return [tensorflow], [plugin]


def check(tensorflows: Sequence[Package], plugins: Sequence[Package]) -> list[Checked]:
    """Every pair; each library is read once, one TensorFlow at a time, since they are large."""
    results = []
    with note_line() as say:
        metals = [(plugin, packages.plugin_library(plugin)) for plugin in plugins]
        for tensorflow in tensorflows:
            say(f"reading {tensorflow}")
            libraries = packages.tensorflow_libraries(tensorflow)
            results += [_checked(tensorflow, libraries, plugin, library) for plugin, library in metals]
    return results


def _checked(tensorflow: Package, libraries: Mapping[str, Library], plugin: Package, library: Library) -> Checked:
    pairing = pair(libraries, library)
    if pairing.loads:
        return Checked(str(tensorflow), str(plugin), pairing)
    return Checked(str(tensorflow), str(plugin), pairing, explain(str(tensorflow), libraries, pairing), _remedy(plugin.version))


def explain(tensorflow: str, libraries: Mapping[str, Library], pairing: Pairing) -> str:
    """Why a pair does not load, by the first symbol that stands in the way."""
    if pairing.absent:
        return f"the plug-in links to {pairing.absent[0]}, which is no library of {tensorflow}"
    if not pairing.missing:
        symbol = pairing.misplaced[0]
        return f"the plug-in looks for `{demangled(symbol)}` in a library of {tensorflow} that does not offer it; another one does"
    symbol = pairing.missing[0]
    others = alternatives(libraries, symbol)
    instead = f"; under this name there is only `{others[0]}`" if others else ""
    more = len(pairing.missing) - 1
    counted = f"; {more} more are missing" if more else ""
    if pairing.misplaced:
        counted += f", and {len(pairing.misplaced)} that it has are not where the plug-in looks"
    return f"the plug-in needs `{demangled(symbol)}`, which no library of {tensorflow} defines{instead}{counted}"


def _remedy(plugin: str) -> str:
    version = plugin if plugin in PARTNERS else list(PARTNERS)[-1]
    partner = PARTNERS[version]
    return f"tensorflow-metal {version} loads with {packages.tensorflow_of(partner)} {partner}: pip install " + " ".join(
        (f"{packages.tensorflow_of(partner)}=={partner}", f"tensorflow-metal=={version}")
    )


def render(results: Sequence[Checked], format: str) -> str:
    """The pairs as a table with the reasons below it, or as JSON or CSV with every missing symbol."""
    if format == "json":
        return json.dumps([_record(result) for result in results], indent=2)
    if format == "csv":
        text = io.StringIO()
        records = [{key: " ".join(value) if isinstance(value, list) else value for key, value in _record(r).items()} for r in results]
        writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        return text.getvalue().rstrip("\n")
    rows = [
        [r.tensorflow, r.plugin, str(r.pairing.needed), str(len(r.pairing.missing)), "loads" if r.pairing.loads else "cannot load"]
        for r in results
    ]
    table = grid(["TensorFlow", "plug-in", "symbols needed", "missing", "verdict"], rows, ["left", "left", "right", "right", "left"])
    reasons = [f"- {r.tensorflow} with {r.plugin} cannot load: {one_line(r.reason)}. Remedy: {r.remedy}" for r in results if r.reason]
    return "\n\n".join(filter(None, (table, "\n".join(reasons), UNSEEN)))


def _record(result: Checked) -> dict[str, Any]:
    pairing = result.pairing
    return {
        "tensorflow": result.tensorflow,
        "plugin": result.plugin,
        "needed": pairing.needed,
        "missing": list(pairing.missing),
        "misplaced": list(pairing.misplaced),
        "absent": list(pairing.absent),
        "loads": pairing.loads,
        "reason": result.reason,
        "remedy": result.remedy,
    }
