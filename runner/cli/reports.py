"""Commands that print what was measured: one run, several, or one against another."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from runner.cli.options import FILE, many, stop, with_format, words


@click.command()
@click.argument("runs", nargs=-1, required=True, type=FILE, metavar="RUN...")
@many("--against", "Ratios to this: cpu, gpu, a framework, an execution. [the first column]")
@with_format
def report(runs: tuple[Path, ...], against: tuple[str, ...], format: str) -> None:
    """Print the table of a finished or interrupted run again; RUN is its folder or the file run.jsonl in it.

    --against cpu gives the speed-up of each framework's GPU over its own CPU, --against pytorch that of every framework over PyTorch on
    the same device; two words, cpu,pytorch, mean PyTorch on the CPU.
    """
    from runner import execute, runfile
    from runner.report import render

    for path in runs:
        print(render(runfile.read(execute.result_path(path)), format, words(against)), end="")


@click.command()
@click.argument("a", type=FILE, metavar="RUN")
@click.argument("b", type=FILE, metavar="RUN")
@many("--across", "Compare in spite of different machines, workloads (changed since) or precisions, and mark it.")
@click.option("--threshold", type=click.FloatRange(0, 1000), default=2.0, show_default=True, metavar="PERCENT", help="No verdict below.")
@click.option("--fail-on", type=click.Choice(["slower"]), help="End 1 if a cell is slower, or has no number any more.")
@with_format
def compare(a: Path, b: Path, across: tuple[str, ...], threshold: float, fail_on: str | None, format: str) -> None:
    """Compare the same cells of two runs: two versions, two settings, two machines.

    The second RUN is held against the first; each is a folder or the file run.jsonl in it. What differs between them stands on top. Ends
    0, 1 where --fail-on finds what it looks for, 2 when the runs cannot be compared.
    """
    from runner import compare as comparing
    from runner import execute, runfile
    from runner.compare import match
    from runner.compare.model import ACROSS
    from runner.spec.problems import did_you_mean

    kinds = words(across)
    for kind in kinds:
        if kind not in ACROSS:
            stop(f"--across takes no {kind!r}; {did_you_mean(kind, ACROSS)}")
    first, second = (runfile.read(execute.result_path(path)) for path in (a, b))
    found = match.compare(first, second, kinds, threshold / 100)
    print(comparing.render(found, format), end="")
    if fail_on and (slower := found.slower()):
        lost = sum(pair.lost for pair in slower)
        print(f"{len(slower) - lost} of {len(found.pairs)} cells are slower, {lost} have no number any more", file=sys.stderr)
        sys.exit(1)
