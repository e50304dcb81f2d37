"""All that both sides share: what a parent asks for, what a child answers, and what an adapter must offer.

Everything here is plain data or an abstract class, runs on Python 3.10, and needs only the standard
library, so that the parent imports it without NumPy and a child of any era imports it without the parent.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy

Shape = tuple[int, ...]

DEVICES = ("cpu", "mps", "metal", "cuda")
PRECISIONS = ("float32", "tf32", "bfloat16", "float16", "mixed_bfloat16", "mixed_float16", "float64")
MODES = ("train", "infer")

GLIMPSE = 2**16  # elements of a result that are read where a few are enough

Status = Literal[
    "ok",
    "not_installed",
    "broken_import",
    "unsupported",
    "not_equivalent",
    "wrong_result",
    "wrong_device",
    "bad_wait",
    "nan",
    "out_of_memory",
    "timeout",
    "stalled",
    "crashed",
    "suspect",
    "interrupted",
]


class CellFailure(Exception):
    """Ends one cell with a status of the closed list, a reason in one sentence and, where known, a remedy."""

    def __init__(self, status: Status, reason: str, remedy: str = "") -> None:
        super().__init__(f"{status}: {reason}")
        self.status: Status = status
        self.reason = reason
        self.remedy = remedy


class Unsupported(CellFailure):
    """The framework, device or version cannot do what the cell asks for."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__("unsupported", reason, remedy)


# --- the computation: what the language resolves a workload to -------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """One array of a node, in the canonical layout of ``workloads/README.md``.

    The frozen stream fills it uniformly within ``scale`` of ``centre``.
    """

    name: str
    shape: Shape
    trainable: bool
    centre: float
    scale: float


@dataclass(frozen=True)
class Node:
    """One step of the network as a tree; shapes are per sample, channels last.

    ``kind`` is a layer's or operator's name, or one of the structures ``sequence`` (children in a row),
    ``residual`` (children: body, and shortcut when there is one; their sum), ``branches`` (children: paths,
    joined as ``attributes["merge"]`` says) and ``input`` (the named input ``attributes["name"]``).
    ``name`` is unique among siblings; the path of a node joins the names from the root with dots, the root's
    own empty name left out. ``takes`` holds the shapes that it is given, none for ``input``.
    """

    kind: str
    name: str
    takes: tuple[Shape, ...]
    gives: Shape
    attributes: Mapping[str, Any] = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()
    children: tuple[Node, ...] = ()
    operations: int = 0  # of one sample's forward pass, this node alone; a multiply-add is 2

    def walk(self, prefix: str = "") -> Iterator[tuple[str, Node]]:
        """All nodes below and including this one with their paths, parents before children."""
        path = join(prefix, self.name)
        yield path, self
        for child in self.children:
            yield from child.walk(path)

    def all_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Every parameter with its full name, ``path.name``, in the order of the tree."""
        for path, node in self.walk():
            for parameter in node.parameters:
                yield join(path, parameter.name), parameter

    def uses_inputs(self) -> bool:
        """Whether a named input is picked anywhere below."""
        return any(node.kind == "input" for _, node in self.walk())


def join(prefix: str, name: str) -> str:
    """A path one step longer."""
    return f"{prefix}.{name}" if prefix and name else prefix or name


@dataclass(frozen=True)
class Tensor:
    """An input or target: its shape without the batch, and how the frozen stream fills it.

    ``fill``: ``normal`` (standard), ``uniform`` (``low`` to ``high``), ``integers`` (0 up to, not including, ``below``),
    ``linspace`` (the whole batch, ``low`` to ``high``, the same in every batch), ``sin`` (of the input named ``of``).
    """

    name: str
    shape: Shape
    fill: Literal["normal", "uniform", "integers", "linspace", "sin"]
    low: float = 0.0
    high: float = 1.0
    below: int = 0
    of: str = ""

    @property
    def integer(self) -> bool:
        return self.fill == "integers"


