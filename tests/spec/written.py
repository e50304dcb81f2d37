"""A tiny valid workload, and ways to change it, for tests of the language."""

from __future__ import annotations

from pathlib import Path

from frameworks.contract import Computation, Node
from runner.spec.loader import parse
from runner.spec.problems import SpecError
from runner.spec.workload import Workload, read_workload

TINY = """name: tiny
inputs: {x: {shape: [4], fill: normal}}
target: {fill: integers, below: 3}
batch: 2
network:
  - dense: {units: 3}
loss: softmax_cross_entropy
optimizer: {sgd: {learning_rate: 0.1}}
"""


def changed(before: str, after: str) -> str:
    """The tiny workload with one piece of its text replaced."""
    assert TINY.count(before) == 1, before
    return TINY.replace(before, after)


def with_network(lines: str, shape: str = "[8, 8, 3]") -> str:
    """The tiny workload with another network, one layer a line (what follows with spaces belongs to the line above), and another input."""
    written = "".join(f"{line}\n" if line.startswith(" ") else f"  - {line}\n" for line in lines.split("\n"))
    return changed("shape: [4]", f"shape: {shape}").replace("  - dense: {units: 3}\n", written)


def bare(network: str, shape: str = "[8, 8, 3]", more: str = "", fill: str = "normal") -> str:
    """A workload without loss around a network in flow style."""
    return f"name: bare\ninputs: {{x: {{shape: {shape}, fill: {fill}}}}}\nbatch: 2\nnetwork: {network}\n{more}"


def read(text: str) -> Workload:
    return read_workload(parse(text, "w.yaml"), Path("w.yaml"))


def compute(text: str, **values: int) -> Computation:
    return read(text).resolve(**values)


def nodes(text: str) -> dict[str, Node]:
    """The nodes of a workload's network by path."""
    return dict(compute(text).network.walk())


def problems(text: str) -> list[str]:
    """The messages about a text without the name of its file, none if it is valid."""
    try:
        read(text)
    except SpecError as error:
        return [str(problem).removeprefix("w.yaml:") for problem in error.problems]
    return []
