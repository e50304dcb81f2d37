"""The made-up figures, listed and beside made-up runs, are to the letter what was looked at and agreed."""

from __future__ import annotations

import csv
import io
import json

import pytest
from markdown_it import MarkdownIt

from tests.claims import made

TEXTS = made.texts()


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_the_golden_one(name: str) -> None:
    golden = (made.GOLDEN / name).read_text(encoding="utf-8")
    assert TEXTS[name] == golden, "if the change is meant: python -m tests.claims.made"


@pytest.mark.parametrize("name", ["list", "mac", "linux"])
def test_csv_and_json_hold_the_same(name: str) -> None:
    rows = list(csv.DictReader(io.StringIO(TEXTS[f"{name}.csv"])))
    document = json.loads(TEXTS[f"{name}.json"])
    records = document["comparisons"] if name != "list" else document["sources"][0]["claims"]
    assert [list(row) for row in rows] == [list(record) for record in records]
    for row, record in zip(rows, records, strict=True):
        assert row["claimed"] == ("" if record["claimed"] is None else json.dumps(record["claimed"]))
        assert json.loads(row["differences"]) == record["differences"]


@pytest.mark.parametrize("name", ["list.md", "mac.md", "linux.md"])
def test_markdown_tables_keep_their_shape(name: str) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(TEXTS[name])
    rows = [[]]
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        if token.type in ("th_open", "td_open"):
            rows[-1].append(token)
    tables = sum(token.type == "table_open" for token in tokens)
    assert tables >= 1 and len({len(row) for row in rows[1:]}) <= tables
