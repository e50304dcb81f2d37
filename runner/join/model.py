"""What a joined report is made of: runs with letters, places that are columns, and rows. Frozen, whatever the format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from runner.report.model import CellRow, Column, Report
from runner.statistics import Aggregate

Link = tuple[Column, Column]  # what is compared and its reference, both with the kind of their device


@dataclass(frozen=True)
class Member:
    """One of the runs: its letter, what a person calls it, and its report."""

    letter: str
    name: str
    report: Report


@dataclass(frozen=True)
class Place:
    """A column: a machine with its versions and settings. Several runs stand in one where nothing tells them apart and they have no row
    in common."""

    name: str
    members: tuple[Member, ...]

    @property
    def letters(self) -> str:
        return ", ".join(member.letter for member in self.members)


class Key(NamedTuple):
    """What a group of rows is about: the same in every place, down to the digest of the computation."""

    workload: str
    variant: tuple[tuple[str, Any], ...]
    batch: int | None
    precision: str
    unit: str
    repeat: int = 0


@dataclass(frozen=True)
class Group:
    """The rows of one workload in one mode: cells by column (its device ``cpu`` or ``gpu``) and by the number of their place."""

    mode: str
    key: Key
    cells: dict[Column, dict[int, CellRow]]

    def ratios(self, link: Link) -> dict[int, CellRow]:
        """The cells of the first column whose ratio is to the second, by place."""
        column, to = link
        here, there = self.cells.get(column, {}), self.cells.get(to, {})
        return {
            place: cell for place, cell in here.items() if cell.ratio is not None and place in there and cell.ratio_to == there[place].cell
        }


@dataclass(frozen=True)
class Summary:
    """What one place says of a comparison in one mode at one precision: the geometric mean over the groups that it has."""

    place: int
    mode: str
    precision: str
    link: Link
    mean: Aggregate


@dataclass(frozen=True)
class Joined:
    """All that the three formats print."""

    places: tuple[Place, ...]
    groups: tuple[Group, ...]
    links: tuple[Link, ...]
    summaries: tuple[Summary, ...]
    confidence: float
    threshold: float

    def members(self) -> list[Member]:
        """All runs in the order of their letters."""
        return sorted((member for place in self.places for member in place.members), key=lambda member: (len(member.letter), member.letter))
