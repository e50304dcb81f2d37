"""The written-out network with shapes, parameters and operations: what the contract calls the tree of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from frameworks.contract import Node, Shape, Tensor, join
from runner.spec.expand import Step
from runner.spec.operators import LAYER_KINDS
from runner.spec.problems import SpecError, did_you_mean
from runner.spec.sequence_layers import Embedding, Unembedding
from runner.spec.shapes import Layer, Operator, Result, ShapeError, size, written
from runner.spec.tree import Collector, Tree

MAX_ELEMENTS = 1 << 31  # of one sample's tensor, or of one parameter
MAX_PARAMETERS = 1 << 40


@dataclass(frozen=True)
class _Value:
    """What flows between layers. ``below`` bounds it where it holds integers, and is None where it holds numbers."""

    shape: Shape
    below: int | None = None


@dataclass
class _Builder:
    inputs: Mapping[str, Tensor]
    problems: Collector
    used: set[str] = field(default_factory=set)
    embeddings: dict[str, Embedding] = field(default_factory=dict)  # by path

    def fail(self, step: Step, path: str, what: str, remedy: str = "") -> SpecError:
        return self.problems.fail(step.at, f"{path or step.kind}: {what}", remedy=remedy)

    def start(self) -> _Value | None:
        """What flows in: the input if there is one, nothing if one of several must be picked."""
        if len(self.inputs) != 1:
            return None
        ((name, tensor),) = self.inputs.items()
        self.used.add(name)
        return _input_value(tensor)

    def build(self, step: Step, value: _Value | None, prefix: str) -> tuple[Node, _Value]:
        path = join(prefix, step.name)
        if step.kind == "input":
            return self.input(step, path)
        if step.kind == "sequence":
            return self.sequence(step, value, path)
        if step.kind in ("residual", "branches"):
            return self.joined(step, value, path)
        return self.layer(step, value, path)

    def input(self, step: Step, path: str) -> tuple[Node, _Value]:
        if step.detail not in self.inputs:
            raise self.fail(step, path, f"there is no input `{step.detail}`", did_you_mean(step.detail, self.inputs))
        self.used.add(step.detail)
        value = _input_value(self.inputs[step.detail])
        return Node("input", step.name, (), value.shape, {"name": step.detail}), value

    def sequence(self, step: Step, value: _Value | None, path: str) -> tuple[Node, _Value]:
        given = () if value is None else (value.shape,)
        children: list[Node] = []
        for inner in step.children:
            if children and _ignores(inner):
                dropped = f"what {join(path, children[-1].name)} gives would be dropped here"
                raise self.fail(inner, join(path, inner.name), dropped, "use `branches` to join ways from several inputs")
            node, value = self.build(inner, value, path)
            children.append(node)
        if value is None:
            raise self.fail(step, path, "it has no value", f"pick an input first, such as `input: {next(iter(self.inputs))}`")
        return Node("sequence", step.name, given, value.shape, children=tuple(children)), value

    def joined(self, step: Step, value: _Value | None, path: str) -> tuple[Node, _Value]:
        built = [self.build(child, value, path) for child in step.children]
        nodes, values = [node for node, _ in built], [found for _, found in built]
        if step.kind == "residual" and len(nodes) == 1:
            if value is None:
                raise self.fail(step, path, "it has no value to add to its body", "pick an input before it")
            values.append(value)
        if any(found.below is not None for found in values):
            raise self.fail(step, path, "it would join integers", "put an `embedding` first")
        shapes = [found.shape for found in values]
        if step.kind == "residual":
            if shapes[0] != shapes[1]:
                other = "shortcut" if len(nodes) == 2 else "input"
                said = f"its body gives {written(shapes[0])}, its {other} {written(shapes[1])}, and these cannot be added"
                raise self.fail(step, path, said, "" if len(nodes) == 2 else "give it a `shortcut` that has the body's shape")
            gives = shapes[0]
        else:
            gives = self.merged(step, path, shapes)
        self.bounded(step, path, gives)
        takes = () if value is None else (value.shape,)
        attributes = {"merge": step.detail} if step.kind == "branches" else {}
        return Node(step.kind, step.name, takes, gives, attributes, children=tuple(nodes)), _Value(gives)

    def merged(self, step: Step, path: str, shapes: list[Shape]) -> Shape:
        first, *others = shapes
        said = f"its paths give {' and '.join(map(written, shapes))}"
        if not all(len(shape) == len(first) for shape in others):
            raise self.fail(step, path, f"{said}, which differ in their number of axes")
        if step.detail == "concat":
            if not first or any(shape[:-1] != first[:-1] for shape in others):
                raise self.fail(step, path, f"{said}; `concat` joins shapes that differ in nothing but the last extent")
            return (*first[:-1], sum(shape[-1] for shape in shapes))
        gives = tuple(max(extents) for extents in zip(*shapes, strict=True))
        if any(extent not in (1, whole) for shape in shapes for extent, whole in zip(shape, gives, strict=True)):
            raise self.fail(step, path, f"{said}; `{step.detail}` joins equal extents, or stretches an extent of 1")
        return gives

    def layer(self, step: Step, value: _Value | None, path: str) -> tuple[Node, _Value]:
        settings = step.settings
        assert isinstance(settings, Layer)
        if value is None:
            pick = f"pick one of the inputs {', '.join(self.inputs)} first, such as `input: {next(iter(self.inputs))}`"
            raise self.fail(step, path, "it has no value", pick)
        if settings.integer_input and value.below is None:
            raise self.fail(step, path, f"it wants integers, and {written(value.shape)} holds numbers", "give the input `fill: integers`")
        if not settings.integer_input and value.below is not None:
            raise self.fail(step, path, f"it wants numbers, and {written(value.shape)} holds integers", "put an `embedding` first")
        attributes = settings.plain()
        try:
            if isinstance(settings, Unembedding):
                owner = self.embedding(step, path, settings.of)
                attributes["of"] = owner
                table = self.embeddings[owner]
                result = settings.apply_table(value.shape, table.vocabulary, table.units)
            else:
                result = settings.apply(value.shape)
        except ShapeError as error:
            raise self.fail(step, path, error.what, error.remedy) from None
        if isinstance(settings, Embedding):
            if value.below is not None and value.below > settings.vocabulary:
                said = f"its vocabulary is {settings.vocabulary:,}, and the integers that it is given go up to {value.below - 1:,}"
                raise self.fail(step, path, said)
            self.embeddings[path] = settings
        return self.node(step, path, (value.shape,), result, attributes), _Value(result.gives)

    def node(self, step: Step, path: str, takes: tuple[Shape, ...], result: Result, attributes: Mapping[str, object]) -> Node:
        self.bounded(step, path, result.gives)
        for parameter in result.parameters:
            self.bounded(step, join(path, parameter.name), parameter.shape)
        filled = {**attributes, **result.attributes}
        return Node(step.kind, step.name, takes, result.gives, filled, result.parameters, operations=result.operations)

    def bounded(self, step: Step, path: str, shape: Shape) -> None:
        if size(shape) >= MAX_ELEMENTS:
            said = f"{written(shape)} has {size(shape):,} elements, and a tensor may have fewer than 2^31"
            raise self.fail(step, path, said)

    def embedding(self, step: Step, path: str, name: str) -> str:
        """The path of the embedding that is called ``name``, by its own name or by its path."""
        found = [owner for owner in self.embeddings if owner == name or owner.rpartition(".")[2] == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise self.fail(step, path, f"several embeddings are called `{name}`: {', '.join(found)}", "say the whole path in `of`")
        known = did_you_mean(name, self.embeddings) or "put an `embedding` before it and give it a `name`"
        raise self.fail(step, path, f"no embedding before it is called `{name}`", known)


def build_network(step: Step, inputs: Mapping[str, Tensor], places: Mapping[str, Tree], problems: Collector) -> Node:
    """The tree of a network over its inputs. Raises :class:`SpecError` at the first layer that does not fit."""
    builder = _Builder(inputs, problems)
    root, value = builder.build(step, builder.start(), "")
    if not any(node.kind in LAYER_KINDS for _, node in root.walk()):
        raise problems.fail(step.at, "`network` has no layer")
    if value.below is not None:
        raise problems.fail(step.at, "the network gives integers", remedy="put an `embedding` into it")
    for name in inputs:
        if name not in builder.used:
            problems.add(places[name], f"the input `{name}` is not used", remedy=f"pick it with `input: {name}`, or leave it out")
    total = sum(size(parameter.shape) for _, parameter in root.all_parameters())
    if total >= MAX_PARAMETERS:
        problems.add(step.at, f"the network has {total:,} parameters, and may have fewer than 2^40")
    problems.check()
    return root


def build_operator(step: Step, inputs: Mapping[str, Tensor], problems: Collector) -> Node:
    """The node of a layer or operator that is measured alone. Raises :class:`SpecError`."""
    builder = _Builder(inputs, problems)
    if step.kind in LAYER_KINDS:
        if len(inputs) != 1:
            raise problems.fail(step.at, f"{step.kind} wants one input, and there are {len(inputs)}")
        return builder.layer(step, builder.start(), "")[0]
    settings = step.settings
    assert isinstance(settings, Operator)
    for tensor in inputs.values():
        if tensor.integer:
            raise builder.fail(step, "", f"it wants numbers, and the input `{tensor.name}` holds integers")
    shapes = tuple(tensor.shape for tensor in inputs.values())
    try:
        result = settings.apply_all(shapes)
    except ShapeError as error:
        raise builder.fail(step, "", error.what, error.remedy) from None
    return builder.node(step, "", shapes, result, settings.plain())


def _input_value(tensor: Tensor) -> _Value:
    return _Value(tensor.shape, tensor.below if tensor.integer else None)


def _ignores(step: Step) -> bool:
    """Whether a step makes no use of the value that comes in."""
    if step.kind == "input":
        return True
    if step.kind == "sequence":
        return bool(step.children) and _ignores(step.children[0])
    if step.kind == "residual" and len(step.children) == 1:
        return False
    return bool(step.children) and all(_ignores(child) for child in step.children)
