"""The parts of a workload file around its network, and the computation that they make together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from frameworks.contract import Computation, Node, Tensor
from runner.spec.expand import Block, Expander, attribute_map, checked, entry
from runner.spec.expression import ExpressionError, references, substitute
from runner.spec.network import MAX_ELEMENTS, build_network, build_operator
from runner.spec.operators import LAYER_KINDS, STRUCTURES
from runner.spec.problems import did_you_mean
from runner.spec.schema import (
    BlockModel,
    ExpectModel,
    InputModel,
    TargetModel,
    WorkloadModel,
    check_keys,
    read,
)
from runner.spec.shapes import ShapeError, size, written
from runner.spec.training import LOSSES, OPTIMIZERS
from runner.spec.tree import Collector, Tree, YamlList, YamlMap, YamlScalar, shortened
from runner.spec.values import Wrong, a_map, identifier, integer, number_or_flag, one_of

Number: TypeAlias = "int | float | bool"

MAX_VARIANTS = 100
_REPLACED = ("inputs", "target", "batch", "loss", "optimizer", "modes", "read_loss", "expect")  # the rest is text, or has scopes of its own


@dataclass(frozen=True)
class Document:
    """A file whose parts that do not depend on parameter values were read."""

    tree: YamlMap
    parameters: Mapping[str, Number]
    sweep: Mapping[str, tuple[Number, ...]]
    blocks: Mapping[str, Block]


@dataclass(frozen=True)
class Resolved:
    """A file for one set of values; ``expect`` is what its author counted, ``places`` where."""

    model: WorkloadModel
    computation: Computation
    modes: tuple[Literal["train", "infer"], ...]
    expect: ExpectModel | None


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


def _map(tree: YamlMap, key: str, problems: Collector) -> YamlMap:
    """The mapping below a key, an empty one where there is none."""
    empty = YamlMap({}, {}, tree.line, tree.column)
    if key not in tree.values:
        return empty
    try:
        return checked(key, a_map, tree.values[key])
    except Wrong as wrong:
        problems.add(wrong.at, wrong.what, remedy=wrong.remedy)
        return empty


def _named_checked(name: str, key: YamlScalar, problems: Collector) -> bool:
    try:
        identifier(key)
    except Wrong as wrong:
        problems.add(key, f"the name `{shortened(name)}` {wrong.what}")
        return False
    return True


def _parameters(tree: YamlMap, problems: Collector) -> dict[str, Number]:
    said = _map(tree, "parameters", problems)
    used = set[str]().union(*(references(value) for key, value in tree.values.items() if key not in ("parameters", "sweep")))
    parameters: dict[str, Number] = {}
    for name, value in said.values.items():
        if not _named_checked(name, said.keys[name], problems):
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
    said = _map(tree, "sweep", problems)
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
    said = _map(tree, "blocks", problems)
    blocks: dict[str, Block] = {}
    for name, body in said.values.items():
        key = said.keys[name]
        if name in LAYER_KINDS or name in STRUCTURES:
            problems.add(key, f"the block `{name}` has the name of a layer", remedy="give it another name")
        elif _named_checked(name, key, problems) and (block := _block(name, body, problems)) is not None:
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
    takes = _map(body, "takes", problems)
    used = references(model.layers).union(*map(references, takes.values.values()))
    for parameter, key in takes.keys.items():
        if not _named_checked(parameter, key, problems):
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


# --- for one set of values ------------------------------------------------------------------------------------------


def resolve(document: Document, values: Mapping[str, Number], batch: int | None, problems: Collector) -> Resolved:
    """The computation with these parameter values, and with ``batch`` instead of the file's if it is given. Raises :class:`SpecError`."""
    scope: dict[str, Tree] = {name: YamlScalar(value, str(value), 0, 0) for name, value in {**document.parameters, **values}.items()}
    tree = _substituted(document.tree, scope, problems)
    known = YamlMap({k: v for k, v in tree.values.items() if k in WorkloadModel.model_fields}, tree.keys, tree.line, tree.column)
    model = read(WorkloadModel, known, "a workload", problems)
    inputs = _inputs(known, problems)
    defaults = _defaults(known, scope, problems)
    optimizer = _optimizer(known, problems)
    expander = Expander(document.blocks, defaults, scope, problems)
    alone = "operator" in known.values
    step = expander.operator(known.values["operator"]) if alone else expander.network(known.values["network"])
    if model is not None and model.batch is None and batch is None and not alone:
        problems.add(known, "a workload needs `batch`", remedy="the number of samples in one step")
    problems.check()
    assert model is not None and step is not None
    if alone:
        for key in ("target", "loss", "optimizer"):
            if key in known.values:
                problems.add(known.keys[key], f"an operator is measured forward only, so `{key}` means nothing", remedy="leave it out")
        root = build_operator(step, inputs, problems)
    else:
        root = build_network(step, inputs, _map(known, "inputs", problems).keys, problems)
    loss, target = (None, None) if alone else _loss(known, root, inputs, problems)
    modes = _modes(known, model, loss, optimizer, problems)
    expect = read(ExpectModel, _map(known, "expect", problems), "`expect`", problems) if "expect" in known.values else None
    problems.check()
    batch = model.batch if batch is None else batch
    computation = Computation(root, tuple(inputs.values()), target, loss, optimizer, batch, model.read_loss)
    return Resolved(model, computation, modes, expect)


