"""Finding workloads and suites, by name and by path; suites and their errors; checking many files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from runner.spec import catalog
from runner.spec.problems import SpecError
from runner.spec.suite import SuiteCell, load_suite
from runner.spec.validate import validate
from tests.spec.written import TINY

SUITE = """name: mine
title: My suite
cells:
  - workload: vgg16
    batch: 4
    modes: infer
    precisions: [float32, bfloat16]
    devices: gpu
  - workload: [./tiny.yaml, lenet5-mnist]
    parameters: {width: 3}
rounds: 5
budget: 0.5
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "tiny.yaml").write_text(TINY)
    path = tmp_path / "mine.yaml"
    path.write_text(SUITE)
    return path


def messages(path: Path, text: str) -> list[str]:
    path.write_text(text)
    _, problems = validate([path])
    return [str(problem).removeprefix(f"{path}:") for problem in problems]


def test_names_of_the_library_and_paths() -> None:
    assert catalog.find("vgg16").name == "vgg16.yaml"
    assert catalog.find("some/where.yaml") == Path("some/where.yaml")
    assert catalog.find("vgg16.yaml") == Path("vgg16.yaml")
    assert catalog.find(Path("vgg16")) == Path("vgg16")


def test_further_folders(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "other.yaml").write_text(TINY)
    assert catalog.find("tiny", [tmp_path]) == catalog.find("other", [tmp_path]) == tmp_path / "own" / "other.yaml"


def test_two_files_of_one_name(tmp_path: Path) -> None:
    (tmp_path / "vgg16.yaml").write_text(TINY)
    with pytest.raises(SpecError, match=r"several workloads are called so.*name the path"):
        catalog.find("vgg16", [tmp_path])


def test_a_name_that_is_nearly_known() -> None:
    with pytest.raises(SpecError) as caught:
        catalog.find("vgg-16")
    assert str(caught.value) == "vgg-16: there is no workload of this name; did you mean `vgg16`?"


def test_a_file_without_ending_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").write_text(TINY)
    assert catalog.find("plain") == Path("plain")


def test_summaries_survive_broken_files(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: [1\n")
    (tmp_path / "b.yaml").write_text("title: B\nname: bee\n")
    found = catalog.summaries(catalog.yaml_files(tmp_path))
    assert [(summary.name, summary.title, summary.folder) for summary in found] == [("a", "a", tmp_path.name), ("bee", "B", tmp_path.name)]


def test_listing_loads_no_schema() -> None:
    code = "import sys; from runner.spec import catalog; catalog.summaries(catalog.all_workloads()); print('pydantic' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_a_suite(suite: Path) -> None:
    found = load_suite(suite)
    assert (found.name, found.title, found.rounds, found.budget, found.path) == ("mine", "My suite", 5, 0.5, suite)
    assert found.cells == (
        SuiteCell("vgg16", (4,), ("infer",), ("float32", "bfloat16"), ("gpu",), (), (), {}),
        SuiteCell("./tiny.yaml", (), (), (), (), (), (), {"width": 3}),
        SuiteCell("lenet5-mnist", (), (), (), (), (), (), {"width": 3}),
    )
    assert catalog.find("./tiny.yaml", beside=found.path) == suite.parent / "tiny.yaml"
    assert catalog.find("vgg16", beside=found.path) == catalog.find("vgg16")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("rounds: 5", "round: 5", "11:1: a suite has no key `round`; did you mean `rounds`?"),
        ("batch: 4", "batch: [4, 0]", "5:16: `batch` must be a whole number of at least 1, got the number 0"),
        ("batch: 4", "batches: 4", "5:5: a cell has no key `batches`; did you mean `batch`?"),
        ("infer", "inference", "6:12: `modes` cannot be 'inference'; did you mean `infer`?"),
        ("bfloat16]", "float8]", "7:27: `precisions` cannot be 'float8'; did you mean `float64`?"),
        ("gpu", "tpu", "8:14: `devices` cannot be 'tpu'; did you mean `gpu`?"),
        ("- workload: vgg16", "- workload: vgg-16", "4:15: there is no workload of this name: `vgg-16`; did you mean `vgg16`?"),
        ("{width: 3}", "{width: wide}", "10:25: `parameters` must be a number, got the text 'wide'"),
        ("0.5", "no", "12:9: `budget` must be a number above 0, got the boolean false: YAML reads `no` so"),
        ("title: My suite", "title: off", "2:8: `title` must be text, got the boolean false: YAML reads `off` so; write it in quotes"),
    ],
)
def test_messages_about_suites(suite: Path, before: str, after: str, expected: str) -> None:
    assert SUITE.count(before) == 1
    assert messages(suite, SUITE.replace(before, after)) == [expected]


def test_a_suite_names_a_file_that_is_not_there(suite: Path) -> None:
    assert messages(suite, SUITE.replace("tiny", "none")) == [f"9:16: there is no file {suite.parent / 'none.yaml'}"]


def test_a_suite_without_cells(suite: Path) -> None:
    assert messages(suite, "name: s\ncells: []\n") == ["2:8: `cells` must be a list of what to run, got a list"]
    assert messages(suite, "name: s\ncells: [vgg16]\n") == [
        "2:9: a cell must be keys and values, got the text 'vgg16'; such as `{workload: lenet5, batch: 64}`"
    ]


def test_validate_goes_through_folders_and_gathers_everything(suite: Path) -> None:
    (suite.parent / "bad.yaml").write_text("name: no\n")
    checked, problems = validate([suite.parent, suite.parent / "none.yaml"])
    assert checked == 4
    assert [Path(problem.path).name for problem in problems] == ["bad.yaml", "none.yaml"]


def test_an_empty_folder(tmp_path: Path) -> None:
    _, problems = validate([tmp_path])
    assert [str(problem) for problem in problems] == [f"{tmp_path}: there is no `.yaml` file in this folder"]
