"""Commands about this machine: whether a run would work here, and one file that shows how it went."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from runner.cli.options import FILE, many, pairs, stop, words


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


@click.command()
@many("--framework", "pytorch, tensorflow, or the folder of your own adapter. [all]")
@click.option("--python", "pythons", multiple=True, metavar="FRAMEWORK=PATH", help="Another interpreter for a framework.")
@click.option("--env", "environment", multiple=True, metavar="NAME=VALUE", help="A variable for the children.")
@click.option("--suite", help="What is measured. [mps-vs-metal where every framework has a GPU, else quick]")
@click.option("--into", type=FILE, default=Path("reports/runs"), show_default=True, help="Folder for results.")
@click.option("--to", type=FILE, help="The file to write. [headtohead-DATE.zip here]")
@click.option("--a-a", "a_a", is_flag=True, help="Instead, compare frameworks with themselves: how often are intervals and verdicts right?")
@click.option("--device", default="cpu", show_default=True, help="Of --a-a: cpu, or the GPU's backend.")
@click.option("--rounds", type=click.IntRange(min=3), default=90, show_default=True, help="Of --a-a: some ten to twenty seconds each.")
@click.option("--alone", is_flag=True, help="Of --a-a: one after the other instead of in turns.")
@click.argument("runs", nargs=-1, type=FILE, metavar="[RUN]...")
def selftest(
    framework: tuple[str, ...],
    pythons: tuple[str, ...],
    environment: tuple[str, ...],
    suite: str | None,
    into: Path,
    to: Path | None,
    a_a: bool,
    device: str,
    rounds: int,
    alone: bool,
    runs: tuple[Path, ...],
) -> None:
    """Try everything once on this machine, in a few minutes, and write one file to attach to a bug report or to send in as a result.

    The file holds what the doctor said, conformance, a short run, and the logs of what failed; no host name, user name or path.

    With --a-a each framework is measured beside itself and beside a copy that does a tenth more work, in one long run that is cut into
    comparisons whose outcome is known; RUNs that were made so are summed up again.
    """
    if a_a:
        from frameworks import registry
        from runner import calibration

        if runs:
            print(calibration.summary(runs))
            return
        names = words(framework) or registry.BUILT_IN
        for name in names:
            if name not in registry.BUILT_IN:
                stop(f"--a-a knows copies of {' and '.join(registry.BUILT_IN)}, not of {name}")
        sys.exit(calibration.run(names, device, rounds, alone, into))
    if runs:
        stop("a RUN belongs to --a-a; h2h bundle RUN packs one")
    from runner import first_contact

    options = first_contact.Options(words(framework), pairs(pythons, "--python"), pairs(environment, "--env"), suite, into, to)
    sys.exit(first_contact.run(options))


@click.command()
@click.argument("run", type=FILE, metavar="RUN")
@click.option("--to", type=FILE, help="The file to write. [RUN.zip here]")
def bundle(run: Path, to: Path | None) -> None:
    """Pack a run and the logs of what failed in it into one file without host name, user name or path; h2h report reads it."""
    from runner import bundle as packing
    from runner import runfile, scrub
    from runner.execute import result_path

    runfile.read(result_path(run))  # what is damaged is told here and not to whom it is sent
    to = to or Path(f"{(run if run.is_dir() else run.parent).resolve().name}.zip")
    packing.write(to, packing.of_run(run), scrub.of_this_machine())
    print(f"Written to {to}")
