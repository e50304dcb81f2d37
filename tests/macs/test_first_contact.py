"""``h2h selftest``, ``h2h bundle`` and ``h2h report BUNDLE`` on recorded Macs, and that what they give away names nobody."""

from __future__ import annotations

import dataclasses
import json
import platform
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from frameworks import registry
from runner import bundle, conform, execute, first_contact
from runner.cli import app
from runner.request import Request
from tests.doctor.test_broken import BASE, failing, without_gpu
from tests.macs.conftest import Become
from tests.macs.test_end_to_end import APPLE, FRAMEWORKS, run

pytestmark = pytest.mark.alone

SUITE = """\
name: short
title: One small network, inference
cells:
  - workload: ./tiny.yaml
    modes: infer
    devices: gpu
rounds: 1
budget: 0.01
"""

TINY = """\
name: tiny
inputs:
  x: {shape: [4], fill: normal}
target: {fill: integers, below: 3}
batch: 8
network:
  - dense: {units: 3}
loss: softmax_cross_entropy
optimizer: {sgd: {learning_rate: 0.1}}
"""


def h2h(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        app(list(words), prog_name="h2h")
    return int(end.value.code or 0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a suite of one short cell, and short blocks."""
    usual = execute._settings
    monkeypatch.setattr(execute, "_settings", lambda *words: dataclasses.replace(usual(*words), block_seconds=0.002, warmup_seconds=0.1))
    monkeypatch.setattr(first_contact, "ROUNDS", 1)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.yaml").write_text(SUITE)
    (tmp_path / "tiny.yaml").write_text(TINY)
    return tmp_path


def conformed(references: Sequence[str], device: str, precisions: Sequence[str], *more: object, brief: bool) -> list[conform.Conformance]:
    """One case that fails and one that passes, in the place of a minute's work."""
    assert brief
    right = {"case": "dense units 3", "layer": "dense", "what": "outputs", "ok": True, "status": "ok", "error": 1e-7, "reason": ""}
    wrong = {**right, "case": "gelu tanh", "layer": "gelu", "ok": False, "error": 0.1, "tolerance": 1e-5}
    title = registry.framework(references[0]).title
    return [conform.Conformance(title, device, precisions[0], "eager", (right, wrong))]


def test_one_file_shows_how_it_went_and_names_nobody(
    recorded: Become, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded("m1")
    monkeypatch.setattr(conform, "conform", conformed)
    assert h2h("selftest", *FRAMEWORKS, "--suite", "./short.yaml", "--to", "sent.zip") == 1, "a case of conformance fails"
    printed = capsys.readouterr().out
    assert "headtohead doctor: Apple M1, 8 cores (4 performance, 4 efficiency)" in printed
    with zipfile.ZipFile("sent.zip") as archive:
        names = archive.namelist()
        text = "\n".join(archive.read(name).decode() for name in names)
    assert {"bundle.json", "doctor.json", "doctor.md", "conformance.json", "run.jsonl"} <= set(names)
    for secret in (str(folder), platform.node(), "C02ABC123DEF", "12345678-1234", "Åsa’s MacBook Air", "Asas-MacBook-Air"):
        assert secret not in text, secret
    contents = bundle.read(Path("sent.zip"))
    assert contents.doctor is not None
    assert contents.doctor["machine"]["chip"] == "Apple M1"
    assert contents.conformance is not None
    assert {result["device"] for result in contents.conformance} == {"mps", "metal"}
    assert contents.run is not None
    rounds = [record for line in contents.run.splitlines() if (record := json.loads(line))["record"] == "round"]
    assert [each["status"] for each in rounds] == ["ok", "ok"]
    assert all(each["measured_precision"]["matmul"]["class"] == "float32" for each in rounds)
    assert h2h("report", "sent.zip") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("## headtohead, ")
    assert "PyTorch mps eager" in shown
    assert "headtohead doctor: Apple M1" in shown
    assert "- PyTorch mps float32: failed 1 of 2 findings" in shown
    assert "gelu tanh, outputs: 0.1" in shown
    assert h2h("report", "sent.zip", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["machine"]["chip"] == "Apple M1"


@pytest.mark.slow
def test_conformance_in_brief_asks_for_one_case_of_each_layer() -> None:
    reference = str(APPLE.parent / "reference_adapter")
    (result,) = conform.conform([reference], "cpu", ("float32",), (), {}, brief=True)
    assert result.passed, result.failures
    cases = {(finding["layer"], finding["case"]) for finding in result.findings}
    assert len(cases) == len({layer for layer, _ in cases}) > 20


def test_where_nothing_can_be_measured_there_is_a_bundle_all_the_same(
    recorded: Become, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded("virtual")
    monkeypatch.setattr(first_contact, "_conformance", lambda setup, options: [])
    words = [*FRAMEWORKS, "--env", "H2H_FAKE_GPU=fails", "--suite", "no-such-suite", "--to", "sent.zip"]
    assert h2h("selftest", *words) == 1
    assert "Nothing was measured" in capsys.readouterr().out
    assert h2h("report", "sent.zip") == 0
    shown = capsys.readouterr().out
    assert "Nothing was measured" in shown
    assert "`virtual_machine`" in shown
    with pytest.raises(bundle.BundleError, match="holds no run"):
        first_contact.report(Path("sent.zip"), "csv")
    with pytest.raises(bundle.BundleError, match="not overwritten"):
        first_contact.run(first_contact.Options(to=Path("sent.zip")))


def test_a_run_is_packed_with_the_logs_of_what_failed(recorded: Become, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, made = run(folder, recorded("virtual"))
    capsys.readouterr()
    assert h2h("bundle", str(made), "--to", "packed.zip") == 0
    assert capsys.readouterr().out == "Written to packed.zip\n"
    contents = bundle.read(folder / "packed.zip")
    assert contents.logs is not None
    assert set(contents.logs) == {"logs/probe-pytorch.log", "logs/probe-tensorflow.log"}
    assert h2h("report", "packed.zip") == 0
    assert "finds no device" in capsys.readouterr().out


NOTHING = Request(workloads=(), suites=())


@pytest.mark.parametrize(
    ("setup", "asked", "there", "suite", "devices"),
    [
        (BASE, None, True, "mps-vs-metal", ()),
        (BASE, None, False, "quick", ("gpu",)),
        (without_gpu("tensorflow"), None, True, "quick", ()),
        (failing("tensorflow", "broken_import", "dlopen"), None, True, "mps-vs-metal", ()),
        (dataclasses.replace(BASE, found={}), None, True, "quick", ()),
        (BASE, "mine", True, "mine", ()),
    ],
)
def test_the_suite_is_one_that_the_machine_can_run(
    setup: object, asked: str | None, there: bool, suite: str, devices: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_contact, "_exists", lambda name: there)
    chosen = first_contact._with_suite(NOTHING, setup, first_contact.Options(suite=asked))  # type: ignore[arg-type]
    assert (chosen.suites, chosen.devices) == ((suite,), devices)


def test_the_usual_suite_is_looked_for() -> None:
    assert first_contact._exists("quick")
    assert not first_contact._exists("no-such-suite")
