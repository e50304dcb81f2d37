"""Whatever a file holds, reading it ends soon, in a workload or in a SpecError whose problems have places."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frameworks.contract import computation_from_json, to_json
from runner.spec import catalog
from runner.spec.loader import decode, parse
from runner.spec.operators import LAYER_KINDS, OPERATOR_KINDS, STRUCTURES
from runner.spec.problems import SpecError
from runner.spec.starter import starter
from runner.spec.workload import digest, read_workload
from tests.spec.written import TINY

SMALL = ["mlp-mnist", "lenet5-mnist", "matmul", "lstm-text"]
FILES = [TINY, starter("mine"), *(catalog.find(name).read_text(encoding="utf-8") for name in SMALL)]
RELAXED = settings(deadline=5000, max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def ends_well(text: str) -> None:
    try:
        workload = read_workload(parse(text, "w.yaml"), Path("w.yaml"))
    except SpecError as error:
        assert error.problems
        for problem in error.problems:
            assert problem.what and problem.line >= 1 and problem.column >= 1, problem
            assert "\n" not in str(problem)
    else:
        computation = workload.resolve()
        assert digest(computation_from_json(json.loads(json.dumps(to_json(computation))))) == digest(computation)


@RELAXED
@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    ends_well(text)


@RELAXED
@given(st.text(alphabet="ab:{}[]-,&*!|>'\"#%@`$?<~\t\n .019eyn", max_size=120))
def test_text_that_looks_like_yaml(text: str) -> None:
    ends_well(text)


@RELAXED
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    try:
        text = decode(data, "w.yaml")
    except SpecError as error:
        assert str(error).startswith("w.yaml:1:") or "\n" in repr(data) or b"\n" in data
    else:
        ends_well(text)


WORDS = st.sampled_from(
    [
        *LAYER_KINDS,
        *OPERATOR_KINDS,
        *STRUCTURES,
        *(name for model in LAYER_KINDS.values() for name in model.model_fields),
        "name", "when", "times", "layers", "body", "shortcut", "merge", "paths", "x", "b", "$n", "${n * 2}", "${n", "same", "normal", "",
    ]
)  # fmt: skip
SCALARS = st.one_of(WORDS, st.integers(-3, 20), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none(), st.just(10**30))
TREES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=4)), max_leaves=12
)
LAYERS = st.lists(
    st.one_of(WORDS, st.dictionaries(WORDS, st.one_of(TREES, st.dictionaries(WORDS, TREES, max_size=4)), min_size=1, max_size=1)),
    max_size=5,
)
KEYS = [
    "name", "title", "inputs", "target", "batch", "unit", "parameters", "sweep", "defaults", "blocks", "network", "operator", "loss",
    "optimizer", "modes", "read_loss", "expect",
]  # fmt: skip
USUAL = {
    "name": "x",
    "inputs": {"x": {"shape": [6, 6, 2], "fill": "normal"}},
    "batch": 2,
    "parameters": {"n": 2},
    "network": [{"conv2d": {"filters": "$n", "kernel": 3}}],
}


@RELAXED
@given(TREES)
def test_any_tree(tree: object) -> None:
    ends_well(json.dumps(tree))


@RELAXED
@given(st.dictionaries(st.sampled_from(KEYS), st.one_of(TREES, LAYERS), max_size=5))
def test_a_valid_file_with_keys_replaced(keys: dict[str, object]) -> None:
    ends_well(json.dumps({**USUAL, **keys}))


@RELAXED
@given(LAYERS, LAYERS)
def test_any_network_and_block(network: list[object], block: list[object]) -> None:
    ends_well(json.dumps({**USUAL, "network": [*network, "b"], "blocks": {"b": {"takes": {"n": 3}, "layers": block}}}))


@RELAXED
@given(st.data())
def test_valid_files_with_a_piece_cut_out_or_put_in(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(FILES))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        text = text[:start] + data.draw(st.text(alphabet="ab:{}[]-,&*'\"$ \n019.e", max_size=4)) + text[end:]
    ends_well(text)


@RELAXED
@given(st.data())
def test_valid_files_with_lines_moved(data: st.DataObject) -> None:
    lines = data.draw(st.sampled_from(FILES)).split("\n")
    first, second = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    lines[first], lines[second] = lines[second], lines[first]
    ends_well("\n".join(lines))


@pytest.mark.parametrize("text", FILES)
def test_the_files_that_are_mutated_are_valid(text: str) -> None:
    read_workload(parse(text, "w.yaml"), Path("w.yaml"))
