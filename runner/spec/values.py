"""The types that attributes have: each a check of one place in the tree, with a message of its own, and its JSON Schema.

Checks take a positioned tree and return plain immutable values; :class:`Wrong` says what must stand there instead.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import PlainValidator, WithJsonSchema

from runner.spec.problems import did_you_mean
from runner.spec.tree import Tree, YamlList, YamlMap, YamlScalar, described, shortened

MAX_EXTENT = 1 << 31
MAX_TOTAL = 1 << 53  # of what is counted over a whole network; every JSON reader keeps as much exactly

IntPair: TypeAlias = tuple[int, int]
Margins: TypeAlias = tuple[IntPair, IntPair]


class Wrong(ValueError):
    """A value is not what its key wants. ``what`` continues the key's name: ``must be text, got nothing``."""

    def __init__(self, at: Tree, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.at = at
        self.what = what
        self.remedy = remedy


def _must_be(tree: Tree, wanted: str, remedy: str = "") -> Wrong:
    return Wrong(tree, f"must be {wanted}, got {described(tree)}", remedy)


def is_integer(tree: Tree) -> bool:
    return isinstance(tree, YamlScalar) and isinstance(tree.value, int) and not isinstance(tree.value, bool)


def text(tree: Tree) -> str:
    """Text that is not empty, without spaces around it."""
    if isinstance(tree, YamlScalar) and isinstance(tree.value, str) and tree.value.strip():
        return tree.value.strip()
    quotes = isinstance(tree, YamlScalar) and tree.value is not None and not isinstance(tree.value, str)
    raise _must_be(tree, "text", "write it in quotes" if quotes else "")


def flag(tree: Tree) -> bool:
    if isinstance(tree, YamlScalar) and isinstance(tree.value, bool):
        return tree.value
    raise _must_be(tree, "true or false")


def integer(low: int, high: int = MAX_EXTENT) -> Callable[[Tree], int]:
    """The check of a whole number from ``low`` to ``high``, both included."""
    wanted = "a whole number" + (f" of at least {low}" if low > -MAX_EXTENT else "")

    def check(tree: Tree) -> int:
        if not is_integer(tree):
            raise _must_be(tree, wanted)
        number = int(tree.value)  # type: ignore[union-attr, arg-type]
        if number < low:
            raise _must_be(tree, wanted)
        if number > high:
            raise Wrong(tree, f"may be {high:,} at most, got {number:,}")
        return number

    return check


def real(wanted: str = "a number", allowed: Callable[[float], bool] = lambda number: True) -> Callable[[Tree], float]:
    """The check of a number in a range that ``wanted`` puts into words."""

    def check(tree: Tree) -> float:
        if not isinstance(tree, YamlScalar) or isinstance(tree.value, bool) or not isinstance(tree.value, int | float):
            raise _must_be(tree, wanted)
        number = float(tree.value)
        if not math.isfinite(number) or not allowed(number):
            raise _must_be(tree, wanted)
        return number

    return check


def one_of(*words: str) -> Callable[[Tree], str]:
    """The check of one word of a closed list."""

    def check(tree: Tree) -> str:
        word = text(tree)
        if word not in words:
            raise Wrong(tree, f"cannot be {shortened(word)!r}", did_you_mean(word, words))
        return word

    return check


def list_of(check: Callable[[Tree], Any], wanted: str, *, least: int = 0) -> Callable[[Tree], tuple[Any, ...]]:
    """The check of a list whose items pass ``check``."""

    def check_all(tree: Tree) -> tuple[Any, ...]:
        if not isinstance(tree, YamlList) or len(tree.items) < least:
            raise _must_be(tree, wanted)
        return tuple(check(item) for item in tree.items)

    return check_all


def _pair_of(check: Callable[[Tree], int]) -> Callable[[Tree], IntPair]:
    def check_pair(tree: Tree) -> IntPair:
        if isinstance(tree, YamlScalar):
            return (check(tree),) * 2
        if isinstance(tree, YamlList) and len(tree.items) == 2:
            return check(tree.items[0]), check(tree.items[1])
        raise _must_be(tree, "one number or [height, width]")

    return check_pair


_extent = integer(1)
_count = integer(0)


def _is_same(tree: Tree) -> bool:
    return isinstance(tree, YamlScalar) and tree.value == "same"


def _padding_1d(tree: Tree) -> IntPair | str:
    if _is_same(tree):
        return "same"
    if is_integer(tree):
        return (_count(tree),) * 2
    if isinstance(tree, YamlList) and len(tree.items) == 2:
        return _count(tree.items[0]), _count(tree.items[1])
    raise _must_be(tree, "one number, [left, right] or same")


def _padding_2d(tree: Tree) -> Margins | str:
    if _is_same(tree):
        return "same"
    if is_integer(tree):
        return ((_count(tree),) * 2,) * 2
    if isinstance(tree, YamlList) and len(tree.items) == 2:
        sides = tree.items
        if all(is_integer(side) for side in sides):
            return (_count(sides[0]),) * 2, (_count(sides[1]),) * 2
        if all(isinstance(side, YamlList) and len(side.items) == 2 for side in sides):
            (top, bottom), (left, right) = (tuple(map(_count, side.items)) for side in sides if isinstance(side, YamlList))
            return (top, bottom), (left, right)
    raise _must_be(tree, "one number, [height, width], [[top, bottom], [left, right]] or same")


def _rotary(tree: Tree) -> float | None:
    if isinstance(tree, YamlScalar) and tree.value in ("none", None):
        return None
    return real("the base of its angles or none", lambda number: number > 0)(tree)


def _axes(tree: Tree) -> tuple[int, ...] | None:
    if isinstance(tree, YamlScalar) and tree.value == "all":
        return None
    return list_of(integer(-MAX_EXTENT), "a list of axes or all", least=1)(tree)


def any_tree(tree: Tree) -> Tree:
    """No check: what is read by other means."""
    return tree


def identifier(tree: Tree) -> str:
    """A word that can be part of a parameter's path."""
    word = text(tree)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", word):
        raise Wrong(tree, f"must be letters, digits and _ and begin with a letter, got {shortened(word)!r}")
    return word


def file_name(tree: Tree) -> str:
    word = text(tree)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", word):
        raise Wrong(tree, f"must be letters, digits, `-`, `_` and `.`, got {shortened(word)!r}")
    return word


def number_or_flag(tree: Tree) -> int | float | bool:
    """The value of a named parameter."""
    if isinstance(tree, YamlScalar) and isinstance(tree.value, bool | int | float):
        return tree.value
    raise _must_be(tree, "a number")


def a_map(tree: Tree) -> YamlMap:
    if isinstance(tree, YamlMap):
        return tree
    raise _must_be(tree, "keys and values")


_WHOLE = {"type": "integer", "minimum": 0}
_PAIR = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}]}


