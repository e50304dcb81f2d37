"""A file's network written out: blocks called, repeats repeated, ``when`` decided, ``$`` replaced, every layer named and checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from runner.spec.expression import ExpressionError, Scope, condition, substitute
from runner.spec.operators import LAYER_KINDS, OPERATOR_KINDS, STRUCTURES
from runner.spec.problems import did_you_mean
from runner.spec.schema import Settings, check_keys, read
from runner.spec.tree import Collector, Tree, YamlList, YamlMap, YamlScalar, described, shortened
from runner.spec.values import Wrong, identifier, integer, one_of

MAX_LAYERS = 20_000
MAX_DEPTH = 40
MERGES = ("concat", "add", "multiply")
_BESIDES = ("name", "when")

T = TypeVar("T")


@dataclass(frozen=True)
class Block:
    """A reusable piece: ``takes`` holds its parameters' usual values, or None where one is required."""

    name: str
    takes: Mapping[str, Tree | None]
    layers: YamlList


@dataclass(frozen=True)
class Step:
    """One layer, operator or structure, written out. ``label`` is what its automatic name counts; ``at`` is its place in the file."""

    kind: str
    label: str
    at: Tree
    name: str = ""
    settings: Settings | None = None
    detail: str = ""  # an input's name, or how branches merge
    children: tuple[Step, ...] = ()


