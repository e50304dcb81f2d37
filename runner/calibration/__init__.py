"""How often intervals and verdicts are right: on simulated noise (:mod:`.simulated`), and on real processes compared with themselves
(:mod:`.series`)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from runner import execute, runfile
from runner.calibration import series, tables
from runner.errors import UserError


def run(frameworks: Sequence[str], device: str, rounds: int, alone: bool, into: Path) -> int:
    """Measure each built-in framework beside its copies and print what became of the comparisons; 1 where a cell failed."""
    homes, worst = [], 0
    for name in frameworks:
        status, home = execute.start(series.request(name, device, rounds, alone), into, ["h2h", *sys.argv[1:]])
        homes.append(home)
        worst = max(worst, status)
    print(summary(homes))
    return worst


def summary(runs: Sequence[Path]) -> str:
    """The tables of such runs, by their folders or files. Raises :class:`UserError` where one is no such run."""
    found = []
    for path in runs:
        held = series.of(runfile.read(execute.result_path(path)))
        if not held:
            raise UserError(f"{path}: holds no framework beside its copies; h2h selftest --a-a makes such a run")
        found += held
    return tables.real_tables(found)
