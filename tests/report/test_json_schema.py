"""The published schema of the JSON report is that of what is written, and no wider."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from runner.report import json_schema, render
from tests.report import recorded
from tests.report.test_agreement import records, run_of

SCHEMA = json.loads((json_schema.HERE / "report.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def golden() -> dict[str, Any]:
    text = (recorded.GOLDEN / "report.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_published_schemas_are_those_of_the_classes() -> None:
    for path, text in json_schema.published().items():
        assert path.read_text(encoding="utf-8") == text, "if meant: python -m tests.report.recorded"
        jsonschema.Draft202012Validator.check_schema(json.loads(text))


def test_the_golden_report_keeps_it() -> None:
    VALIDATOR.validate(golden())


@pytest.mark.parametrize(("seed", "rounds"), [(0, 0), (1, 1), (2, 2), (3, 5)])
def test_reports_of_any_fate_keep_it(seed: int, rounds: int) -> None:
    VALIDATOR.validate(json.loads(render(run_of(records(seed, rounds)), "json")))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda report: report.pop("cells"),
        lambda report: report["cells"][0].pop("ratio_low"),
        lambda report: report["cells"][0].update(extra=1),
        lambda report: report["cells"][0].update(status="fine"),
        lambda report: report["cells"][0].update(verdict="quicker"),
        lambda report: report["cells"][0].update(seconds_per_step="1 ms"),
        lambda report: report["means"][0].update(finished=1.5),
        lambda report: report["problems"][0].update(rounds=[1]),
        lambda report: report.update(schema=2),
    ],
)
def test_what_is_no_report_breaks_it(spoil: Callable[[dict[str, Any]], object]) -> None:
    report = golden()
    spoil(report)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(report)
