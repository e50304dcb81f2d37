"""What is wrong in a file of published figures is said with its place and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.claims.model import Source
from runner.claims.reading import read_source
from runner.spec.loader import parse
from runner.spec.problems import SpecError
from runner.spec.validate import validate
from tests.claims.made import source

GOOD = """\
name: mine
title: Mine
urls: [https://example.org]
date: 2022-05
machines:
  m1: {title: M1, chip: Apple M1}
protocol: {warm_up: none, wait: none, clock: one step}
series:
- of: a network
  mode: train
  framework: pytorch
  device: gpu
  metric: throughput
  unit: img/s
  rows:
  - {machine: m1, value: 10.5}
"""


def read(text: str) -> Source:
    return read_source(parse(text, "mine.yaml"), Path("mine.yaml"))


def problems(text: str) -> str:
    with pytest.raises(SpecError) as caught:
        read(text)
    return str(caught.value)


def test_a_row_has_what_its_series_says() -> None:
    (claim,) = read(GOOD).claims
    assert (claim.of, claim.machine.chip, claim.unit) == ("a network", "Apple M1", "img/s")
    assert (claim.workload, claim.precision, claim.basis) == (None, "unknown", "published")
    assert claim.figure is not None
    assert (claim.figure.low, claim.figure.high, claim.figure.digit, claim.figure.text) == (10.5, 10.5, 0.1, "10.5")


def test_differences_of_file_series_and_row_add_up() -> None:
    (claim,) = [claim for claim in source().claims if claim.machine.title == "M1 Pro"]
    assert dict(claim.differences) == {"host_copy": "batches are copied", "data_loading": "pictures are decoded"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("date: 2022-05", "dat: 2022-05", "mine.yaml:4:1: a source has no key `dat`; did you mean `date`?"),
        ("title: Mine\n", "", "mine.yaml:1:1: a source needs `title`"),
        ("chip:", "chp:", "mine.yaml:6:19: the machine `m1` has no key `chp`; did you mean `chip`?"),
        (", clock: one step", "", "`protocol` needs `clock`; write `not stated` where the source does not say"),
        ("machine: m1,", "machine: m2,", "mine.yaml:16:15: there is no machine `m2` in `machines`; there is only `m1`"),
        ("mode: train", "mode: training", "mine.yaml:10:9: `mode` cannot be 'training'; did you mean `train`?"),
        ("framework: pytorch", "framework: pytoch", "mine.yaml:11:14: `framework` cannot be 'pytoch'; did you mean `pytorch`?"),
        ("unit: img/s", "unit: image/s", "mine.yaml:14:9: `unit` cannot be 'image/s'; did you mean `img/s`?"),
        ("value: 10.5", "value: fast", "mine.yaml:16:26: `value` must be a number or [low, high], got the text 'fast'"),
        ("value: 10.5", "value: [3, 2]", "mine.yaml:16:26: `value` must be [low, high], the lower first"),
        ("value: 10.5", "vlaue: 10.5", "mine.yaml:16:19: a row has no key `vlaue`; did you mean `value`?"),
        ("value: 10.5", "note: none", "a row has a `value`, or `missing` that says why there is none"),
        ("value: 10.5", "value: 1, missing: failed", "a row has a `value`, or `missing` that says why there is none"),
        ("value: 10.5", "value: 1, basis: derived", "mine.yaml:16:36: `basis: derived` needs `derived_from`"),
        ("value: 10.5", "value: 1, steps: 2", "`steps` and `samples` belong to a time, and `img/s` is none"),
        ("unit: img/s", "unit: x", "a figure in `x` needs `against`; one `device` or `machine`"),
        ("value: 10.5", "value: 1, against: {device: cpu}", "a figure in `img/s` has no `against`"),
        ("value: 10.5", "value: 1, workload: resnet5", "mine.yaml:16:39: there is no workload `resnet5`; did you mean `resnet50`?"),
        ("value: 10.5", "value: 1, differences: {no_wat: x}", "`differences` has no difference `no_wat`; did you mean `no_wait`?"),
        ("value: 10.5", "value: 1, sweep: {size: [1, 2]}", "`sweep` needs `workload`"),
        ("value: 10.5", "value: 1, sweep: {size: [1]}, workload: matmul", "`sweep` must be [low, high], got a list"),
        ("value: 10.5", "value: 1, best_of: [{workload: resnet50}]", "`best_of` must be a list of two workloads or more, got a list"),
        ("  rows:\n  - {machine: m1, value: 10.5}\n", "", "a series needs `rows`, a list; got keys and values"),
        ("chip: Apple M1}", "chip: Apple M1}\n  m2: {title: M2}", "mine.yaml:7:3: no row is of the machine `m2`; leave it out"),
    ],
)
def test_a_fault_is_named_with_its_place(old: str, new: str, message: str) -> None:
    assert old in GOOD
    assert message in problems(GOOD.replace(old, new))


def test_all_faults_are_told_at_once() -> None:
    said = problems(GOOD.replace("mode: train", "mode: training").replace("unit: img/s", "unit: image/s").replace("m1, v", "m2, v"))
    assert said.count("mine.yaml") >= 2


def test_validate_knows_these_files(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD)
    assert validate([tmp_path]) == (1, [])
    (tmp_path / "mine.yaml").write_text(GOOD.replace("unit:", "units:"))
    _, found = validate([tmp_path])
    assert any(problem.line == 14 and "did you mean `unit`?" in problem.remedy for problem in found)
