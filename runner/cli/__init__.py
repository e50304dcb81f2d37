"""The command line: options in, text and an exit status out. Everything else is imported when a command needs it."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from runner import __version__
from runner.cli import claims, environment, library, measure, proof, reports, system
from runner.cli.options import stop


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="h2h")
def app() -> None:
    """Run one deep-learning workload in several frameworks, prove that it is the same work, time it, and print one table."""


for command in (
    measure.run,
    reports.report,
    reports.compare,
    claims.claims,
    library.list_,
    library.show,
    library.validate,
    library.new,
    library.schema,
    proof.check,
    proof.conform,
    system.doctor,
    system.selftest,
    system.bundle,
    proof.coverage,
    environment.env,
):
    app.add_command(command)


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
