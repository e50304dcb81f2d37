"""Golden files: the library has one of each workload as it is now, and what is damaged is told in plain words. No framework runs."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner import golden, write_golden
from runner.golden import Entry, Golden, GoldenError, Outputs
from runner.request import Request, resolve
from runner.spec import catalog
from runner.spec.workload import digest, load_workload

OWN = """
name: mine
inputs:
  x: {shape: [3], fill: normal}
target: {fill: normal}
batch: 16
network:
  - dense: {units: 2}
loss: mean_squared_error
optimizer: {sgd: {learning_rate: 0.1}}
"""


def made(computation: str, **changes: Any) -> Golden:
    """A file with one curve."""
    outputs = Outputs((2, 2), (1.0, -0.1, 1e-300, 0.1 + 0.2), {"float32": 1e-6, "half": 1e-3})
    moved = {"float32": (1e-7, 2e-7), "half": (1e-3, 2e-3)}
    entry = Entry({}, computation, 2, 0, 1e-15, (1.5, 1.25), None, moved, outputs)
    return Golden("mine", "0.1.0", "2026-11-30", {"pytorch": {"torch": "2.13.0"}}, (dataclasses.replace(entry, **changes),))


@pytest.mark.parametrize("path", catalog.all_workloads(), ids=lambda path: path.stem)
def test_a_workload_of_the_library_has_the_curves_of_what_it_says(path: Path) -> None:
    workload = load_workload(path)
    wanted = {digest(golden.small(workload.resolve(**variant))): variant for variant in golden.variants(workload)}
    file = golden.path_of(path)
    assert file.exists(), f"h2h check --write {workload.name}"
    curves = {entry.computation: entry for entry in golden.read(file).curves}
    assert curves.keys() == wanted.keys(), f"it changed and its curves did not: h2h check --write {workload.name}"
    for entry in curves.values():
        assert (entry.losses is not None) == ("train" in workload.modes)
        sensitivity = 0.0 if entry.sensitivity is None else max(entry.sensitivity["float32"])
        assert entry.deviation <= max(write_golden.AGREEMENT, write_golden.GROWTH * sensitivity)


def test_what_suites_ask_for_besides_has_curves_too() -> None:
    batches = {variant.get("size") for variant in golden.variants(load_workload("matmul"))}
    assert batches >= {512, 1024, 2048, 4096, 8192}
    assert golden.variants(load_workload("vgg16-cifar10")) == [{}, {"normalised": 0}]
    assert golden.variants(load_workload("lenet5-mnist")) == [{}]


@pytest.mark.parametrize("path", catalog.all_workloads(), ids=lambda path: path.stem)
def test_the_small_computation_is_the_workload_at_that_batch(path: Path) -> None:
    workload = load_workload(path)
    small = golden.small(workload.resolve())
    assert small == workload.resolve(batch=small.batch)
    assert small.batch in (None, golden.BATCH, golden.LINE_BATCH, golden.LONE_BATCH)


def test_batch_normalisation_of_two_numbers_is_no_curve(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    for norm, batch in (("", 2), ("  - batch_norm: {eps: 1e-5, keep: 0.9}\n", 64)):
        path.write_text(OWN.replace("  - dense: {units: 2}\n", f"  - dense: {{units: 2}}\n{norm}"))
        assert golden.small(load_workload(path).resolve()).batch == batch


def test_no_file_is_of_a_workload_that_is_gone() -> None:
    names = {path.stem for path in catalog.all_workloads()}
    assert {path.stem for path in (catalog.library() / "golden").glob("*.json")} == names


def test_a_curve_is_found_at_any_batch_and_not_when_anything_else_changed(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(OWN)
    computation = load_workload(path).resolve()
    assert golden.find(path, computation) is None
    golden.write(tmp_path / "mine.golden.json", made(digest(golden.small(computation))))
    found = golden.find(path, dataclasses.replace(computation, batch=1024))
    assert found is not None
    assert (found["batch"], found["losses"], found["outputs"]["shape"]) == (2, [1.5, 1.25], [2, 2])
    optimizer = {**computation.optimizer, "learning_rate": 0.2}
    assert golden.find(path, dataclasses.replace(computation, optimizer=optimizer)) is None


def test_reading_gives_what_was_written_with_one_number_a_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.golden.json"
    written = made("0123456789abcdef")
    golden.write(file, written)
    assert golden.read(file) == written
    lines = [line.strip().rstrip(",") for line in file.read_text().splitlines()]
    assert {"1.5", "1.25", "0.30000000000000004"} <= set(lines)


def damaged(**changes: Any) -> str:
    """A file whose curve has other values; a key with the value ... is left out."""
    data = json.loads(json.dumps({"schema": 1, **dataclasses.asdict(made("0123456789abcdef"))}))
    curve = data["curves"][0]
    for key, value in changes.items():
        if value is ...:
            del curve[key]
        else:
            curve[key] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Expecting value"),
        (damaged()[:200], "line 1 column"),
        ("[]", "an object was expected"),
        (json.dumps({"schema": 7}), "its schema is 7, and this headtohead reads 1"),
        (json.dumps({"schema": 1}), "it lacks 'workload'"),
        (damaged(losses=...), "it lacks 'losses'"),
        (damaged(losses=["1.5"]), "losses must be finite numbers, not '1.5'"),
        (damaged(losses=[]), "losses must be numbers, not []"),
        (damaged().replace("1.25", "NaN"), "NaN is no number in JSON"),
        (damaged().replace("1.25", "1e999"), "losses must be finite numbers, not inf"),
        (damaged(batch="2"), "batch must be a whole number, not '2'"),
        (damaged(computation=5), "computation must be text, not 5"),
        (damaged(outputs={"shape": [2, 2]}), "it lacks 'values'"),
        (damaged(sensitivity=None), "of another kind than it should be"),
    ],
)
def test_a_damaged_file_is_told_with_its_place_and_remedy(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "mine.golden.json"
    file.write_text(text)
    with pytest.raises(GoldenError) as error:
        golden.read(file)
    assert str(error.value).startswith(f"{file}: is no file of golden curves: ")
    assert words in str(error.value)
    assert "h2h check --write" in str(error.value)


def test_a_request_with_a_damaged_file_ends_before_anything_runs_and_goes_on_without_checks(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(OWN)
    (tmp_path / "mine.golden.json").write_text("{")
    with pytest.raises(GoldenError):
        resolve(Request(workloads=(str(path),)), ["pytorch"])
    ((case, _),) = resolve(Request(workloads=(str(path),), checks=False), ["pytorch"]).cases
    assert case.golden is None


def test_the_parent_needs_neither_numpy_nor_a_framework() -> None:
    code = "import sys, runner.check, runner.write_golden; print(sorted({'numpy', 'torch', 'tensorflow'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
