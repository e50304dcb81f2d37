"""Against what a column's ratio is taken: the first column, or the one that a reader asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from runner.errors import UserError
from runner.report.model import Column
from runner.spec.problems import did_you_mean

GPU = "gpu"


def references(columns: Sequence[Column], against: Sequence[str] = ()) -> dict[Column, Column]:
    """The column that each is compared with; those that have none are left out.

    Without words it is the first column. A word of ``against`` names a framework, a device (``gpu``: any that is not the CPU) or an
    execution, and a column is compared with the one of which all the words are true and which is otherwise like itself: with ``cpu``, the
    same framework on the CPU; with ``pytorch``, PyTorch on the same kind of device. Only of executions another may stand for one's own,
    since frameworks have none in common. What all the words are true of is compared with nothing.
    """
    if not against:
        return dict.fromkeys(columns[1:], columns[0])
    asked = [_field(word, columns) for word in against]
    sought = [column for column in columns if all(_is(column, field, word) for field, word in zip(asked, against, strict=True))]
    found = {column: _nearest(column, sought, asked) for column in columns if column not in sought}
    return {column: reference for column, reference in found.items() if reference is not None}


def check(columns: Sequence[Column], against: Sequence[str]) -> None:
    """Refuse words that are true of no column, or that leave nothing to compare, with :class:`runner.errors.UserError`."""
    known = {word for column in columns for word in (*column, _kind(column.device))}
    for word in against:
        if word not in known:
            raise UserError(f"--against names what was measured, and that was no {word!r}; {did_you_mean(word, known)}")
    if against and not references(columns, against):
        have = "; ".join(" ".join(column) for column in columns)
        raise UserError(f"--against {' '.join(against)} leaves nothing to compare: no two of these columns differ in it alone: {have}")


def _field(word: str, columns: Iterable[Column]) -> str:
    """Which of a column's fields a word is about."""
    return next((field for field in Column._fields if any(_is(column, field, word) for column in columns)), Column._fields[0])


def _is(column: Column, field: str, word: str) -> bool:
    value = getattr(column, field)
    return bool(value == word or (field == "device" and word == GPU == _kind(value)))


def _nearest(column: Column, sought: Sequence[Column], asked: Sequence[str]) -> Column | None:
    mine = _needed(column, asked)
    like = [other for other in sought if _needed(other, asked) == mine]
    return next((other for other in like if other.execution == column.execution), like[0] if like else None)


def _needed(column: Column, asked: Sequence[str]) -> Mapping[str, str]:
    """What of a column must be the same in its reference."""
    free = {*asked, "execution"}
    return {name: _kind(value) if name == "device" else value for name, value in column._asdict().items() if name not in free}


def _kind(device: str) -> str:
    return device if device == "cpu" else GPU
