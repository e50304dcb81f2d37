"""``run`` and ``report`` from beginning to end on each recorded Mac: the right machine, conditions and statuses."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import pytest

from runner import execute
from runner.cli import app
from runner.runfile import read
from tests.macs.conftest import Become
from tests.macs.double import NAMES, Mac

pytestmark = pytest.mark.alone

APPLE = Path(__file__).parent.parent / "fakes" / "apple"
FRAMEWORKS = [word for name in ("pytorch", "tensorflow") for word in ("--framework", f"{APPLE}:{name}")]
USUAL = ("m1", "m4-low-power", "rosetta", "virtual")  # the other Macs take a minute together
SHORT = ["--rounds", "1", "--budget", "0.01", "--no-check", "--mode", "infer"]


def h2h(*words: str) -> int:
    """What the command ends with."""
    try:
        app(list(words), prog_name="h2h")
    except SystemExit as end:
        return int(end.code or 0)
    raise AssertionError("a command ends by itself")


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a hundredth of the usual length: nothing is compared here."""
    usual = execute._settings
    monkeypatch.setattr(execute, "_settings", lambda *words: dataclasses.replace(usual(*words), block_seconds=0.001, warmup_seconds=0.1))


def run(folder: Path, mac: Mac, *words: str) -> tuple[int, Path]:
    """Run the suite ``quick`` on the GPU, quickly; the status and the run's folder."""
    fake = ["--env", f"H2H_FAKE_GPU={'works' if mac.gpu_works else 'fails'}"]
    status = h2h("run", "--suite", "quick", *FRAMEWORKS, *SHORT, "--device", "gpu", *fake, "--into", str(folder / "runs"), *words)
    (made,) = (folder / "runs").iterdir()
    return status, made


def lines(made: Path, kind: str) -> list[dict[str, Any]]:
    text = (made / "run.jsonl").read_text(encoding="utf-8")
    return [line for line in map(json.loads, text.splitlines()) if line["record"] == kind]


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in USUAL else pytest.mark.slow) for name in NAMES])
def test_a_recorded_mac_runs_quick_and_reports_it(name: str, recorded: Become, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mac = recorded(name)
    status, made = run(tmp_path, mac)
    table = capsys.readouterr().out
    (header,) = lines(made, "header")
    rounds = lines(made, "round")
    expected = mac.expected["machine"]
    assert {key: header["machine"][key] for key in expected} == expected
    assert len(rounds) == 4, "two workloads in two frameworks"
    for each in rounds:
        assert mac.told.items() <= each["conditions"].items()
        assert mac.told.items() <= each["conditions"]["after"].items()
    if mac.gpu_works:
        assert (status, {each["status"] for each in rounds}) == (0, {"ok"})
        assert "PyTorch mps eager" in table
        assert "TensorFlow metal graph" in table
    else:
        assert (status, {each["status"] for each in rounds}) == (1, {"unsupported"})
        assert "finds no device" in table
    title = table.splitlines()[0]
    assert f"{expected['chip']}, {expected['cores']} cores" in title
    assert expected["system"] in title
    assert ("under Rosetta" in table) == expected["translated"]
    h2h("report", str(made))
    assert capsys.readouterr().out.strip() == table.strip()
    assert json.loads(report_json(made, capsys))["machine"]["chip"] == expected["chip"]


def report_json(made: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert h2h("report", str(made), "--format", "json") == 0
    return capsys.readouterr().out


def test_a_checked_workload_follows_its_curve_on_a_recorded_mac(recorded: Become, tmp_path: Path) -> None:
    recorded("m1-pro-battery")
    exact = ["--framework", f"{APPLE.parent / 'reference_adapter'}"]
    words = ["run", "mlp-mnist", *exact, "--mode", "infer", "--rounds", "1", "--budget", "0.01", "--into", str(tmp_path / "runs")]
    assert h2h(*words) == 0
    (made,) = (tmp_path / "runs").iterdir()
    (measured,) = read(made / "run.jsonl").rounds
    assert measured.parity is not None
    assert measured.parity["error"] < measured.parity["tolerance"]


def test_names_with_blanks_and_of_other_alphabets(
    recorded: Become, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded("m1")
    folder = tmp_path / "Mein Ordner Ü – 東京 (1)"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert h2h("new", "mine") == 0
    own = ["run", "./mine.yaml", *FRAMEWORKS, *SHORT, "--into", "runs"]
    assert h2h(*own) == 0
    (made,) = (folder / "runs").iterdir()
    assert "PyTorch mps eager" in capsys.readouterr().out
    assert all((made / str(each["log"])).exists() for each in lines(made, "round"))


def test_a_home_that_cannot_be_written_is_not_needed(recorded: Become, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mac = recorded("m1")
    monkeypatch.setenv("HOME", "/dev/null")  # nothing can be made below it, by root neither
    assert run(tmp_path, mac)[0] == 0


def test_a_run_names_neither_home_nor_host_and_no_two_files_differ_in_case_alone(
    recorded: Become, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mac = recorded("m1")
    monkeypatch.setenv("HOME", str(tmp_path))
    _, made = run(tmp_path, mac)
    text = (made / "run.jsonl").read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    assert platform.node() not in text
    names = [str(path.relative_to(made)) for path in made.rglob("*")]
    assert len({name.casefold() for name in names}) == len(names)


def test_peak_memory_is_in_bytes_on_both_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    from frameworks import worker

    usage = resource.getrusage(resource.RUSAGE_SELF)
    with monkeypatch.context() as patch:
        patch.setattr(resource, "getrusage", lambda who: usage)
        patch.setattr(sys, "platform", "linux")
        assert worker.peak_resident_bytes() == usage.ru_maxrss * 1024
        patch.setattr(sys, "platform", "darwin")
        assert worker.peak_resident_bytes() == usage.ru_maxrss


def test_memory_now_is_the_peak_where_there_is_no_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    from frameworks import worker

    def refuse(*words: Any, **more: Any) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(builtins, "open", refuse)
    found = worker._resident_bytes()
    assert found is not None
    assert found > 2**20


def test_a_process_group_that_is_gone_or_not_ours_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    from runner import launch

    for error in (
        ProcessLookupError(3, "No such process"),
        PermissionError(1, "Operation not permitted"),
    ):  # macOS says the latter of zombies

        def refuse(pid: int, number: int, error: OSError = error) -> None:
            raise error

        monkeypatch.setattr(os, "killpg", refuse)
        launch._kill_group(99_999_999, signal.SIGKILL)
