"""Commands about the environments that frameworks are installed in."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from runner.cli.options import FILE, many, with_format, words


@click.group()
def env() -> None:
    """Environments that frameworks run in, and whether what is in them fits together."""


@env.command()
@many("--tensorflow", "A version, or the path of a macOS arm64 wheel. [what is installed]")
@many("--plugin", "A version of tensorflow-metal, or the path of a wheel. [what is installed]")
@click.option("--python", metavar="PATH", help="The interpreter whose installed pair is checked. [this one]")
@click.option("--download", is_flag=True, help="Fetch the wheels of versions that are not in the cache (up to 300 MB each).")
@click.option("--cache", type=FILE, metavar="FOLDER", envvar="H2H_WHEELS", help="Where wheels are kept. [~/.cache/headtohead/wheels]")
@with_format
def check(
    tensorflow: tuple[str, ...], plugin: tuple[str, ...], python: str | None, download: bool, cache: Path | None, format: str
) -> None:
    """Decide whether tensorflow-metal loads with a TensorFlow, by the symbols of their libraries; works on any machine.

    Several versions make every pair of them. Ends 0 when all pairs load, 1 when one cannot, 2 when the request was wrong.
    """
    from runner.wheels import check as pairs

    sys.exit(pairs.run(words(tensorflow), words(plugin), python, cache, download, format))
