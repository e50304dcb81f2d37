"""Whether a run was made on the machine that a figure was published for, and with its versions: pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from runner import records
from runner.claims.model import Machine

Match = Literal["same", "other", "not stated"]

_GPU_CORES = re.compile(r"(\d+) GPU cores")
_BRANDS = {"nvidia", "geforce", "tesla", "amd", "radeon", "intel", "r", "tm", "core", "cpu", "gpu", "processor", "gen", "graphics", "apple"}
_FORM = re.compile(r"sxm\d?|pcie|\d+gb|hbm\d?e?|nvl")
_REVISION = re.compile(r"\d+(st|nd|rd|th)|\d+-core|@.*")


def chip(machine: Machine, run: records.Machine, gpu: str | None, device: str) -> Match:
    """Whether ``device`` (``cpu`` or ``gpu``) of the published machine is that of the run; ``gpu`` is the name of the run's card.

    A part with another number of cores is another chip. Where the source does not tell the cores, the chip's name has to do.
    """
    if machine.gpu is not None and device != "cpu":
        return _card(words(machine.gpu), words(gpu or ""))
    if machine.chip is None:
        return "not stated"
    if words(machine.chip) != words(run.chip):
        return "other"
    if device == "cpu":
        return "other" if machine.cpu_cores not in (None, run.cores) else "same"
    cores = _GPU_CORES.search(run.gpu or "")
    return "other" if cores and machine.gpu_cores not in (None, int(cores[1])) else "same"


def _card(stated: frozenset[str], found: frozenset[str]) -> Match:
    """A card by its name; where the source leaves out which of its forms it was, as in ``A100``, it cannot be told."""
    if stated < found and all(_FORM.fullmatch(word) for word in found - stated):
        return "not stated"
    return "same" if stated == found else "other"


def versions(stated: Mapping[str, str], found: Mapping[str, str]) -> Match:
    """Whether the packages of a source have the versions of a run: ``2.18`` is any 2.18. One that the run does not have is another."""
    if not stated:
        return "not stated"
    names = _by_project(found)
    return "same" if all(_begins(names.get(name, ""), version) for name, version in _by_project(stated).items()) else "other"


def _by_project(packages: Mapping[str, str]) -> dict[str, str]:
    """Distributions of the same package under one name: ``tensorflow-macos`` and ``tensorflow-cpu`` are ``tensorflow``."""
    return {re.sub(r"^tensorflow-(macos|cpu)$", "tensorflow", name): version for name, version in packages.items()}


def _begins(version: str, stated: str) -> bool:
    """Whether a version is the stated one, or one of those that a shorter one names."""
    own, wanted = ([part for part in re.split(r"[.+-]", text) if part] for text in (version, stated))
    return own[: len(wanted)] == wanted and not re.search(r"(dev|rc|a|b)\d", ".".join(own[len(wanted) :]))


def words(name: str) -> frozenset[str]:
    """What tells a chip from others: its name without brands, trade marks, clock and generation."""
    words = re.split(r"[\s()_-]+", _REVISION.sub("", name.lower()))
    return frozenset(word for word in words if word and word not in _BRANDS)
