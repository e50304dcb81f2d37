"""What is wrong in a file, where, why, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from runner.errors import UserError


@dataclass(frozen=True, order=True)
class Problem:
    """One fault of one file. ``line`` and ``column`` count from 1; 0 where no place can be named. ``why`` and ``remedy`` may be empty."""

    path: str
    line: int
    column: int
    what: str
    why: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}" if self.line else self.path
        return f"{place}: " + "; ".join(filter(None, (self.what, self.why, self.remedy)))


class SpecError(UserError):
    """A file of the workload language is wrong; ``problems`` holds its faults in the order of their places."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(set(problems))
        super().__init__("\n".join(map(str, self.problems)))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A remedy for a word that is none of ``known``: the nearest one, or else the whole list."""
    words = sorted(known)
    longer = [known for known in words if len(word) > 2 and known.startswith(word)]
    near = longer or difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if near:
        return f"did you mean `{near[0]}`?"
    if len(words) == 1:
        return f"there is only `{words[0]}`"
    return f"there are {', '.join(words)}" if words else ""
