"""The proof that a session computes what the workload says: five steps of real training, held against losses in float64.

A golden curve is made once by :func:`curve` in float64, its gradients by a framework and its updates by the NumPy reference, and kept
beside the workload. :func:`check` then lets the framework's own optimizer train a small session, which differs from the measured one in
its batch and in having no dropout, and compares loss by loss. For inference a sample of the outputs is compared.

Errors are relative: of a loss to the golden one (to a tenth of the curve's largest where it is smaller), of an output to the
largest of the sample; of outputs that are integers, which are right or wrong, the share that is wrong. How large an honest one may be
depends on the precision and on the curve: training multiplies rounding, hardly in a small network and a millionfold in a deep one with
batch normalisation. So a curve says how far it moves when each step sees its weights a little off, and how far its outputs do, and each
is allowed that besides what :data:`TOLERANCES` allows; where a loss comes to more than :data:`LIMIT`, comparing ends.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from frameworks import checks, data
from frameworks.contract import Adapter, CellFailure, Computation, Job, Session
from frameworks.reference import optimizers
from frameworks.reference.elementwise import Array

STEPS = 5
BATCHES = 4  # one fewer than steps, so that a batch comes round again
SAMPLE = 64  # outputs that are kept
FLOOR = 0.1  # of the curve's largest loss: less than this is no scale for an error
LIMIT = 0.2  # a loss that may be farther off than this proves nothing
TIES = 0.25  # of the integers of an argmax may be others where the inputs are rounded to half precision, which makes equals of the largest
ROOM = 3  # errors come from every operation and not from the weights alone: measured, 1.2 times the sensitivity at most

# Relative moves of the weights that a step sees, up or down: some roundings to float32, and one to the eight bits of bfloat16, the
# narrowest. Drawn so often, since what a small move does may hang on one number's sign, before a ReLU that batch normalisation amplifies:
# a ResNet-18 has two curves in float32, 0.03 % apart at the second step and 0.8 % at the third, and takes either by chance.
MOVES = {"float32": (2.0**-22, 8), "half": (2.0**-9, 3)}

# An optimizer that changes nothing and remembers nothing: what is left of a step is its loss and the running statistics.
STILL = {"kind": "sgd", "learning_rate": 0.0, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0}

Say = Callable[[str], None]


@dataclass(frozen=True)
class Curve:
    """What is kept of a computation in float64: the loss of each step before its update, and a sample of the first batch's outputs.

    ``losses`` is None for what cannot be trained. ``deviating`` holds the losses under the other formula that frameworks are known to use
    for the optimizer, None where there is none (see :mod:`frameworks.reference.optimizers`). ``sensitivity`` says for each kind of
    :data:`MOVES` by how much, relatively, the losses move with the weights that steps see. ``values`` are those of the outputs' elements
    that :func:`sampled` takes, ``moved`` by how much at most they move with the weights, relatively to the largest; None where they are
    integers or there are no weights. ``rounds``: the framework declares that it rounds constants to float32 before it computes with them.
    """

    losses: tuple[float, ...] | None
    deviating: tuple[float, ...] | None
    sensitivity: Mapping[str, tuple[float, ...]] | None
    shape: tuple[int, ...]
    values: tuple[float, ...]
    moved: Mapping[str, float] | None
    rounds: bool


@dataclass(frozen=True)
class Parity:
    """How near a session came over so many ``steps`` and compared ``values``: the largest relative ``error``, and what is allowed there."""

    error: float
    tolerance: float
    steps: int
    values: int


@dataclass(frozen=True)
class Tolerance:
    """Largest relative errors: of the first loss, of the losses after updates, and of outputs. ``kind`` is the one of :data:`MOVES` whose
    sensitivity, times :data:`ROOM`, is allowed besides; None where the curve's own rounding is no matter."""

    first: float
    later: float
    outputs: float
    kind: str | None


