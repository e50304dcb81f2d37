"""JSON Schema (draft 2020-12) of the JSON report, for programs that read it; made from the classes that the report is made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from runner.report.table_json import SCHEMA, Document

PATH = Path(__file__).with_name("report.schema.json")


def schema_text() -> str:
    """The schema as the file :data:`PATH`."""
    return json.dumps(json_schema(), indent=2) + "\n"


def json_schema() -> dict[str, Any]:
    """The schema. Every key is always there, and there are no others."""
    from pydantic import TypeAdapter

    made = TypeAdapter(Document).json_schema(mode="serialization")
    definitions = {name: _closed(definition) for name, definition in made.pop("$defs").items()}
    whole = _closed(made)
    whole["properties"]["schema"] = {"const": SCHEMA}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "title": "headtohead report",
        "$defs": definitions,
    }


def _closed(definition: dict[str, Any]) -> dict[str, Any]:
    """An object's definition with all of its keys required, and without the titles and defaults that say nothing more than the keys do."""
    properties = {
        name: {key: value for key, value in each.items() if key not in ("title", "default")}
        for name, each in definition["properties"].items()
    }
    description = " ".join(definition["description"].split())
    return {**definition, "description": description, "properties": properties, "required": list(properties), "additionalProperties": False}
