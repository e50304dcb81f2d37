"""Closed models of a workload file: which keys there are, what each may hold, and how a tree is read into them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, WithJsonSchema

from runner.spec.problems import did_you_mean
from runner.spec.tree import Collector, Tree, YamlMap
from runner.spec.values import (
    Extent,
    FileName,
    Fill,
    Raw,
    ReadLoss,
    Real,
    ShapeList,
    Text,
    Total,
    Wrong,
    list_of,
    one_of,
)

MODES = ("train", "infer")


class Settings(BaseModel):
    """Keys and values of one place in the file. Subclasses say which there are; anything else is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    hints: ClassVar[dict[str, str]] = {}  # what to do about a missing key, where that is not obvious

    def plain(self) -> dict[str, Any]:
        """All values, defaults filled in, as JSON has them: tuples as lists."""
        return {name: listed(getattr(self, name)) for name in type(self).model_fields}


M = TypeVar("M", bound=Settings)


def listed(value: Any) -> Any:
    """Tuples as lists, all the way down."""
    return [listed(item) for item in value] if isinstance(value, tuple) else value


def read(model: type[M], tree: YamlMap, called: str, problems: Collector) -> M | None:
    """The model's instance, or None after every fault was added to ``problems``."""
    before = len(problems.problems)
    check_keys(model.model_fields, tree, called, problems)
    values = {key: value for key, value in tree.values.items() if key in model.model_fields}
    try:
        made = model.model_validate(values)
    except ValidationError as error:
        for fault in error.errors():
            name = str(fault["loc"][0]) if fault["loc"] else ""
            reason = fault.get("ctx", {}).get("error")
            if isinstance(reason, Wrong):
                add_wrong(reason, name, problems)
            elif fault["type"] == "missing":
                problems.add(tree, f"{called} needs `{name}`", remedy=model.hints.get(name, ""))
            else:
                problems.add(tree.values.get(name, tree), f"`{name}`: {fault['msg']}")
        return None
    return made if len(problems.problems) == before else None


def add_wrong(reason: Wrong, name: str, problems: Collector) -> None:
    """A failed check of the value of ``name`` as a problem."""
    problems.add(reason.at, f"`{name}` {reason.what}", remedy=reason.remedy)


def check_keys(known: Iterable[str], tree: YamlMap, called: str, problems: Collector) -> None:
    """Adds a problem for each key that is not known."""
    names = tuple(known)
    for key in tree.values:
        if key not in names:
            problems.add(tree.keys[key], f"{called} has no key `{key}`", remedy=did_you_mean(key, names))


class InputModel(Settings):
    """A named input tensor, per sample."""

    shape: ShapeList
    fill: Fill
    low: Real = 0.0
    high: Real = 1.0
    below: Extent | None = None
    of: Text = ""


class TargetModel(Settings):
    """What the loss compares with; its shape follows from the loss."""

    fill: Fill
    low: Real = 0.0
    high: Real = 1.0
    below: Extent | None = None
    of: Text = ""


class ExpectModel(Settings):
    """Counts that must come out."""

    parameters: Total | None = None
    not_trained: Total | None = None
    operations: Total | None = None
    output: ShapeList | None = None


def _modes(tree: Tree) -> tuple[str, ...]:
    modes = list_of(one_of(*MODES), "a list of train and infer", least=1)(tree)
    return tuple(mode for mode in MODES if mode in modes)


Modes = Annotated[
    tuple[str, ...] | None,
    PlainValidator(_modes),
    WithJsonSchema({"type": "array", "items": {"enum": list(MODES)}, "minItems": 1, "uniqueItems": True}),
]


class BlockModel(Settings):
    """A reusable piece of a network."""

    takes: Raw = None
    layers: Raw


class WorkloadModel(Settings):
    """The top level of a workload file; what is :data:`Raw` is read by the modules that know it."""

    hints: ClassVar[dict[str, str]] = {
        "name": "give the workload a name, such as `name: my-network`",
        "inputs": "name at least one, such as `image: {shape: [224, 224, 3], fill: normal}`",
    }

    name: FileName
    title: Text = ""
    source: Text = ""
    description: Text = ""
    inputs: Raw
    target: Raw = None
    batch: Extent | None = None
    unit: Text = "samples"
    parameters: Raw = None
    sweep: Raw = None
    defaults: Raw = None
    blocks: Raw = None
    network: Raw = None
    operator: Raw = None
    loss: Raw = None
    optimizer: Raw = None
    modes: Modes = Field(default=None)
    read_loss: ReadLoss = "never"
    expect: Raw = None
