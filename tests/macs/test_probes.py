"""What headtohead makes of the answers of each recorded Mac."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.machine import awake, chip, commands, conditions
from runner.machine import mac as probes
from tests.macs.conftest import Become
from tests.macs.double import Mac, write_program


def test_the_machine_is_described_as_it_is(mac: Mac) -> None:
    found = dataclasses.asdict(chip.describe())
    assert {key: found[key] for key in mac.expected["machine"]} == mac.expected["machine"]


def test_conditions_are_read_or_none(mac: Mac) -> None:
    assert probes.conditions() == mac.expected["conditions"]
    assert mac.told.items() <= conditions.now().items()


def test_kinds_of_cores_are_told_apart(mac: Mac) -> None:
    assert list(probes.cores()) == mac.expected["cores"]


def test_nothing_is_asked_that_changes_a_setting(mac: Mac) -> None:
    chip.describe()
    conditions.now()
    reading = ("sysctl -n ", "pmset -g", "sw_vers -", "notifyutil -g ", "ioreg -r", "system_profiler -json -detailLevel mini ")
    assert [line for line in mac.started() if not line.startswith(reading)] == []


def test_a_virtual_mac_is_known_and_rosetta_is_no_chip_of_its_own(recorded: Become) -> None:
    recorded("rosetta")
    assert (probes.translated(), probes.apple_silicon(), probes.virtual()) == (True, True, False)


def test_hosted_machines_are_virtual(recorded: Become) -> None:
    recorded("virtual")
    assert (probes.translated(), probes.apple_silicon(), probes.virtual()) == (False, True, True)


def test_an_intel_mac_is_neither_translated_nor_apple_silicon(recorded: Become) -> None:
    recorded("intel")
    assert (probes.translated(), probes.apple_silicon()) == (False, False)


@pytest.mark.parametrize("program", ["pmset", "notifyutil", "sysctl"])
@given(text=st.text(max_size=200))
def test_no_text_whatever_makes_a_probe_fail(program: str, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "ask", lambda command, timeout=0.0: text if command[0] == program else None)
        found = probes.conditions()
        probes.version(), probes.cores(), probes.gpu(), probes.chip(), probes.system()
    assert found["cpu_speed_limit"] is None or 0 < found["cpu_speed_limit"] <= 100
    assert found["power"] in ("ac", "battery", None)


@given(
    answer=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["SPDisplaysDataType", "sppci_model", "sppci_cores", "x"]), inner),
        max_leaves=8,
    )
)
def test_no_json_whatever_makes_a_profile_fail(answer: object) -> None:
    import json

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "ask", lambda command, timeout=0.0: json.dumps(answer) if command[0] == "system_profiler" else None)
        assert probes.gpu() is None or isinstance(probes.gpu(), str)
        assert all(isinstance(entry, dict) for entry in probes.profile("SPDisplaysDataType"))


def test_a_program_that_hangs_is_ended_with_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_program(tmp_path, "sleeper", {"now": ""}, tmp_path / "log", slow=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    began = time.monotonic()
    assert commands.ask(["sleeper", "now"], timeout=0.2) is None
    assert time.monotonic() - began < 5


def test_the_door_answers_none_to_what_is_missing_fails_or_says_nothing(tmp_path: Path) -> None:
    assert commands.ask(["a-program-that-nobody-has"]) is None
    assert commands.ask(["a\0b"]) is None
    assert commands.ask([sys.executable, "-c", "raise SystemExit(3)"]) is None
    assert commands.ask([sys.executable, "-c", "print()"]) is None
    assert commands.ask([sys.executable, "-c", "import os; os.write(1, b'\\xff')"]) == "\N{REPLACEMENT CHARACTER}"


def test_the_door_asks_in_one_language_and_finds_what_path_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_program(tmp_path, "teller", {"x": "found"}, tmp_path / "log")
    monkeypatch.setattr(commands, "SYSTEM_FOLDERS", (str(tmp_path),))
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert commands.ask(["teller", "x"]) == "found"
    said = commands.ask([sys.executable, "-c", "import os; print(os.environ['LC_ALL'], os.environ['SYSTEM_VERSION_COMPAT'])"])
    assert said == "C 0"


def test_a_run_keeps_the_mac_awake_and_says_when_it_cannot(recorded: Become, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mac = recorded("m1")
    with awake.awake() as held:
        assert held is True
        for _ in range(100):
            if any(line.startswith("caffeinate") for line in mac.started()):
                break
            time.sleep(0.05)
    assert mac.started() == [f"caffeinate -i -m -w {os.getpid()}"]
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with awake.awake() as held:
        assert held is False
    monkeypatch.setattr(sys, "platform", "linux")
    with awake.awake() as held:
        assert held is None


def test_a_program_that_hangs_is_asked_once(recorded: Become) -> None:
    mac = recorded("slow")
    for _ in range(3):
        probes.conditions()
    assert sum(line.startswith("pmset") for line in mac.started()) == 1
