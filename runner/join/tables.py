"""Joined runs as JSON and as CSV: the places, and for each run what its own report says, unrounded."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass

from frameworks.contract import to_json
from runner.join.model import Joined
from runner.report import table_csv, table_json

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class PlaceRow:
    """A column of the joined table; ``runs`` are the places of its runs in the list of reports, from 0."""

    name: str
    runs: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Document:
    """Several runs: columns, the runs' names, and the report of each. Ratios stand within one run."""

    schema: int
    places: tuple[PlaceRow, ...]
    names: tuple[str, ...]
    reports: tuple[table_json.Document, ...]


def document(joined: Joined) -> Document:
    """What the JSON says, before it is text; its schema is ``joined.schema.json``."""
    members = joined.members()
    places = tuple(PlaceRow(name=place.name, runs=tuple(members.index(member) for member in place.members)) for place in joined.places)
    return Document(
        schema=SCHEMA,
        places=places,
        names=tuple(member.name for member in members),
        reports=tuple(table_json.document(member.report) for member in members),
    )


def as_json(joined: Joined) -> str:
    """Strict JSON, indented, ending in a newline."""
    return json.dumps(to_json(document(joined)), allow_nan=False, indent=2) + "\n"


def as_csv(joined: Joined) -> str:
    """A header and one line a cell: the column and the run that it is of, then the keys of :class:`runner.report.model.CellRow`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["place", "run", *table_csv.NAMES])
    places = {member.letter: place.name for place in joined.places for member in place.members}
    for member in joined.members():
        for cell in member.report.cells():
            values = [places[member.letter], member.name, *(getattr(cell, name) for name in table_csv.NAMES)]
            writer.writerow([table_csv.field(value) for value in values])
    return text.getvalue()
