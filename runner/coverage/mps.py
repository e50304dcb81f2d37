"""The kernel table of each version of PyTorch: read from a small file, from the installed torch, or out of a wheel of any platform.

Every torch wheel carries ``native_functions.yaml``, from which its operators are generated (aten/src/ATen/native/README.md explains it).
An operator there names the keys that have a kernel. One with an MPS kernel is ``mps``; one that is made of other operators (Composite...)
is ``composite``; one that takes the kernel of its out variant (``structured_delegate``) is what that is; the rest is ``missing``.
"""

from __future__ import annotations

import gzip
import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from runner.errors import UserError
from runner.wheels import fetch, packages

FACTS = Path(__file__).parent / "facts"
TABLE = "torchgen/packaged/ATen/native/native_functions.yaml"
State = Literal["mps", "composite", "missing"]


@dataclass(frozen=True)
class Torch:
    """``operators`` by their name with overload, as ``add.Tensor``."""

    version: str
    operators: Mapping[str, State]

    @property
    def numbers(self) -> tuple[int, int]:
        """Major and minor version."""
        major, minor, *_ = self.version.split(".")
        return int(major), int(minor)

    def state(self, operator: str) -> State | None:
        """None for an operator that this version does not have."""
        return self.operators.get(operator)


def known() -> list[str]:
    """Versions whose facts come along, oldest first."""
    found = (path.name.removeprefix("torch-").removesuffix(".txt.gz") for path in FACTS.glob("torch-*.txt.gz"))
    return sorted(found, key=lambda version: [int(number) for number in version.split(".")])


def torch(asked: str | None) -> Torch:
    """By version, by the path of a wheel, or, for None, the installed one, the newest known where none is. Raises :class:`UserError`."""
    if asked is None:
        return _installed() or torch(known()[-1])
    if fetch.is_path(asked):
        wheel = fetch.opened(Path(asked), ("torch",))
        with packages.member(wheel, TABLE) as text:
            return Torch(wheel.version.partition("+")[0], states(_parsed(text, str(wheel.path))))
    if asked not in known():
        raise UserError(f"nothing is known of torch {asked}: there are {', '.join(known())}; --torch takes a wheel's path too")
    return Torch(asked, operators_of(gzip.decompress((FACTS / f"torch-{asked}.txt.gz").read_bytes()).decode()))


def _installed() -> Torch | None:
    """The torch of this interpreter, which is looked at and not imported."""
    spec = importlib.util.find_spec("torchgen")
    if spec is None or spec.origin is None:
        return None
    from importlib import metadata

    path = Path(spec.origin).parent.parent / TABLE
    version = metadata.version("torch").partition("+")[0]
    if version in known():
        return torch(version)
    try:
        return Torch(version, states(_parsed(path.read_bytes(), str(path))))
    except OSError:
        return None


def _parsed(text: bytes, where: str) -> list[Mapping[str, Any]]:
    import yaml

    try:
        found: list[Mapping[str, Any]] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise UserError(f"{where}: is no table of operators: {error}") from error
    return found


def states(functions: Iterable[Mapping[str, Any]]) -> dict[str, State]:
    """The state of every operator of a table."""
    entries = {entry["func"].partition("(")[0]: entry for entry in functions}
    found: dict[str, State] = {name: _state(entry, entries) for name, entry in entries.items()}
    for entry in entries.values():  # variants that are generated from another: they call it and copy
        for name in entry.get("autogen", "").split(","):
            if name.strip():
                found.setdefault(name.strip(), "composite")
    return found


def _state(entry: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]]) -> State:
    if "structured_delegate" in entry:
        return _state(entries[entry["structured_delegate"]], entries)
    keys = {key.strip() for names in entry.get("dispatch", {"CompositeImplicitAutograd": ""}) for key in names.split(",")}
    if "MPS" in keys:
        return "mps"
    return "composite" if any(key.startswith("Composite") for key in keys) else "missing"


def text_of(version: str, operators: Mapping[str, State]) -> str:
    """A table as a file of facts."""
    lines = [f"# Operators of torch {version}: those with an MPS kernel, those made of others, and those with neither."]
    for state in ("mps", "composite", "missing"):
        lines += [f"[{state}]", *sorted(name for name, found in operators.items() if found == state)]
    return "\n".join(lines) + "\n"


def operators_of(text: str) -> dict[str, State]:
    """The inverse of :func:`text_of`."""
    found: dict[str, State] = {}
    state: Any = None
    for line in text.splitlines():
        if line.startswith("["):
            state = line.strip("[]")
        elif line and not line.startswith("#"):
            found[line] = state
    return found
