"""Fakes in simulated time: a test of seconds takes milliseconds, is the same every time, and may be interrupted as on a busy machine."""

from __future__ import annotations

import dataclasses
import random
import sys

import pytest

from frameworks import registry, timing
from frameworks.contract import Adapter, Computation, Job, Session
from tests.runner.conftest import computation, fake


class Clock:
    """Time that passes when somebody sleeps or reads it. ``busy`` is how likely a sleep or a reading is interrupted, by up to 20 ms."""

    def __init__(self, busy: float = 0.0, seed: int = 0) -> None:
        self.now = 0.0
        self.asleep = 0.0  # what the wall clock is ahead
        self._busy, self._draw = busy, random.Random(seed)

    def sleep(self, seconds: float) -> None:
        self.now += seconds + self._interruption()

    def monotonic(self) -> float:
        self.now += 1e-7 + self._interruption()
        return self.now

    def time(self) -> float:
        return self.now + self.asleep

    def _interruption(self) -> float:
        return self._draw.uniform(0.0, 0.02) if self._draw.random() < self._busy else 0.0


def adapter(name: str) -> Adapter:
    return registry.adapter(fake(name))


def simulate(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """Let the fakes and the timing live in this clock's time."""
    adapter("blocking20")  # so that the module is there
    monkeypatch.setattr(sys.modules["_headtohead_adapter_fakes.behaviours"], "time", clock)
    monkeypatch.setattr(timing, "clock", clock.monotonic)
    monkeypatch.setattr(timing, "wall_clock", clock.time)


def job(name: str = "blocking20", work: Computation | None = None, **changes: object) -> Job:
    plain = Job(fake(name), work or computation(), mode="train", device="cpu", precision="float32", execution="eager")
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


def stepped(name: str, asked: Job | None = None) -> tuple[Session, Job]:
    """A session of a fake after its first step, and its job."""
    asked = asked or job(name)
    session = adapter(name).build(asked)
    timing.run_steps(session, 1, read_loss=False)
    return session, asked
