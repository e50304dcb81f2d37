"""Commands about the environments that frameworks are installed in: those of eras, and whether what is in one fits together."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.options import FILE, many, with_format, words

if TYPE_CHECKING:
    from runner.eras.environments import Environment


@click.group()
def env() -> None:
    """Environments with the frameworks of an era, one for each framework."""


@env.command()
@click.argument("eras", nargs=-1, required=True, metavar="ERA...")
@many("--framework", "pytorch, tensorflow. [all that the era has]")
@click.option("--into", type=FILE, help="Another folder to keep them in. [the user's cache folder]")
@click.option("--python", type=FILE, metavar="PATH", help="The interpreter. [one on the PATH, in pyenv or among uv's own]")
def create(eras: tuple[str, ...], framework: tuple[str, ...], into: Path | None, python: Path | None) -> None:
    """Make the environments of an era (h2h list eras) from its locks, whole or not at all; uv downloads what they need from PyPI."""
    from runner.eras import environments
    from runner.progress import note_line

    with note_line() as say:
        for environment in _chosen(eras, framework):
            made = environments.create(environment, into=into, python=python, tell=say)
            print(f"{environment.title}: {'made in' if made else 'is there, in'} {environment.home}", flush=True)


@env.command(name="list")
@with_format
def list_(format: str) -> None:
    """List the environments of all eras, made or not."""
    from runner.eras.overview import overview

    print(overview(format))


@env.command()
@click.argument("eras", nargs=-1, required=True, metavar="ERA...")
@many("--framework", "pytorch, tensorflow. [all that the era has]")
def verify(eras: tuple[str, ...], framework: tuple[str, ...]) -> None:
    """Hold the environments of an era against their locks. Ends 1 when one is missing or differs."""
    from runner.eras import overview

    sound = True
    for environment in _chosen(eras, framework):
        said, ok = overview.verified(environment)
        print(said)
        sound = sound and ok
    sys.exit(0 if sound else 1)


@env.command()
@click.argument("eras", nargs=-1, required=True, metavar="ERA...")
@many("--framework", "pytorch, tensorflow. [all that the era has]")
def remove(eras: tuple[str, ...], framework: tuple[str, ...]) -> None:
    """Remove the environments of an era, wherever they are kept."""
    from runner.eras import environments

    for environment in _chosen(eras, framework):
        home = environment.home
        there = environments.remove(environment)
        print(f"{environment.title}: {f'removed from {home}' if there else 'there was none'}")


def _chosen(eras: tuple[str, ...], frameworks: tuple[str, ...]) -> list[Environment]:
    from runner.eras.environments import environments
    from runner.spec.era import load_era

    return [environment for era in eras for environment in environments(load_era(era), words(frameworks))]


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