def _substituted(tree: YamlMap, scope: Mapping[str, Tree], problems: Collector) -> YamlMap:
    values = dict(tree.values)
    for key in _REPLACED:
        if key in values:
            try:
                values[key] = substitute(values[key], scope)
            except ExpressionError as error:
                problems.add(error.at, error.what, remedy=error.remedy)
                del values[key]
    problems.check()
    return YamlMap(values, tree.keys, tree.line, tree.column)


def _inputs(tree: YamlMap, problems: Collector) -> dict[str, Tensor]:
    said = _map(tree, "inputs", problems)
    if "inputs" in tree.values and isinstance(tree.values["inputs"], YamlMap) and not said.values:
        problems.add(said, "`inputs` names no tensor")
    inputs: dict[str, Tensor] = {}
    for name, body in said.values.items():
        key = said.keys[name]
        if not _named_checked(name, key, problems):
            continue
        if name == "target":
            problems.add(key, "an input cannot be called `target`", remedy="`target` is a key of its own, beside `inputs`")
        elif not isinstance(body, YamlMap):
            problems.add(body, f"the input `{name}` must be keys and values", remedy="such as `{shape: [224, 224, 3], fill: normal}`")
        elif (model := read(InputModel, body, f"the input `{name}`", problems)) is not None:
            _check_fill(model, body, inputs, problems)
            if size(model.shape) >= MAX_ELEMENTS:
                too_large = f"{written(model.shape)} has {size(model.shape):,} elements; a tensor may have fewer than 2^31"
                problems.add(body.values["shape"], too_large)
            if model.fill == "sin" and model.of in inputs and size(inputs[model.of].shape) != size(model.shape):
                said_of = f"{written(model.shape)} cannot hold the sines of `{model.of}`, which is {written(inputs[model.of].shape)}"
                problems.add(body.values["shape"], said_of)
            inputs[name] = _tensor(name, model.shape, model)
    return inputs


def _tensor(name: str, shape: tuple[int, ...], model: InputModel | TargetModel) -> Tensor:
    return Tensor(name, shape, model.fill, model.low, model.high, model.below or 0, model.of)


_FILL_KEYS = {"low": ("uniform", "linspace"), "high": ("uniform", "linspace"), "below": ("integers",), "of": ("sin",)}


def _check_fill(model: InputModel | TargetModel, body: YamlMap, inputs: Mapping[str, Tensor], problems: Collector) -> None:
    """Whether the keys of a fill are those that it needs."""
    for key, fills in _FILL_KEYS.items():
        if key in body.values and model.fill not in fills:
            problems.add(body.keys[key], f"`{key}` belongs to the fill {' or '.join(fills)}, and here it is {model.fill}")
    if model.fill == "integers" and model.below is None:
        problems.add(body, "the fill integers needs `below`", remedy="the integers are 0 to below - 1")
    if model.fill in _FILL_KEYS["low"] and not model.low < model.high:
        problems.add(body, f"`low` must be less than `high`, got {model.low:g} and {model.high:g}")
    if model.fill == "sin" and model.of not in inputs:
        remedy = did_you_mean(model.of, inputs) if model.of and inputs else "name an input that stands above in `of`"
        said = f"the fill sin is of an input, and `{model.of}` is none before it" if model.of else "the fill sin needs `of`"
        problems.add(body, said, remedy=remedy)


