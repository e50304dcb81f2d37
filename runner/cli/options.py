"""What the options of all commands share: how they are declared, and how their words are read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)


def with_format(command: Command) -> Command:
    """The option of every command that prints a table."""
    choice = click.Choice(["markdown", "json", "csv"])
    return click.option("--format", type=choice, default="markdown", show_default=True, help="how the table is printed")(command)


def many(name: str, help: str, **more: Any) -> Callable[[Command], Command]:
    """An option that may be repeated or given once with commas."""
    return click.option(name, multiple=True, help=help, **more)


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
