"""All rules on one set-up."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from runner.doctor import framework_rules, machine_rules, variable_rules
from runner.doctor.finding import SEVERITIES, Finding
from runner.doctor.setup import Setup

RULES: tuple[Callable[[Setup], Iterable[Finding]], ...] = (*machine_rules.RULES, *framework_rules.RULES, *variable_rules.RULES)


def examine(setup: Setup) -> list[Finding]:
    """What is the matter, the worst first, each thing once."""
    found = dict.fromkeys(finding for rule in RULES for finding in rule(setup))
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))
