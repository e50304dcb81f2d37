"""The command about published figures: list them, or hold them beside a run."""

from __future__ import annotations

from pathlib import Path

import click

from runner.cli.options import FILE, many, stop, with_format, words


@click.command()
@click.argument("run", required=False, type=FILE, metavar="[RUN]")
@click.option("--list", "listed", is_flag=True, help="All published figures, by source and machine; needs no RUN.")
@many("--source", "Only figures of this source: the name of its file in reports/claims.")
@many("--chip", "Only figures of this chip or card: M1 Max, 3090.")
@with_format
def claims(run: Path | None, listed: bool, source: tuple[str, ...], chip: tuple[str, ...], format: str) -> None:
    """Print published figures beside what a run measured: the ratio, or why the two cannot be compared.

    RUN is the folder of a run or the file run.jsonl in it.
    """
    if (run is None) is not listed:
        stop("name a run, as in `h2h claims reports/runs/...`, or ask for the figures alone: `h2h claims --list`")
    from runner import execute, runfile
    from runner.claims import beside, listing, reading
    from runner.claims.choice import choose
    from runner.claims.compare import compare
    from runner.claims.computations import Library

    measured = None if run is None else runfile.read(execute.result_path(run))  # first: a wrong path is told at once
    sources = choose(reading.load_all(), words(source), words(chip))
    if measured is None:
        print(listing.render(sources, format), end="")
    else:
        print(beside.render(compare(sources, measured, Library()), format), end="")
