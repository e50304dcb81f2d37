"""Narrowing the published figures to a source or a chip that a person names."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from runner.claims.machines import words
from runner.claims.model import Machine, Source
from runner.errors import UserError
from runner.spec.problems import did_you_mean


def choose(sources: Sequence[Source], names: Sequence[str], chips: Sequence[str]) -> tuple[Source, ...]:
    """The sources of these names with the figures of these chips; all where none is named. :class:`UserError` for an unknown one."""
    known = {source.name: source for source in sources}
    for name in names:
        if name not in known:
            raise UserError(f"there is no source {name!r} of published figures; {did_you_mean(name, known)}")
    chosen = [source for source in sources if not names or source.name in names]
    if not chips:
        return tuple(chosen)
    machines = [machine for source in chosen for machine in source.machines.values()]
    wanted = {id(machine) for chip in chips for machine in _of_chip(chip, machines)}
    narrowed = (
        dataclasses.replace(source, claims=tuple(claim for claim in source.claims if id(claim.machine) in wanted)) for source in chosen
    )
    return tuple(source for source in narrowed if source.claims)


def _of_chip(chip: str, machines: Sequence[Machine]) -> list[Machine]:
    """The machines with a chip or card of exactly this name (``M1`` is no ``M1 Pro``), or else those that have these words in it."""
    asked = words(chip)
    named = [(machine, words(name)) for machine in machines for name in (machine.chip, machine.gpu) if name]
    found = [machine for machine, own in named if own == asked] or [machine for machine, own in named if asked and asked <= own]
    if not found:
        known = {name.removeprefix("Apple ") for machine in machines for name in (machine.chip, machine.gpu) if name}
        raise UserError(f"no published figure is of a chip {chip!r}; {did_you_mean(chip, known)}")
    return found
