"""The command line: options in, text and an exit status out. Everything else is imported when a command needs it."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, NoReturn, Optional

import typer

app = typer.Typer(
    name="h2h",
    help="Run one deep-learning workload in several frameworks, prove that it is the same work, time it, and print one table.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class Format(str, Enum):
    """How a table is printed."""

    markdown = "markdown"
    json = "json"
    csv = "csv"


class Listing(str, Enum):
    """What ``h2h list`` can list."""

    workloads = "workloads"
    frameworks = "frameworks"
    suites = "suites"


FormatOption = Annotated[Format, typer.Option("--format", help="markdown, json or csv")]
Names = Optional[list[str]]  # noqa: UP045 - typer reads annotations at run time on Python 3.10


@app.command()
def run(
    workloads: Annotated[Names, typer.Argument(help="names (h2h list) or paths of your own YAML files", metavar="[WORKLOAD]...")] = None,
    suite: Annotated[Names, typer.Option("--suite", help="a named list of cells: h2h list suites")] = None,
    framework: Annotated[Names, typer.Option("--framework", help="pytorch, tensorflow, or the folder of your own adapter")] = None,
    device: Annotated[Names, typer.Option("--device", help="cpu, gpu, or the GPU's backend: mps, metal, cuda")] = None,
    precision: Annotated[Names, typer.Option("--precision", help="float32, bfloat16, mixed_float16, ...")] = None,
    execution: Annotated[Names, typer.Option("--execution", help="eager, inductor; graph, eager, xla")] = None,
    mode: Annotated[Names, typer.Option("--mode", help="train, infer")] = None,
    batch: Annotated[Names, typer.Option("--batch", help="samples a step, several as 1,8,64")] = None,
    set_: Annotated[Names, typer.Option("--set", help="a workload's parameter, NAME=VALUE")] = None,
    rounds: Annotated[Optional[int], typer.Option(min=1, help="fresh processes of each cell [3]")] = None,  # noqa: UP045
    budget: Annotated[Optional[float], typer.Option(min=0.01, help="seconds timed of each cell and round [1]")] = None,  # noqa: UP045
    alone: Annotated[bool, typer.Option("--alone", help="rivals one after the other instead of in turns")] = False,
    threads: Annotated[Optional[int], typer.Option(min=1, help="of the CPU [each framework's own choice]")] = None,  # noqa: UP045
    seed: Annotated[int, typer.Option(help="of weights, batches and order")] = 0,
    no_check: Annotated[bool, typer.Option("--no-check", help="leave out the checks before timing")] = False,
    python: Annotated[Names, typer.Option("--python", help="another interpreter for a framework, FRAMEWORK=PATH")] = None,
    env: Annotated[Names, typer.Option("--env", help="a variable for the children, NAME=VALUE")] = None,
    start_limit: Annotated[float, typer.Option(help="seconds for a framework's import")] = 180.0,
    silence_limit: Annotated[float, typer.Option(help="seconds without a sign of life")] = 600.0,
    total_limit: Annotated[float, typer.Option(help="seconds for one cell of one round")] = 7200.0,
    memory_limit: Annotated[Optional[float], typer.Option(help="GiB that a child may hold [90 % of the machine]")] = None,  # noqa: UP045
    into: Annotated[Path, typer.Option("--into", help="folder for results")] = Path("reports/runs"),
    resume: Annotated[Optional[Path], typer.Option(help="a run's folder, to be taken up where it ended")] = None,  # noqa: UP045
    dry_run: Annotated[bool, typer.Option("--dry-run", help="print the plan and its estimated time, run nothing")] = False,
) -> None:
    """Measure workloads in every framework and print the table.

    Ends 0 when all cells are ok, 1 when some are not, 2 when the request was wrong.
    """
    from runner import execute
    from runner.request import Request

    if resume is not None:
        raise typer.Exit(execute.resume(resume))
    request = Request(
        workloads=tuple(workloads or ()),
        suites=tuple(suite or ()),
        frameworks=_words(framework),
        devices=_words(device),
        precisions=_words(precision),
        executions=_words(execution),
        modes=_words(mode),
        batches=tuple(_whole(text, "--batch") for text in _words(batch)),
        parameters={name: _number(text, "--set") for name, text in _pairs(set_, "--set").items()},
        rounds=rounds,
        budget=budget,
        alone=alone,
        threads=threads,
        seed=seed,
        checks=not no_check,
        pythons=_pairs(python, "--python"),
        environment=_pairs(env, "--env"),
        start_limit=start_limit,
        silence_limit=silence_limit,
        total_limit=total_limit,
        memory_limit=memory_limit,
    )
    if dry_run:
        print(execute.dry_run(request))
        return
    raise typer.Exit(execute.start(request, into, ["h2h", *sys.argv[1:]]))


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(help="a run's folder or its run.jsonl", metavar="RUN")],
    format: FormatOption = Format.markdown,
) -> None:
    """Print the table of a finished or interrupted run again."""
    from runner import execute, runfile
    from runner.report import render

    for path in runs:
        print(render(runfile.read(execute.result_path(path)), format.value))


@app.command(name="list")
def list_(
    what: Annotated[Listing, typer.Argument(help="workloads, frameworks or suites")] = Listing.workloads,
    format: FormatOption = Format.markdown,
) -> None:
    """List the workloads, frameworks or suites that can be run."""
    from runner import listing

    print(listing.listing(what.value, format.value))


@app.command()
def show(
    workload: Annotated[str, typer.Argument(help="a name or a path")],
    batch: Annotated[Optional[int], typer.Option(min=1, help="samples a step")] = None,  # noqa: UP045
    set_: Annotated[Names, typer.Option("--set", help="a parameter of the workload, NAME=VALUE")] = None,
    format: FormatOption = Format.markdown,
) -> None:
    """Print a workload layer by layer: shapes, parameters, operations."""
    from runner.spec import catalog
    from runner.spec.show import describe
    from runner.spec.workload import load_workload

    values: dict[str, float] = {name: _number(text, "--set") for name, text in _pairs(set_, "--set").items()}
    if batch is not None:
        values["batch"] = batch
    print(describe(load_workload(catalog.find(workload)), values, format.value))


@app.command()
def validate(files: Annotated[list[Path], typer.Argument(help="workload or suite files, or folders of them", metavar="FILE")]) -> None:
    """Check files; all errors at once, each with its place. Ends 2 when there is one."""
    from runner.spec.validate import validate as check

    checked, problems = check(files)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        raise typer.Exit(2)
    print(f"{checked} file{'s' if checked != 1 else ''} valid")


@app.command()
def new(name: Annotated[str, typer.Argument(help="of the workload; its file is NAME.yaml")]) -> None:
    """Write a commented workload file to start from."""
    from runner.spec.starter import starter

    path = Path(f"{name}.yaml")
    text = starter(name)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        _stop(f"{path} exists: choose another name")
    except OSError as error:
        _stop(f"{path} cannot be written: {error.strerror}")
    print(f"Written to {path}. Try: h2h show ./{path}; h2h run ./{path}")


@app.command()
def schema() -> None:
    """Print the JSON Schema of a workload file, for editors."""
    import json

    from runner.spec.json_schema import json_schema

    print(json.dumps(json_schema(), indent=2))


def main() -> NoReturn:
    """The entry point: every error that is the user's to mend ends in one plain message and status 2."""
    from runner.errors import UserError

    try:
        app()
    except UserError as error:
        _stop(str(error))
    except BrokenPipeError:
        sys.exit(0)
    sys.exit(0)


def _stop(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(2)


def _words(given: list[str] | None) -> tuple[str, ...]:
    """Options that may be repeated or given as one list with commas."""
    return tuple(word.strip() for text in given or () for word in text.split(",") if word.strip())


def _pairs(given: list[str] | None, option: str) -> dict[str, str]:
    pairs = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            _stop(f"{option} takes NAME=VALUE, not {text!r}")
        pairs[name] = value
    return pairs


def _whole(text: str, option: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        _stop(f"{option} takes whole numbers from 1, not {text!r}")
    return value


def _number(text: str, option: str) -> float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        _stop(f"{option} takes NAME=NUMBER, not {text!r}")
