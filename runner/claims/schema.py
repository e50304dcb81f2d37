"""Closed models of a file of published figures: which keys there are, and what each may hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import Field, PlainValidator, WithJsonSchema

from frameworks.contract import PRECISIONS
from runner.claims.differences import DIFFERENCES
from runner.claims.model import BASES, Figure, Number
from runner.claims.units import UNITS
from runner.spec.problems import did_you_mean
from runner.spec.schema import MODES, Settings
from runner.spec.tree import Tree, YamlList, YamlScalar, described
from runner.spec.values import Extent, FileName, Positive, Raw, Text, Wrong, a_map, list_of, number_or_flag, one_of, real, text

FRAMEWORKS = (
    "pytorch",
    "tensorflow",
    "mlx",
    "jax",
    "keras-torch",
    "keras-jax",
    "llama.cpp",
    "core-ml",
    "honeycrisp",
)
"""What figures are published about. Keras on another backend than TensorFlow is a framework of its own: its rows are not the backend's."""

DEVICES = ("cpu", "gpu", "ane", "unknown")
BACKENDS = ("mps", "metal", "mlcompute", "cuda", "rocm", "xpu")
OTHER_PRECISIONS = ("int8", "int4", "unknown")


def _figure(tree: Tree) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """A number or ``[low, high]``, each as it was read and as it was written."""
    ends = tree.items if isinstance(tree, YamlList) else (tree,)
    if not ends or len(ends) > 2:
        raise Wrong(tree, f"must be a number or [low, high], got {described(tree)}")
    values = tuple(real("a number or [low, high]")(end) for end in ends)
    if list(values) != sorted(set(values)):
        raise Wrong(tree, "must be [low, high], the lower first")
    return values, tuple(end.raw for end in ends if isinstance(end, YamlScalar))


def _a_mapping(check: Callable[[Tree], Any]) -> Callable[[Tree], dict[str, Any]]:
    def check_all(tree: Tree) -> dict[str, Any]:
        return {name: check(value) for name, value in a_map(tree).values.items()}

    return check_all


def _differences(tree: Tree) -> dict[str, str]:
    found = a_map(tree)
    for code, key in found.keys.items():
        if code not in DIFFERENCES:
            raise Wrong(key, f"has no difference `{code}`", did_you_mean(code, DIFFERENCES))
    return {code: text(value) for code, value in found.values.items()}


def _between(tree: Tree) -> tuple[float, float]:
    low, high = list_of(real(), "[low, high]", least=2)(tree)[:2]
    return low, high


_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
_NUMBER: dict[str, Any] = {"type": "number"}


def _map_schema(values: dict[str, Any]) -> WithJsonSchema:
    return WithJsonSchema({"type": "object", "additionalProperties": values})


