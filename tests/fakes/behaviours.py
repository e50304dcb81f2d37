"""One adapter for each fault; what is not said to be faulty is right."""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping

import numpy

from frameworks import timing
from frameworks.contract import Adapter, CellFailure, Job, Session, Unsupported
from frameworks.data import batches, parameter_values
from frameworks.reference.network import forward


class FakeSession(Session):
    """Steps by sleeping ``seconds``; every training step changes the parameters. In ``infer`` it really computes its outputs."""

    seconds = 0.002

    def __init__(self, job: Job) -> None:
        self.job = job
        self.values = parameter_values(job.computation, job.seed)
        self.batches = batches(job.computation, job.batches, job.seed)
        self.steps = 0

    @property
    def batch(self) -> int:
        """The index of the batch of the last step."""
        return (self.steps - 1) % self.job.batches

    def work(self) -> None:
        time.sleep(self.seconds)

    def step(self) -> None:
        self.steps += 1
        self.work()
        self.update()

    def update(self) -> None:
        if self.job.mode == "train":
            for value in self.values.values():
                value += 1e-3

    def wait(self) -> None:
        pass

    def loss(self) -> float:
        return 1.0 / self.steps

    def outputs(self) -> numpy.ndarray:
        inputs, values = self.batches[self.batch].inputs, self.values
        exact = forward(
            self.job.computation.network,
            {name: self.rounded(value) for name, value in values.items()},
            {name: self.rounded(value) for name, value in inputs.items()},
            training=False,
            batched=self.job.computation.batch is not None,
        )
        return exact.astype(numpy.float32).astype(numpy.float64)

    def rounded(self, factor: numpy.ndarray) -> numpy.ndarray:
        """A factor as the device multiplies with it."""
        return factor

    def gradients(self) -> dict[str, numpy.ndarray]:
        return {name: numpy.ones(value.shape) for name, value in self.values.items()}

    def parameters(self) -> dict[str, numpy.ndarray]:
        return self.values

    def load(self, parameters: Mapping[str, numpy.ndarray]) -> None:
        self.values.update(parameters)

    def placement(self) -> dict[str, dict[str, list[str]]]:
        where = {"devices": [self.job.device], "types": ["float32"]}
        return {"parameters": where, "inputs": where, "outputs": where}

    def memory(self) -> int | None:
        return None

    def facts(self) -> dict[str, object]:
        return {
            "optimizer": "Fake",
            "layout": "none",
            "threads": 1,
            "compilations": 0,
            "graph_breaks": None,
            "deviations": [],
            "switches": {},
            "warnings": [],
        }


class FakeAdapter(Adapter):
    """Builds the session class of the same name."""

    session: type[FakeSession] = FakeSession

    def versions(self) -> dict[str, str]:
        return {"fake": "1.0"}

    def devices(self) -> dict[str, str]:
        return {"cpu": "an idle processor"}

    def build(self, job: Job) -> Session:
        return self.session(job)

    def failure(self, error: BaseException) -> CellFailure | None:
        return None


class TakesTurnsSession(FakeSession):
    """0.2 ms a step on a device that others use too: what is queued is done at the end of a turn, of which there are twenty a second."""

    seconds = 0.0002
    turn = 0.05

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.queued = 0

    def work(self) -> None:
        self.queued += 1

    def wait(self) -> None:
        if self.queued:
            time.sleep(self.turn * math.ceil(self.queued * self.seconds / self.turn))
            self.queued = 0


class Blocking20Session(FakeSession):
    seconds = 0.02


class Async20Session(FakeSession):
    """A step returns at once, a thread works 20 ms, ``wait`` joins it."""

    early = 0.0
    takes = 0.02

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.done_at = 0.0

    def work(self) -> None:
        self.done_at = max(self.done_at, time.monotonic()) + self.takes

    def wait(self) -> None:
        time.sleep(max(0.0, self.done_at - self.early - time.monotonic()))

    def loss(self) -> float:
        time.sleep(max(0.0, self.done_at - time.monotonic()))
        return super().loss()

    def outputs(self) -> numpy.ndarray:
        time.sleep(max(0.0, self.done_at - time.monotonic()))
        return super().outputs()


class EarlyWaitSession(Async20Session):
    """``wait`` returns 15 ms too soon."""

    early = 0.015


class LazySession(FakeSession):
    """A step returns at once; the work happens when ``wait`` forces it."""

    pending = 0

    def work(self) -> None:
        self.pending += 1

    def wait(self) -> None:
        time.sleep(0.02 * self.pending)
        self.pending = 0

    def loss(self) -> float:
        self.wait()
        return super().loss()


class NoWaitSession(Async20Session):
    """``wait`` waits for nothing."""

    def wait(self) -> None:
        pass


class NoWaitOfShortStepsSession(NoWaitSession):
    """The same for a device that takes a millisecond, and a host that takes a tenth of it."""

    takes = 0.001

    def work(self) -> None:
        time.sleep(0.0001)
        super().work()