@dataclass
class Expander:
    """Writes out the lists of one file for one set of parameter values, ``file_scope``; faults are gathered in ``problems``."""

    blocks: Mapping[str, Block]
    defaults: Mapping[str, YamlMap]
    file_scope: Scope
    problems: Collector
    calls: tuple[str, ...] = ()
    depth: int = 0
    written: int = 0

    def network(self, tree: Tree) -> Step:
        """The root: a sequence without a name."""
        return Step("sequence", "", tree, children=self.sequence(tree, self.file_scope, "`network`"))

    def operator(self, tree: Tree) -> Step | None:
        """The single layer or operator that is measured alone; None after a fault."""
        name, key, body = entry(tree, "`operator`", self.problems)
        if not name:
            return None
        with self.caught():
            if name == "unembedding":
                raise Wrong(key, "unembedding uses the table of another layer, so it cannot be measured alone", "measure a `dense`")
            if name in LAYER_KINDS:
                return replace(self.layer(name, key, attribute_map(name, key, body), self.file_scope), name="")
            if name not in OPERATOR_KINDS:
                raise Wrong(key, f"there is no operator `{shortened(name)}`", did_you_mean(name, [*LAYER_KINDS, *OPERATOR_KINDS]))
            said = self.substituted(attribute_map(name, key, body), self.file_scope)
            return Step(name, name, key, settings=read(OPERATOR_KINDS[name], said, name, self.problems))
        return None

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Gathers a fault, so that what follows can still be judged."""
        try:
            yield
        except ExpressionError as error:
            self.problems.add(error.at, error.what, remedy=error.remedy)
        except Wrong as wrong:
            self.problems.add(wrong.at, wrong.what, remedy=wrong.remedy)

    def sequence(self, tree: Tree, scope: Scope, called: str) -> tuple[Step, ...]:
        """The steps of a list, each with a name of its own."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.problems.fail(tree, f"layers are nested deeper than {MAX_DEPTH} levels")
        steps = self.named_steps(self.steps(tree, scope, called))
        self.depth -= 1
        return steps

    def named_steps(self, steps: list[Step]) -> tuple[Step, ...]:
        counts: Counter[str] = Counter()
        named: dict[str, Step] = {}
        for step in steps:
            counts[step.label] += 1
            name = step.name or f"{step.label}_{counts[step.label]}"
            if name in named:
                why = f"the first stands in line {named[name].at.line}"
                self.problems.add(step.at, f"two layers of one list are called `{name}`", why, "give each a name of its own")
            named[name] = replace(step, name=name)
        return tuple(named.values())

    def steps(self, tree: Tree, scope: Scope, called: str) -> list[Step]:
        if not isinstance(tree, YamlList):
            self.problems.add(tree, f"{called} must be a list of layers, got {described(tree)}")
            return []
        return [step for item in tree.items for step in self.item(item, scope)]

    def count(self, at: Tree) -> None:
        self.written += 1
        if self.written > MAX_LAYERS:
            raise self.problems.fail(at, f"the network has more than {MAX_LAYERS:,} layers once its repeats are written out")

    def item(self, tree: Tree, scope: Scope) -> list[Step]:
        """The steps of one entry of a list: none that ``when`` drops, several of a ``repeat``, otherwise one."""
        self.count(tree)
        if isinstance(tree, YamlList):
            return [Step("sequence", "sequence", tree, children=self.sequence(tree, scope, "a sequence"))]
        name, key, body = entry(tree, "a layer", self.problems)
        if not name:
            return []
        with self.caught():
            if name == "input":
                return [self.input(key, self.substituted(body, scope) if body else key)]
            if name not in LAYER_KINDS and name not in STRUCTURES and name not in self.blocks:
                raise Wrong(key, f"there is no layer or block `{shortened(name)}`", self.suggest(name))
            attributes = attribute_map(name, key, body)
            if "when" in attributes.values and not condition(attributes.values["when"], scope):
                if name in LAYER_KINDS:
                    check_keys((*LAYER_KINDS[name].model_fields, *_BESIDES), attributes, name, self.problems)
                return []
            if name == "repeat":
                return self.repeat(key, attributes, scope)
            if name in LAYER_KINDS:
                return [self.layer(name, key, attributes, scope)]
            own = self.own_name(attributes, scope)
            if name in STRUCTURES:
                made = self.residual(key, attributes, scope) if name == "residual" else self.branches(key, attributes, scope)
                return [replace(made, name=own)]
            return [replace(self.call(self.blocks[name], key, attributes.without(*_BESIDES), scope), name=own)]
        return []

    def suggest(self, name: str) -> str:
        if name in OPERATOR_KINDS:
            return "it can only be measured alone, with `operator:`"
        return did_you_mean(name, [*LAYER_KINDS, *STRUCTURES, *self.blocks])

    def substituted(self, tree: Tree, scope: Scope) -> YamlMap:
        return substitute(tree, scope)  # type: ignore[return-value]

    def own_name(self, attributes: YamlMap, scope: Scope) -> str:
        return checked("name", identifier, substitute(attributes.values["name"], scope)) if "name" in attributes.values else ""

    def layer(self, name: str, key: YamlScalar, attributes: YamlMap, scope: Scope) -> Step:
        own = self.own_name(attributes, scope)
        said = self.substituted(attributes.without(*_BESIDES), scope)
        usual = self.defaults.get(name)
        if usual is not None:
            said = YamlMap({**usual.values, **said.values}, {**usual.keys, **said.keys}, said.line, said.column)
        return Step(name, name, key, own, read(LAYER_KINDS[name], said, name, self.problems))

    def input(self, key: YamlScalar, body: Tree) -> Step:
        if not isinstance(body, YamlScalar) or not isinstance(body.value, str) or body is key:
            raise Wrong(body, "`input` must name an input", "write `input: NAME`")
        return Step("input", "input", body, detail=body.value)

    def repeat(self, key: YamlScalar, attributes: YamlMap, scope: Scope) -> list[Step]:
        self.keys("repeat", attributes, ("times", "layers"), ("when",))
        times = checked("times", integer(0), substitute(attributes.values["times"], scope))
        steps: list[Step] = []
        for _ in range(times):
            written, before = self.written, len(self.problems.problems)
            steps += self.steps(attributes.values["layers"], scope, "`layers`")
            if self.written == written:
                self.count(key)  # nothing is written, but not endlessly often
            if len(self.problems.problems) > before:
                break  # the other times would say the same
        return steps

    def residual(self, key: YamlScalar, attributes: YamlMap, scope: Scope) -> Step:
        self.keys("residual", attributes, ("body",), ("shortcut", *_BESIDES))
        parts = [part for part in ("body", "shortcut") if part in attributes.values]
        children = [self.part(part, attributes.values[part], scope, f"`{part}`") for part in parts]
        return Step("residual", "residual", key, children=tuple(children))

    def branches(self, key: YamlScalar, attributes: YamlMap, scope: Scope) -> Step:
        self.keys("branches", attributes, ("merge", "paths"), _BESIDES)
        merge = checked("merge", one_of(*MERGES), substitute(attributes.values["merge"], scope))
        paths = attributes.values["paths"]
        if not isinstance(paths, YamlList) or len(paths.items) < 2:
            raise Wrong(paths, f"`paths` must be a list of at least two lists of layers, got {described(paths)}")
        children = [self.part(f"path_{number}", path, scope, "a path") for number, path in enumerate(paths.items, 1)]
        return Step("branches", "branches", key, detail=merge, children=tuple(children))

    def part(self, name: str, tree: Tree, scope: Scope, called: str) -> Step:
        return Step("sequence", "sequence", tree, name, children=self.sequence(tree, scope, called))

    def keys(self, called: str, attributes: YamlMap, needed: tuple[str, ...], others: tuple[str, ...]) -> None:
        check_keys((*needed, *others), attributes, called, self.problems)
        for name in needed:
            if name not in attributes.values:
                raise Wrong(attributes, f"{called} needs `{name}`")

    def call(self, block: Block, key: YamlScalar, given: YamlMap, scope: Scope) -> Step:
        """A block's layers with the values that it is given, in a scope of its own above the file's."""
        if block.name in self.calls:
            chain = " -> ".join((*self.calls[self.calls.index(block.name) :], block.name))
            raise Wrong(key, f"the block `{block.name}` contains itself: {chain}")
        for name in given.values:
            if name not in block.takes:
                at, none = given.keys[name], "it takes none; declare it under `takes:` of the block"
                raise Wrong(at, f"the block `{block.name}` takes no `{name}`", did_you_mean(name, block.takes) or none)
        inner = {name: value for name, value in self.file_scope.items() if name not in block.takes}
        for name, usual in block.takes.items():
            if name in given.values:
                inner[name] = substitute(given.values[name], scope)
            elif usual is not None:
                inner[name] = substitute(usual, inner)
            else:
                raise Wrong(key, f"the block `{block.name}` needs `{name}`", f"write `{block.name}: {{{name}: ...}}`")
        outer, self.calls = self.calls, (*self.calls, block.name)
        children = self.sequence(block.layers, inner, f"the layers of `{block.name}`")
        self.calls = outer
        return Step("sequence", block.name, key, children=children)


