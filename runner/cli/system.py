"""Commands about this machine: whether a run would work here, and one file that shows how it went."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from runner.cli.options import FILE, many, pairs, words


@click.command()
@many("--framework", "pytorch, tensorflow, or the folder of your own adapter. [all]")
@click.option("--python", "pythons", multiple=True, metavar="FRAMEWORK=PATH", help="Another interpreter for a framework.")
@click.option("--env", "environment", multiple=True, metavar="NAME=VALUE", help="A variable for the children.")
@click.option("--into", type=FILE, default=Path("reports/runs"), show_default=True, help="Folder for results.")
@click.option("--start-limit", type=float, default=180.0, show_default=True, help="Seconds for a framework's import.")
@click.option("--format", type=click.Choice(["markdown", "json"]), default="markdown", show_default=True, help="How it is printed.")
def doctor(
    framework: tuple[str, ...], pythons: tuple[str, ...], environment: tuple[str, ...], into: Path, start_limit: float, format: str
) -> None:
    """Say whether a run would work here, what would bend its numbers, and what to do about it. Ends 1 when a run would fail."""
    from runner.doctor import show
    from runner.doctor.examine import examine
    from runner.doctor.setup import gather
    from runner.launch import Limits
    from runner.request import references

    interpreters = {name: str(Path(path).expanduser().absolute()) for name, path in pairs(pythons, "--python").items()}
    setup = gather(references(words(framework)), interpreters, pairs(environment, "--env"), into, Limits(start=start_limit))
    findings = examine(setup)
    print(show.render(setup, findings, format))
    sys.exit(1 if any(finding.severity == "error" for finding in findings) else 0)
