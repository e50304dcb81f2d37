"""JSON Schema (draft 2020-12) of what is printed as JSON, for programs that read it; made from the classes that it is made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def published() -> dict[Path, str]:
    """Every published schema as its file should be."""
    from runner.compare import tables as comparison
    from runner.join import tables as joined
    from runner.report import table_json

    return {
        HERE / "report.schema.json": _text("headtohead report", table_json.Document, table_json.SCHEMA),
        HERE.parent / "compare" / "comparison.schema.json": _text("headtohead comparison", comparison.Document, comparison.SCHEMA),
        HERE.parent / "join" / "joined.schema.json": _text("headtohead joined report", joined.Document, joined.SCHEMA),
    }


def _text(title: str, document: type[Any], version: int) -> str:
    return json.dumps(json_schema(title, document, version), indent=2) + "\n"


def json_schema(title: str, document: type[Any], version: int) -> dict[str, Any]:
    """The schema of a dataclass. Every key is always there, and there are no others."""
    from pydantic import TypeAdapter

    made = TypeAdapter(document).json_schema(mode="serialization")
    definitions = {name: _closed(definition) for name, definition in made.pop("$defs").items()}
    whole = _closed(made)
    whole["properties"]["schema"] = {"const": version}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "title": title,
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
