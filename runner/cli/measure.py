"""The command that measures."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

import click

from runner.cli.options import FILE, many, number, pairs, stop, whole, words


@click.command()
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD]...")
@many("--suite", "A named list of cells: h2h list suites.")
@many("--framework", "pytorch, tensorflow, or the folder of your own adapter. [all]")
@many("--device", "cpu, gpu, or the GPU's backend: mps, metal, cuda. [gpu if every framework has one]")
@many("--precision", "float32, bfloat16, mixed_float16, ... [float32]")
@many("--execution", "eager, inductor; graph, eager, xla. [each framework's usual one]")
@many("--mode", "train, infer. [both]")
@many("--batch", "Samples a step, several as 1,8,64. [the workload's]")
@click.option("--find-batch", is_flag=True, help="Double the batch, from --batch or 1, while that is faster, and narrow it down.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of a workload.")
@click.option("--rounds", type=click.IntRange(min=1), help="Fresh processes of each cell, so many and no more. [by the goal]")
@click.option(
    "--precision-goal",
    type=click.FloatRange(min=0.1),
    metavar="PERCENT",
    help="From three rounds on, add some until ratios are known to ± PERCENT. [5, unless rounds are given]",
)
@click.option("--max-rounds", type=click.IntRange(min=3), default=20, show_default=True, help="The most that --precision-goal makes.")
@click.option("--budget", type=click.FloatRange(min=0.01), help="Seconds timed of each cell and round. [1]")
@click.option("--alone", is_flag=True, help="Rivals one after the other instead of in turns.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads of the CPU. [each framework's own choice]")
@click.option("--seed", type=int, default=0, show_default=True, help="Of weights, batches and order.")
@click.option("--no-check", is_flag=True, help="Leave out the proof that it is the same work.")
@click.option("--allow-fallback", "fallback", is_flag=True, help="Let operators that the GPU lacks run on the CPU; rows name them.")
@click.option("--strict", is_flag=True, help="Refuse to start on battery, in low-power mode, hot, or beside other load.")
@click.option("--python", "pythons", multiple=True, metavar="FRAMEWORK=PATH", help="Another interpreter for a framework.")
@many("--era", "Pinned versions, side by side where several are named: h2h list eras. [what is installed]")
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
    find_batch: bool,
    settings: tuple[str, ...],
    pythons: tuple[str, ...],
    era: tuple[str, ...],
    environment: tuple[str, ...],
    no_check: bool,
    into: Path,
    taken_up: Path | None,
    dry_run: bool,
    **same: Any,
) -> None:
    """Measure workloads in every framework and print the table.

    WORKLOAD is a name (h2h list) or the path of your own YAML file; on a Mac, nothing named means --suite mps-vs-metal. Ends 0 when all
    cells are ok, 1 when some are not, 2 when the request was wrong.
    """
    from runner import climb, execute
    from runner.request import Request, with_usual_suite

    if taken_up is not None:
        sys.exit(execute.resume(taken_up))
    batches = tuple(whole(text, "--batch") for text in words(batch))
    if find_batch and len(batches) > 1:
        stop("--find-batch starts from one --batch")
    asked = Request(
        workloads=workloads,
        suites=words(suite),
        frameworks=words(framework),
        devices=words(device),
        precisions=words(precision),
        executions=words(execution),
        modes=words(mode),
        batches=batches or ((climb.START,) if find_batch else ()),
        find_batch=find_batch,
        parameters={name: number(text, "--set") for name, text in pairs(settings, "--set").items()},
        checks=not no_check,
        pythons=pairs(pythons, "--python"),
        eras=tuple(dict.fromkeys(words(era))),
        environment=pairs(environment, "--env"),
        **same,
    )
    request = with_usual_suite(asked, platform.system(), platform.machine())
    if request.suites != asked.suites:
        print(f"Nothing named: running the suite {', '.join(request.suites)}, as on every Mac (h2h list suites)", file=sys.stderr)
    if dry_run:
        print(execute.dry_run(request))
    else:
        status, _ = execute.start(request, into, ["h2h", *sys.argv[1:]])
        sys.exit(status)
