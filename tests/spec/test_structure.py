"""Lists, blocks, repeats, conditions, residuals, branches and inputs: what is written out, and what it is called."""

from __future__ import annotations

import pytest

from tests.spec.written import bare, compute, nodes, problems


def paths(network: str, shape: str = "[4]", more: str = "") -> list[str]:
    """The paths of all nodes but the root."""
    return [path for path, _ in compute(bare(network, shape, more)).network.walk()][1:]


def test_names_count_each_kind_among_its_siblings() -> None:
    assert paths("[dense: {units: 3}, relu, dense: {units: 3, name: head}, relu, dense: {units: 2}]") == [
        "dense_1",
        "relu_1",
        "head",
        "relu_2",
        "dense_3",
    ]


def test_repeat_writes_into_the_surrounding_list() -> None:
    assert paths("[relu, repeat: {times: 2, layers: [relu, tanh]}, relu]") == ["relu_1", "relu_2", "tanh_1", "relu_3", "tanh_2", "relu_4"]
    assert paths("[relu, repeat: {times: 0, layers: [tanh]}]") == ["relu_1"]


def test_a_block_is_a_sequence_of_its_own() -> None:
    more = "blocks: {stage: {takes: {units: required, twice: false}, layers: [dense: {units: $units}, relu: {when: $twice}]}}"
    assert paths("[stage: {units: 3}, stage: {units: 2, twice: true}, stage: {units: 4, name: last}]", more=more) == [
        "stage_1",
        "stage_1.dense_1",
        "stage_2",
        "stage_2.dense_1",
        "stage_2.relu_1",
        "last",
        "last.dense_1",
    ]
    found = nodes(bare("[stage: {units: 3}]", "[4]", more))
    assert (found["stage_1"].kind, found["stage_1"].gives) == ("sequence", (3,))


def test_a_list_in_a_list_is_a_sequence() -> None:
    assert paths("[[relu], [relu, tanh]]") == ["sequence_1", "sequence_1.relu_1", "sequence_2", "sequence_2.relu_1", "sequence_2.tanh_1"]


def test_the_parts_of_residual_and_branches() -> None:
    network = "[residual: {body: [dense: {units: 3}], shortcut: [dense: {units: 3}]}, branches: {merge: concat, paths: [[relu], []]}]"
    found = nodes(bare(network, "[4]"))
    assert list(found)[1:] == [
        "residual_1",
        "residual_1.body",
        "residual_1.body.dense_1",
        "residual_1.shortcut",
        "residual_1.shortcut.dense_1",
        "branches_1",
        "branches_1.path_1",
        "branches_1.path_1.relu_1",
        "branches_1.path_2",
    ]
    assert {found[path].kind for path in ("residual_1.body", "residual_1.shortcut", "branches_1.path_1", "branches_1.path_2")} == {
        "sequence"
    }
    assert (found["branches_1"].takes, found["branches_1"].gives, found["branches_1"].attributes) == (((3,),), (6,), {"merge": "concat"})


def test_a_residual_without_shortcut_has_its_body_alone() -> None:
    found = nodes(bare("[residual: {body: [dense: {units: 4}]}]", "[4]"))
    assert [child.name for child in found["residual_1"].children] == ["body"]


@pytest.mark.parametrize("merge", ["add", "multiply"])
def test_an_extent_of_one_stretches(merge: str) -> None:
    gate = "[global_avg_pool2d, reshape: {shape: [1, 1, 6]}]"
    assert compute(bare(f"[branches: {{merge: {merge}, paths: [[], {gate}]}}]", "[5, 4, 6]")).network.gives == (5, 4, 6)


def test_blocks_see_their_own_parameters_before_those_of_the_file_and_none_of_their_caller() -> None:
    more = (
        "parameters: {units: 7, wide: 2}\n"
        "blocks:\n"
        "  inner: {layers: [dense: {units: $units}]}\n"
        '  outer: {takes: {units: 3, twice: "${units * wide}"}, layers: [dense: {units: $twice}, inner]}\n'
    )
    found = nodes(bare("[outer: {units: 5}, outer]", "[4]", more))
    assert [found[path].gives for path in ("outer_1.dense_1", "outer_1.inner_1", "outer_2.dense_1")] == [(10,), (7,), (6,)]


