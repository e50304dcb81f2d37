"""``h2h claims`` as a person types it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from runner.claims.choice import choose
from runner.claims.reading import load_all
from runner.cli import app
from runner.errors import UserError
from tests.report import recorded

SOURCES = load_all()


def h2h(*words: str) -> str:
    """What a command prints that goes well."""
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_list_can_be_narrowed() -> None:
    printed = h2h("claims", "--list", "--chip", "M1 Max", "--source", "tlkh-tf-metal", "--format", "json")
    (source,) = json.loads(printed)["sources"]
    assert {claim["chip"] for claim in source["claims"]} == {"Apple M1 Max"}
    assert 140 in [claim["claimed"] for claim in source["claims"]]


def test_a_run_has_figures_beside_it() -> None:
    printed = h2h("claims", str(recorded.FILE), "--source", "rasbt-pytorch-m1-gpu")
    assert printed.startswith("## Published figures beside the run of 2026-11-30 on AMD EPYC 7B13\n")
    assert "| M1 Pro " in printed and "not comparable" in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["claims"], "name a run"),
        (["claims", "--list", "x"], "name a run"),
        (["claims", "no/such/run"], "cannot be read"),
    ],
)
def test_a_wrong_request_ends_with_status_2_and_one_message(words: list[str], message: str) -> None:
    done = subprocess.run([sys.executable, "-m", "runner", *words], capture_output=True, text=True, timeout=250, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("chip", "found"),
    [
        ("M1", {"Apple M1"}),
        ("apple m1 pro", {"Apple M1 Pro"}),
        ("3090", {"NVIDIA GeForce RTX 3090"}),
        ("A100", {"NVIDIA A100"}),
        ("H100", {"NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3"}),
    ],
)
def test_a_chip_is_its_name_or_else_words_of_it(chip: str, found: set[str]) -> None:
    claims = [claim for source in choose(SOURCES, (), (chip,)) for claim in source.claims]
    assert {claim.machine.chip or claim.machine.gpu for claim in claims} == found


def test_nothing_asked_is_everything() -> None:
    assert choose(SOURCES, (), ()) == SOURCES


@pytest.mark.parametrize(
    ("names", "chips", "message"),
    [
        (("tlkh",), (), "no source 'tlkh' of published figures; did you mean `tlkh-"),
        ((), ("M1 Mx",), "no published figure is of a chip 'M1 Mx'; did you mean `M1 Max`"),
        ((), ("",), "no published figure is of a chip ''"),
    ],
)
def test_what_nobody_published_about_is_said(names: tuple[str, ...], chips: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError) as caught:
        choose(SOURCES, names, chips)
    assert message in str(caught.value)


def test_the_schema_is_printed() -> None:
    assert json.loads(h2h("schema", "claims"))["title"] == "headtohead published figures"