def _pairs(depth: int) -> dict[str, Any]:
    items: dict[str, Any] = {"type": "integer", "minimum": 0}
    inner = items if depth == 1 else {"anyOf": [items, _pairs(depth - 1)]}
    return {"type": "array", "items": inner, "minItems": 2, "maxItems": 2}


def _words(*words: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


Text = Annotated[str, PlainValidator(text), WithJsonSchema({"type": "string", "minLength": 1})]
Flag = Annotated[bool, PlainValidator(flag), WithJsonSchema({"type": "boolean"})]
Extent = Annotated[int, PlainValidator(_extent), WithJsonSchema({"type": "integer", "minimum": 1})]
Total = Annotated[int, PlainValidator(integer(0, MAX_TOTAL)), WithJsonSchema(_WHOLE)]
Index = Annotated[int, PlainValidator(integer(-MAX_EXTENT)), WithJsonSchema({"type": "integer"})]
Real = Annotated[float, PlainValidator(real()), WithJsonSchema({"type": "number"})]
Positive = Annotated[
    float, PlainValidator(real("a number above 0", lambda number: number > 0)), WithJsonSchema({"type": "number", "exclusiveMinimum": 0})
]
NotNegative = Annotated[
    float, PlainValidator(real("a number of at least 0", lambda number: number >= 0)), WithJsonSchema({"type": "number", "minimum": 0})
]
Fraction = Annotated[
    float,
    PlainValidator(real("a number from 0 to 1, 1 left out", lambda number: 0 <= number < 1)),
    WithJsonSchema({"type": "number", "minimum": 0, "exclusiveMaximum": 1}),
]
Share = Annotated[
    float,
    PlainValidator(real("a number from 0 to 1", lambda number: 0 <= number <= 1)),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
]
Pair = Annotated[IntPair, PlainValidator(_pair_of(_extent)), WithJsonSchema(_PAIR)]
CountPair = Annotated[IntPair, PlainValidator(_pair_of(_count)), WithJsonSchema({"anyOf": [_WHOLE, _pairs(1)]})]
Padding1d = Annotated[IntPair | str, PlainValidator(_padding_1d), WithJsonSchema({"anyOf": [_WHOLE, _pairs(1), {"const": "same"}]})]
Padding2d = Annotated[Margins | str, PlainValidator(_padding_2d), WithJsonSchema({"anyOf": [_WHOLE, _pairs(2), {"const": "same"}]})]
ShapeList = Annotated[
    tuple[int, ...],
    PlainValidator(list_of(_extent, "a list of extents, such as [224, 224, 3]")),
    WithJsonSchema({"type": "array", "items": {"type": "integer", "minimum": 1}}),
]
NewShape = Annotated[
    tuple[int, ...],
    PlainValidator(list_of(integer(-1), "a list of extents, one of which may be -1", least=1)),
    WithJsonSchema({"type": "array", "items": {"type": "integer", "minimum": -1}, "minItems": 1}),
]
Rotary = Annotated[float | None, PlainValidator(_rotary), WithJsonSchema({"anyOf": [{"type": "number"}, {"const": "none"}]})]
Axes = Annotated[
    tuple[int, ...] | None,
    PlainValidator(_axes),
    WithJsonSchema({"anyOf": [{"type": "array", "items": {"type": "integer"}, "minItems": 1}, {"const": "all"}]}),
]
GeluForm = Annotated[str, PlainValidator(one_of("erf", "tanh")), WithJsonSchema(_words("erf", "tanh"))]
UpsampleMethod = Annotated[str, PlainValidator(one_of("nearest", "bilinear")), WithJsonSchema(_words("nearest", "bilinear"))]
Fill = Annotated[
    Literal["normal", "uniform", "integers", "linspace", "sin"],
    PlainValidator(one_of("normal", "uniform", "integers", "linspace", "sin")),
    WithJsonSchema(_words("normal", "uniform", "integers", "linspace", "sin")),
]
ReadLoss = Annotated[
    Literal["never", "every_step"], PlainValidator(one_of("never", "every_step")), WithJsonSchema(_words("never", "every_step"))
]
FileName = Annotated[str, PlainValidator(file_name), WithJsonSchema({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$"})]
Identifier = Annotated[str, PlainValidator(identifier), WithJsonSchema({"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_]*$"})]
Raw = Annotated[Any, PlainValidator(any_tree), WithJsonSchema({})]
