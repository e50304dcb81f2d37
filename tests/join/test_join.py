"""Runs of several machines in one table: columns, rows, ratios within a machine, and what is refused."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from runner import join
from runner.errors import UserError
from runner.join import joining
from runner.join.model import Joined
from runner.report.model import Column
from runner.runfile import Run, read
from tests.report import places
from tests.report.places import EPYC, GOLDEN, H200, M1, WORKLOADS

SCHEMA = json.loads((Path(join.__file__).parent / "joined.schema.json").read_text(encoding="utf-8"))
FAKES = Path(__file__).parent.parent / "fakes"


@pytest.fixture
def three(tmp_path: Path) -> list[Run]:
    return [places.run(tmp_path, place) for place in (M1, EPYC, H200)]


@pytest.mark.parametrize(("format", "suffix"), [("markdown", "md"), ("csv", "csv")])
def test_three_machines_are_the_golden_report(three: list[Run], format: str, suffix: str) -> None:
    golden = (GOLDEN / f"joined.{suffix}").read_text(encoding="utf-8")
    assert join.render(three, format) == golden, "if the change is meant: python -m tests.report.places"


def test_json_keeps_its_schema_and_holds_what_csv_holds(three: list[Run]) -> None:
    made = json.loads(join.render(three, "json"))
    jsonschema.Draft202012Validator(SCHEMA).validate(made)
    cells = [cell for report in made["reports"] for cell in report["cells"]]
    rows = list(csv.DictReader(io.StringIO(join.render(three, "csv"))))
    assert [row["cell"] for row in rows] == [cell["cell"] for cell in cells]
    assert [place["runs"] for place in made["places"]] == [[0], [1], [2]]
    made["places"][0]["runs"] = "0"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(made)


def test_a_ratio_stands_within_one_machine(three: list[Run]) -> None:
    found = joining.join(three)
    for group in found.groups:
        for link in found.links:
            for place, cell in group.ratios(link).items():
                ids = {each.cell for member in found.places[place].members for each in member.report.cells()}
                assert cell.ratio_to in ids
    gpu = next(link for link in found.links if link[0].device == link[1].device == "gpu")
    assert {place for group in found.groups for place in group.ratios(gpu)} == {0}, "the third machine has one framework only"


def test_gpus_of_every_kind_share_a_row(three: list[Run]) -> None:
    group = joining.join(three).groups[0]
    assert {place: cell.device for place, cell in group.cells[Column("pytorch", "gpu", "eager")].items()} == {0: "mps", 2: "cuda"}


def test_a_reference_holds_for_every_machine_that_has_it(three: list[Run]) -> None:
    found = joining.join(three, ["cpu"])
    assert {(column.framework, column.device, to.device) for column, to in found.links} == {
        ("pytorch", "gpu", "cpu"),
        ("tensorflow", "gpu", "cpu"),
    }
    with pytest.raises(UserError, match="did you mean `tensorflow`"):
        joining.join(three, ["tensorflw"])


def test_a_changed_workload_is_refused_by_name(tmp_path: Path) -> None:
    here = places.run(tmp_path, M1)
    there = places.run(tmp_path, EPYC, [*places.changed(places.cells(EPYC)[:4], computation="f" * 16), *places.cells(EPYC)[4:]])
    with pytest.raises(UserError) as error:
        joining.join([here, there])
    assert "- resnet50 at batch 128: resnet50-128 in m1-max; ffffffffffffffff in epyc" in str(error.value)
    assert "bert-base" not in str(error.value)


def test_another_batch_is_another_row_and_no_change(tmp_path: Path) -> None:
    small = [("resnet50", 64, "images", 8.2)]
    found = joining.join([places.run(tmp_path, M1), places.run(tmp_path, EPYC, places.cells(EPYC, small))])
    assert [(group.key.workload, group.key.batch) for group in found.groups if group.mode == "train"] == [
        ("resnet50", 128),
        ("bert-base", 64),
        ("resnet50", 64),
    ]


def names(found: Joined) -> list[str]:
    return [place.name for place in found.places]


def halves(folder: Path, *made: places.Place) -> list[Run]:
    """The first workload on the first place, the second on the second."""
    return [
        places.run(folder, place, places.cells(place, [work]), f"half-{n}")
        for n, (place, work) in enumerate(zip(made, WORKLOADS, strict=True))
    ]


def test_runs_of_one_machine_that_complete_each_other_stand_in_one_column(tmp_path: Path) -> None:
    found = joining.join(halves(tmp_path, EPYC, dataclasses.replace(EPYC, started="2026-12-01T00:00:00+00:00")))
    assert names(found) == ["AMD EPYC 7B13"]
    assert found.places[0].letters == "A, B"
    assert {(each.mode, each.mean.finished, each.mean.of) for each in found.summaries} == {("train", 2, 2), ("infer", 2, 2)}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"versions": {**EPYC.versions, "pytorch": {"torch": "2.14.0"}}},
            ["torch 2.13.0+cpu, tensorflow 2.21.0", "torch 2.14.0, tensorflow 2.21.0"],
        ),
        ({"machine": dataclasses.replace(EPYC.machine, system="Linux 6.9")}, ["Linux 6.1", "Linux 6.9"]),
        ({"machine": dataclasses.replace(EPYC.machine, cores=8)}, ["2 cores", "8 cores"]),
    ],
)
def test_what_differs_is_the_name_of_a_column(tmp_path: Path, change: dict[str, Any], expected: Sequence[str]) -> None:
    found = joining.join(halves(tmp_path, EPYC, dataclasses.replace(EPYC, **change)))
    assert names(found) == [f"AMD EPYC 7B13, {text}" for text in expected]


def test_the_same_cells_at_two_times_are_two_columns(tmp_path: Path) -> None:
    later = dataclasses.replace(EPYC, started="2026-12-01T00:00:00+00:00")
    found = joining.join([places.run(tmp_path, EPYC), places.run(tmp_path, later, name="later")])
    assert names(found) == ["AMD EPYC 7B13, 2026-11-29", "AMD EPYC 7B13, 2026-12-01"]


def test_a_run_named_twice_is_refused(tmp_path: Path) -> None:
    made = places.run(tmp_path, EPYC)
    with pytest.raises(UserError, match="epyc is the same run as epyc"):
        joining.join([made, made])


def test_what_was_not_checked_says_so_in_its_column(tmp_path: Path) -> None:
    path = places.write(tmp_path, EPYC)
    path.write_text(path.read_text().replace('"checks": true', '"checks": false'))
    assert names(joining.join([read(path), places.run(tmp_path, H200)])) == ["AMD EPYC 7B13, unverified", "NVIDIA H200"]


@pytest.mark.parametrize(("number", "text"), [(0, "A"), (25, "Z"), (26, "AA"), (27, "AB"), (702, "AAA")])
def test_letters(number: int, text: str) -> None:
    assert joining.letter(number) == text


WORKLOAD = """\
name: mine
inputs:
  x: {shape: [4], fill: normal}