# Measured: the largest error of the library's workloads on a CPU, eager and compiled, without what sensitivity explains.
TOLERANCES = {
    # Last place 1e-16, measured 1e-15 at first and 3e-8 later, in a deep network that multiplies rounding.
    "float64": Tolerance(1e-9, 1e-6, 1e-9, None),
    # Last place 6e-8, measured 5e-8 at first, 7e-6 later, outputs 2e-6. A bias left out or another epsilon shows at 1e-4 and above.
    "float32": Tolerance(5e-6, 5e-5, 2e-5, "float32"),
    # Products of 11 significant bits (5e-4) with float32 sums: by reasoning, the CPU has none.
    "tf32": Tolerance(5e-3, 5e-3, 5e-3, "half"),
    # 8 bits everywhere (4e-3), weights too, so that updates below half of a last place are lost: measured 1e-2, outputs 7e-3.
    "bfloat16": Tolerance(3e-2, 5e-2, 3e-2, "half"),
    # 11 bits everywhere (5e-4): measured 3e-3.
    "float16": Tolerance(1e-2, 1e-2, 1e-2, "half"),
    # 8 bits in products, float32 weights and updates: measured 1e-2, outputs 2e-2.
    "mixed_bfloat16": Tolerance(3e-2, 3e-2, 3e-2, "half"),
    # 11 bits in products: measured 2e-3, outputs 3e-3.
    "mixed_float16": Tolerance(1e-2, 1e-2, 1e-2, "half"),
}

# Instead of that of float64 where the session declares that its framework rounds constants to float32 (3e-8): measured 7e-8.
FLOAT32_INSIDE = Tolerance(1e-6, 1e-6, 1e-6, "float32")


# --- the golden curve ----------------------------------------------------------------------------------------------------


def curve(adapter: Adapter, job: Job, say: Say, sensitivity: bool = True) -> Curve:
    """The curve of a job's computation as it stands (batch, seed), by this framework in float64; no losses in mode ``infer``.

    ``say`` hears of every step, since large networks are slow in float64. The sensitivity is left out where nobody asks for it.
    """
    job = dataclasses.replace(job, precision="float64", dropout=False, batches=BATCHES)
    outputs, rounds = _outputs(adapter, job, say)
    sample = sampled(outputs)
    losses = deviating = moving = None
    if job.mode == "train":
        losses = _losses(adapter, job, False, say)
        deviating = _losses(adapter, job, True, say) if _may_deviate(job.computation) else None
        moving = _sensitivity(adapter, job, losses, say) if sensitivity else None
    moved = _outputs_moved(adapter, job, sample, say) if sensitivity else None
    return Curve(losses, deviating, moving, outputs.shape, tuple(map(float, sample)), moved, rounds)


def _may_deviate(computation: Computation) -> bool:
    settings = computation.optimizer
    return settings["kind"] in optimizers.DEVIATIONS and not (settings["kind"] == "sgd" and settings["weight_decay"] == 0)


def _sensitivity(adapter: Adapter, job: Job, golden: Sequence[float], say: Say) -> dict[str, tuple[float, ...]]:
    """How far losses move with the weights at most, by training in float32: what is wrong there is so on both sides of the difference."""
    job = dataclasses.replace(job, precision="float32")
    draw = numpy.random.RandomState(job.seed)
    still = _unsteady(adapter, job, 0.0, draw, say)
    most = {}
    for kind, (move, draws) in MOVES.items():
        errors = (_errors(_unsteady(adapter, job, move, draw, say), still, golden) for _ in range(draws))
        most[kind] = tuple(map(max, zip(*errors, strict=True)))
    return most


def _unsteady(adapter: Adapter, job: Job, move: float, draw: numpy.random.RandomState, say: Say) -> list[float]:
    """Losses of training whose every step sees the weights moved anew, and changes those that were not.

    So does a precision that rounds weights for a step alone. Gradients then err in every step on their own, and an optimizer that goes by
    their sign (Adam, at first) goes astray, which weights that are moved once, at the start, do not show.
    """
    weights = data.parameter_values(job.computation, job.seed)
    losses = []
    with _session(adapter, job) as session:
        for step in range(1, STEPS + 1):
            say(f"step {step} with weights moved by {move:.1g}")
            session.load(_moved(weights, move, draw))
            before = session.parameters()
            losses.append(_stepped(session, step))
            for name, after in session.parameters().items():
                weights[name] = (weights[name] + (after - before.pop(name))).astype(numpy.float32)
    return losses


def _moved(weights: Mapping[str, Array], move: float, draw: numpy.random.RandomState) -> dict[str, Array]:
    """The weights, each a little larger or smaller."""
    factors = numpy.array([1 - move, 1 + move], numpy.float32)
    return {name: value * factors[_bits(value.size, draw)].reshape(value.shape) for name, value in weights.items()}


