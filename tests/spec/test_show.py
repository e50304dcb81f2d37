"""What `h2h show` prints, in its three formats."""

from __future__ import annotations

import csv
import io
import json

import pytest

from runner.spec.problems import SpecError
from runner.spec.show import LayerRow, describe, layer_table
from tests.spec.written import compute, read

TEXT = """name: shown
title: A small one
source: A paper
inputs: {x: {shape: [4], fill: uniform, low: -1}}
target: {fill: integers, below: 3}
batch: 2
unit: rows
parameters: {width: 1000}
sweep: {batch: [2, 4]}
defaults: {batch_norm: {eps: 1e-5, keep: 0.9}}
network:
  - dense: {units: $width}
  - batch_norm
  - residual: {body: [relu]}
  - dense: {units: 3}
loss: softmax_cross_entropy
optimizer: {sgd: {learning_rate: 0.1}}
"""

MARKDOWN = """# A small one

- name: shown (w.yaml)
- source: A paper
- batch: 2 rows
- modes: train, infer
- input x: [4], uniform -1.0 to 1.0
- target: [], integers below 3
- loss: softmax_cross_entropy
- optimizer: sgd, learning_rate 0.1, momentum 0.0, nesterov False, weight_decay 0.0
- parameter width: 1000
- sweep over batch: 2, 4

| layer                  | kind       | output | parameters | not trained | operations |
|:-----------------------|:-----------|:-------|-----------:|------------:|-----------:|
| dense_1                | dense      | [1000] |      5,000 |             |      8,000 |
| batch_norm_1           | batch_norm | [1000] |      2,000 |       2,000 |            |
| residual_1.body.relu_1 | relu       | [1000] |            |             |            |
| residual_1             | residual   | [1000] |            |             |            |
| dense_2                | dense      | [3]    |      3,003 |             |      6,000 |

Output [3]. 10,003 parameters, and 2,000 values that are not trained. 14,000 operations forward of one sample, a multiply-add being 2."""


def test_markdown() -> None:
    assert describe(read(TEXT)) == MARKDOWN


def test_json_and_csv_hold_the_same_layers() -> None:
    record = json.loads(describe(read(TEXT), {"width": 5, "batch": 7}, "json"))
    lines = list(csv.DictReader(io.StringIO(describe(read(TEXT), {"width": 5}, "csv"))))
    assert (record["batch"], record["parameters"], record["counts"]) == (
        7,
        {"width": 5},
        {"parameters": 53, "not_trained": 10, "operations": 70},
    )
    assert [layer["path"] for layer in record["layers"]] == [line["layer"] for line in lines]
    assert [str(layer["parameters"]) for layer in record["layers"]] == [line["parameters"] for line in lines]


def test_an_operator_has_one_row() -> None:
    computation = compute("name: o\ninputs: {a: {shape: [2, 3], fill: normal}, b: {shape: [3, 2], fill: normal}}\noperator: matmul\n")
    assert layer_table(computation) == [LayerRow("matmul", "matmul", (2, 2), 0, 0, 24)]


def test_values_that_do_not_fit() -> None:
    with pytest.raises(SpecError, match="shown has no parameter `widht`; with widht = 3; did you mean `width`"):
        describe(read(TEXT), {"widht": 3})
