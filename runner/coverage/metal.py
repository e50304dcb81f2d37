"""The kernels of each version of tensorflow-metal: read from a small file, or out of a wheel.

The files in ``facts`` are written by :func:`text_of` from what :mod:`runner.wheels.emulate` finds; one line is an operation with the types
that its attributes may have, in every combination: ``Cast SrcT=float,half DstT=float,half``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.errors import UserError
from runner.wheels import fetch, packages
from runner.wheels.emulate import Kernel, registered

FACTS = Path(__file__).parent / "facts"
Types = Mapping[str, str]


@dataclass(frozen=True)
class Plugin:
    """``kernels`` holds for each operation the combinations of types that it has a kernel for."""

    version: str
    kernels: Mapping[str, tuple[Types, ...]]

    def has(self, operation: str, types: Types) -> bool:
        """Whether a kernel takes these types. Attributes that a kernel says nothing of may have any."""
        return any(all(types.get(name, kind) == kind for name, kind in kernel.items()) for kernel in self.kernels.get(operation, ()))


def known() -> list[str]:
    """Versions whose facts come along, oldest first."""
    return sorted((path.stem.removeprefix("metal-") for path in FACTS.glob("metal-*.txt")), key=lambda v: [int(n) for n in v.split(".")])


def plugin(asked: str) -> Plugin:
    """By version or by the path of a wheel. Raises :class:`UserError`."""
    if fetch.is_path(asked):
        wheel = fetch.opened(Path(asked), packages.PLUGINS)
        with packages.plugin_file(packages.of_wheel(wheel)) as path:
            return Plugin(wheel.version, _grouped(registered(path)))
    path = FACTS / f"metal-{asked}.txt"
    if asked not in known():
        raise UserError(f"nothing is known of tensorflow-metal {asked}: there are {', '.join(known())}; --plugin takes a wheel's path too")
    return Plugin(asked, _grouped(kernels_of(path.read_text(encoding="utf-8"))))


def _grouped(kernels: Iterable[Kernel]) -> dict[str, tuple[Types, ...]]:
    found: dict[str, list[Types]] = {}
    for operation, types in kernels:
        found.setdefault(operation, []).append(dict(types))
    return {operation: tuple(each) for operation, each in found.items()}


def kernels_of(text: str) -> list[Kernel]:
    """The inverse of :func:`text_of`."""
    found: list[Kernel] = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        operation, *attributes = line.split()
        names = [attribute.partition("=")[0] for attribute in attributes]
        choices = [attribute.partition("=")[2].split(",") for attribute in attributes]
        found += [(operation, tuple(zip(names, types, strict=True))) for types in itertools.product(*choices)]
    return found


def text_of(version: str, kernels: Iterable[Kernel]) -> str:
    """Kernels as a file of facts: sorted, combinations of types written as products where they are such."""
    groups: dict[tuple[str, tuple[str, ...]], set[tuple[str, ...]]] = {}
    for operation, types in kernels:
        groups.setdefault((operation, tuple(name for name, _ in types)), set()).add(tuple(kind for _, kind in types))
    lines = [f"# Kernels that tensorflow-metal {version} registers for the GPU, by operation and types."]
    for (operation, names), combinations in sorted(groups.items()):
        for product in _products(combinations):
            lines.append(" ".join([operation, *(f"{name}={','.join(sorted(kinds))}" for name, kinds in zip(names, product, strict=True))]))
    return "\n".join(lines) + "\n"


def _products(combinations: set[tuple[str, ...]]) -> list[list[set[str]]]:
    """The combinations as one product, or, where they are none, a product for each choice of all but the first."""
    columns = [set(column) for column in zip(*combinations, strict=True)]
    whole = 1
    for column in columns:
        whole *= len(column)
    if whole == len(combinations):
        return [columns]
    rest: dict[tuple[str, ...], set[str]] = {}
    for first, *others in combinations:
        rest.setdefault(tuple(others), set()).add(first)
    return [[firsts, *({kind} for kind in others)] for others, firsts in sorted(rest.items())]
