"""The state of the machine: what is read, what refuses a run, how a run waits for a slow machine."""

from __future__ import annotations

import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from runner import conditions as read_back
from runner import execute
from runner.machine import conditions, energy, nvidia
from runner.machine.canary import REST_SECONDS, Canary
from runner.request import Request, RequestError

pytestmark = pytest.mark.alone

CALM = {"load": 0.1, "memory_available": 1, "swap_used": 0, "nice": 0}


def test_what_is_read_now_has_no_empty_answers() -> None:
    now = conditions.now()
    assert {"load", "memory_available", "swap_used", "nice"} <= now.keys()
    assert all(value is not None for value in now.values())


@pytest.mark.parametrize(
    ("state", "busy", "words"),
    [
        ({}, 0.0, None),
        ({"load": 9.0}, 0.0, "load average is 9.0 on 8"),
        ({}, 90.0, "other processes use 90%"),
        ({"power": "battery"}, 0.0, "on battery"),
        ({"low_power": True}, 0.0, "low-power mode"),
        ({"thermal": "serious"}, 0.0, "thermal pressure (serious)"),
        ({"thermal": "nominal", "power": "ac", "low_power": False}, 0.0, None),
    ],
)
def test_what_speaks_against_measuring(monkeypatch: pytest.MonkeyPatch, state: dict[str, Any], busy: float, words: str | None) -> None:
    monkeypatch.setattr(conditions, "now", lambda: {**CALM, **state})
    monkeypatch.setattr(conditions.psutil, "cpu_count", lambda: 8)
    monkeypatch.setattr(conditions.psutil, "cpu_percent", lambda interval: busy)
    found = conditions.against_measuring()
    assert found == [] if words is None else (len(found) == 1 and words in found[0])


def test_strict_refuses_before_anything_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: Any) -> None:
    monkeypatch.setattr(conditions, "against_measuring", lambda: ["the machine runs on battery"])
    with pytest.raises(RequestError, match=r"battery.*without --strict"):
        execute.start(Request(workloads=("mlp-mnist",), strict=True), tmp_path, ["h2h"])
    assert list(tmp_path.iterdir()) == []


def test_others_are_all_processes_but_ours() -> None:
    burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        strangers, mine = conditions.Others([]), conditions.Others([burner.pid])
        time.sleep(1.5)
        assert strangers.used()["others"] - mine.used()["others"] > 0.1
    finally:
        burner.kill()
        burner.wait()


def test_too_short_a_look_says_nothing() -> None:
    assert conditions.Others([]).used() == {}


class Clockwork:
    """A canary's song that goes by a script, and a sleep that counts."""

    def __init__(self, *seconds: float) -> None:
        self.seconds, self.slept = list(seconds), 0.0

    def sing(self) -> float:
        return self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0]

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


def canary(clockwork: Clockwork, run_seconds: float) -> Canary:
    made = Canary(clockwork.sing, clockwork.sleep)
    made._began -= run_seconds
    return made


def test_a_fast_machine_is_not_rested() -> None:
    clockwork = Clockwork(1.0, 1.05, 0.99)
    made = canary(clockwork, 1000)
    assert [made.rest(), made.rest(), made.rest()] == [0.0, 0.0, 0.0]
    assert clockwork.slept == 0.0


def test_a_slow_machine_is_rested_until_it_is_fast_again() -> None:
    clockwork = Clockwork(1.0, 1.4, 1.3, 1.2, 1.05)
    made = canary(clockwork, 1000)
    made.rest()
    assert made.rest() == 3.0 == clockwork.slept


def test_a_machine_that_stays_slow_is_rested_for_a_while_only() -> None:
    clockwork = Clockwork(1.0, 1.4)
    made = canary(clockwork, 10_000)
    made.rest()
    assert made.rest() == REST_SECONDS


