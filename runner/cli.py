"""The command line: options in, text and an exit status out. Everything else is imported when a command needs it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from runner import __version__

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)


def with_format(command: Command) -> Command:
    """The option of every command that prints a table."""
    choice = click.Choice(["markdown", "json", "csv"])
    return click.option("--format", type=choice, default="markdown", show_default=True, help="how the table is printed")(command)


def many(name: str, help: str, **more: Any) -> Callable[[Command], Command]:
    """An option that may be repeated or given once with commas."""
    return click.option(name, multiple=True, help=help, **more)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="h2h")
def app() -> None:
    """Run one deep-learning workload in several frameworks, prove that it is the same work, time it, and print one table."""


@app.command()
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD]...")
@many("--suite", "A named list of cells: h2h list suites.")
@many("--framework", "pytorch, tensorflow, or the folder of your own adapter. [all]")
@many("--device", "cpu, gpu, or the GPU's backend: mps, metal, cuda. [gpu if every framework has one]")
@many("--precision", "float32, bfloat16, mixed_float16, ... [float32]")
@many("--execution", "eager, inductor; graph, eager, xla. [each framework's usual one]")
@many("--mode", "train, infer. [both]")
@many("--batch", "Samples a step, several as 1,8,64. [the workload's]")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of a workload.")
@click.option("--rounds", type=click.IntRange(min=1), help="Fresh processes of each cell. [3]")
@click.option("--precision-goal", type=click.FloatRange(min=0.1), metavar="PERCENT", help="Add rounds until ratios are known to ± PERCENT.")
@click.option("--max-rounds", type=click.IntRange(min=3), default=20, show_default=True, help="The most that --precision-goal makes.")
@click.option("--budget", type=click.FloatRange(min=0.01), help="Seconds timed of each cell and round. [1]")
@click.option("--alone", is_flag=True, help="Rivals one after the other instead of in turns.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads of the CPU. [each framework's own choice]")
@click.option("--seed", type=int, default=0, show_default=True, help="Of weights, batches and order.")
@click.option("--no-check", is_flag=True, help="Leave out the proof that it is the same work.")
@click.option("--allow-fallback", "fallback", is_flag=True, help="Let operators that the GPU lacks run on the CPU; rows name them.")
@click.option("--python", "pythons", multiple=True, metavar="FRAMEWORK=PATH", help="Another interpreter for a framework.")
@click.option("--env", "environment", multiple=True, metavar="NAME=VALUE", help="A variable for the children.")
@click.option("--start-limit", type=float, default=180.0, show_default=True, help="Seconds for a framework's import.")
@click.option("--silence-limit", type=float, default=600.0, show_default=True, help="Seconds without a sign of life.")
@click.option("--total-limit", type=float, default=7200.0, show_default=True, help="Seconds for one cell of one round.")
@click.option("--memory-limit", type=click.FloatRange(min=0.1), help="GiB that a child may hold. [90 % of the machine]")
@click.option("--into", type=FILE, default=Path("reports/runs"), show_default=True, help="Folder for results.")
@click.option("--resume", "taken_up", type=FILE, metavar="RUN", help="The folder of a run, to be taken up where it ended.")
@click.option("--dry-run", is_flag=True, help="Print the plan and its estimated time, run nothing.")
def run(
    workloads: tuple[str, ...],
    suite: tuple[str, ...],
    framework: tuple[str, ...],
    device: tuple[str, ...],
    precision: tuple[str, ...],
    execution: tuple[str, ...],
    mode: tuple[str, ...],
    batch: tuple[str, ...],
    settings: tuple[str, ...],
    pythons: tuple[str, ...],
    environment: tuple[str, ...],
    no_check: bool,
    into: Path,
    taken_up: Path | None,
    dry_run: bool,
    **same: Any,
) -> None:
    """Measure workloads in every framework and print the table.

    WORKLOAD is a name (h2h list) or the path of your own YAML file. Ends 0 when all cells are ok, 1 when some are not, 2 when the request
    was wrong.
    """
    from runner import execute
    from runner.request import Request

    if taken_up is not None:
        sys.exit(execute.resume(taken_up))
    request = Request(
        workloads=workloads,
        suites=words(suite),
        frameworks=words(framework),
        devices=words(device),
        precisions=words(precision),
        executions=words(execution),
        modes=words(mode),
        batches=tuple(whole(text, "--batch") for text in words(batch)),
        parameters={name: number(text, "--set") for name, text in pairs(settings, "--set").items()},
        checks=not no_check,
        pythons=pairs(pythons, "--python"),
        environment=pairs(environment, "--env"),
        **same,
    )
    if dry_run:
        print(execute.dry_run(request))
    else:
        sys.exit(execute.start(request, into, ["h2h", *sys.argv[1:]]))


@app.command()
@click.argument("runs", nargs=-1, required=True, type=FILE, metavar="RUN...")
@with_format
def report(runs: tuple[Path, ...], format: str) -> None:
    """Print the table of a finished or interrupted run again; RUN is its folder or the file run.jsonl in it."""
    from runner import execute, runfile
    from runner.report import render

    for path in runs:
        print(render(runfile.read(execute.result_path(path)), format), end="")


@app.command(name="list")
@click.argument("what", type=click.Choice(["workloads", "frameworks", "suites"]), default="workloads")
@with_format
def list_(what: str, format: str) -> None:
    """List the workloads, frameworks or suites that can be run."""
    from runner.listing import listing

    print(listing(what, format))


@app.command()
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


@app.command()
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
def validate(files: tuple[Path, ...]) -> None:
    """Check workload or suite files, or folders of them; all errors at once, each with its place. Ends 2 when there is one."""
    from runner.spec import validate as checker

    checked, problems = checker.validate(files)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(2)
    print(f"{checked} file{'s' if checked != 1 else ''} valid")


@app.command()
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD]...")
@click.option("--all", "everything", is_flag=True, help="Every workload of the library.")
@many("--framework", "pytorch, tensorflow, or the folder of your own adapter. [all]")
@many("--device", "cpu, gpu, or the GPU's backend: mps, metal, cuda. [gpu if every framework has one]")
@many("--precision", "float32, bfloat16, mixed_float16, ... [float32]")
@many("--execution", "eager, inductor; graph, eager, xla. [each framework's usual one]")
@many("--mode", "train, infer. [both]")
@click.option("--write", is_flag=True, help="Compute the golden curves anew, of the library where no WORKLOAD is named.")
@with_format
def check(
    workloads: tuple[str, ...],
    everything: bool,
    framework: tuple[str, ...],
    device: tuple[str, ...],
    precision: tuple[str, ...],
    execution: tuple[str, ...],
    mode: tuple[str, ...],
    write: bool,
    format: str,
) -> None:
    """Hold workloads in every framework against their golden curves, without timing them. Ends 1 when a cell is not ok.

    WORKLOAD is a name (h2h list) or the path of your own YAML file; where none is named, those of the suite quick are checked.
    """
    if write:
        from runner import write_golden

        sys.exit(write_golden.run(workloads))
    from runner import check as gate
    from runner.request import Request

    request = Request(
        workloads=workloads,
        frameworks=words(framework),
        devices=words(device),
        precisions=words(precision),
        executions=words(execution),
        modes=words(mode),
    )
    sys.exit(gate.run(request, everything, format))


@app.command()
@click.argument("frameworks", nargs=-1, metavar="[FRAMEWORK]...")
@click.option("--device", default="cpu", show_default=True, help="cpu, gpu, or the GPU's backend.")
@many("--precision", "float64, float32, bfloat16, ... [float64 and float32]")
@many("--execution", "eager, inductor; graph, eager, xla. [each framework's usual one]")
@with_format
def conform(frameworks: tuple[str, ...], device: str, precision: tuple[str, ...], execution: tuple[str, ...], format: str) -> None:
    """Hold adapters against an independent reference, layer by layer: values, gradients, updates. Ends 1 when one fails.

    FRAMEWORK is a name (h2h list frameworks) or the folder of your own adapter.
    """
    from runner import conform as suite
    from runner.request import check_words, references

    check_words("device", [device])
    check_words("precision", words(precision))
    sys.exit(suite.run(references(frameworks), device, words(precision) or ("float64", "float32"), words(execution), format))


@app.command()
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


@app.command()
def schema() -> None:
    """Print the JSON Schema of a workload file, for editors."""
    from runner.spec.json_schema import schema_text

    print(schema_text(), end="")


def main() -> NoReturn:
    """The entry point: every error that is the user's to mend ends in one plain message and status 2."""
    from runner.errors import UserError

    try:
        app(prog_name="h2h")
    except UserError as error:
        stop(str(error))
    except BrokenPipeError:
        sys.exit(0)
    sys.exit(0)


def stop(message: str) -> NoReturn:
    """End with a message and the status of a wrong request."""
    print(message, file=sys.stderr)
    sys.exit(2)


def words(given: tuple[str, ...]) -> tuple[str, ...]:
    """The values of an option that may be repeated or given once with commas."""
    return tuple(word.strip() for text in given for word in text.split(",") if word.strip())


def pairs(given: tuple[str, ...], option: str) -> dict[str, str]:
    """The values of an option that takes NAME=VALUE."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            stop(f"{option} takes NAME=VALUE, not {text!r}")
        found[name] = value
    return found


def whole(text: str, option: str) -> int:
    """A whole number from 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        stop(f"{option} takes whole numbers from 1, not {text!r}")
    return int(text)


def number(text: str, option: str) -> float:
    """A number; whole where it is written so."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    stop(f"{option} takes NAME=NUMBER, not {text!r}")
