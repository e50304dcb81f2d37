"""A workload file for one set of values: inputs, target, loss, optimizer and network as the computation that they make together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from frameworks.contract import Computation, Node, Tensor
from runner.spec.document import Document, Number, map_below, named_checked
from runner.spec.expand import Expander, attribute_map, checked, entry
from runner.spec.expression import ExpressionError, substitute
from runner.spec.network import MAX_ELEMENTS, build_network, build_operator
from runner.spec.operators import LAYER_KINDS
from runner.spec.problems import did_you_mean
from runner.spec.schema import ExpectModel, InputModel, TargetModel, WorkloadModel, check_keys, read
from runner.spec.shapes import ShapeError, size, written
from runner.spec.training import LOSSES, OPTIMIZERS
from runner.spec.tree import Collector, Tree, YamlMap, YamlScalar, shortened
from runner.spec.values import Wrong, a_map, one_of

_REPLACED = ("inputs", "target", "batch", "loss", "optimizer", "modes", "read_loss", "expect")  # the rest is text, or has scopes of its own


@dataclass(frozen=True)
class Resolved:
    """A file for one set of values; ``expect`` is what its author counted."""

    model: WorkloadModel
    computation: Computation
    modes: tuple[Literal["train", "infer"], ...]
    expect: ExpectModel | None


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
        root = build_network(step, inputs, map_below(known, "inputs", problems).keys, problems)
    loss, target = (None, None) if alone else _loss(known, root, inputs, problems)
    modes = _modes(known, model, loss, optimizer, problems)
    expect = read(ExpectModel, map_below(known, "expect", problems), "`expect`", problems) if "expect" in known.values else None
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
    said = map_below(tree, "inputs", problems)
    if "inputs" in tree.values and isinstance(tree.values["inputs"], YamlMap) and not said.values:
        problems.add(said, "`inputs` names no tensor")
    inputs: dict[str, Tensor] = {}
    for name, body in said.values.items():
        key = said.keys[name]
        if not named_checked(name, key, problems):
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
    said = map_below(tree, "defaults", problems)
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
        missing = "loss" if loss is None else "optimizer"
        problems.add(tree.values["modes"], f"this workload cannot be trained: it has no `{missing}`", remedy="write `modes: [infer]`")
    return model.modes  # type: ignore[return-value]