def _defaults(tree: YamlMap, scope: Mapping[str, Tree], problems: Collector) -> dict[str, YamlMap]:
    said = _map(tree, "defaults", problems)
    defaults: dict[str, YamlMap] = {}
    for kind, body in said.values.items():
        if kind not in LAYER_KINDS:
            remedy = did_you_mean(kind, LAYER_KINDS)
            problems.add(said.keys[kind], f"`defaults` are for layers, and `{shortened(kind)}` is none", remedy=remedy)
            continue
        if not isinstance(body, YamlMap):
            problems.add(body, f"the defaults of {kind} must be keys and values")
            continue
        check_keys(LAYER_KINDS[kind].model_fields, body, kind, problems)
        known = YamlMap({k: v for k, v in body.values.items() if k in LAYER_KINDS[kind].model_fields}, body.keys, body.line, body.column)
        try:
            replaced = substitute(known, scope)
        except ExpressionError as error:
            problems.add(error.at, error.what, remedy=error.remedy)
            continue
        assert isinstance(replaced, YamlMap)
        defaults[kind] = replaced
    return defaults


def _optimizer(tree: YamlMap, problems: Collector) -> dict[str, Any]:
    if "optimizer" not in tree.values:
        return {"kind": "none"}
    name, key, body = entry(tree.values["optimizer"], "`optimizer`", problems)
    if not name:
        return {}
    if name not in OPTIMIZERS:
        problems.add(key, f"there is no optimizer `{shortened(name)}`", remedy=did_you_mean(name, OPTIMIZERS))
        return {}
    try:
        settings = read(OPTIMIZERS[name], attribute_map(name, key, body), name, problems)
    except Wrong as wrong:
        problems.add(wrong.at, wrong.what, remedy=wrong.remedy)
        return {}
    if settings is None:
        return {}
    if fault := settings.fault():
        problems.add(key, fault)
    return {"kind": name, **settings.plain()}


def _loss(tree: YamlMap, root: Node, inputs: Mapping[str, Tensor], problems: Collector) -> tuple[str | None, Tensor | None]:
    for one, other in (("loss", "target"), ("target", "loss"), ("optimizer", "loss")):
        if one in tree.values and other not in tree.values:
            if one == "optimizer" and isinstance(tree.values[one], YamlScalar):
                continue  # `optimizer: none` says that there is nothing to train
            problems.add(tree.keys[one], f"`{one}` needs a `{other}`")
    if "loss" not in tree.values or "target" not in tree.values:
        return None, None
    try:
        loss = LOSSES[checked("loss", one_of(*LOSSES), tree.values["loss"])]
        body = checked("target", a_map, tree.values["target"])
    except Wrong as wrong:
        problems.add(wrong.at, wrong.what, remedy=wrong.remedy)
        return None, None
    model = read(TargetModel, body, "`target`", problems)
    if model is None:
        return None, None
    _check_fill(model, body, inputs, problems)
    try:
        shape = loss.target_shape(root.gives)
    except ShapeError as error:
        problems.add(tree.values["loss"], error.what)
        return None, None
    if fault := loss.fits(model, root.gives):
        problems.add(tree.values["target"], f"{loss.kind} {fault}")
    if model.fill == "sin" and model.of in inputs and size(inputs[model.of].shape) != size(shape):
        of = f"`{model.of}`, which is {written(inputs[model.of].shape)}"
        problems.add(body, f"the target is {written(shape)}, and cannot hold the sines of {of}")
    return loss.kind, _tensor("target", shape, model)


def _modes(
    tree: YamlMap, model: WorkloadModel, loss: str | None, optimizer: Mapping[str, Any], problems: Collector
) -> tuple[Literal["train", "infer"], ...]:
    trainable = loss is not None and optimizer.get("kind", "none") != "none"
    if model.modes is None:
        return ("train", "infer") if trainable else ("infer",)
    if "train" in model.modes and not trainable:
        missing = "a `loss`" if loss is None else "an `optimizer`"
        problems.add(tree.values["modes"], f"this workload cannot be trained: it has not {missing}", remedy="write `modes: [infer]`")
    return model.modes  # type: ignore[return-value]
