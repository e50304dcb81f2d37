"""Commands that print what was measured: one run, several, or one against another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.options import FILE, many, stop, with_format, words

if TYPE_CHECKING:
    from runner.runreader import Run


@click.command()
@click.argument("runs", nargs=-1, required=True, type=FILE, metavar="RUN...")
@many("--against", "Ratios to this: cpu, gpu, a framework, an execution. [the first column]")
@click.option("--short", is_flag=True, help="One table without costs and notes, for a README.")
@click.option("--into", type=FILE, metavar="FILE", help="Put it between the markers of --section in this markdown file.")
@click.option("--section", metavar="NAME", help="The section of the file: two markers, which are named where they are missing.")
@click.option("--check", is_flag=True, help="Write nothing; end 1 if the section is out of date or was changed by hand.")
@with_format
def report(
    runs: tuple[Path, ...],
    against: tuple[str, ...],
    short: bool,
    into: Path | None,
    section: str | None,
    check: bool,
    format: str,
) -> None:
    """Print the table of a finished or interrupted run again; RUN is its folder, the file run.jsonl in it, or a bundle.

    Several runs, of several machines or versions, become one table with a column for each; ratios stay within a machine. Runs between
    which a workload was changed are refused.

    --against cpu gives the speed-up of each framework's GPU over its own CPU, --against pytorch that of every framework over PyTorch on
    the same device; two words, cpu,pytorch, mean PyTorch on the CPU.
    """
    from runner import bundle, first_contact, join
    from runner.report import render

    if (into is None) != (section is None):
        stop("--into FILE and --section NAME go together")
    if check and into is None:
        stop("--check is about a file: say --into FILE --section NAME")
    if into is not None and format != "markdown":
        stop(f"--into takes markdown, not {format}")
    chosen = words(against)
    if len(runs) == 1 and bundle.is_bundle(runs[0]) and not (chosen or short or into):
        print(first_contact.report(runs[0], format), end="")
        return
    read = [_read(path) for path in runs]
    text = render(read[0], format, chosen, short) if len(read) == 1 else join.render(read, format, chosen, short)
    if into is None or section is None:
        print(text, end="")
    else:
        _put(text, into, section, check)


def _read(path: Path) -> Run:
    """A run by its folder, its file, or a bundle that holds it."""
    from runner import bundle, execute, runfile

    if not bundle.is_bundle(path):
        return runfile.read(execute.result_path(path))
    with bundle.run_file(bundle.read(path)) as file:
        if file is None:
            raise bundle.BundleError(f"{path}: holds no run; h2h report {path} shows what the doctor said")
        return runfile.read(file)


def _put(text: str, into: Path, name: str, check: bool) -> None:
    """Write a section of a file, or say how it stands."""
    from runner.report import section

    section.check_name(name)
    if not check:
        changed = section.write(into, name, text)
        print(f"{into}: section {name} {'written' if changed else 'is as it should be'}", file=sys.stderr)
        return
    said = {"stale": "is out of date", "edited": "was changed by hand"}
    state = section.state(into, name, text)
    if state != "current":
        print(f"{into}: section {name} {said[state]}; the same command without --check writes it anew", file=sys.stderr)
        sys.exit(1)


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
    from runner.compare import match
    from runner.compare.model import ACROSS
    from runner.spec.problems import did_you_mean

    kinds = words(across)
    for kind in kinds:
        if kind not in ACROSS:
            stop(f"--across takes no {kind!r}; {did_you_mean(kind, ACROSS)}")
    first, second = _read(a), _read(b)
    found = match.compare(first, second, kinds, threshold / 100)
    print(comparing.render(found, format), end="")
    if fail_on and (slower := found.slower()):
        lost = sum(pair.lost for pair in slower)
        print(f"{len(slower) - lost} of {len(found.pairs)} cells are slower, {lost} have no number any more", file=sys.stderr)
        sys.exit(1)
