"""Commands about workloads, suites and eras: list, show, validate, write."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from runner.cli.options import FILE, number, pairs, stop, with_format


@click.command(name="list")
@click.argument("what", type=click.Choice(["workloads", "frameworks", "suites", "eras"]), default="workloads")
@with_format
def list_(what: str, format: str) -> None:
    """List the workloads, frameworks, suites or eras that can be run."""
    from runner.listing import listing

    print(listing(what, format))


@click.command()
@click.argument("workload")
@click.option("--batch", type=click.IntRange(min=1), help="Samples a step.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the workload.")
@with_format
def show(workload: str, batch: int | None, settings: tuple[str, ...], format: str) -> None:
    """Print a workload layer by layer: shapes, parameters, operations."""
    from runner.spec import catalog
    from runner.spec.show import describe
    from runner.spec.workload import load_workload

    values = {name: number(text, "--set") for name, text in pairs(settings, "--set").items()}
    if batch is not None:
        values["batch"] = batch
    print(describe(load_workload(catalog.find(workload)), values, format))


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
def validate(files: tuple[Path, ...]) -> None:
    """Check files of workloads, suites, eras or published figures, or folders of them; all errors at once, each with its place.

    Ends 2 when there is one.
    """
    from runner.spec import validate as checker

    checked, problems = checker.validate(files)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(2)
    print(f"{checked} file{'s' if checked != 1 else ''} valid")


@click.command()
@click.argument("name")
def new(name: str) -> None:
    """Write NAME.yaml, a commented workload file to start from."""
    from runner.spec.starter import starter

    path = Path(f"{name}.yaml")
    text = starter(name)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        stop(f"{path} exists: choose another name")
    except OSError as error:
        stop(f"{path} cannot be written: {error.strerror}")
    print(f"Written to {path}. Try: h2h show ./{path}; h2h run ./{path}")


@click.command()
@click.argument("what", type=click.Choice(["workload", "claims"]), default="workload")
def schema(what: str) -> None:
    """Print the JSON Schema of a workload file, or of a file of published figures, for editors."""
    if what == "workload":
        from runner.spec.json_schema import schema_text
    else:
        from runner.claims.json_schema import schema_text

    print(schema_text(), end="")
