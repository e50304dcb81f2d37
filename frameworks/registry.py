"""Names to adapters, without importing a framework.

A reference is the name of a built-in framework (``pytorch``), the name of one that an installed distribution offers under the entry-point
group ``headtohead.frameworks``, or ``FOLDER:NAME`` for a Python package in a folder; ``FOLDER`` alone means the only one in it.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from frameworks.contract import Adapter, Framework

BUILT_IN = ("pytorch", "tensorflow")
ENTRY_POINTS = "headtohead.frameworks"


class UnknownFramework(LookupError):
    """No adapter answers to the reference; the message names those that exist."""


def names() -> list[str]:
    """The references that work everywhere on this machine: built-in ones first, then installed ones."""
    return [*BUILT_IN, *sorted(set(_entry_points()) - set(BUILT_IN))]


def framework(reference: str) -> Framework:
    """The facts behind a reference. Raises :class:`UnknownFramework`."""
    return _find(reference)[1]


def adapter(reference: str) -> Adapter:
    """The adapter behind a reference; imports its framework, so this is for the child only."""
    package, facts = _find(reference)
    module_name, _, class_name = facts.adapter.partition(":")
    module = importlib.import_module(f"{package.__name__}.{module_name}")
    made: Adapter = getattr(module, class_name)()
    return made


def portable(reference: str) -> str:
    """The reference as it must be said from another working directory."""
    folder, _, name = reference.partition(":")
    return ":".join(filter(None, (str(Path(folder).resolve()), name))) if _is_folder(folder) else reference


def _find(reference: str) -> tuple[ModuleType, Framework]:
    folder, _, wanted = reference.partition(":")
    if reference in BUILT_IN:
        package, wanted = importlib.import_module(f"frameworks.{reference}"), reference
    elif reference in _entry_points():
        package, wanted = importlib.import_module(_entry_points()[reference]), reference
    elif _is_folder(folder):
        package = _load_folder(Path(folder).resolve())
    else:
        raise UnknownFramework(
            f"no framework is called {reference!r}; there are {', '.join(names())}, or name the folder of an adapter's package"
        )
    offered: tuple[Framework, ...] = package.FRAMEWORKS
    matching = [facts for facts in offered if facts.name == wanted] if wanted else list(offered)
    if len(matching) != 1:
        raise UnknownFramework(f"{reference!r} must name one of {', '.join(facts.name for facts in offered)}")
    return package, matching[0]


def _entry_points() -> dict[str, str]:
    return {point.name: point.value for point in importlib.metadata.entry_points(group=ENTRY_POINTS)}


def _is_folder(name: str) -> bool:
    return ("/" in name or name in (".", "..")) and (Path(name) / "__init__.py").is_file()


def _load_folder(folder: Path) -> ModuleType:
    """Import a folder as a package under a name that cannot collide with an installed one."""
    name = f"_headtohead_adapter_{folder.name}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