class WaitsForOneSession(Async20Session):
    """``wait`` waits for the first of the steps since the last wait, and the others go on behind it."""

    first_done_at = 0.0

    def work(self) -> None:
        super().work()
        self.first_done_at = self.first_done_at or self.done_at

    def wait(self) -> None:
        time.sleep(max(0.0, self.first_done_at - time.monotonic()))
        self.first_done_at = 0.0


class LazyUpdateSession(FakeSession):
    """``wait`` sees to the loss; an update of 20 ms is put off until somebody looks at the parameters."""

    put_off = 0

    def update(self) -> None:
        if self.job.mode == "train":
            self.put_off += 1

    def parameters(self) -> dict[str, numpy.ndarray]:
        time.sleep(0.02 * self.put_off)
        for _ in range(self.put_off):
            super().update()
        self.put_off = 0
        return super().parameters()


class Compile500Session(FakeSession):
    """The first three steps, or as many as ``H2H_FAKE_COMPILES`` says, take 500 ms, then 5 ms."""

    compiles = int(os.environ.get("H2H_FAKE_COMPILES", "3"))

    def work(self) -> None:
        time.sleep(0.5 if self.steps <= self.compiles else 0.005)


class ShapeCompileSession(FakeSession):
    """The first step on each of the batches takes 500 ms, then 5 ms."""

    def work(self) -> None:
        time.sleep(0.5 if self.steps <= self.job.batches else 0.005)


class CoinSession(FakeSession):
    """Each process draws 5 ms or 12 ms."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.seconds = random.SystemRandom().choice((0.005, 0.012))


class DriftSession(FakeSession):
    """Each step is 1 % slower than the last."""

    def work(self) -> None:
        time.sleep(0.002 * 1.01**self.steps)


class CachedSession(FakeSession):
    """The batch of the last step costs nothing once more."""

    last = -1

    def work(self) -> None:
        batch = self.steps % self.job.batches
        time.sleep(0.0 if batch == self.last else 0.01)
        self.last = batch


class RemembersSession(FakeSession):
    """Computes each batch once and gives its result again from then on."""

    seconds = 0.01

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.losses: dict[int, float] = {}
        self.results: dict[int, numpy.ndarray] = {}

    def step(self) -> None:
        self.steps += 1
        if self.batch not in self.losses:
            self.work()
            self.update()
            self.losses[self.batch] = 1.0 / self.steps
            self.results[self.batch] = super().outputs()

    def loss(self) -> float:
        return self.losses[self.batch]

    def outputs(self) -> numpy.ndarray:
        return self.results[self.batch]


class OneForAllSession(FakeSession):
    """Gives the result of the first batch for all of them."""

    def loss(self) -> float:
        return 1.0

    @property
    def batch(self) -> int:
        return 0


class LossOnlySession(FakeSession):
    """Training that computes the loss and nothing else."""

    def update(self) -> None:
        pass

    def loss(self) -> float:
        return 1.0 + self.batch


class Tf32AsSingleSession(FakeSession):
    """Keeps 10 bits of each factor, whatever is asked for."""

    def rounded(self, factor: numpy.ndarray) -> numpy.ndarray:
        return kept_bits(factor, 10)


class HalfAsSingleSession(FakeSession):
    """Computes in float16 and gives float32, whatever is asked for."""

    def rounded(self, factor: numpy.ndarray) -> numpy.ndarray:
        return factor.astype(numpy.float16).astype(numpy.float64)


class WrongProductSession(FakeSession):
    """Forgets a third of every kernel."""

    def rounded(self, factor: numpy.ndarray) -> numpy.ndarray:
        kept = factor.astype(numpy.float64)
        kept[: len(kept) // 3] = 0.0
        return kept


def kept_bits(values: numpy.ndarray, bits: int) -> numpy.ndarray:
    """Values with this many bits after the first, as rounding to the nearest leaves them."""
    fraction, exponent = numpy.frexp(values.astype(numpy.float64))
    return numpy.ldexp(numpy.round(fraction * 2.0 ** (bits + 1)) / 2.0 ** (bits + 1), exponent)


class LeavesOutSession(FakeSession):
    """Takes its time for a product alone, and next to none for anything else."""

    def work(self) -> None:
        time.sleep(0.05 if self.job.computation.network.kind == "matmul" else 1e-3)


class SleeperSession(FakeSession):
    """The machine sleeps for an hour in the middle of a block, twice."""

    hours = 0

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        timing.wall_clock = lambda: time.time() + 3600 * self.hours

    def work(self) -> None:
        super().work()
        if self.steps in (300, 330):
            self.hours += 1


class NanSession(FakeSession):
    """The loss is no number from the third step."""

    def loss(self) -> float:
        return math.nan if self.steps >= 3 else 1.0


class NanOutputSession(FakeSession):
    def outputs(self) -> numpy.ndarray:
        return numpy.array([1.0, math.inf])


class NoUpdateSession(FakeSession):
    """Forward and backward without the update."""

    def update(self) -> None:
        pass


class UpdateInInferenceSession(FakeSession):
    def update(self) -> None:
        for value in self.values.values():
            value += 1e-3


class MissingParameterSession(FakeSession):
    def parameters(self) -> dict[str, numpy.ndarray]:
        return dict(list(self.values.items())[:-1])


class WrongShapeSession(FakeSession):
    def parameters(self) -> dict[str, numpy.ndarray]:
        return {name: value[..., None] for name, value in self.values.items()}


class WrongDeviceSession(FakeSession):
    """Claims the processor and computes elsewhere."""

    def placement(self) -> dict[str, dict[str, list[str]]]:
        return {**super().placement(), "outputs": {"devices": ["cuda"], "types": ["float32"]}}


class WrongTypeSession(FakeSession):
    def placement(self) -> dict[str, dict[str, list[str]]]:
        return {**super().placement(), "parameters": {"devices": ["cpu"], "types": ["float16"]}}


class DieSigsegvSession(FakeSession):
    def work(self) -> None:
        if self.steps == 60:
            os.kill(os.getpid(), signal.SIGSEGV)
        super().work()


class DieSigkillSession(FakeSession):
    def work(self) -> None:
        if self.steps == 60:
            os.kill(os.getpid(), signal.SIGKILL)
        super().work()


class ExitAbortSession(FakeSession):
    """Aborts on the way out, after the result."""

    def close(self) -> None:
        os.abort()


class HangSession(FakeSession):
    """Hangs, and leaves a grandchild that holds its output and ignores SIGTERM."""

    def work(self) -> None:
        if self.steps == 5:
            code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
            subprocess.Popen([sys.executable, "-c", code, "h2h-fake-grandchild"])
            threading.Event().wait()
        super().work()


class NoisySession(FakeSession):
    """Prints two megabytes that look like events, and bytes that are no text."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        line = b'{"kind": "block", "data": {"steps": 1, "seconds": 0.0}}\n\xff\xfe'
        for descriptor in (1, 2):
            for _ in range(16):
                os.write(descriptor, line * 1024)


