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
    ("name", "values", "parameters"),
    [
        # torchvision.models: `num_params` of the weights IMAGENET1K_V1
        ("vgg16", {}, 138_357_544),
        ("resnet50", {}, 25_557_032),
        ("mobilenet-v2", {}, 3_504_872),
        ("densenet121", {}, 7_978_856),
        ("vit-b16", {}, 86_567_656),
        # torchvision.models.vgg16_bn (138,365,992) and vgg16, their last layer of ten classes, not a thousand
        ("vgg16-cifar10", {}, 138_365_992 - 990 * 4097),
        ("vgg16-cifar10", {"normalised": 0}, 138_357_544 - 990 * 4097),
        # keras.applications.ResNet50: 25,636,712 in all, 23,587,712 without the last layer, 53,120 of them not trained
        ("resnet50-v1", {}, 25_636_712 - 53_120),
        ("resnet50-v1", {"classes": 8}, 23_587_712 - 53_120 + 8 * 2049),
        ("resnet50-v1-cifar", {}, 23_587_712 - 53_120 + 100 * 2049),
        ("resnet50-cifar", {}, 25_557_032 - 900 * 2049),
        ("resnet18-cifar", {}, 11_173_962),  # https://github.com/kuangliu/pytorch-cifar
        ("mlp-mixer", {}, 59_880_472),  # timm's mixer_b16_224
        ("unet-small", {}, 7_763_041),  # https://github.com/mateuszbuda/brain-segmentation-pytorch
        ("mnist-cnn", {}, 1_199_882),  # the Keras example mnist_cnn
        # https://github.com/huggingface/transformers: bert-base-uncased, bert-large-uncased with pooler, and 2 classes
        ("bert-base", {}, 109_482_240 + 2 * 769),
        ("bert-large", {}, 335_141_888 + 2 * 1025),
        ("bert-base-mlm", {}, 109_514_298),
        ("distilbert", {}, 66_955_010),
        ("gpt2-small", {}, 124_439_808),
    ],
)
def test_published_counts(name: str, values: dict[str, int], parameters: int) -> None:
    assert load_workload(name).resolve(**values).parameter_count(trainable_only=True) == parameters


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
