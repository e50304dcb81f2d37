"""Arithmetic inside a workload: ``$name`` and ``${...}``, evaluated without Python's ``eval`` and within bounds."""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from runner.spec.problems import did_you_mean
from runner.spec.tree import Tree, YamlList, YamlMap, YamlScalar, scalars, shortened

Scope: TypeAlias = Mapping[str, Tree]
Value: TypeAlias = "str | int | float | bool"

MAX_LENGTH = 200
LARGEST = 1 << 63

_REFERENCE = re.compile(r"\$\{([^{}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)")
_CONSTANTS: Mapping[str, Value] = {"true": True, "false": False}

_ARITHMETIC: dict[type[ast.AST], Callable[[Any, Any], int | float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type[ast.AST], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class ExpressionError(ValueError):
    """An expression has no value; ``what`` and ``remedy`` are for :class:`Problem`, ``at`` is the scalar that holds it, if known."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.at: Tree | None = None


def substitute(tree: Tree, scope: Scope) -> Tree:
    """The tree with every ``$name`` and ``${...}`` replaced; a text that is nothing else takes the value's type.

    Raises :class:`ExpressionError` that knows its place.
    """
    if isinstance(tree, YamlList):
        return YamlList(tuple(substitute(item, scope) for item in tree.items), tree.line, tree.column)
    if isinstance(tree, YamlMap):
        return YamlMap({key: substitute(value, scope) for key, value in tree.values.items()}, tree.keys, tree.line, tree.column)
    if not isinstance(tree.value, str) or "$" not in tree.value:
        return tree
    try:
        return _substitute_text(tree, tree.value, scope)
    except ExpressionError as error:
        error.at = tree
        raise


def _substitute_text(tree: YamlScalar, text: str, scope: Scope) -> Tree:
    whole = _REFERENCE.fullmatch(text)
    if whole and whole[2]:
        return _placed(lookup(whole[2], scope), tree)
    if whole:
        return YamlScalar(evaluate(whole[1], scope), text, tree.line, tree.column)
    if "${" in _REFERENCE.sub("", text):
        raise ExpressionError(f"`{shortened(text)}` has a `${{` without its `}}`")

    def written(match: re.Match[str]) -> str:
        value = evaluate(match[1] if match[2] is None else match[2], scope)
        return str(value).lower() if isinstance(value, bool) else str(value)

    return YamlScalar(_REFERENCE.sub(written, text), text, tree.line, tree.column)


def _placed(value: Tree, at: YamlScalar) -> Tree:
    """A parameter's value at the place that asks for it, so that messages point there."""
    if isinstance(value, YamlScalar):
        return YamlScalar(value.value, at.raw, at.line, at.column)
    if isinstance(value, YamlList):
        return YamlList(value.items, at.line, at.column)
    return YamlMap(value.values, value.keys, at.line, at.column)


def condition(tree: Tree, scope: Scope) -> bool:
    """The truth of a ``when``: a boolean, or an expression with or without ``$``. Raises :class:`ExpressionError` that knows its place."""
    try:
        if not isinstance(tree, YamlScalar) or tree.value is None:
            raise ExpressionError("`when` must be an expression")
        value = evaluate(_bare(tree.value), scope) if isinstance(tree.value, str) else tree.value
        if not isinstance(value, bool):
            said = shortened(str(value))
            raise ExpressionError(f"`when` must be true or false, got {said!r}", "compare it with something, as in `stride != 1`")
        return value
    except ExpressionError as error:
        error.at = tree
        raise


def _bare(text: str) -> str:
    """A condition without dollars: ``$a`` is ``a``, ``${...}`` is ``(...)``."""
    return _REFERENCE.sub(lambda match: match[2] or f"({match[1]})", text)


def lookup(name: str, scope: Scope) -> Tree:
    """The value of a name. Raises :class:`ExpressionError` with the nearest known name."""
    if name not in scope:
        known = did_you_mean(name, scope) if scope else "declare it under `parameters:`, or under `takes:` of the block"
        raise ExpressionError(f"`${name}` is not known here", known)
    return scope[name]


def references(tree: Tree) -> set[str]:
    """The names that the tree mentions in expressions, whether they exist or not."""
    return {name for key, scalar in scalars(tree) for name in _names(key, scalar)}


def _names(key: str, scalar: YamlScalar) -> Iterator[str]:
    if not isinstance(scalar.value, str):
        return
    expressions = [_bare(scalar.value)] if key == "when" else [m[1] or m[2] or "" for m in _REFERENCE.finditer(scalar.value)]
    for text in expressions:
        try:
            parsed = _parse(text)
        except ExpressionError:
            continue
        yield from (node.id for node in ast.walk(parsed) if isinstance(node, ast.Name))


def evaluate(text: str, scope: Scope) -> Value:
    """The value of an expression over numbers, texts in quotes and names. Raises :class:`ExpressionError`."""
    try:
        return _evaluate(_parse(text).body, scope, text)
    except ZeroDivisionError:
        raise ExpressionError(f"`{text}` divides by zero") from None
    except OverflowError:
        raise ExpressionError(f"`{text}` is too large a number") from None


def _parse(text: str) -> ast.Expression:
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"an expression may have {MAX_LENGTH} characters, this one has {len(text)}")
    if "$" in text:
        raise ExpressionError(f"`{text}` is not an expression", "inside `${...}` names stand without `$`")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python's, about escapes and the like
            return ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ExpressionError(f"`{text}` is not an expression", "write something like `${4 * width}`") from None


def _evaluate(node: ast.expr, scope: Scope, text: str) -> Value:
    def value(inner: ast.expr) -> Value:
        return _evaluate(inner, scope, text)

    def number(inner: ast.expr) -> int | float:
        found = value(inner)
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise ExpressionError(f"`{text}` calculates with {found!r}, which is no number")
        return found

    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float):
        return node.value if isinstance(node.value, str) else _bounded(node.value, text)
    if isinstance(node, ast.Name):
        return _scalar_value(node.id, scope)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not value(node.operand)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return -number(node.operand) if isinstance(node.op, ast.USub) else number(node.operand)
    if isinstance(node, ast.BinOp):
        return _bounded(_calculate(node.op, number(node.left), number(node.right), text), text)
    if isinstance(node, ast.BoolOp):
        decided_by = isinstance(node.op, ast.Or)
        for inner in node.values[:-1]:
            found = value(inner)
            if bool(found) is decided_by:
                return found
        return value(node.values[-1])
    if isinstance(node, ast.IfExp):
        return value(node.body) if value(node.test) else value(node.orelse)
    if isinstance(node, ast.Compare):
        return _compare(node, value, text)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max") and not node.keywords:
        numbers = [number(argument) for argument in node.args]
        if not numbers:
            raise ExpressionError(f"`{text}` gives {node.func.id} nothing to choose from")
        return min(numbers) if node.func.id == "min" else max(numbers)
    raise ExpressionError(
        f"`{text}` holds something that is not allowed here",
        "there are + - * / // % **, comparisons, and, or, not, `a if c else b`, min and max",
    )


