"""Text to a positioned tree: YAML with its traps closed, in one bounded pass over the parser's events.

Scalars follow YAML 1.1 where people meet it (``no`` is a boolean) and not where it surprises (``1e-3`` is a number, ``12:30`` is text).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from runner.spec.problems import Problem, SpecError
from runner.spec.tree import Tree, YamlList, YamlMap, YamlScalar, shortened

MAX_BYTES = 1 << 20
MAX_DEPTH = 60
MAX_NODES = 50_000  # aliases count as often as they are used

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_BOOLEANS = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?([0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?")
_HEXADECIMAL = re.compile(r"[-+]?0x[0-9a-fA-F_]*[0-9a-fA-F]")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|nan)", re.IGNORECASE)
_TEXT_TAGS = ("!", "tag:yaml.org,2002:str")
_PLAIN_TAGS = (None, "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


def load(path: Path | str) -> YamlMap:
    """The tree of a file, which must be one mapping. Raises :class:`SpecError`."""
    return parse(_read(Path(path)), str(path))


def parse(text: str, path: str) -> YamlMap:
    """The tree of a text; ``path`` is for messages. Raises :class:`SpecError`."""
    builder = _Builder(path)
    try:
        for event in yaml.parse(text, Loader=_Loader):
            builder.take(event)
    except yaml.YAMLError as error:
        raise SpecError([_syntax_problem(error, text, path)]) from None
    if builder.root is None or (isinstance(builder.root, YamlScalar) and builder.root.value is None):
        raise SpecError([Problem(path, 1, 1, "the file is empty", remedy="`h2h new NAME` writes one to start from")])
    if not isinstance(builder.root, YamlMap):
        raise builder.error(builder.root, "the file must be keys and values, such as `name: ...`, at its top level")
    return builder.root


def head(path: Path, wanted: tuple[str, ...]) -> dict[str, str]:
    """The texts of some top-level keys, read no further than needed; what cannot be read is left out."""
    found: dict[str, str] = {}
    depth, key = 0, ""
    try:
        for event in yaml.parse(_read(path), Loader=_Loader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth, key = depth + 1, ""
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif depth == 1 and isinstance(event, yaml.ScalarEvent):
                if key:
                    found.update({key: event.value} if key in wanted else {})
                    key = ""
                else:
                    key = event.value
            elif depth == 1:
                key = ""
            if len(found) == len(wanted):
                break
    except (yaml.YAMLError, SpecError):
        pass
    return found


def _read(path: Path) -> str:
    try:
        if path.is_dir():
            raise SpecError([Problem(str(path), 0, 0, "this is a folder, not a file", remedy="name a `.yaml` file in it")])
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise SpecError([Problem(str(path), 0, 0, "there is no such file")]) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecError([Problem(str(path), 0, 0, "the file cannot be read", why=reason)]) from None
    return decode(data, str(path))


def decode(data: bytes, path: str) -> str:
    """UTF-8 bytes as text, a byte-order mark dropped. Raises :class:`SpecError` that names the byte."""
    if len(data) > MAX_BYTES:
        raise SpecError([Problem(path, 0, 0, f"the file is larger than {MAX_BYTES:,} bytes", why="no workload needs that much")])
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise SpecError([Problem(path, 1, 1, "the file is UTF-16", remedy="save it as UTF-8")])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1
        what = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise SpecError([Problem(path, line, column, what, remedy="save the file as UTF-8")]) from None


def _syntax_problem(error: yaml.YAMLError, text: str, path: str) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:  # the reader's errors know a position in the text only
        position = getattr(error, "position", None)
        before = text[:position] if isinstance(position, int) and position >= 0 else ""
        line, column = before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1
        character = text[len(before) : len(before) + 1]
        said = f"the character {character!a} cannot stand in YAML" if character else f"this is not YAML: {error}"
        return Problem(path, line, column, " ".join(said.split()))
    line, column = mark.line + 1, mark.column + 1
    lines = text.splitlines()
    here = lines[mark.line] if mark.line < len(lines) else ""
    if "\t" in here[: len(here) - len(here.lstrip())] or here[mark.column : mark.column + 1] == "\t":
        return Problem(path, line, here.index("\t") + 1, "a tab stands where YAML wants spaces", remedy="indent with spaces")
    said, context = getattr(error, "problem", None) or str(error), getattr(error, "context", None) or ""
    start = getattr(error, "context_mark", None)
    opened = f"it opens in line {start.line + 1}" if start is not None else ""
    if "${" in here and "flow" in context:
        return Problem(path, line, column, "the braces of `${...}` end here for YAML", remedy="write it in quotes")
    if "mapping values are not allowed" in said:
        return Problem(path, line, column, "a second `: ` stands where one value belongs", remedy="write the text in quotes")
    if "quoted scalar" in context and "end of stream" in said:
        return Problem(path, line, column, "a quotation mark is not closed", why=opened)
    if "flow" in context and "','" in said:
        kind = "list `[`" if "sequence" in context else "mapping `{`"
        return Problem(path, line, column, f"a {kind} is not closed, or a comma is missing", why=opened)
    return Problem(path, line, column, "this is not YAML: " + " ".join(said.split()), why=" ".join(context.split()))


@dataclass
class _Frame:
    """A list or mapping that is still being read."""

    event: Any
    items: list[Tree] = field(default_factory=list)
    nodes: int = 1
    height: int = 1


class _Builder:
    def __init__(self, path: str) -> None:
        self.path = path
        self.root: Tree | None = None
        self.documents = 0
        self.nodes = 0
        self.open: list[_Frame] = []
        self.anchors: dict[str, tuple[Tree, int, int]] = {}  # the tree, its nodes, its height

    def error(self, at: Any, what: str, why: str = "", remedy: str = "") -> SpecError:
        line, column = (at.line, at.column) if isinstance(at, YamlScalar | YamlList | YamlMap) else (at.line + 1, at.column + 1)
        return SpecError([Problem(self.path, line, column, what, why, remedy)])

    def take(self, event: Any) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise self.error(event.start_mark, "a second document starts here (`---`)", remedy="keep one workload in one file")
        elif isinstance(event, yaml.ScalarEvent):
            self.finished(self.scalar(event), event, 1, 0)
        elif isinstance(event, yaml.AliasEvent):
            self.alias(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            if event.tag not in _PLAIN_TAGS and event.tag != "!":
                raise self.unknown_tag(event)
            self.open.append(_Frame(event))
            self.bound(event, 1, 0)
        elif isinstance(event, yaml.CollectionEndEvent):
            frame = self.open.pop()
            tree = self.collection(frame)
            self.finished(tree, frame.event, frame.nodes, frame.height, counted=True)

    def bound(self, event: Any, nodes: int, height: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise self.error(event.start_mark, f"the file holds more than {MAX_NODES:,} values once its aliases are written out")
        if len(self.open) + height > MAX_DEPTH:
            raise self.error(event.start_mark, f"the file is nested deeper than {MAX_DEPTH} levels")

    def finished(self, tree: Tree, event: Any, nodes: int, height: int, *, counted: bool = False) -> None:
        if not counted:
            self.bound(event, nodes, height)
        anchor = getattr(event, "anchor", None)
        if anchor is not None and not isinstance(event, yaml.AliasEvent):
            if anchor in self.anchors:
                raise self.error(event.start_mark, f"the anchor `&{anchor}` is given a second time")
            self.anchors[anchor] = (tree, nodes, height)
        if not self.open:
            self.root = tree
            return
        frame = self.open[-1]
        frame.items.append(tree)
        frame.nodes += nodes
        frame.height = max(frame.height, height + 1)

    def alias(self, event: Any) -> None:
        if any(frame.event.anchor == event.anchor for frame in self.open):
            raise self.error(event.start_mark, f"`*{event.anchor}` stands inside of what it repeats")
        if event.anchor not in self.anchors:
            raise self.error(event.start_mark, f"nothing above is called `&{event.anchor}`")
        tree, nodes, height = self.anchors[event.anchor]
        self.finished(tree, event, nodes, height)

    def unknown_tag(self, event: Any) -> SpecError:
        tag = shortened(event.tag.replace("tag:yaml.org,2002:", "!!"))
        return self.error(event.start_mark, f"the tag `{tag}` means nothing here", remedy="leave it out")

    def scalar(self, event: Any) -> YamlScalar:
        line, column, raw = event.start_mark.line + 1, event.start_mark.column + 1, event.value
        if event.tag in _TEXT_TAGS or (event.tag is None and not event.implicit[0]):
            return YamlScalar(raw, raw, line, column)
        if event.tag is not None:
            raise self.unknown_tag(event)
        if raw in ("", "~", "null", "Null", "NULL"):
            return YamlScalar(None, raw, line, column)
        if raw.lower() in _BOOLEANS and raw in (raw.lower(), raw.upper(), raw.capitalize()):
            return YamlScalar(_BOOLEANS[raw.lower()], raw, line, column)
        return YamlScalar(self.number_or_text(raw, event), raw, line, column)

    def number_or_text(self, raw: str, event: Any) -> str | int | float:
        if _NOT_FINITE.fullmatch(raw):
            raise self.error(event.start_mark, f"`{raw}` is no usable number", remedy="write a finite one")
        whole = _INTEGER.fullmatch(raw) or _HEXADECIMAL.fullmatch(raw)
        if not whole and _LEADING_ZERO.fullmatch(raw):
            why = "some YAML readers take a leading zero as octal, others do not"
            raise self.error(event.start_mark, f"`{shortened(raw)}` is ambiguous", why, "write the number without the leading zero")
        if whole:
            digits = raw.replace("_", "")
            number = int(digits, 16 if "x" in digits else 10) if len(digits) < 24 else 1 << 64
            if abs(number) >= 1 << 63:
                raise self.error(event.start_mark, f"`{shortened(raw)}` is too large a number", why="whole numbers end at 2^63")
            return number
        if _FLOAT.fullmatch(raw):
            real = float(raw.replace("_", ""))
            if not math.isfinite(real):
                raise self.error(event.start_mark, f"`{shortened(raw)}` is too large a number", remedy="write a finite one")
            return real
        return raw

    def collection(self, frame: _Frame) -> Tree:
        line, column = frame.event.start_mark.line + 1, frame.event.start_mark.column + 1
        if isinstance(frame.event, yaml.SequenceStartEvent):
            return YamlList(tuple(frame.items), line, column)
        values: dict[str, Tree] = {}
        keys: dict[str, YamlScalar] = {}
        merged: list[tuple[str, Tree, YamlScalar]] = []
        for key, value in zip(frame.items[::2], frame.items[1::2], strict=True):
            name = self.key(key)
            assert isinstance(key, YamlScalar)
            if name in keys:
                first = keys[name]
                what = f"the key `{shortened(name)}` is given twice"
                raise self.error(key, what, why=f"first in line {first.line}", remedy="keep one of them")
            keys[name] = key
            if name == "<<":
                merged.extend(self.merge(value))
            else:
                values[name] = value
        keys.pop("<<", None)
        for name, value, key in merged:
            if name not in values:
                values[name], keys[name] = value, key
        return YamlMap(values, keys, line, column)

    def key(self, key: Tree) -> str:
        if not isinstance(key, YamlScalar):
            raise self.error(key, "a key must be text, got a list or a mapping", remedy="if this is `${...}`, write it in quotes")
        if isinstance(key.value, str):
            return key.value
        if key.value is None:
            raise self.error(key, "a key is missing before the colon")
        kind = "boolean" if isinstance(key.value, bool) else "number"
        what = f"the key `{shortened(key.raw)}` is a {kind} to YAML"
        raise self.error(key, what, why="keys are text", remedy="write it in quotes")

    def merge(self, value: Tree) -> Iterator[tuple[str, Tree, YamlScalar]]:
        for source in value.items if isinstance(value, YamlList) else (value,):
            if not isinstance(source, YamlMap):
                raise self.error(source, "`<<` merges keys and values", remedy="give it an alias such as `*base` of a mapping")
            for name, item in source.values.items():
                yield name, item, source.keys[name]
