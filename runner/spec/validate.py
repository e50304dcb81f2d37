"""Checks files for a person: all faults at once, none as an exception."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from runner.spec import catalog
from runner.spec.era import read_era
from runner.spec.loader import load
from runner.spec.lock import check_locks
from runner.spec.problems import Problem, SpecError
from runner.spec.suite import read_suite
from runner.spec.workload import read_workload


def validate(paths: Iterable[Path | str]) -> tuple[int, list[Problem]]:
    """How many files were checked, and their problems in the order of the files.

    A path is a file of a workload, a suite, an era or published figures, or a folder of them; never raises for what a file holds or for
    one that is not there.
    """
    checked, problems = 0, list[Problem]()
    for path in map(Path, paths):
        files = catalog.yaml_files(path) if path.is_dir() else [path]
        if not files:
            problems.append(Problem(str(path), 0, 0, "there is no `.yaml` file in this folder"))
        for file in files:
            checked += 1
            try:
                check_file(file)
            except SpecError as error:
                problems += error.problems
    return checked, problems


def check_file(path: Path) -> None:
    """Checks a workload or, by what the top level has, a suite (`cells`), published figures (`series`) or an era with its locks
    (`frameworks`). Raises :class:`SpecError`."""
    tree = load(path)
    if "cells" in tree.values:
        read_suite(tree, path)
    elif "series" in tree.values:
        from runner.claims.reading import read_source

        read_source(tree, path)
    elif "frameworks" in tree.values:
        if problems := check_locks(read_era(tree, path)):
            raise SpecError(problems)
    else:
        read_workload(tree, path)
