"""What a person sees while a run goes on: on standard error, drawn only when something happened, silent where nobody watches."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from types import TracebackType

from runner.plan import Cell


class Progress:
    """Nothing shown. Also the interface of the one that shows."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def doing(self, cell: Cell, round_number: int, what: str) -> None:
        """A cell has come to this phase."""

    def finished(self, cell: Cell) -> None:
        """One cell of one round is over."""

    def more(self, count: int) -> None:
        """So many more cells and rounds are to come than was known."""

    def say(self, text: str) -> None:
        """Tell something that is not progress."""


class Quiet(Progress):
    """For logs and pipes: only what must be told."""

    def say(self, text: str) -> None:
        print(text, file=sys.stderr)


class Bar(Progress):
    """One line: the cell, the round, how far, and the time left by what was done so far.

    It redraws on events and has no thread of its own, which would run beside a measurement.
    """

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self._console = Console(stderr=True)
        self._bar = RichProgress(
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.description}", markup=False),
            console=self._console,
            auto_refresh=False,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=total, left="")
        self._total, self._done, self._began, self._drawn = total, 0, time.monotonic(), 0.0

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.stop()

    def doing(self, cell: Cell, round_number: int, what: str) -> None:
        now = time.monotonic()
        if now - self._drawn > 0.5:
            self._drawn = now
            self._bar.update(self._task, description=f"{cell.label()}, round {round_number + 1}: {what}", left=self._left(), refresh=True)

    def finished(self, cell: Cell) -> None:
        self._done += 1
        self._bar.update(self._task, completed=self._done, left=self._left(), refresh=True)

    def more(self, count: int) -> None:
        self._total += count
        self._bar.update(self._task, total=self._total)

    def say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False)

    def _left(self) -> str:
        if not self._done:
            return ""
        seconds = (time.monotonic() - self._began) / self._done * (self._total - self._done)
        return f"{int(seconds // 60)}:{int(seconds % 60):02d} left"


@contextlib.contextmanager
def note_line() -> Iterator[Callable[[str], None]]:
    """A line on a terminal that says what goes on and is gone at the end; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("") as status:
        yield status.update


def watch(total: int) -> Progress:
    """The bar on a terminal, else only what must be told."""
    return Bar(total) if sys.stderr.isatty() else Quiet()