def _bits(count: int, draw: numpy.random.RandomState) -> Array:
    return numpy.unpackbits(numpy.frombuffer(draw.bytes(-(-count // 8)), numpy.uint8), count=count)


def _outputs_moved(adapter: Adapter, job: Job, sample: Array, say: Say) -> dict[str, float] | None:
    """How far a sample of the outputs moves with the weights at most, by inference in float32; None where nothing can move."""
    weights = data.parameter_values(job.computation, job.seed)
    if not weights or sample.dtype.kind in "iu":
        return None
    draw = numpy.random.RandomState(job.seed)

    def outputs(session: Session, move: float) -> Array:
        say(f"outputs with weights moved by {move:.1g}")
        session.load(_moved(weights, move, draw))
        session.step()
        session.wait()
        return sampled(session.outputs())

    with _session(adapter, dataclasses.replace(job, mode="infer", precision="float32", batches=1)) as session:
        still = outputs(session, 0.0)
        return {
            kind: max(float(numpy.abs(outputs(session, move) - still).max()) for _ in range(draws)) / _scale(sample)
            for kind, (move, draws) in MOVES.items()
        }


def _outputs(adapter: Adapter, job: Job, say: Say) -> tuple[Array, bool]:
    say("outputs")
    with _session(adapter, dataclasses.replace(job, mode="infer")) as session:
        session.step()
        session.wait()
        return session.outputs(), _rounds(session.facts().get("deviations", ()))


def _rounds(deviations: Sequence[str]) -> bool:
    return any("float32" in sentence for sentence in deviations)


def sampled(outputs: Array) -> Array:
    """All elements of a small array, or :data:`SAMPLE` of them at places that its size decides for ever."""
    flat = outputs.reshape(-1)
    if flat.size <= SAMPLE:
        return flat
    return flat[numpy.random.RandomState(0).randint(0, flat.size, SAMPLE, dtype=numpy.int64)]


def _losses(adapter: Adapter, job: Job, deviating: bool, say: Say) -> tuple[float, ...]:
    """The losses of training whose updates are those of the reference; one parameter after the other, for the sake of memory."""
    settings = job.computation.optimizer
    values = data.parameter_values(job.computation, job.seed)
    trained = {n: values.pop(n).astype(numpy.float64) for n, p in job.computation.network.all_parameters() if p.trainable}
    states = dict.fromkeys(trained, optimizers.State())
    losses = []
    still = dataclasses.replace(job, computation=dataclasses.replace(job.computation, optimizer=STILL))
    with _session(adapter, still) as session:
        for step in range(1, STEPS + 1):
            say(f"step {step}" + (" by the other formula" if deviating else ""))
            session.load(trained)
            gradients = session.gradients() if step < STEPS else {}
            losses.append(_stepped(session, step))
            for name in trained.keys() & gradients.keys():
                gradient = {name: gradients.pop(name)}
                changed, states[name] = optimizers.update(settings, {name: trained[name]}, gradient, states[name], deviating=deviating)
                trained[name] = changed[name]
    return tuple(losses)


# --- the gate --------------------------------------------------------------------------------------------------------------


def check(adapter: Adapter, job: Job, say: Say) -> Parity:
    """Hold a small session of the job's framework, device, precision and execution against ``job.golden``.

    Raises :class:`CellFailure`: ``not_equivalent`` for another structure, ``wrong_result`` off the curve, ``nan`` without a number.
    """
    golden = job.golden
    assert golden is not None
    small = dataclasses.replace(
        job,
        computation=dataclasses.replace(job.computation, batch=golden["batch"]),
        seed=golden["seed"],
        dropout=False,
        batches=BATCHES,
        golden=None,
    )
    with _session(adapter, small) as session:
        checks.structure(small, session.parameters())
        return _trained(small, session, golden, say) if job.mode == "train" else _inferred(small, session, golden)


def _trained(job: Job, session: Session, golden: Mapping[str, Any], say: Say) -> Parity:
    losses = []
    for step in range(1, len(golden["losses"]) + 1):
        say(f"step {step}")
        before = _weights(job, session) if job.precision == "mixed_float16" else None
        losses.append(_stepped(session, step))
        if before is not None and before == _weights(job, session):
            break  # the scaled gradients overflowed and the update was left out, rightly: from here on it is another curve
    deviations = session.facts().get("deviations", ())
    allowed = _allowed(_tolerance(job, deviations), golden)
    word = optimizers.DEVIATIONS.get(job.computation.optimizer["kind"])
    if golden["deviating"] is not None and any(word is not None and word in sentence for sentence in deviations):
        with contextlib.suppress(CellFailure):
            return _compared(job, losses, golden["deviating"], allowed)
    return _compared(job, losses, golden["losses"], allowed)


def _allowed(tolerance: Tolerance, golden: Mapping[str, Any]) -> list[float]:
    """What each loss is allowed, as far as comparing goes; the first is always compared."""
    moved = golden["sensitivity"][tolerance.kind] if tolerance.kind else [0.0] * len(golden["losses"])
    own = [tolerance.first, *itertools.repeat(tolerance.later, len(moved) - 1)]
    allowed = [base + ROOM * most for base, most in zip(own, itertools.accumulate(moved, max), strict=True)]
    return [allowed[0], *itertools.takewhile(lambda most: most <= LIMIT, allowed[1:])]


def _weights(job: Job, session: Session) -> dict[str, int]:
    values = session.parameters()
    return checks.fingerprints({name: values[name] for name, p in job.computation.network.all_parameters() if p.trainable})


def _compared(job: Job, losses: Sequence[float], golden: Sequence[float], allowed: Sequence[float]) -> Parity:
    errors = _errors(losses, golden, golden)[: len(allowed)]
    for step, (error, most) in enumerate(zip(errors, allowed, strict=False), 1):
        if error > most:
            raise _off(f"step {step}: loss {losses[step - 1]:.5g}, the golden curve has {golden[step - 1]:.5g}", error, job.precision, most)
    worst = errors.index(max(errors))
    return Parity(errors[worst], allowed[worst], len(errors), len(errors))


def _inferred(job: Job, session: Session, golden: Mapping[str, Any]) -> Parity:
    session.step()
    session.wait()
    outputs, wanted = session.outputs(), numpy.asarray(golden["outputs"]["values"])
    if list(outputs.shape) != list(golden["outputs"]["shape"]):
        raise CellFailure("wrong_result", f"the outputs are {list(outputs.shape)}, the golden ones {golden['outputs']['shape']}")
    checks.outputs_finite(outputs)
    found = sampled(outputs)
    if found.dtype.kind in "iu":
        return _whole(job, found, wanted)
    errors = numpy.abs(found - wanted) / _scale(wanted)
    worst, tolerance = int(errors.argmax()), _tolerance(job, session.facts().get("deviations", ()))
    error, moved = float(errors[worst]), golden["outputs"]["moved"]
    allowed = min(tolerance.outputs + ROOM * (moved[tolerance.kind] if moved and tolerance.kind else 0.0), LIMIT)
    if error > allowed:
        what = f"step 1: of {errors.size} outputs one is {found[worst]:.5g}, the golden one {wanted[worst]:.5g}"
        raise _off(what, error, job.precision, allowed, " of the largest")
    return Parity(error, allowed, 1, int(errors.size))


def _scale(outputs: Array) -> float:
    """What errors of outputs are relative to."""
    return float(numpy.abs(outputs).max(initial=0.0)) or 1.0


def _whole(job: Job, found: Array, wanted: Array) -> Parity:
    other = numpy.flatnonzero(found != wanted)
    share, allowed = other.size / found.size, TIES if TOLERANCES[job.precision].kind == "half" else 0.0
    if share > allowed:
        what = f"step 1: of {found.size} outputs one is {found[other[0]]}, the golden one {wanted[other[0]]:.0f}"
        raise _off(what, share, job.precision, allowed, " of them")
    return Parity(share, allowed, 1, int(found.size))


def _errors(losses: Sequence[float], wanted: Sequence[float], golden: Sequence[float]) -> list[float]:
    floor = FLOOR * max(map(abs, golden))
    return [abs(loss - other) / max(abs(scale), floor) for loss, other, scale in zip(losses, wanted, golden, strict=False)]


def _off(what: str, error: float, precision: str, allowed: float, of: str = "") -> CellFailure:
    return CellFailure(
        "wrong_result",
        f"{what}, {_percent(error)}{of} off; {precision} allows {_percent(allowed)}",
        "another --execution and --precision float64 tell whether a formula is wrong or this precision too narrow: h2h check",
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _tolerance(job: Job, deviations: Sequence[str]) -> Tolerance:
    return FLOAT32_INSIDE if job.precision == "float64" and _rounds(deviations) else TOLERANCES[job.precision]


# --- both ------------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _session(adapter: Adapter, job: Job) -> Any:
    """A session that is gone afterwards, with its memory."""
    session = adapter.build(job)
    try:
        yield session
    finally:
        session.close()
        del session
        gc.collect()


def _stepped(session: Session, step: int) -> float:
    """One step; its loss, if it is a number."""
    session.step()
    session.wait()
    loss = session.loss()
    if not math.isfinite(loss):
        raise CellFailure("nan", f"the loss is {loss} at step {step} of the comparison with the golden curve")
    return loss
