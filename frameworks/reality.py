"""Whether steps are real and the wait really waits, shown by what cannot be had for nothing: results, at once, and more work.

A result can be read as soon as ``wait`` has returned; four times the steps take several times as long; other batches and other parameters
give other results. Each of these fails for a wait that is too short, for steps that are put off, and for results that are remembered.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

from frameworks import checks, timing
from frameworks.contract import CellFailure, Job, Session

READ_BACK = 0.2  # the share of the steps' time by which a read-back may be slower right after their wait than once more
READ_BACK_SECONDS = 0.004  # and never less than this, which a busy machine needs
MORE_READS = 9  # rounds that are added before a wait is said to be wrong
TIMES = 4  # as many steps must take longer,
LEAST_TIMES = 1.6  # and by this at the least: 2.2 was seen, since on a busy machine the first step after a wait may cost twice the others
TRIES, MORE_TRIES = 2, 15  # by the shortest times; more before it is said to fail,
LONGER = {1: MORE_TRIES, 8: 5, 64: TRIES}  # or of longer ones: who shares a GPU waits for a turn, which may be most of a short one's time
LONG_STEP = 0.25  # seconds of a step beyond which that costs too much; its wait is held against its results alone

LARGE_MODEL = 2**17  # parameters beyond which they are not read back: a megabyte comes from a cache that others may have taken

Read = Callable[[], Any]  # gives a float or an array
Reading = timing.ReadBack[float]


def check(session: Session, job: Job) -> None:
    """Prove a session that has done exactly its first step, before anything is timed by its wait. Raises :class:`CellFailure`:
    ``bad_wait``, or ``wrong_result`` for steps that are not computed.

    Steps are taken in blocks of 20 ms, so that a device has something to be waited for: one for each batch, and then ten;
    more only where those do not convince.
    """
    read = reader(session, job)
    steps = timing.steps_to_probe(session, job.batches, read)
    first = read()
    if isinstance(first, numpy.ndarray):
        checks.outputs_finite(first)
    with _other_parameters(session, job):
        reads = _reads(session, steps, job.batches, read)
        marks = [_mark(first), *(each.value for each in reads)]
        wait_is_real(reads, lambda: _reads(session, steps, MORE_READS, read))
        if _batches_differ(job) and len(set(marks[1:])) == 1:
            raise CellFailure(
                "wrong_result",
                f"{job.batches} distinct batches in a row gave the same result: it was computed for one of them at most",
                "the adapter's step must compute every batch",
            )
        if _parameters_changed(job) and marks[-1] == marks[0]:
            _all_anew(job, marks + [each.value for each in _reads(session, steps, job.batches - 1, read)])
    if min(each.steps for each in reads) < LONG_STEP:
        read_loss = job.mode == "train" and job.computation.read_loss == "every_step"
        time_grows(timing.multiples(session, longer * steps, TIMES, tries, read_loss, read) for longer, tries in LONGER.items())


def _reads(session: Session, steps: int, rounds: int, read: Read) -> list[Reading]:
    """Read-backs with marks in the place of values, which may be large."""
    return [dataclasses.replace(each, value=_mark(each.value)) for each in timing.read_backs(session, steps, rounds, read)]


def reader(session: Session, job: Job) -> Read:
    """How a result is read to the host. In ``train`` the loss, and of small models the updated parameters with it, since an
    update may be put off where the loss is not; in ``infer`` some of the outputs."""
    if job.mode == "infer":
        return session.glimpse
    if job.computation.parameter_count() > LARGE_MODEL:
        return session.loss

    def loss_and_parameters() -> float:
        session.parameters()
        return session.loss()

    return loss_and_parameters


def wait_is_real(reads: Sequence[Reading], more: Callable[[], Sequence[Reading]]) -> None:
    """A read-back right after ``wait`` costs what a second one costs. The median excess of several decides, with more of them if it is too
    large, since on a busy machine either of two may be interrupted."""
    if _excess(reads) > _allowed(reads):
        reads = [*reads, *more()]
    excess = _excess(reads)
    if excess > _allowed(reads):
        raise CellFailure(
            "bad_wait",
            f"a read-back right after wait() took {1e3 * excess:.1f} ms longer than one after it: wait() returns before the work is done",
            "the adapter's wait() for this device must be mended; the time of this cell would be the time of queueing",
        )


def _excess(reads: Sequence[Reading]) -> float:
    return statistics.median(each.first - each.again for each in reads)


def _allowed(reads: Sequence[Reading]) -> float:
    return max(READ_BACK_SECONDS, READ_BACK * min(each.steps for each in reads))


def time_grows(series: Iterable[Iterator[tuple[float, float]]]) -> None:
    """More steps take longer in one of some series of ever more steps: each has what :func:`timing.multiples` gives after each try, of
    which the first does not count. A series whose read-backs do not take longer either tells nothing, and the next one decides.

    A ratio above the one due is no sign of a wait that is too short; steps that become slower are for the warm-up to find.
    """
    for ratios in series:
        for waited, ready in itertools.islice(ratios, TRIES - 1, None):  # noqa: B007 - of the last try
            if waited >= LEAST_TIMES:
                return
        if ready >= LEAST_TIMES:
            break
    raise CellFailure(
        "bad_wait",
        f"{TIMES} times as many steps took {waited:.2f} times as long: wait() returns before all are done, or they are not computed",
        "the adapter's step() and wait() must be mended: every step must be done when wait() returns",
    )


def _all_anew(job: Job, marks: Sequence[float]) -> None:
    """Fail if the second of two passes over the batches gave what the first gave, though parameters have changed. One batch alone may do
    so by chance."""
    if marks[job.batches :] == marks[: job.batches]:
        raise CellFailure(
            "wrong_result",
            "a second pass over the batches, with other parameters, gave exactly the results of the first: "
            + ("nothing is updated, or steps are remembered" if job.mode == "train" else "they are remembered"),
            "the adapter's step must compute every batch anew",
        )


def _batches_differ(job: Job) -> bool:
    """Whether what a result depends on is drawn anew for each batch."""
    tensors = [*job.computation.inputs, *([job.computation.target] if job.mode == "train" and job.computation.target else [])]
    return job.batches > 1 and any(tensor.fill in ("normal", "uniform", "integers") for tensor in tensors)


def _parameters_changed(job: Job) -> bool:
    """Whether other results are due in a second pass. Half precision may round an update away, or skip it while it scales its losses."""
    if job.mode == "train":
        return "float16" not in job.precision and float(job.computation.optimizer.get("learning_rate", 0.0)) != 0.0
    return _last_trainable(job) is not None


@contextmanager
def _other_parameters(session: Session, job: Job) -> Iterator[None]:
    """In ``infer``, double the last trainable parameter meanwhile, as an update would change it; ``train`` changes its own."""
    name = _last_trainable(job)
    if job.mode == "train" or name is None:
        yield
        return
    value = numpy.array(session.parameters()[name])
    session.load({name: 2.0 * value})
    try:
        yield
    finally:
        session.load({name: value})


def _last_trainable(job: Job) -> str | None:
    """The name of the last parameter that training would change: the nearest to the outputs."""
    names = [name for name, parameter in job.computation.network.all_parameters() if parameter.trainable]
    return names[-1] if names else None


def _mark(value: float | numpy.ndarray) -> float:
    """A number that tells results apart. A loss that is none is a :class:`CellFailure`."""
    if isinstance(value, float) and not math.isfinite(value):
        raise CellFailure("nan", f"the loss is {value} in the first steps")
    return zlib.crc32(numpy.ascontiguousarray(value).tobytes()) if isinstance(value, numpy.ndarray) else value
