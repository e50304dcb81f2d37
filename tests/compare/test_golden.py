"""The recorded runs, compared, are to the letter what was looked at and agreed, and the JSON keeps its published schema."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from runner import compare
from runner.compare import match
from runner.compare.model import Comparison
from runner.report import FORMATS
from runner.runfile import read
from tests.compare import recorded
from tests.report.recorded import FILE as EARLIER
from tests.report.recorded import SUFFIXES

SCHEMA = json.loads((Path(compare.__file__).parent / "comparison.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


@pytest.fixture(scope="module")
def found() -> Comparison:
    return match.compare(read(EARLIER), read(recorded.FILE))


@pytest.mark.parametrize("format", FORMATS)
def test_comparison_is_the_golden_one(found: Comparison, format: str) -> None:
    golden = (recorded.GOLDEN / f"comparison.{SUFFIXES[format]}").read_text(encoding="utf-8")
    assert compare.render(found, format) == golden, "if the change is meant: python -m tests.compare.recorded"


def test_the_later_run_is_what_the_records_write(tmp_path: Path) -> None:
    assert recorded.write(tmp_path / "run.jsonl", recorded.records()).read_text() == recorded.FILE.read_text()


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((recorded.GOLDEN / "comparison.json").read_text(encoding="utf-8"))
    return found


def test_the_golden_comparison_keeps_the_schema() -> None:
    VALIDATOR.validate(document())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda made: made.pop("pairs"),
        lambda made: made["pairs"][0].pop("ratio_low"),
        lambda made: made["pairs"][0].update(verdict="quicker"),
        lambda made: made["pairs"][0]["a"].update(extra=1),
        lambda made: made.update(across=["planets"]),
        lambda made: made["differences"][0].update(a=1),
        lambda made: made.update(schema=2),
    ],
)
def test_what_is_no_comparison_breaks_it(spoil: Callable[[dict[str, Any]], object]) -> None:
    made = document()
    spoil(made)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(made)


def test_csv_and_json_say_the_same(found: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(compare.render(found, "csv"))))
    pairs = document()["pairs"]
    assert len(rows) == len(pairs)
    for row, pair in zip(rows, pairs, strict=True):
        flat = {name: value for name, value in pair.items() if name not in ("a", "b")}
        flat |= {f"{side}_{name}": value for side in ("a", "b") for name, value in pair[side].items()}
        assert row == {name: "" if v is None else v if isinstance(v, str) else json.dumps(v) for name, v in flat.items()}
