"""A job in, events out: the program of the child process.

The first line on standard input is the request, one of ``{"probe": ...}``, ``{"conform": ...}``, ``{"operators": ...}``, ``{"job": ...}``,
``{"check": ...}`` and ``{"golden": ..., "sensitivity": ...}``; later lines are orders. Events go as JSON lines to the descriptor named by
``--events``, so that nothing that a framework prints can spoil them. The orders are ``block`` (time one block), ``long`` (time ``steps``
steps, none untimed before them, for whoever reads a meter around them), ``latency`` (time single steps) and ``finish`` (last checks, facts,
the comparison with the golden curve where the job has one); and after that ``matmul`` and ``convolution`` (measure its precision) and
``rate`` (that of a large product), until there are no more.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import importlib.util
import json
import os
import platform
import resource
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, TextIO

from frameworks import registry, timing
from frameworks.contract import Adapter, CellFailure, Framework, Job, Session, job_from_json, to_json


class Channel:
    """The private way to the parent: strict JSON, one event a line."""

    def __init__(self, events: TextIO, orders: TextIO) -> None:
        self._events, self._orders = events, orders

    def emit(self, kind: str, **data: Any) -> None:
        """Send one event. A number that JSON does not have is a ValueError: it must have been given a status before."""
        self._events.write(json.dumps({"kind": kind, "data": data}, allow_nan=False) + "\n")
        self._events.flush()

    def orders(self) -> Iterator[tuple[str, int]]:
        """Orders as they come, with the number of steps that some have; ends when the parent is gone."""
        for line in self._orders:
            order = json.loads(line)
            yield order["order"], order.get("steps", 0)

    def request(self) -> Mapping[str, Any]:
        request: Mapping[str, Any] = json.loads(self._orders.readline())
        return request


def main() -> None:
    """Serve one request. Ends 0 when it was answered, a failure included."""
    parser = argparse.ArgumentParser(description="A child of headtohead; it is started by h2h.")
    parser.add_argument("--events", type=int, required=True)
    descriptor = parser.parse_args().events
    os.set_inheritable(descriptor, False)
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, all_threads=True)
    channel = Channel(open(descriptor, "w", encoding="utf-8"), sys.stdin)  # noqa: SIM115, PTH123 - it lives as long as the process
    request = channel.request()
    channel.emit("hello", pid=os.getpid(), python=platform.python_version(), architecture=platform.machine(), nice=os.nice(0))
    adapter: Adapter | None = None
    try:
        if "probe" in request:
            adapter = _import(channel, request["probe"])
            channel.emit("probed", devices=adapter.devices(), modules=_foreign_modules())
        elif "conform" in request:
            asked = request["conform"]
            adapter = _import(channel, asked["framework"])
            _conform(channel, adapter, asked)
        elif "operators" in request:
            asked = request["operators"]
            adapter = _import(channel, asked["framework"])
            for job in asked["jobs"]:
                _operators(channel, adapter, job_from_json(job))
        elif "golden" in request:
            job = job_from_json(request["golden"])
            adapter = _import(channel, job.framework)
            _golden(channel, adapter, job, request["sensitivity"])
        elif "check" in request:
            job = job_from_json(request["check"])
            adapter = _import(channel, job.framework)
            _check_fit(job)
            _verify(channel, adapter, job)
        else:
            job = job_from_json(request["job"])
            adapter = _import(channel, job.framework)
            _check_fit(job)
            compile_seconds = _measure(channel, adapter, job)
            if compile_seconds is not None:
                if job.golden is not None:
                    _verify(channel, adapter, job)
                _probe(channel, adapter, job, compile_seconds)
    except CellFailure as failure:
        _fail(channel, failure)
    except Exception as error:
        traceback.print_exc()
        _fail(channel, _explain(adapter, error))


def _import(channel: Channel, reference: str) -> Adapter:
    facts = registry.framework(reference)
    channel.emit("phase", name="import")
    if importlib.util.find_spec(facts.package) is None:
        raise CellFailure("not_installed", f"there is no package {facts.package} in {_interpreter()}", facts.install)
    try:
        seconds, adapter = timing.timed(lambda: registry.adapter(reference))
    except ImportError as error:
        traceback.print_exc()
        raise _import_failure(facts, error) from error
    channel.emit("imported", seconds=seconds, versions={"python": platform.python_version(), **adapter.versions()})
    return adapter


def _check_fit(job: Job) -> None:
    from frameworks import checks  # needs NumPy, see below

    if job.checks:
        checks.updates_fit(job)


def _interpreter() -> str:
    return f"Python {platform.python_version()} at {sys.prefix}"


def _import_failure(facts: Framework, error: ImportError) -> CellFailure:
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return CellFailure(
        "broken_import", f"{facts.title} is installed but does not import: {first}", f"reinstall it in matching versions: {facts.install}"
    )


def _foreign_modules() -> list[str]:
    """Which frameworks the process holds, since one may load another."""
    return [name for name in ("torch", "tensorflow", "keras", "tf_keras", "jax", "mlx") if name in sys.modules]


def _conform(channel: Channel, adapter: Adapter, asked: Mapping[str, Any]) -> None:
    from frameworks import conformance

    device, precision, execution = asked["device"], asked["precision"], asked["execution"]
    conformance.run(
        adapter, device, precision, execution, lambda finding: channel.emit("finding", **finding), brief=asked.get("brief", False)
    )
    channel.emit("conformed")


def _operators(channel: Channel, adapter: Adapter, job: Job) -> None:
    """The operators of one job, or why there are none; the next job does not suffer from that."""
    try:
        channel.emit("operators", operators=adapter.operators(job))
    except Exception as error:
        if not isinstance(error, CellFailure):
            traceback.print_exc()
        failure = error if isinstance(error, CellFailure) else _explain(adapter, error)
        channel.emit("unrecorded", status=failure.status, reason=failure.reason, remedy=failure.remedy)
    gc.collect()


def _golden(channel: Channel, adapter: Adapter, job: Job, sensitivity: bool) -> None:
    from frameworks import parity

    curve = parity.curve(adapter, job, lambda what: channel.emit("phase", name=what), sensitivity)
    channel.emit("curve", **to_json(curve))


def _verify(channel: Channel, adapter: Adapter, job: Job) -> None:
    """The comparison with the golden curve. It comes when the measured session is gone, so that neither speed nor memory knows of it."""
    from frameworks import parity

    gc.collect()
    seconds, found = timing.timed(lambda: parity.check(adapter, job, lambda what: channel.emit("phase", name=what)))
    channel.emit("parity", seconds=seconds, **to_json(found))


def _probe(channel: Channel, adapter: Adapter, job: Job, compile_seconds: float) -> None:
    """Measure small operators as the parent orders, again when the measured session is gone."""
    from frameworks import precision

    gc.collect()
    if compile_seconds > precision.LONG:
        job = precision.without_compiler(job)
    for order, _ in channel.orders():
        if order == "rate":
            channel.emit("rate", operations_per_second=precision.matmul_rate(adapter, job))
        else:
            channel.emit("precision", **precision.measure(adapter, job, order))


def _measure(channel: Channel, adapter: Adapter, job: Job) -> float | None:
    """Prepare and obey until all is measured; the seconds that compilation took, or None if the parent was gone before."""
    from frameworks import checks, reality  # need NumPy, whose absence is an event and not a crash of this module

    read_loss = job.mode == "train" and job.computation.read_loss == "every_step"
    channel.emit("phase", name="build")
    build_seconds, session = timing.timed(lambda: adapter.build(job))
    with contextlib.closing(session):
        before = _inspected(session, job)
        channel.emit("built", seconds=build_seconds, facts=session.facts())

        channel.emit("phase", name="first step")
        first_step_seconds, _ = timing.timed(lambda: timing.run_steps(session, 1, read_loss))
        first_loss = checks.finite(session.loss(), 1) if job.computation.loss else None
        channel.emit("first_step", seconds=first_step_seconds, loss=first_loss)
        checks.fallbacks(job, session.facts().get("fallbacks", ()))

        if job.checks and not job.proven:
            channel.emit("phase", name="proof of its steps")
            reality.check(session, job)

        channel.emit("phase", name="warm-up")
        warm_up = timing.warm_up(
            session,
            read_loss=read_loss,
            block_seconds=job.block_seconds,
            limit=job.warmup_seconds,
            heartbeat=lambda block: channel.emit("warm_up_block", steps=block.steps, seconds=block.seconds),
        )
        compiled = session.facts().get("compilations")
        channel.emit(
            "ready",
            steps_per_block=warm_up.steps_per_block,
            steady=warm_up.steady,
            seconds=warm_up.seconds,
            wait_seconds=warm_up.wait_seconds,
            resident=_resident_bytes(),
        )

        steps = 0
        for order, asked in channel.orders():
            if order == "block":
                block = timing.time_block(session, warm_up.steps_per_block, read_loss)
                steps += block.steps
                loss = checks.finite(session.loss(), steps) if job.computation.loss else None
                channel.emit("block", steps=block.steps, seconds=block.seconds, loss=loss, slept=block.slept)
            elif order == "long":
                seconds, _ = timing.timed(lambda: timing.run_steps(session, asked, read_loss))  # noqa: B023 - called at once
                channel.emit("long", steps=asked, seconds=seconds)
            elif order == "latency":
                channel.emit("latency", **to_json(timing.latency(session)))
            elif order == "finish":
                _finish(channel, session, job, before, compiled)
                return max(0.0, first_step_seconds - warm_up.blocks[-1].step_seconds)
    return None


def _inspected(session: Session, job: Job) -> dict[str, int]:
    """Checksums of the start values of a model that has the structure asked for; nothing without checks."""
    from frameworks import checks

    if not job.checks:
        return {}
    parameters = session.parameters()
    checks.structure(job, parameters)
    return checks.fingerprints(parameters)


def _finish(channel: Channel, session: Session, job: Job, before: dict[str, int], compiled: int | None) -> None:
    from frameworks import checks

    device_peak, process_peak = session.memory(), peak_resident_bytes()  # first, since looking at a model takes memory too
    placement = session.placement()
    if job.checks:
        checks.placement(job, placement)
        if job.mode == "infer":
            checks.outputs_finite(session.outputs())
        checks.training_took_place(job, before, checks.fingerprints(session.parameters()))
    facts = session.facts()
    if compiled is not None and facts.get("compilations") is not None:
        facts["timed_compilations"] = facts["compilations"] - compiled
    channel.emit(
        "finished", facts=facts, placement=placement, device_peak=device_peak, process_peak=process_peak, modules=_foreign_modules()
    )


def peak_resident_bytes() -> int:
    """The peak of resident memory of this process. ``ru_maxrss`` is in bytes on macOS and in KiB on Linux (getrusage(2) of each)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _resident_bytes() -> int | None:
    """Resident memory now, or None where /proc is missing; the parent then takes the peak for it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return peak_resident_bytes()


def _explain(adapter: Adapter | None, error: Exception) -> CellFailure:
    known = adapter.failure(error) if adapter is not None else None
    if known is not None:
        return known
    if isinstance(error, MemoryError):
        return CellFailure("out_of_memory", "the process could not allocate memory", "try a smaller batch")
    text = " ".join(str(error).split())[:300]
    return CellFailure("crashed", f"{type(error).__name__}: {text}", "the cell's log has the whole traceback")


def _fail(channel: Channel, failure: CellFailure) -> NoReturn:
    channel.emit("failed", status=failure.status, reason=failure.reason, remedy=failure.remedy, process_peak=peak_resident_bytes())
    sys.exit(0)


if __name__ == "__main__":
    main()