@dataclass(frozen=True)
class Computation:
    """What every framework must compute: the network on these inputs and, for training, loss and optimizer.

    ``batch`` is None for an operator measured on exactly the shapes given. ``target`` and ``loss`` are None for operators.
    ``optimizer["kind"]`` is ``sgd``, ``adam``, ``adamw`` or ``none``; the other keys are its settings, none missing.
    """

    network: Node
    inputs: tuple[Tensor, ...]
    target: Tensor | None
    loss: str | None
    optimizer: Mapping[str, Any]
    batch: int | None
    read_loss: Literal["never", "every_step"] = "never"

    def parameter_count(self, *, trainable_only: bool = False) -> int:
        return sum(_size(p.shape) for _, p in self.network.all_parameters() if p.trainable or not trainable_only)

    def operations(self) -> int:
        """Forward operations of one sample (of the whole call without a batch)."""
        return sum(node.operations for _, node in self.network.walk())


def _size(shape: Shape) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size


# --- a framework, as the parent knows it without importing it ---------------------------------------------------------


@dataclass(frozen=True)
class Framework:
    """The facts about a framework that need no import of it; its package says them in ``FRAMEWORKS``.

    ``adapter`` is ``module:Class`` inside that package. ``package`` is the import name whose absence means ``not_installed``,
    ``install`` the remedy. ``executions`` and ``devices`` come best-known first: the first execution is the default.
    ``environment`` holds variables that the child must start with, ``fallback`` those that differ where operators may run on the CPU.
    """

    name: str
    title: str
    package: str
    install: str
    adapter: str
    devices: tuple[str, ...]
    precisions: tuple[str, ...]
    executions: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    fallback: Mapping[str, str] = field(default_factory=dict)


# --- the job and its answers ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """One cell in one process: what to build and where. Times are in seconds."""

    framework: str  # the reference that frameworks.registry understands
    computation: Computation
    mode: Literal["train", "infer"]
    device: str
    precision: str
    execution: str
    threads: int | None = None  # of the CPU; None leaves the framework's own choice
    seed: int = 0
    batches: int = 4  # distinct batches, cycled, so that no result can be remembered
    dropout: bool = True  # False switches it off, for comparisons of values
    fallback: bool = False  # whether operators that the device lacks may run on the CPU; the row then names them
    block_seconds: float = 0.1
    warmup_seconds: float = 20.0  # the most that warm-up may take
    checks: bool = True
    proven: bool = False  # that steps and wait are real was shown in an earlier round (frameworks.reality)
    golden: Mapping[str, Any] | None = None  # a curve to hold the results against (frameworks.parity); None leaves that out


@dataclass(frozen=True)
class Event:
    """One line from the child. ``kind`` names it, ``data`` is strict JSON."""

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)