def test_defaults_reach_layers_inside_blocks_and_yield_to_what_a_layer_says() -> None:
    more = "defaults: {dense: {bias: false}}\nblocks: {b: {layers: [dense: {units: 3}, dense: {units: 3, bias: true}]}}"
    found = nodes(bare("[b]", "[4]", more))
    assert [len(found[path].parameters) for path in ("b_1.dense_1", "b_1.dense_2")] == [1, 2]


def test_lists_pass_through_parameters() -> None:
    more = "blocks: {b: {takes: {kernel: required}, layers: [conv2d: {filters: 2, kernel: $kernel}]}}"
    assert nodes(bare("[b: {kernel: [1, 7]}]", "[8, 8, 3]", more))["b_1"].gives == (8, 2, 2)


def test_text_is_written_into_names() -> None:
    more = "blocks: {b: {takes: {n: required}, layers: [dense: {units: 3, name: head_$n}]}}"
    assert paths("[b: {n: 2}]", more=more) == ["b_1", "b_1.head_2"]


def test_what_when_drops_is_still_checked_for_its_keys() -> None:
    assert problems(bare("[relu, dense: {unit: 3, when: false}]", "[4]")) == ["4:25: dense has no key `unit`; did you mean `units`?"]


@pytest.mark.parametrize(
    "layer", ["repeat: {times: 3, layers: [tanh], when: 1 > 2}", "residual: {body: [tanh], when: false}", "b: {when: no}"]
)
def test_when_drops_structures_and_blocks(layer: str) -> None:
    more = "blocks: {b: {layers: [tanh]}}" if layer.startswith("b:") else ""
    assert paths(f"[relu, {layer}]", more=more) == ["relu_1"]


TWO = "name: two\nbatch: 2\ninputs: {a: {shape: [4], fill: normal}, b: {shape: [3], fill: normal}}\nnetwork: "


def test_several_inputs_are_picked() -> None:
    found = nodes(TWO + "[branches: {merge: concat, paths: [[input: a], [input: b, dense: {units: 2}]]}, relu]\n")
    assert found[""].takes == () and found[""].gives == (6,) and found[""].uses_inputs()
    picked = found["branches_1.path_2.input_1"]
    assert (picked.kind, picked.takes, picked.gives, picked.attributes) == ("input", (), (3,), {"name": "b"})
    assert found["branches_1.path_2"].takes == () and found["relu_1"].takes == ((6,),)


def test_one_input_flows_in_and_may_be_named_again() -> None:
    assert nodes(bare("[branches: {merge: concat, paths: [[relu], [input: x]]}]", "[4]"))[""].gives == (8,)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("[residual: {body: [input: a]}, relu]", "residual_1: it has no value to add to its body"),
        ("[branches: {merge: concat, paths: [[input: a], []]}]", "branches_1.path_2: it has no value"),
        ("[input: a, [input: b, relu]]", "sequence_1: what input_1 gives would be dropped here"),
        ("[input: a, branches: {merge: concat, paths: [[input: a], [input: b]]}]", "branches_1: what input_1 gives would be dropped here"),
        ("[branches: {merge: add, paths: [[input: a], [input: b]]}]", "its paths give [4] and [3]; `add` joins equal extents"),
    ],
)
def test_ways_that_do_not_join(network: str, message: str) -> None:
    (found,) = problems(TWO + network + "\n")
    assert message in found


def test_integers_are_not_joined() -> None:
    (found,) = problems(bare("[branches: {merge: concat, paths: [[], []]}]", "[4]", fill="integers, below: 3"))
    assert "branches_1: it would join integers" in found


def test_nesting_is_bounded() -> None:
    blocks = "".join(f"  b{i}: {{layers: [b{i + 1}]}}\n" for i in range(45)) + "  b45: {layers: [relu]}\n"
    (found,) = problems(bare("[b0]", "[4]", f"blocks:\n{blocks}"))
    assert "layers are nested deeper than 40 levels" in found


def test_blocks_that_call_blocks_are_counted_once_written_out() -> None:
    blocks = "".join(f"  b{i}: {{layers: [{', '.join([f'b{i + 1}'] * 9)}]}}\n" for i in range(6)) + "  b6: {layers: [relu]}\n"
    (found,) = problems(bare("[b0]", "[4]", f"blocks:\n{blocks}"))
    assert "the network has more than 20,000 layers once its repeats are written out" in found
