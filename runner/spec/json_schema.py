"""The language as JSON Schema (draft 2020-12), so that editors complete and check a workload while it is written.

It knows no block of the file, so it takes an unknown word for the name of one; ``h2h validate`` knows better.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from runner.spec.expand import MERGES
from runner.spec.operators import LAYER_KINDS, OPERATOR_KINDS
from runner.spec.schema import ExpectModel, InputModel, Settings, TargetModel, WorkloadModel
from runner.spec.training import LOSSES, OPTIMIZERS

FILE = "workload.schema.json"

_EXPRESSION: dict[str, Any] = {"$ref": "#/$defs/expression"}
_LAYERS: dict[str, Any] = {"$ref": "#/$defs/layers"}
_LAYER_REFERENCES: dict[str, Any] = {kind: {"$ref": f"#/$defs/{kind}"} for kind in LAYER_KINDS}
_IDENTIFIER = "^[A-Za-z][A-Za-z0-9_]*$"
_COMMON: dict[str, Any] = {
    "when": {"description": "the layer is left out unless this is true", "anyOf": [{"type": "boolean"}, {"type": "string"}]},
    "name": {"description": "what the layer is called among its siblings", "type": "string"},
}


def schema_text() -> str:
    """The schema as the file that lies beside the workloads."""
    return json.dumps(json_schema(), indent=2) + "\n"


def json_schema() -> dict[str, Any]:
    """The schema of a workload file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "headtohead workload",
        "type": "object",
        "properties": _top_level(),
        "required": ["name", "inputs"],
        "additionalProperties": False,
        "oneOf": [{"required": ["network", "batch"]}, {"required": ["operator"]}],
        "$defs": {
            "expression": {"description": "`$name` or `${arithmetic}`", "type": "string", "pattern": r"\$"},
            "layers": {"description": "a list of layers", "type": "array", "items": {"$ref": "#/$defs/layer"}},
            "layer": _layer(),
            **{kind: _nullable(_object(model, common=True)) for kind, model in LAYER_KINDS.items()},
        },
    }


def _top_level() -> dict[str, Any]:
    number = {"anyOf": [{"type": "number"}, {"type": "boolean"}]}
    inputs = {"type": "object", "minProperties": 1, "additionalProperties": _object(InputModel, required=True)}
    block = {
        "type": "object",
        "properties": {
            "takes": {"description": "its parameters, each with its usual value or `required`", "type": "object"},
            "layers": _LAYERS,
        },
        "required": ["layers"],
        "additionalProperties": False,
    }
    described = {
        "inputs": ("named tensors, per sample, channels last", inputs),
        "target": ("what the loss compares with", _object(TargetModel, required=True)),
        "parameters": ("named numbers, used as `$name`", {"type": "object", "additionalProperties": number}),
        "sweep": (
            "lists for `batch` or for parameters",
            {"type": "object", "additionalProperties": {"type": "array", "items": number, "minItems": 1}},
        ),
        "defaults": ("attributes that every layer of a kind gets", _defaults()),
        "blocks": ("reusable pieces of the network", {"type": "object", "additionalProperties": block}),
        "network": ("the list of layers", _LAYERS),
        "operator": ("a single layer or operator, measured alone", _operator()),
        "loss": ("what is minimised", {"enum": list(LOSSES)}),
        "optimizer": (
            "how parameters are updated",
            _one_of({kind: _nullable(_object(model, required=True)) for kind, model in OPTIMIZERS.items()}),
        ),
        "expect": ("counts that must come out", _object(ExpectModel)),
    }
    plain = _object(WorkloadModel)["properties"]
    return {
        name: {"description": described[name][0], **described[name][1]} if name in described else plain[name]
        for name in WorkloadModel.model_fields
    }


def _layer() -> dict[str, Any]:
    structures = {
        "repeat": _closed(
            {"times": _open({"type": "integer", "minimum": 0}), "layers": _LAYERS, "when": _COMMON["when"]}, "times", "layers"
        ),
        "residual": _closed({"body": _LAYERS, "shortcut": _LAYERS, **_COMMON}, "body"),
        "branches": _closed(
            {"merge": _open({"enum": list(MERGES)}), "paths": {"type": "array", "items": _LAYERS, "minItems": 2}, **_COMMON},
            "merge",
            "paths",
        ),
        "input": {"type": "string"},
    }
    return {
        "description": "a layer, a structure, or a call of a block",
        "anyOf": [
            {"enum": list(LAYER_KINDS)},
            {"description": "a block of this file", "type": "string", "pattern": _IDENTIFIER},
            {
                "type": "object",
                "properties": {**_LAYER_REFERENCES, **structures},
                "additionalProperties": {"description": "the parameters of a block of this file", "type": ["object", "null"]},
                "minProperties": 1,
                "maxProperties": 1,
            },
            _LAYERS,
        ],
    }


def _operator() -> dict[str, Any]:
    operators = {kind: _nullable(_object(model)) for kind, model in OPERATOR_KINDS.items()}
    return _one_of({**operators, **{kind: layer for kind, layer in _LAYER_REFERENCES.items() if kind != "unembedding"}})


def _defaults() -> dict[str, Any]:
    return {"type": "object", "properties": _LAYER_REFERENCES, "additionalProperties": False}


def _one_of(settings: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """A word of these alone, or with its settings."""
    with_settings = {"type": "object", "properties": settings, "additionalProperties": False, "minProperties": 1, "maxProperties": 1}
    return {"anyOf": [{"enum": list(settings)}, with_settings]}


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "type": ["object", "null"]}


def _closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _object(model: type[Settings], *, required: bool = False, common: bool = False) -> dict[str, Any]:
    """A model's keys; ``required`` ones only where no ``defaults`` can stand in for them."""
    made = model.model_json_schema()
    properties = {name: _property(schema) for name, schema in made.get("properties", {}).items()}
    result = _closed({**properties, **(_COMMON if common else {})})
    needed = made.get("required", []) if required else []
    return {**{key: value for key, value in result.items() if key != "required"}, **({"required": needed} if needed else {})}


def _property(schema: dict[str, Any]) -> dict[str, Any]:
    """A key's schema without generated noise, open to expressions."""
    default = schema.get("default")
    kept = {key: value for key, value in schema.items() if key not in ("title", "default")}
    if "anyOf" in kept:
        kept["anyOf"] = [option for option in kept["anyOf"] if option != {"type": "null"}]
        if len(kept["anyOf"]) == 1:
            kept = {**kept.pop("anyOf")[0], **kept}
    opened = _open(kept)
    return opened if default in (None, "") else {**opened, "default": default}


def _open(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with every value that is no text also open to an expression."""
    if "items" in schema:
        schema = {**schema, "items": _open(schema["items"])}
    options = [_open_inside(option) for option in schema["anyOf"]] if "anyOf" in schema else [schema]
    if not schema or (schema.get("type") == "string" and "enum" not in schema):
        return schema
    return {"anyOf": [*options, _EXPRESSION]}


def _open_inside(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "items": _open(schema["items"])} if "items" in schema else schema