def to_json(value: Any) -> Any:
    """Dataclasses, tuples and mappings of this module as plain JSON values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


def job_from_json(data: Mapping[str, Any]) -> Job:
    """The inverse of :func:`to_json` for a job."""
    return Job(**{**data, "computation": computation_from_json(data["computation"])})


def computation_from_json(data: Mapping[str, Any]) -> Computation:
    """The inverse of :func:`to_json` for a computation."""
    return Computation(
        **{
            **data,
            "network": node_from_json(data["network"]),
            "inputs": tuple(_tensor_from_json(tensor) for tensor in data["inputs"]),
            "target": None if data["target"] is None else _tensor_from_json(data["target"]),
        }
    )


def node_from_json(data: Mapping[str, Any]) -> Node:
    """The inverse of :func:`to_json` for a node."""
    return Node(
        **{
            **data,
            "takes": tuple(tuple(shape) for shape in data["takes"]),
            "gives": tuple(data["gives"]),
            "parameters": tuple(Parameter(**{**p, "shape": tuple(p["shape"])}) for p in data["parameters"]),
            "children": tuple(node_from_json(child) for child in data["children"]),
        }
    )


def _tensor_from_json(data: Mapping[str, Any]) -> Tensor:
    return Tensor(**{**data, "shape": tuple(data["shape"])})


# --- what an adapter offers (in the child only) ------------------------------------------------------------------------


class Adapter(abc.ABC):
    """One framework in one process. Importing its module imports the framework."""

    @abc.abstractmethod
    def versions(self) -> dict[str, str]:
        """Versions and builds that decide speed or results: the framework, plug-in, BLAS, CUDA, NumPy, ..."""

    @abc.abstractmethod
    def devices(self) -> dict[str, str]:
        """The devices that can be used now, each proven by computing something on it, with its human name."""

    @abc.abstractmethod
    def build(self, job: Job) -> Session:
        """The session for one job, its weights and batches on the device and finished. Raises :class:`CellFailure`."""

    def operators(self, job: Job) -> list[dict[str, Any]]:
        """What a step of the job calls on a device, each operator once: its ``name`` and, where they are known, the ``types`` of its
        attributes, whether the framework itself has a kernel for it on ``every_device``, and of how many ``numbers`` its largest result
        is (None where that is not known). Adapters of frameworks that no Mac's GPU
        serves need not have it."""
        raise Unsupported("the adapter does not tell the operators of a step")

    @abc.abstractmethod
    def failure(self, error: BaseException) -> CellFailure | None:
        """What an exception of the framework means (out of memory, an unsupported operator), or None if it is not known."""


class Session(abc.ABC):
    """What an adapter builds for one cell: it steps, waits, and lets itself be inspected.

    It never reads a clock and never prints. Arrays are NumPy float64 (integers stay integers) in the canonical layout.
    """

    @abc.abstractmethod
    def step(self) -> None:
        """Enqueue one step on the next batch: forward, backward and update in ``train``, forward in ``infer``."""

    @abc.abstractmethod
    def wait(self) -> None:
        """Return when every result of every step so far exists, updated parameters included."""

    @abc.abstractmethod
    def loss(self) -> float:
        """The loss of the last step, computed on its batch before its update. In ``infer``, the loss of the last outputs."""

    @abc.abstractmethod
    def outputs(self) -> numpy.ndarray:
        """The network's outputs on the last step's batch, as that step computed them; in ``infer`` only."""

    def glimpse(self) -> numpy.ndarray:
        """Some of :meth:`outputs`, in any layout, read from the device for next to nothing: :data:`GLIMPSE` elements at the most.

        Adapters of which nobody asks for large outputs need not have one of their own.
        """
        return self.outputs()

    @abc.abstractmethod
    def gradients(self) -> dict[str, numpy.ndarray]:
        """Gradients of the loss on the next batch, computed as ``train`` does, to all trainable parameters by full name and to the inputs
        that are not integers as ``inputs/NAME``. Changes no parameter (running statistics included) and does not advance the batch."""

    @abc.abstractmethod
    def parameters(self) -> dict[str, numpy.ndarray]:
        """All parameters by full name, those that are not trained (running statistics) included."""

    @abc.abstractmethod
    def load(self, parameters: Mapping[str, numpy.ndarray]) -> None:
        """Set parameters by full name; unknown names are a KeyError, other shapes a ValueError."""

    @abc.abstractmethod
    def placement(self) -> dict[str, dict[str, list[str]]]:
        """Where things live, read from the live objects: for ``parameters``, ``inputs``, ``outputs`` and, in ``train``, ``gradients``
        the sets of ``devices`` (names of :data:`DEVICES`) and ``types`` (NumPy-like: ``float32``, ``bfloat16``, ...)."""

    @abc.abstractmethod
    def memory(self) -> int | None:
        """The framework's own peak of device memory in bytes since the session was built; None where it cannot tell (never 0)."""

    @abc.abstractmethod
    def facts(self) -> dict[str, Any]:
        """What the row must show: ``optimizer`` (real class), ``layout``, ``threads``, ``compilations`` (so far), ``graph_breaks``
        (None if not compiled), ``fallbacks`` (operators of a step that ran on the CPU for want of a kernel), ``deviations`` (sentences),
        ``switches`` (precision switches as set), ``warnings``."""

    def close(self) -> None:  # noqa: B027 - most sessions hold nothing beyond the process
        """Let go of what was built."""