def _enum(*words: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": list(words)})


_ALL_PRECISIONS = (*PRECISIONS, *OTHER_PRECISIONS)

Texts: TypeAlias = Annotated[
    tuple[str, ...], PlainValidator(list_of(text, "a list of texts")), WithJsonSchema({"type": "array", "items": _TEXT})
]
Versions: TypeAlias = Annotated[Mapping[str, str], PlainValidator(_a_mapping(text)), _map_schema(_TEXT)]
Numbers: TypeAlias = Annotated[
    Mapping[str, Number], PlainValidator(_a_mapping(number_or_flag)), _map_schema({"type": ["number", "boolean"]})
]
Ranges: TypeAlias = Annotated[
    Mapping[str, tuple[float, float]],
    PlainValidator(_a_mapping(_between)),
    _map_schema({"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}),
]
Differences: TypeAlias = Annotated[
    Mapping[str, str],
    PlainValidator(_differences),
    WithJsonSchema({"type": "object", "properties": dict.fromkeys(DIFFERENCES, _TEXT), "additionalProperties": False}),
]
Value: TypeAlias = Annotated[
    tuple[tuple[float, ...], tuple[str, ...]],
    PlainValidator(_figure),
    WithJsonSchema({"anyOf": [_NUMBER, {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}]}),
]
Mode: TypeAlias = Annotated[str, PlainValidator(one_of(*MODES)), _enum(*MODES)]
Framework: TypeAlias = Annotated[str, PlainValidator(one_of(*FRAMEWORKS)), _enum(*FRAMEWORKS)]
Device: TypeAlias = Annotated[str, PlainValidator(one_of(*DEVICES)), _enum(*DEVICES)]
Backend: TypeAlias = Annotated[str, PlainValidator(one_of(*BACKENDS)), _enum(*BACKENDS)]
Precision: TypeAlias = Annotated[str, PlainValidator(one_of(*_ALL_PRECISIONS)), _enum(*_ALL_PRECISIONS)]
Unit: TypeAlias = Annotated[str, PlainValidator(one_of(*UNITS)), _enum(*UNITS)]
Bound: TypeAlias = Annotated[str, PlainValidator(one_of("at_least")), _enum("at_least")]
BasisWord: TypeAlias = Annotated[str, PlainValidator(one_of(*BASES)), _enum(*BASES)]


class MachineModel(Settings):
    """A machine of the source: what it calls it, and what the system calls it."""

    title: Text
    chip: Text | None = None
    gpu: Text | None = None
    cpu_cores: Extent | None = None
    gpu_cores: Extent | None = None
    memory_gb: Positive | None = None
    note: Text = ""


class ProtocolModel(Settings):
    """How the figures were made. What the source does not tell is written as `not stated`."""

    hints: ClassVar[dict[str, str]] = dict.fromkeys(("warm_up", "wait", "clock"), "write `not stated` where the source does not say")

    network: Text = ""
    data: Text = ""
    optimizer: Text = ""
    warm_up: Text
    wait: Text
    clock: Text
    statistic: Text = ""


class AgainstModel(Settings):
    """What a ratio divides by."""

    device: Device = ""
    machine: Text = ""


class TargetModel(Settings):
    """One of the workloads that a highest figure is of."""

    workload: FileName
    batch: Extent | None = None
    parameters: Numbers = Field(default_factory=dict)


class ClaimModel(Settings):
    """A row of `rows`; what all rows of a series share may stand above them."""

    machine: Text
    of: Text
    workload: FileName | None = None
    parameters: Numbers = Field(default_factory=dict)
    best_of: Raw = None
    sweep: Ranges = Field(default_factory=dict)
    input: Text = ""
    mode: Mode
    batch: Extent | None = None
    framework: Framework
    device: Device
    backend: Backend = ""
    execution: Text = ""
    versions: Versions = Field(default_factory=dict)
    precision: Precision = "unknown"
    metric: Text
    value: Value | None = None
    bound: Bound = ""
    unit: Unit
    steps: Positive | None = None
    samples: Positive | None = None
    against: Raw = None
    basis: BasisWord = "published"
    derived_from: Text = ""
    missing: Text = ""
    note: Text = ""
    differences: Differences = Field(default_factory=dict)


class SourceModel(Settings):
    """The top level of a file of published figures."""

    hints: ClassVar[dict[str, str]] = {
        "series": "list rows that belong together, such as `- {of: ..., rows: [{machine: m1, value: 12}]}`",
        "protocol": "say how the clock was used: `warm_up`, `wait`, `clock`",
    }

    name: FileName
    title: Text
    urls: Texts
    date: Text
    caveat: Text = ""
    system: Text = ""
    software: Text = ""
    machines: Raw
    protocol: Raw
    differences: Differences = Field(default_factory=dict)
    quotes: Texts = ()
    only_in_pictures: Texts = ()
    related: Texts = ()
    series: Raw


def figure(value: tuple[tuple[float, ...], tuple[str, ...]], at_least: bool) -> Figure:
    """A value of the file as the figure that it stands for."""
    numbers, written = value
    said = "–".join(written)
    return Figure(numbers[0], numbers[-1], max(map(_digit, written)), f">{said}" if at_least else said, at_least)


def _digit(written: str) -> float:
    """One of the last digit: 0.01 for ``2.35``, 1 for ``140``."""
    mantissa, _, power = written.lower().replace("_", "").partition("e")
    decimals = len(mantissa.partition(".")[2])
    return math.pow(10.0, int(power or 0) - decimals)
