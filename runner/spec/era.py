"""An era: which versions of each framework belong to one time, in a YAML file as closed as a workload's."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from platform import machine
from typing import Annotated, ClassVar

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from pydantic import PlainValidator, WithJsonSchema

from frameworks import registry
from runner.spec import catalog
from runner.spec.loader import load
from runner.spec.problems import did_you_mean
from runner.spec.schema import Settings, check_keys, read
from runner.spec.tree import Collector, Tree, YamlList, YamlMap, described, shortened
from runner.spec.values import FileName, Raw, Text, Wrong, text

PLATFORMS = {"macos-arm64": "macOS on Apple silicon", "linux-x86_64": "Linux on x86-64"}
"""The platforms that have locks, and what they are called in a sentence."""


def this_platform() -> str | None:
    """The platform of this machine, None where eras have no locks for it."""
    system = {"darwin": "macos"}.get(sys.platform, sys.platform)
    here = f"{system}-{machine()}"
    return here if here in PLATFORMS else None


@dataclass(frozen=True)
class Era:
    """One checked era file. ``frameworks`` holds what each framework's environment is asked for, by framework and by platform.

    ``python`` is ``3.10``; ``until`` the day after which nothing may have been released, ``constraints`` a file of pins that hold
    for all environments; None where the file does not say.
    """

    name: str
    title: str
    source: str
    path: Path
    python: str
    until: str | None
    constraints: Path | None
    frameworks: Mapping[str, Mapping[str, tuple[Requirement, ...]]]

    def versions(self, framework: str, platform: str) -> dict[str, str]:
        """The packages that the file pins exactly, in its order: those that the era is about."""
        pinned = self.frameworks.get(framework, {}).get(platform, ())
        return {canonicalize_name(one.name): version for one in pinned if (version := exact_version(one)) is not None}


def exact_version(requirement: Requirement) -> str | None:
    """The one version that a requirement allows; None where it allows several."""
    clauses = list(requirement.specifier)
    if len(clauses) == 1 and clauses[0].operator == "==" and not clauses[0].version.endswith("*"):
        return clauses[0].version
    return None


def _python(tree: Tree) -> str:
    try:
        version = text(tree)
    except Wrong as wrong:
        raise Wrong(tree, wrong.what, 'write the version in quotes, such as `"3.10"`: as a number, 3.10 is 3.1') from None
    if not re.fullmatch(r"3\.[0-9]{1,2}", version):
        raise Wrong(tree, f"must be major and minor version of Python, got {shortened(version)!r}", 'such as `"3.10"`')
    return version


def _day(tree: Tree) -> str:
    said = text(tree)
    try:
        return date.fromisoformat(said).isoformat()
    except ValueError:
        raise Wrong(tree, f"must be a day, got {shortened(said)!r}", "such as `2022-08-31`") from None


class EraModel(Settings):
    """The top level of an era file."""

    hints: ClassVar[dict[str, str]] = {
        "name": "give the era a name, such as `name: 2022-05`",
        "python": 'name the version of Python, such as `python: "3.10"`',
        "frameworks": "name what each environment holds, such as `pytorch: {all: [torch==1.12.1]}`",
    }

    name: FileName
    title: Text = ""
    source: Text = ""
    python: Annotated[str, PlainValidator(_python), WithJsonSchema({"type": "string"})]
    until: Annotated[str | None, PlainValidator(_day), WithJsonSchema({"type": "string", "format": "date"})] = None
    constraints: Text | None = None
    frameworks: Raw


def load_era(name: Path | str) -> Era:
    """The era of a file, or of a name in the library. Raises :class:`SpecError`."""
    found = catalog.find_era(name)
    return read_era(load(found), found)


def read_era(tree: YamlMap, path: Path) -> Era:
    """The era of a tree that was read from ``path``. Raises :class:`SpecError`."""
    problems = Collector(str(path))
    model = read(EraModel, tree, "an era", problems)
    frameworks = _frameworks(tree.values["frameworks"], problems) if "frameworks" in tree.values else {}
    constraints = None
    if model is not None and model.constraints is not None:
        constraints = path.parent / model.constraints
        if not constraints.is_file():
            problems.add(tree.values["constraints"], f"there is no file {constraints}")
    problems.check()
    assert model is not None
    return Era(model.name, model.title or model.name, model.source, path, model.python, model.until, constraints, frameworks)


def _frameworks(tree: Tree, problems: Collector) -> dict[str, dict[str, tuple[Requirement, ...]]]:
    if not isinstance(tree, YamlMap) or not tree.values:
        problems.add(tree, f"`frameworks` must name at least one, got {described(tree)}", remedy=EraModel.hints["frameworks"])
        return {}
    found = {}
    for name, body in tree.values.items():
        if name not in registry.names():
            problems.add(tree.keys[name], f"there is no framework `{shortened(name)}`", remedy=did_you_mean(name, registry.names()))
        elif not isinstance(body, YamlMap):
            problems.add(body, f"`{name}` must be keys and values, got {described(body)}", remedy="such as `{all: [torch==1.12.1]}`")
        else:
            found[name] = _platforms(name, body, problems)
    return found


def _platforms(framework: str, tree: YamlMap, problems: Collector) -> dict[str, tuple[Requirement, ...]]:
    """What one framework's environment needs on each platform: what all need, and what this one does."""
    check_keys(("all", *PLATFORMS), tree, f"`{framework}`", problems)
    lists = {key: _requirements(key, tree.values[key], problems) for key in ("all", *PLATFORMS) if key in tree.values}
    found = {}
    for platform in PLATFORMS:
        asked = found[platform] = (*lists.get(platform, ()), *lists.get("all", ()))
        if not any(exact_version(requirement) for requirement in asked):
            problems.add(tree, f"`{framework}` pins no package for {platform}", remedy="name the framework's own version with `==`")
        names = [canonicalize_name(requirement.name) for requirement in asked]
        for name in sorted({name for name in names if names.count(name) > 1}):
            problems.add(tree, f"`{framework}` asks twice for {name} on {platform}", remedy="keep one of them")
    return found


def _requirements(key: str, tree: Tree, problems: Collector) -> tuple[Requirement, ...]:
    if not isinstance(tree, YamlList) or not tree.items:
        problems.add(tree, f"`{key}` must be a list of packages, got {described(tree)}", remedy="such as `[torch==1.12.1, numpy<1.24]`")
        return ()
    found = []
    for item in tree.items:
        try:
            requirement = Requirement(text(item))
        except Wrong as wrong:
            problems.add(item, f"a package {wrong.what}")
        except InvalidRequirement as error:
            problems.add(
                item, f"`{shortened(text(item))}` asks for no package", " ".join(str(error).split("\n")[0].split()), "such as `numpy<1.24`"
            )
        else:
            if requirement.marker is not None or requirement.url is not None or requirement.extras:
                problems.add(
                    item,
                    f"`{shortened(text(item))}` says more than a name and versions",
                    remedy="what a platform needs alone has a key of its own",
                )
            else:
                found.append(requirement)
    return tuple(found)