def checked(name: str, check: Callable[[Tree], T], tree: Tree) -> T:
    """The checked value; a fault says the key's name."""
    try:
        return check(tree)
    except Wrong as wrong:
        raise Wrong(wrong.at, f"`{name}` {wrong.what}", wrong.remedy) from None


def entry(tree: Tree, called: str, problems: Collector) -> tuple[str, YamlScalar, Tree | None]:
    """The one word of a tree such as ``relu`` or ``{dense: {units: 10}}``, its place, and what is said about it; no word after a fault."""
    nowhere = YamlScalar(None, "", tree.line, tree.column)
    if isinstance(tree, YamlScalar) and isinstance(tree.value, str):
        return tree.value, tree, None
    if isinstance(tree, YamlMap) and len(tree.values) == 1:
        ((name, body),) = tree.values.items()
        return name, tree.keys[name], None if isinstance(body, YamlScalar) and body.value is None else body
    if isinstance(tree, YamlMap) and tree.values:
        first, second, *_ = tree.values
        what = f"{called} is one word with its attributes below, and here stand `{shortened(first)}` and `{shortened(second)}`"
        remedy = f"indent what belongs to `{shortened(first)}` further, or begin a new entry with `- `"
        problems.add(tree.keys[second], what, remedy=remedy)
    else:
        problems.add(tree, f"{called} must be a word, alone or with attributes as in `dense: {{units: 10}}`, got {described(tree)}")
    return "", nowhere, None


def attribute_map(name: str, key: YamlScalar, body: Tree | None) -> YamlMap:
    """What is said about an entry, at the place of its word. Raises :class:`Wrong`."""
    if body is None:
        return YamlMap({}, {}, key.line, key.column)
    if isinstance(body, YamlMap):
        return YamlMap(body.values, body.keys, key.line, key.column)
    known = list(LAYER_KINDS[name].model_fields) if name in LAYER_KINDS else []
    example = f"write `{name}: {{{known[0]}: ...}}`" if known else ""
    raise Wrong(body, f"what {name} is given must be keys and values, got {described(body)}", example)