def _scalar_value(name: str, scope: Scope) -> Value:
    if name in _CONSTANTS and name not in scope:
        return _CONSTANTS[name]
    found = lookup(name, scope)
    if not isinstance(found, YamlScalar) or found.value is None:
        raise ExpressionError(f"`{name}` is not a single value, so nothing can be calculated with it", f"use it alone, as `${name}`")
    return found.value


def _calculate(kind: ast.operator, left: int | float, right: int | float, text: str) -> int | float:
    if isinstance(kind, ast.Pow):
        if abs(right) > 64 or abs(left) > LARGEST:
            raise OverflowError
        result = left**right
        if isinstance(result, complex):
            raise ExpressionError(f"`{text}` has no real value")
        return float(result) if isinstance(result, float) else int(result)
    if isinstance(kind, ast.Div):
        exact = isinstance(left, int) and isinstance(right, int) and right != 0 and left % right == 0
        return left // right if exact else left / right
    if type(kind) not in _ARITHMETIC:
        raise ExpressionError(f"`{text}` holds an operator that is not allowed here", "there are + - * / // % **")
    return _ARITHMETIC[type(kind)](left, right)


def _bounded(number: int | float, text: str) -> int | float:
    if (isinstance(number, float) and not math.isfinite(number)) or abs(number) >= LARGEST:
        raise ExpressionError(f"`{shortened(text)}` is too large a number")
    return number


def _compare(node: ast.Compare, value: Callable[[ast.expr], Value], text: str) -> bool:
    left = value(node.left)
    for kind, inner in zip(node.ops, node.comparators, strict=True):
        right = value(inner)
        if type(kind) not in _COMPARISONS:
            raise ExpressionError(f"`{text}` holds a comparison that is not allowed here", "there are == != < <= > >=")
        if isinstance(left, str) != isinstance(right, str):
            raise ExpressionError(f"`{text}` compares a text with a number")
        if not _COMPARISONS[type(kind)](left, right):
            return False
        left = right
    return True