def test_rest_is_a_small_share_of_a_run() -> None:
    clockwork = Clockwork(1.0, 1.4)
    made = canary(clockwork, 100)
    made.rest()
    assert made.rest() + made.rest() + made.rest() <= 2.0


def test_the_canary_sings_alike() -> None:
    made = Canary()
    times = sorted(made.seconds() for _ in range(9))
    assert times[0] == made.best > 0
    assert times[4] < 10 * times[0]


def test_conditions_of_a_record_are_summed_up() -> None:
    before = {"load": 1.5, "canary": 1.0, "rested": 2.0, "power": "ac", "throttled": 3, "swap_used": 10, "others": 0.4}
    after = {"canary": 1.3, "power": "battery", "throttled": 5, "swap_used": 5, "thermal": "serious", "memory_pressure": "warning"}
    seen = read_back.read({**before, "after": after, "gpu": {"clock": 1200, "held_down": ["power cap"]}})
    assert (seen.canary, seen.rested, seen.power, seen.throttled, seen.swapped) == (1.3, 2.0, "battery", 2, 0)
    assert (seen.thermal, seen.memory_pressure, seen.clock, seen.held_down) == ("serious", "warning", 1200, ("power cap",))
    assert read_back.read({}).canary is None


@pytest.mark.parametrize(
    ("before", "after", "taken"),
    [
        ({"gpu": 1.0}, {"gpu": 3.5}, {"gpu": 2.5}),
        ({"gpu": 1.0}, {"gpu": 1.0}, {}),
        ({"package-0": 262_143.0}, {"package-0": 1.0}, {}),
        ({"gpu": 1.0, "cpu": 2.0}, {"cpu": 3.0}, {"cpu": 1.0}),
    ],
)
def test_energy_between_two_readings(before: dict[str, float], after: dict[str, float], taken: dict[str, float]) -> None:
    assert energy.between(before, after) == taken


def test_energy_of_a_mac_is_that_of_its_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    class Monitor:
        def get_cumulative_energy(self) -> Any:
            return type("Metrics", (), {"cpu_total_mj": 5000, "gpu_mj": 7000, "dram_mj": None})

    class Mum:
        def get_cumulative_energy(self) -> Any:
            raise RuntimeError("IOReport gave no sample")

    def refuses() -> Any:
        raise RuntimeError("IOReport has no energy model here")

    monkeypatch.setattr(energy.sys, "platform", "darwin")
    for monitor, expected in ((Monitor, {"cpu": 5.0, "gpu": 7.0}), (Mum, {}), (refuses, {})):
        monkeypatch.setitem(sys.modules, "zeus_apple_silicon", SimpleNamespace(AppleEnergyMonitor=monitor))
        energy._apple_monitor.cache_clear()
        assert energy.read("mps") == expected
    energy._apple_monitor.cache_clear()
    monkeypatch.setitem(sys.modules, "zeus_apple_silicon", None)  # not installed
    assert energy.read("mps") == {}
    energy._apple_monitor.cache_clear()


class Nvml:
    """A driver that answers in NVML's units."""

    NVML_CLOCK_SM = NVML_TEMPERATURE_GPU = 0

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: Any) -> int:
        return 0x4 | 0x1 | 0x40

    def nvmlDeviceGetClockInfo(self, handle: Any, kind: int) -> int:
        return 1200

    def nvmlDeviceGetMaxClockInfo(self, handle: Any, kind: int) -> int:
        return 1980

    def nvmlDeviceGetTemperature(self, handle: Any, kind: int) -> int:
        raise RuntimeError("not supported")

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: Any) -> int:
        return 12_345


def test_nvml_is_read_in_its_units_and_may_lack_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "_gpu", lambda: (Nvml(), None))
    assert nvidia.sample() == nvidia.Sample(1200, 1980, None, ("power cap", "thermal slowdown by the hardware"))
    assert nvidia.joules() == 12.345
    monkeypatch.setattr(nvidia, "_gpu", lambda: None)
    assert nvidia.sample() is None and nvidia.joules() is None
