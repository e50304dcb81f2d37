"""YAML as a tree whose every value knows its place in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from runner.spec.problems import Problem, SpecError

Plain: TypeAlias = "str | int | float | bool | None"


@dataclass(frozen=True, eq=False)
class YamlScalar:
    """One value; ``raw`` is what the file says, ``line`` and ``column`` count from 1."""

    value: Plain
    raw: str
    line: int
    column: int


@dataclass(frozen=True, eq=False)
class YamlList:
    items: tuple[Tree, ...]
    line: int
    column: int


@dataclass(frozen=True, eq=False)
class YamlMap:
    """Values by key, in the order of the file, and the place of each key."""

    values: Mapping[str, Tree]
    keys: Mapping[str, YamlScalar]
    line: int
    column: int

    def without(self, *names: str) -> YamlMap:
        return YamlMap({key: value for key, value in self.values.items() if key not in names}, self.keys, self.line, self.column)


Tree: TypeAlias = YamlScalar | YamlList | YamlMap


def described(tree: Tree) -> str:
    """What stands in the file, for "..., got ..."."""
    if isinstance(tree, YamlList):
        return "a list"
    if isinstance(tree, YamlMap):
        return "keys and values"
    value, raw = tree.value, tree.raw
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        said = f"the boolean {str(value).lower()}"
        read_so = raw.lower() != str(value).lower()
    elif isinstance(value, str):
        return f"the text {shortened(value)!r}" + (f" (from `{shortened(raw)}`)" if raw.startswith("$") and raw != value else "")
    else:
        said = f"the number {value}"
        read_so = raw != str(value)
    if raw.startswith("$"):
        return f"{said} (from `{shortened(raw)}`)"
    return f"{said}: YAML reads `{shortened(raw)}` so" if read_so else said


def shortened(text: str, length: int = 60) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."


def scalars(tree: Tree, key: str = "") -> Iterator[tuple[str, YamlScalar]]:
    """All scalars below, each with the nearest key above it."""
    if isinstance(tree, YamlScalar):
        yield key, tree
    elif isinstance(tree, YamlList):
        for item in tree.items:
            yield from scalars(item, key)
    else:
        for name, value in tree.values.items():
            yield from scalars(value, name)


@dataclass
class Collector:
    """Gathers the problems of one file, so that a person sees all of them at once. ``circumstance`` says which variant is being checked."""

    path: str
    circumstance: str = ""
    problems: list[Problem] = field(default_factory=list)

    def add(self, at: Tree | None, what: str, why: str = "", remedy: str = "") -> None:
        why = "; ".join(filter(None, (why, self.circumstance)))
        self.problems.append(Problem(self.path, at.line if at else 0, at.column if at else 0, what, why, remedy))

    def fail(self, at: Tree | None, what: str, why: str = "", remedy: str = "") -> SpecError:
        """The error to raise when nothing after this fault could be judged."""
        self.add(at, what, why, remedy)
        return SpecError(self.problems)

    def check(self) -> None:
        """Raises :class:`SpecError` if anything was wrong so far."""
        if self.problems:
            raise SpecError(self.problems)
