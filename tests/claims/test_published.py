"""The published figures that come along: valid, complete, and to the digit what the sources say."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import jsonschema
import pytest

from runner.claims import reading
from runner.claims.computations import Library
from runner.claims.json_schema import FILE, json_schema, schema_text
from runner.claims.model import Claim, Source
from runner.claims.units import UNITS
from runner.spec import catalog
from runner.spec.loader import load
from runner.spec.validate import validate
from tests.spec.test_library import plain

FILES = catalog.yaml_files(reading.folder())
VALIDATOR = jsonschema.Draft202012Validator(json_schema())
with (Path(__file__).parent / "published.csv").open(encoding="utf-8", newline="") as _file:
    PUBLISHED = list(csv.DictReader(_file))
"""One line a figure: what the source says, by the order in which it says it."""


@pytest.fixture(scope="module")
def sources() -> Mapping[str, Source]:
    return {source.name: source for source in reading.load_all()}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_valid_is_called_as_its_source_and_fits_its_schema(path: Path) -> None:
    assert validate([path]) == (1, [])
    tree = plain(load(path))
    assert isinstance(tree, dict) and tree["name"] == path.stem
    assert [error.json_path for error in VALIDATOR.iter_errors(tree)] == []
    assert path.read_text(encoding="utf-8").startswith(f"# yaml-language-server: $schema={FILE}\n")


def test_the_schema_beside_the_files_is_the_one_in_the_code() -> None:
    assert (reading.folder() / FILE).read_text(encoding="utf-8") == schema_text(), "write it again: h2h schema claims"
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_text()))


def test_every_figure_has_the_value_and_the_unit_of_its_source(sources: Mapping[str, Source]) -> None:
    ours = {(claim.source, str(claim.row)): _line(claim) for source in sources.values() for claim in source.claims}
    theirs = {(line["source"], line["row"]): {**line, "value": _number(line["value"])} for line in PUBLISHED}
    assert len(theirs) == len(PUBLISHED) == 1589 and ours.keys() == theirs.keys()
    for key, published in theirs.items():
        assert ours[key] == published


def _line(claim: Claim) -> dict[str, object]:
    against = claim.against_machine
    figure = claim.figure
    value: tuple[str, float, float] | None = None
    if figure is not None:
        value = (">" if figure.at_least else "", figure.low, figure.high)
    return {
        "source": claim.source,
        "row": str(claim.row),
        "machine": f"{claim.machine.title} vs {against.title}" if against else claim.machine.title,
        "of": claim.of,
        "batch": "" if claim.batch is None else str(claim.batch),
        "metric": claim.metric,
        "value": value,
        "unit": claim.unit,
    }


def _number(text: str) -> tuple[str, float, float] | None:
    if not text:
        return None
    bound, text = (">", text[1:]) if text.startswith(">") else ("", text)
    low, _, high = text.partition("-")
    return bound, float(low), float(high or low)


def test_every_workload_that_is_there_has_the_parameters_that_figures_name(sources: Mapping[str, Source]) -> None:
    library, there = Library(), {path.stem for path in catalog.all_workloads()}
    for source in sources.values():
        for claim in source.claims:
            parameters = {**claim.parameters, **{name: int(ends[0]) for name, ends in claim.sweep.items()}}
            if claim.workload in there:
                assert library.digest(claim.workload, claim.batch or None, parameters), (source.name, claim.row)


@pytest.mark.parametrize(
    ("machine", "version", "images"),
    [("M1 Pro", "1.13.0.dev20220522", 17.8), ("M1 Ultra", None, 55.9), ("M2 Max", "2.0.0", 72.3), ("RTX 4090", None, 284)],
)
def test_an_epoch_has_as_many_pictures_as_were_counted_by_others(
    sources: Mapping[str, Source], machine: str, version: str | None, images: float
) -> None:
    """VGG-16 on CIFAR-10 in images per second, computed apart from these files."""
    found = [
        claim.samples / (claim.figure.low * UNITS[claim.unit][1])
        for claim in sources["rasbt-pytorch-m1-gpu"].claims
        if (claim.machine.title, claim.workload, claim.device, claim.metric)
        == (machine, "vgg16-cifar10", "gpu", "time/epoch without evaluation")
        and claim.samples
        and claim.figure
        and version in (None, claim.versions.get("torch"))
    ]
    assert any(rate == pytest.approx(images, rel=0.005) for rate in found), found


def test_what_the_articles_of_2022_told_is_among_them(sources: Mapping[str, Source]) -> None:
    told = sources["pytorch-blog-secondary"].claims
    figures = {(claim.machine.chip, claim.mode, claim.figure.low, claim.unit) for claim in told if claim.figure}
    assert {
        ("Apple M1 Ultra", "train", 6.0, "x"),
        ("Apple M1 Ultra", "infer", 21.0, "x"),
        ("Apple M1 Pro", "train", 2.0, "x"),
        ("Apple M1 Max", "train", 2.0, "x"),
        ("Apple M1 Max", "train", 75.0, "W"),
    } <= figures
    bars = sources["pytorch-blog-2022"].claims
    assert {claim.basis for claim in bars} == {"picture"} and not any(claim.figure for claim in bars)
    assert {(claim.workload, claim.batch) for claim in bars} == {("resnet50", 128), ("bert-base-mlm", 64), ("vgg16", 64)}


def test_figures_that_nobody_published_so_are_marked(sources: Mapping[str, Source]) -> None:
    bases = [claim.basis for source in sources.values() for claim in source.claims]
    counts = {basis: bases.count(basis) for basis in ("derived", "read_off", "secondhand", "picture")}
    assert counts == {"derived": 174 + 8 + 3, "read_off": 18, "secondhand": 7, "picture": 6}
