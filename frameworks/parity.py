"""The proof that a session computes what the workload says: five steps of real training, held against losses in float64.

A golden curve is made once by :func:`curve` in float64, its gradients by a framework and its updates by the NumPy reference, and kept
beside the workload. :func:`check` then lets the framework's own optimizer train a small session, which differs from the measured one in
its batch and in having no dropout, and compares loss by loss. For inference a sample of the outputs is compared.

Errors are relative: of a loss to the golden one (to a hundredth of the curve's largest where it is smaller), of an output to the
largest of the sample.
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
FLOOR = 0.01  # of the curve's largest loss: less than this is no scale for an error

# An optimizer that changes nothing and remembers nothing: what is left of a step is its loss and the running statistics.
STILL = {"kind": "sgd", "learning_rate": 0.0, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0}

Say = Callable[[str], None]


@dataclass(frozen=True)
class Curve:
    """What is kept of a computation in float64: the loss of each step before its update, and a sample of the first batch's outputs.

    ``losses`` is None for what cannot be trained. ``deviating`` holds the losses under the other formula that frameworks are known to use
    for the optimizer, None where there is none (see :mod:`frameworks.reference.optimizers`). ``values`` are those of the outputs' elements
    that :func:`sampled` takes. ``rounds``: the framework declares that it rounds constants to float32 before it computes with them.
    """

    losses: tuple[float, ...] | None
    deviating: tuple[float, ...] | None
    shape: tuple[int, ...]
    values: tuple[float, ...]
    rounds: bool


@dataclass(frozen=True)
class Parity:
    """How near a session came: the largest relative ``error`` over so many ``steps`` and compared ``values``, and what is allowed."""

    error: float
    tolerance: float
    steps: int
    values: int


@dataclass(frozen=True)
class Tolerance:
    """Largest relative errors: of the first loss, of the losses after updates, and of outputs."""

    first: float
    later: float
    outputs: float


TOLERANCES = {
    "float64": Tolerance(1e-9, 1e-6, 1e-9),
    "float32": Tolerance(1e-5, 1e-4, 1e-4),
    "tf32": Tolerance(5e-3, 1e-2, 1e-2),
    "bfloat16": Tolerance(5e-2, 5e-2, 5e-2),
    "float16": Tolerance(1e-2, 1e-2, 1e-2),
    "mixed_bfloat16": Tolerance(5e-2, 5e-2, 5e-2),
    "mixed_float16": Tolerance(1e-2, 1e-2, 1e-2),
}


# --- the golden curve ----------------------------------------------------------------------------------------------------


def curve(adapter: Adapter, job: Job, say: Say) -> Curve:
    """The curve of a job's computation as it stands (batch, seed), by this framework in float64; no losses in mode ``infer``.

    ``say`` hears of every step, since large networks are slow in float64.
    """
    job = dataclasses.replace(job, precision="float64", dropout=False, batches=BATCHES)
    outputs, rounds = _outputs(adapter, job, say)
    values = tuple(float(value) for value in sampled(outputs))
    if job.mode == "infer":
        return Curve(None, None, outputs.shape, values, rounds)
    losses = _losses(adapter, job, False, say)
    deviating = _losses(adapter, job, True, say) if _may_deviate(job.computation) else None
    return Curve(losses, deviating, outputs.shape, values, rounds)


def _may_deviate(computation: Computation) -> bool:
    settings = computation.optimizer
    return settings["kind"] in optimizers.DEVIATIONS and not (settings["kind"] == "sgd" and settings["weight_decay"] == 0)


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
    trained = {n: values[n].astype(numpy.float64) for n, p in job.computation.network.all_parameters() if p.trainable}
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
    tolerance = _tolerance(job, deviations)
    word = optimizers.DEVIATIONS.get(job.computation.optimizer["kind"])
    declared = word is not None and any(word in sentence for sentence in deviations)
    try:
        return _compared(job, losses, golden["losses"], tolerance)
    except CellFailure:
        if not declared or golden["deviating"] is None:
            raise
        return _compared(job, losses, golden["deviating"], tolerance)


def _weights(job: Job, session: Session) -> dict[str, int]:
    values = session.parameters()
    return checks.fingerprints({name: values[name] for name, p in job.computation.network.all_parameters() if p.trainable})


def _compared(job: Job, losses: Sequence[float], golden: Sequence[float], tolerance: Tolerance) -> Parity:
    floor = FLOOR * max(map(abs, golden))
    errors = [abs(loss - wanted) / max(abs(wanted), floor) for loss, wanted in zip(losses, golden, strict=False)]
    allowed = [tolerance.first, *itertools.repeat(tolerance.later, len(errors) - 1)]
    for step, (error, most) in enumerate(zip(errors, allowed, strict=True), 1):
        if error > most:
            raise _off(f"step {step}: loss {losses[step - 1]:.5g}, the golden curve has {golden[step - 1]:.5g}", error, job.precision, most)
    nearest = max(range(len(errors)), key=lambda index: errors[index] / allowed[index])
    return Parity(max(errors), allowed[nearest], len(errors), len(errors))


def _inferred(job: Job, session: Session, golden: Mapping[str, Any]) -> Parity:
    session.step()
    session.wait()
    outputs, wanted = session.outputs(), numpy.asarray(golden["outputs"]["values"])
    if list(outputs.shape) != list(golden["outputs"]["shape"]):
        raise CellFailure("wrong_result", f"the outputs are {list(outputs.shape)}, the golden ones {golden['outputs']['shape']}")
    checks.outputs_finite(outputs)
    found = sampled(outputs)
    scale = float(numpy.abs(wanted).max(initial=0.0)) or 1.0
    errors = numpy.abs(found - wanted) / scale
    worst, allowed = int(errors.argmax()), _tolerance(job, session.facts().get("deviations", ())).outputs
    error = float(errors[worst])
    if error > allowed:
        what = f"step 1: of {errors.size} outputs one is {found[worst]:.5g}, the golden one {wanted[worst]:.5g}, of the largest"
        raise _off(what, error, job.precision, allowed)
    return Parity(error, allowed, 1, int(errors.size))


def _off(what: str, error: float, precision: str, allowed: float) -> CellFailure:
    return CellFailure(
        "wrong_result",
        f"{what}, {_percent(error)} off; {precision} allows {_percent(allowed)}",
        "another --execution and --precision float64 tell whether a formula is wrong or this precision too narrow: h2h check",
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _tolerance(job: Job, deviations: Sequence[str]) -> Tolerance:
    return TOLERANCES[job.precision]


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