target: {fill: integers, below: 3}
batch: 8
network:
  - dense: {units: UNITS}
loss: softmax_cross_entropy
optimizer: {sgd: {learning_rate: 0.1}}
"""


def test_two_recorded_runs_join_a_live_one_and_refuse_it_once_its_workload_changed(tmp_path: Path) -> None:
    """What two people with other machines sent, and what was just measured here."""

    def h2h(*words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(FAKES.parent.parent)}
        return subprocess.run(
            [sys.executable, "-m", "runner", *words], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
        )

    def live(units: int, into: str) -> str:
        (tmp_path / "mine.yaml").write_text(WORKLOAD.replace("UNITS", str(units)))
        done = h2h(
            "run",
            "./mine.yaml",
            "--framework",
            f"{FAKES}:blocking20",
            "--rounds",
            "1",
            "--budget",
            "0.05",
            "--mode",
            "train",
            "--into",
            into,
        )
        assert done.returncode == 0, done.stderr
        (folder,) = (tmp_path / into).iterdir()
        return str(folder)

    here = live(3, "here")
    (cell,) = read(Path(here) / "run.jsonl").header.cells
    sent = [
        str(
            places.write(
                tmp_path,
                place,
                places.changed(places.cells(place, [("mine", 8, "samples", 0.001)], ["train"]), computation=cell.computation),
            )
        )
        for place in (M1, H200)
    ]
    joined = h2h("report", *sent, here)
    assert joined.returncode == 0, joined.stderr
    (header,) = [line for line in joined.stdout.splitlines() if line.startswith("| workload")]
    assert "Apple M1 Max, 32 GPU cores" in header and "NVIDIA H200" in header and header.count("|") == 7
    refused = h2h("report", *sent, live(5, "changed"))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "- mine at batch 8: " in refused.stderr and "Traceback" not in refused.stderr
