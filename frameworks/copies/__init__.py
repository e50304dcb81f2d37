"""The built-in frameworks under second names, for comparisons whose outcome is known: ``NAME-again`` does the same as ``NAME``, and
``NAME-slowed`` every tenth step twice, which takes a tenth longer on any device."""

import dataclasses

from frameworks import registry
from frameworks.contract import Framework

SLOWED = 1.1  # how many times as long as the original
EXTRA = 10  # one step of so many is done twice


def _copy(name: str, suffix: str) -> Framework:
    facts = registry.framework(name)
    title, adapter = f"{facts.title} {suffix}", f"adapter:{name}_{suffix}"
    return dataclasses.replace(facts, name=f"{name}-{suffix}", title=title, adapter=adapter)


FRAMEWORKS = tuple(_copy(name, suffix) for name in registry.BUILT_IN for suffix in ("again", "slowed"))
