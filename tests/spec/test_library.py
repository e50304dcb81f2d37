"""The files that come along: each is valid, is called as its file, knows its schema, and the classics have their published counts."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from runner.spec import catalog
from runner.spec.json_schema import FILE, json_schema, schema_text
from runner.spec.loader import load
from runner.spec.starter import starter
from runner.spec.tree import Tree, YamlList, YamlScalar
from runner.spec.validate import validate
from runner.spec.workload import load_workload
from tests.spec.written import TINY, problems

WORKLOADS = catalog.all_workloads()
VALIDATOR = jsonschema.Draft202012Validator(json_schema())


def plain(tree: Tree) -> object:
    """A tree as an editor's YAML sees it."""
    if isinstance(tree, YamlScalar):
        return tree.value
    if isinstance(tree, YamlList):
        return [plain(item) for item in tree.items]
    return {key: plain(value) for key, value in tree.values.items()}


def faults(path: Path) -> list[str]:
    return [error.json_path for error in VALIDATOR.iter_errors(plain(load(path)))]


@pytest.mark.parametrize("path", [*WORKLOADS, *catalog.all_suites()], ids=lambda path: path.stem)
def test_a_file_of_the_library_is_valid(path: Path) -> None:
    assert validate([path]) == (1, [])
    assert catalog.summaries([path])[0].name == path.stem


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)
def test_a_workload_of_the_library_fits_its_schema_and_names_it(path: Path) -> None:
    assert faults(path) == []
    line = path.read_text(encoding="utf-8").partition("\n")[0]
    where = line.removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / where).resolve() == catalog.library() / FILE


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("vgg16", 138_357_544),  # torchvision.models.vgg16
        ("resnet50", 25_557_032),  # torchvision.models.resnet50
    ],
)
def test_published_counts(name: str, parameters: int) -> None:
    assert load_workload(name).resolve().parameter_count(trainable_only=True) == parameters


def test_the_schema_beside_the_workloads_is_current() -> None:
    assert (catalog.library() / FILE).read_text(encoding="utf-8") == schema_text(), (
        "write it again: h2h schema > workloads/workload.schema.json"
    )


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_text()))


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("batch: 2", "batsh: 2", "$"),
        ("dense: {units: 3}", "dense: {unit: 3}", "$.network[0]"),
        ("dense: {units: 3}", "dense: {units: wide}", "$.network[0]"),
        ("fill: normal", "fill: norml", "$.inputs.x.fill"),
        ("shape: [4], ", "", "$.inputs.x"),
        ("sgd: {learning_rate", "sgd: {momentum", "$.optimizer"),
        ("below: 3", "below: many", "$.target.below"),
    ],
)
def test_the_schema_sees_what_an_editor_should_mark(tmp_path: Path, before: str, after: str, place: str) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(TINY.replace(before, after))
    assert place in faults(path)


@pytest.mark.parametrize("units", ["$width", "'${2 * width}'", "3"])
def test_the_schema_lets_expressions_stand_for_numbers(tmp_path: Path, units: str) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(TINY.replace("units: 3", f"units: {units}, when: width > 2, name: head"))
    assert faults(path) == []


@pytest.mark.parametrize("name", ["my-network", "3.10", "no", "1e3"])
def test_the_starter_is_valid_under_any_name(tmp_path: Path, name: str) -> None:
    text = starter(name)
    assert problems(text) == []
    path = tmp_path / "w.yaml"
    path.write_text(text)
    assert faults(path) == []
    assert load_workload(path).name == name


def test_everything_that_the_starter_shows_in_comments_works_too() -> None:
    text = starter("mine").replace("# sweep:", "sweep:").replace("# source:", "source:")
    assert problems(text) == []


def test_a_starter_needs_a_name_that_can_be_one() -> None:
    from runner.spec.problems import SpecError

    with pytest.raises(SpecError, match="the name must be letters, digits"):
        starter("a b")
