"""JSON Schema (draft 2020-12) of a file of published figures, so that editors complete and check it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from runner.claims.schema import AgainstModel, ClaimModel, MachineModel, ProtocolModel, SourceModel, TargetModel
from runner.spec.schema import Settings

FILE = "claims.schema.json"


def schema_text() -> str:
    """The schema as the file that lies beside the figures."""
    return json.dumps(json_schema(), indent=2) + "\n"


def json_schema() -> dict[str, Any]:
    """The schema of a file of published figures. What a row must have may stand in its series, so neither requires it."""
    targets = {"type": "array", "items": _object(TargetModel), "minItems": 2}
    rows = _object(ClaimModel, {"best_of": targets, "against": _object(AgainstModel)}, open=True)
    series = {**rows, "properties": {**rows["properties"], "rows": {"type": "array", "items": rows, "minItems": 1}}, "required": ["rows"]}
    nested = {
        "machines": {"type": "object", "additionalProperties": _object(MachineModel), "minProperties": 1},
        "protocol": _object(ProtocolModel),
        "series": {"type": "array", "items": series, "minItems": 1},
    }
    title = "headtohead published figures"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **_object(SourceModel, nested)}


def _object(model: type[Settings], nested: Mapping[str, dict[str, Any]] | None = None, *, open: bool = False) -> dict[str, Any]:
    """A model's keys; ``nested`` are the schemas of those that it leaves to other models, ``open`` requires none."""
    made = model.model_json_schema()
    properties = {name: (nested or {}).get(name) or _plain(schema) for name, schema in made["properties"].items()}
    needed = [] if open else made.get("required", [])
    closed = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**closed, "required": needed} if needed else closed


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A key's schema without what pydantic adds for Python: titles, defaults, the null of an optional key."""
    kept = {key: value for key, value in schema.items() if key not in ("title", "default")}
    options = [option for option in kept.pop("anyOf", []) if option != {"type": "null"}]
    return {**kept, **options[0]} if len(options) == 1 else {**kept, **({"anyOf": options} if options else {})}
