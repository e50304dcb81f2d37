"""Which environments of eras there are and whether they are as their locks say, in words."""

from __future__ import annotations

from runner.eras.environments import Environment, environments, here_as
from runner.grid import table
from runner.spec import catalog
from runner.spec.era import load_era, this_platform

SHOWN = 3  # differences in a line of a list


def overview(format: str) -> str:
    """All environments of all eras, in one of the table formats. Raises :class:`UserError` where eras have no locks for this machine."""
    rows = []
    for path in catalog.all_eras():
        for environment in environments(load_era(path)):
            versions = environment.era.versions(environment.framework, this_platform() or "")
            rows.append(
                {
                    "era": environment.era.name,
                    "framework": environment.framework,
                    "versions": ", ".join(f"{package} {version}" for package, version in versions.items()),
                    "Python": environment.era.python,
                    "state": _state(environment),
                    "folder": str(environment.home) if environment.made else "",
                }
            )
    return table(rows, format)


def _state(environment: Environment) -> str:
    if not environment.made:
        return "here: this Python has it" if here_as(environment) else "not made"
    differences = environment.differences()
    return "made" if not differences else f"differs: {_shortened(differences)}"


def _shortened(differences: list[str]) -> str:
    more = len(differences) - SHOWN
    return "; ".join(differences[:SHOWN]) + (f"; and {more} more" if more > 0 else "")


def verified(environment: Environment) -> tuple[str, bool]:
    """How one environment stands to its lock, in a sentence with a remedy, and whether all is well."""
    again = f"h2h env create {environment.era.name} --framework {environment.framework}"
    if not environment.made:
        if here_as(environment):
            return f"{environment.title}: not made, but this Python has its versions", True
        return f"{environment.title}: not made; {again}", False
    differences = environment.differences()
    if not differences:
        return f"{environment.title}: all {len(environment.lock.pins)} packages are as its lock says", True
    return f"{environment.title} differs from its lock: {'; '.join(differences)}; {again} makes it anew", False
