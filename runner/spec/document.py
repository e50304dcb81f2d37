"""The parts of a workload file that do not depend on parameter values: parameters, sweep and blocks, and whether each is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from runner.spec.expand import Block, checked
from runner.spec.expression import references
from runner.spec.operators import LAYER_KINDS, STRUCTURES
from runner.spec.problems import did_you_mean
from runner.spec.schema import (
    BlockModel,
    WorkloadModel,
    check_keys,
    read,
)
from runner.spec.tree import Collector, Tree, YamlList, YamlMap, YamlScalar, shortened
from runner.spec.values import Wrong, a_map, identifier, integer, number_or_flag

Number: TypeAlias = "int | float | bool"

MAX_VARIANTS = 100


@dataclass(frozen=True)
class Document:
    """A file whose parts that do not depend on parameter values were read."""

    tree: YamlMap
    parameters: Mapping[str, Number]
    sweep: Mapping[str, tuple[Number, ...]]
    blocks: Mapping[str, Block]


def read_document(tree: YamlMap, problems: Collector) -> Document:
    """Parameters, sweep and blocks, and whether each is used. Raises :class:`SpecError`."""
    check_keys(WorkloadModel.model_fields, tree, "a workload", problems)
    for one, other in (("network", "operator"), ("operator", "network")):
        if one in tree.values and other in tree.values:
            raise problems.fail(tree.keys[one], "a workload has a `network` or an `operator`, not both")
    if "network" not in tree.values and "operator" not in tree.values:
        problems.add(tree, "a workload needs `network`", remedy="or `operator`, to measure a single layer")
    parameters = _parameters(tree, problems)
    sweep = _sweep(tree, parameters, problems)
    blocks = _blocks(tree, problems)
    problems.check()
    return Document(tree, parameters, sweep, blocks)


def map_below(tree: YamlMap, key: str, problems: Collector) -> YamlMap:
    """The mapping below a key, an empty one where there is none."""
    empty = YamlMap({}, {}, tree.line, tree.column)
    if key not in tree.values:
        return empty
    try:
        return checked(key, a_map, tree.values[key])
    except Wrong as wrong:
        problems.add(wrong.at, wrong.what, remedy=wrong.remedy)
        return empty


def named_checked(name: str, key: YamlScalar, problems: Collector) -> bool:
    try:
        identifier(key)
    except Wrong as wrong:
        problems.add(key, f"the name `{shortened(name)}` {wrong.what}")
        return False
    return True


def _parameters(tree: YamlMap, problems: Collector) -> dict[str, Number]:
    said = map_below(tree, "parameters", problems)
    used = set[str]().union(*(references(value) for key, value in tree.values.items() if key not in ("parameters", "sweep")))
    parameters: dict[str, Number] = {}
    for name, value in said.values.items():
        if not named_checked(name, said.keys[name], problems):
            continue
        if name == "batch":
            problems.add(said.keys[name], "a parameter cannot be called `batch`", remedy="`batch` is a key of its own")
        elif name not in used:
            remedy = f"write `${name}` where it belongs, or leave it out"
            problems.add(said.keys[name], f"the parameter `{name}` is not used", remedy=remedy)
        try:
            parameters[name] = checked(name, number_or_flag, value)
        except Wrong as wrong:
            problems.add(wrong.at, wrong.what, remedy=wrong.remedy)
    return parameters


def _sweep(tree: YamlMap, parameters: Mapping[str, Number], problems: Collector) -> dict[str, tuple[Number, ...]]:
    said = map_below(tree, "sweep", problems)
    sweep: dict[str, tuple[Number, ...]] = {}
    for name, values in said.values.items():
        if name != "batch" and name not in parameters:
            remedy = did_you_mean(name, ["batch", *parameters])
            problems.add(said.keys[name], f"`sweep` goes over `batch` and parameters, and `{shortened(name)}` is neither", remedy=remedy)
        elif not isinstance(values, YamlList) or not values.items:
            problems.add(values, f"`{name}` must be a list of numbers here")
        else:
            try:
                check = integer(1) if name == "batch" else number_or_flag
                sweep[name] = tuple(checked(name, check, value) for value in values.items)
            except Wrong as wrong:
                problems.add(wrong.at, wrong.what, remedy=wrong.remedy)
                continue
            if len(set(sweep[name])) != len(sweep[name]):
                problems.add(values, f"`{name}` names a value twice")
    count = 1
    for found in sweep.values():
        count *= len(found)
    if count > MAX_VARIANTS:
        problems.add(said, f"`sweep` makes {count:,} variants, and may make {MAX_VARIANTS}")
    return sweep


def _blocks(tree: YamlMap, problems: Collector) -> dict[str, Block]:
    said = map_below(tree, "blocks", problems)
    blocks: dict[str, Block] = {}
    for name, body in said.values.items():
        key = said.keys[name]
        if name in LAYER_KINDS or name in STRUCTURES:
            problems.add(key, f"the block `{name}` has the name of a layer", remedy="give it another name")
        elif named_checked(name, key, problems) and (block := _block(name, body, problems)) is not None:
            blocks[name] = block
    texts = [*(tree.values[key] for key in ("network",) if key in tree.values), *(block.layers for block in blocks.values())]
    called = set[str]().union(*(_words(text) for text in texts))
    for name in blocks:
        if name not in called:
            problems.add(said.keys[name], f"the block `{name}` is not used", remedy="call it in `network`, or leave it out")
    return blocks


def _block(name: str, body: Tree, problems: Collector) -> Block | None:
    if not isinstance(body, YamlMap):
        problems.add(body, f"the block `{name}` must have `layers`, and `takes` if it has parameters")
        return None
    model = read(BlockModel, body, f"the block `{name}`", problems)
    if model is None:
        return None
    if not isinstance(model.layers, YamlList):
        problems.add(model.layers, f"the `layers` of the block `{name}` must be a list")
        return None
    takes = map_below(body, "takes", problems)
    used = references(model.layers).union(*map(references, takes.values.values()))
    for parameter, key in takes.keys.items():
        if not named_checked(parameter, key, problems):
            continue
        if parameter in ("name", "when"):
            problems.add(key, f"a block's parameter cannot be called `{parameter}`", remedy="every layer has that key already")
        elif parameter not in used:
            problems.add(key, f"the block `{name}` takes `{parameter}` and does not use it", remedy="leave it out")
    required = {parameter for parameter, value in takes.values.items() if isinstance(value, YamlScalar) and value.value == "required"}
    usual = {parameter: None if parameter in required else value for parameter, value in takes.values.items()}
    return Block(name, usual, model.layers)


def _words(tree: Tree) -> set[str]:
    """All keys and texts below."""
    if isinstance(tree, YamlScalar):
        return {tree.value} if isinstance(tree.value, str) else set()
    inner = tree.items if isinstance(tree, YamlList) else tuple(tree.values.values())
    own = set() if isinstance(tree, YamlList) else set(tree.values)
    return own.union(*map(_words, inner))