class BigmemSession(FakeSession):
    """Takes a gigabyte."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.hoard = numpy.ones(2**27)

    def work(self) -> None:
        time.sleep(0.3)


class BigTogetherSession(FakeSession):
    """Runs out of memory wherever another of its kind is alive."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.lock = os.path.join(os.environ["H2H_FAKE_MEMORY"], "taken")  # noqa: PTH118
        try:
            os.close(os.open(self.lock, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            raise CellFailure("out_of_memory", "the device is full", "try a smaller batch") from None

    def close(self) -> None:
        os.unlink(self.lock)  # noqa: PTH108


class UnsupportedSession(FakeSession):
    def __init__(self, job: Job) -> None:
        raise Unsupported("this device has no float64", "use --precision float32")


class OutOfMemorySession(FakeSession):
    def work(self) -> None:
        raise MemoryError


class FullAbove20Session(FakeSession):
    """A step takes 20 ms whatever the batch, of which there is room for 20."""

    def work(self) -> None:
        batch = self.job.computation.batch or 1
        if batch > 20:
            raise MemoryError
        time.sleep(0.02)


class SlowAbove10Session(FakeSession):
    """A step takes 20 ms up to a batch of 10, and with the square of the batch beyond: 10 is the best."""

    def work(self) -> None:
        time.sleep(0.02 * max(1.0, (self.job.computation.batch or 1) / 10) ** 2)


class ExceptionSession(FakeSession):
    def work(self) -> None:
        raise ValueError("shapes do not agree\nin a framework's words")


class FallbackSession(FakeSession):
    """Runs a part of each step on the CPU."""

    def facts(self) -> dict[str, object]:
        return {**super().facts(), "fallbacks": ["aten::nonesuch"]}


class TooFastSession(FakeSession):
    """Claims to have computed what nothing can compute so soon."""

    def work(self) -> None:
        time.sleep(1e-6)


class RecompilesSession(FakeSession):
    """Compiles anew at every step."""

    def facts(self) -> dict[str, object]:
        return {**super().facts(), "compilations": self.steps}


class Wrong5Session(FakeSession):
    """What a network gives is 5 % too large; single operators are right."""

    def loss(self) -> float:
        return 1.05 * super().loss()

    def outputs(self) -> numpy.ndarray:
        return super().outputs() * (1.0 if self.job.computation.loss is None else 1.05)


def __getattr__(name: str) -> type[FakeAdapter]:
    """``AbcAdapter`` is the adapter that builds ``AbcSession``."""
    session = globals().get(name.removesuffix("Adapter") + "Session")
    if session is None:
        raise AttributeError(name)
    return type(name, (FakeAdapter,), {"session": session})
