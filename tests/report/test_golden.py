"""The recorded run, reported, is to the letter what was looked at and agreed."""

from __future__ import annotations

import json

import pytest

from runner.report import FORMATS, render
from runner.runfile import read
from tests.report import recorded


@pytest.mark.parametrize("format", FORMATS)
def test_report_is_the_golden_one(format: str) -> None:
    golden = (recorded.GOLDEN / f"report.{recorded.SUFFIXES[format]}").read_text(encoding="utf-8")
    assert render(read(recorded.FILE), format) == golden, "if the change is meant: python -m tests.report.recorded"


def test_the_recorded_run_is_what_the_records_write() -> None:
    lines = recorded.FILE.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [json.loads(json.dumps(record.to_json())) for record in recorded.records()]


def test_another_format_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match="markdown, csv, json"):
        render(read(recorded.FILE), "html")
