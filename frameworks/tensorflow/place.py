"""Where in a model a builder is: the node, its path, and what the builders share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from frameworks.contract import Node, join
from frameworks.tensorflow.weights import Weight


@dataclass
class Model:
    """What the builders share while they build: how the cell runs, the named inputs, and what was made so far."""

    execution: str
    dropout: bool
    inputs: dict[str, Any] = field(default_factory=dict)
    embeddings: dict[str, Any] = field(default_factory=dict)
    weights: list[Weight] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """A node and its path in the model that is being built."""

    node: Node
    path: str
    model: Model

    def __getitem__(self, attribute: str) -> Any:
        return self.node.attributes[attribute]

    @property
    def name(self) -> str | None:
        """What its Keras layer is called; None leaves it to Keras."""
        return self.path or None

    def children(self) -> list[Place]:
        return [Place(child, join(self.path, child.name), self.model) for child in self.node.children]

    def rate(self, attribute: str) -> float:
        """A dropout rate, 0 where dropout is switched off."""
        return float(self[attribute]) if self.model.dropout else 0.0

    def holds(self, **variables: Any) -> None:
        """Note where the node's parameters live, by their canonical names: a variable, or a pair of one and a row."""
        for parameter in self.node.parameters:
            variable, row = variables[parameter.name], None
            if isinstance(variable, tuple):
                variable, row = variable
            self.model.weights.append(Weight(join(self.path, parameter.name), parameter.shape, parameter.trainable, variable, row))
