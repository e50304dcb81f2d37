"""What a person reads when a workload is wrong: every message with its place, as golden text."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from tests.spec.written import TINY, changed, problems, with_network

YAML = [
    ("", ["1:1: the file is empty; `h2h new NAME` writes one to start from"]),
    ("# only\n", ["1:1: the file is empty; `h2h new NAME` writes one to start from"]),
    ("- a\n", ["1:1: the file must be keys and values, such as `name: ...`, at its top level"]),
    ("hello\n", ["1:1: the file must be keys and values, such as `name: ...`, at its top level"]),
    ("name: a\n---\nname: b\n", ["2:1: a second document starts here (`---`); keep one workload in one file"]),
    ("name: a\n\tbatch: 3\n", ["2:1: a tab stands where YAML wants spaces; indent with spaces"]),
    ("name:\n\t- a\n", ["2:1: a tab stands where YAML wants spaces; indent with spaces"]),
    ("name: 'a\n", ["2:1: a quotation mark is not closed; it opens in line 1"]),
    ("a: [1, 2\n", ["2:1: a list `[` is not closed, or a comma is missing; it opens in line 1"]),
    ("a: b: c\n", ["1:5: a second `: ` stands where one value belongs; write the text in quotes"]),
    ("name: \x07\n", ["1:7: the character '\\x07' cannot stand in YAML"]),
    ("name: a\nname: b\n", ["2:1: the key `name` is given twice; first in line 1; keep one of them"]),
    ("a: &x [*x]\n", ["1:8: `*x` stands inside of what it repeats"]),
    ("a: *y\n", ["1:4: nothing above is called `&y`"]),
    ("a: !!python/object:os.system x\n", ["1:4: the tag `!!python/object:os.system` means nothing here; leave it out"]),
    ("a: !foo b\n", ["1:4: the tag `!foo` means nothing here; leave it out"]),
    ("on: 1\n", ["1:1: the key `on` is a boolean to YAML; keys are text; write it in quotes"]),
    ("1: 2\n", ["1:1: the key `1` is a number to YAML; keys are text; write it in quotes"]),
    ("? [a]\n: 2\n", ["1:3: a key must be text, got a list or a mapping; if this is `${...}`, write it in quotes"]),
    (": 3\n", ["1:1: this is not YAML: did not find expected key; while parsing a block mapping"]),
    ("a: 99999999999999999999\n", ["1:4: `99999999999999999999` is too large a number; whole numbers end at 2^63"]),
    ("a: 1e999\n", ["1:4: `1e999` is too large a number; write a finite one"]),
    ("a: .nan\n", ["1:4: `.nan` is no usable number; write a finite one"]),
    (
        "a: 010\n",
        [
            "1:4: `010` is ambiguous; some YAML readers take a leading zero as octal, others do not; write the number without the leading zero"
        ],
    ),
    ("[a, b]: 2\n", ["1:1: a key must be text, got a list or a mapping; if this is `${...}`, write it in quotes"]),
    ("{" * 70, ["1:61: the file is nested deeper than 60 levels"]),
    (
        "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n",
        ["5:14: the file holds more than 50,000 values once its aliases are written out"],
    ),
    ("<<: 3\n", ["1:5: `<<` merges keys and values; give it an alias such as `*base` of a mapping"]),
    ("a: &a 1\nb: &a 2\n", ["2:4: the anchor `&a` is given a second time"]),
    ("%YAML 3.0\n---\na: b\n", ["1:1: this is not YAML: found incompatible YAML document"]),
]

FILE = [
    (changed("name: tiny", "name: no"), ["1:7: `name` must be text, got the boolean false: YAML reads `no` so; write it in quotes"]),
    (changed("name: tiny", "name: 3.10"), ["1:7: `name` must be text, got the number 3.1: YAML reads `3.10` so; write it in quotes"]),
    (changed("name: tiny", "name: a b"), ["1:7: `name` must be letters, digits, `-`, `_` and `.`, got 'a b'"]),
    (changed("name: tiny", "name:"), ["1:6: `name` must be text, got nothing"]),
    (changed("name: tiny\n", ""), ["1:1: a workload needs `name`; give the workload a name, such as `name: my-network`"]),
    (
        changed("name: tiny", "name: tiny\nunit: no"),
        ["2:7: `unit` must be text, got the boolean false: YAML reads `no` so; write it in quotes"],
    ),
    (changed("batch: 2", "batsh: 2"), ["4:1: a workload has no key `batsh`; did you mean `batch`?"]),
    (changed("batch: 2", "batch: 2.5"), ["4:8: `batch` must be a whole number of at least 1, got the number 2.5"]),
    (changed("batch: 2", "batch: '2'"), ["4:8: `batch` must be a whole number of at least 1, got the text '2'"]),
    (changed("batch: 2", "batch: 0"), ["4:8: `batch` must be a whole number of at least 1, got the number 0"]),
    (changed("batch: 2", "batch: 1:30"), ["4:8: `batch` must be a whole number of at least 1, got the text '1:30'"]),
    (changed("batch: 2", "batch: yes"), ["4:8: `batch` must be a whole number of at least 1, got the boolean true: YAML reads `yes` so"]),
    (changed("batch: 2", "batch: [1, 8]"), ["4:8: `batch` must be a whole number of at least 1, got a list"]),
    (changed("fill: normal", "fill: norml"), ["2:32: `fill` cannot be 'norml'; did you mean `normal`?"]),
    (changed("{x: {shape: [4], fill: normal}}", "{}"), ["2:9: `inputs` names no tensor"]),
    (changed("shape: [4]", "shape: 4"), ["2:21: `shape` must be a list of extents, such as [224, 224, 3], got the number 4"]),
    (changed("shape: [4]", "shape: [4, -1]"), ["2:25: `shape` must be a whole number of at least 1, got the number -1"]),
    (changed("shape: [4], fill", "fill"), ["2:13: the input `x` needs `shape`"]),
    (changed("fill: normal}", "fill: normal, below: 3}"), ["2:40: `below` belongs to the fill integers, and here it is normal"]),
    (changed("fill: normal}", "fill: uniform, low: 3}"), ["2:13: `low` must be less than `high`, got 3 and 1"]),
    (
        changed("fill: normal}", "fill: sin, of: y}"),
        ["2:13: the fill sin is of an input, and `y` is none before it; name an input that stands above in `of`"],
    ),
    (
        changed("shape: [4]", "shape: [65536, 65536]"),
        ["2:21: [65536, 65536] has 4,294,967,296 elements; a tensor may have fewer than 2^31"],
    ),
    (changed("{x:", "{target:"), ["2:10: an input cannot be called `target`; `target` is a key of its own, beside `inputs`"]),
    (changed("below: 3", "below: 4"), ["3:9: softmax_cross_entropy has 3 classes in the output [3], and the target's integers go up to 3"]),
    (
        changed("fill: integers, below: 3", "fill: normal"),
        ["3:9: softmax_cross_entropy compares with integers, and the target's fill is `normal`"],
    ),
    (
        changed("softmax_cross_entropy", "softmax_crossentropy"),
        ["7:7: `loss` cannot be 'softmax_crossentropy'; did you mean `softmax_cross_entropy`?"],
    ),
    (
        changed("softmax_cross_entropy", "mean_squared_error"),
        ["3:9: mean_squared_error compares with numbers, and the target's fill is `integers`"],
    ),
    (changed("target: {fill: integers, below: 3}\n", ""), ["6:1: `loss` needs a `target`"]),
    (changed("loss: softmax_cross_entropy\n", ""), ["3:1: `target` needs a `loss`", "7:1: `optimizer` needs a `loss`"]),
    (changed("sgd: {", "sdg: {"), ["8:13: there is no optimizer `sdg`; did you mean `sgd`?"]),
    (
        changed("learning_rate: 0.1", "lr: 0.1"),
        ["8:13: sgd needs `learning_rate`", "8:19: sgd has no key `lr`; there are learning_rate, momentum, nesterov, weight_decay"],
    ),
    (changed("learning_rate: 0.1", "learning_rate: 0.1, nesterov: true"), ["8:13: nesterov needs a momentum above 0"]),
    (
        changed("{sgd: {learning_rate: 0.1}}", "adam"),
        ["8:12: adam needs `eps`; frameworks differ here, so it must be said; 1e-8 is the paper's", "8:12: adam needs `learning_rate`"],
    ),
    (
        changed("{sgd: {learning_rate: 0.1}}", "{adam: {learning_rate: 1e-3}}"),
        ["8:13: adam needs `eps`; frameworks differ here, so it must be said; 1e-8 is the paper's"],
    ),
    (changed("learning_rate: 0.1", "learning_rate: -1"), ["8:34: `learning_rate` must be a number above 0, got the number -1"]),
    (TINY + "modes: [trian]\n", ["9:9: `modes` cannot be 'trian'; did you mean `train`?"]),
    (TINY + "modes: train\n", ["9:8: `modes` must be a list of train and infer, got the text 'train'"]),
    (
        changed("{sgd: {learning_rate: 0.1}}", "none") + "modes: [train]\n",
        ["9:8: this workload cannot be trained: it has no `optimizer`; write `modes: [infer]`"],
    ),
    (TINY + "read_loss: always\n", ["9:12: `read_loss` cannot be 'always'; there are every_step, never"]),
    (TINY + "expect: {parameters: 16}\n", ["9:22: `parameters` should be 16, and is 15"]),
    (TINY + "expect: {output: [4]}\n", ["9:18: `output` should be [4], and is [3]"]),
    (TINY + "expect: {trainable: 15}\n", ["9:10: `expect` has no key `trainable`; did you mean `not_trained`?"]),
    (TINY + "parameters: {width: 3}\n", ["9:14: the parameter `width` is not used; write `$width` where it belongs, or leave it out"]),
    (TINY + "parameters: {batch: 3}\n", ["9:14: a parameter cannot be called `batch`; `batch` is a key of its own"]),
    (TINY + "sweep: {width: [1,2]}\n", ["9:9: `sweep` goes over `batch` and parameters, and `width` is neither; there is only `batch`"]),
    (TINY + "sweep: {batch: []}\n", ["9:16: `batch` must be a list of numbers here"]),
    (TINY + "sweep: {batch: [1, 1]}\n", ["9:16: `batch` names a value twice"]),
    (TINY + "defaults: {dens: {bias: false}}\n", ["9:12: `defaults` are for layers, and `dens` is none; did you mean `dense`?"]),
    (TINY + "defaults: {dense: {bia: false}}\n", ["9:20: dense has no key `bia`; did you mean `bias`?"]),
    (TINY + "blocks: {b: {layers: [relu]}}\n", ["9:10: the block `b` is not used; call it in `network`, or leave it out"]),
    (TINY + "blocks: {relu: {layers: [relu]}}\n", ["9:10: the block `relu` has the name of a layer; give it another name"]),
    (TINY + "operator: relu\n", ["5:1: a workload has a `network` or an `operator`, not both"]),
]

NETWORK = [
    (with_network("dens: {units: 3}"), ["6:5: there is no layer or block `dens`; did you mean `dense`?"]),
    (
        with_network("dense:\n    units: 3"),
        [
            "7:5: a layer is one word with its attributes below, and here stand `dense` and `units`; indent what belongs to `dense` further, or begin a new entry with `- `"
        ],
    ),
    (with_network("dense: {unit: 3}"), ["6:5: dense needs `units`", "6:13: dense has no key `unit`; did you mean `units`?"]),
    (with_network("dense: 3"), ["6:12: what dense is given must be keys and values, got the number 3; write `dense: {units: ...}`"]),
    (with_network("dense"), ["6:5: dense needs `units`"]),
    (with_network("3"), ["6:5: a layer must be a word, alone or with attributes as in `dense: {units: 10}`, got the number 3"]),
    (with_network("relu: no"), ["6:11: what relu is given must be keys and values, got the boolean false: YAML reads `no` so"]),
    (
        with_network("conv2d: {filters: 4, kernel: 9}\nflatten\ndense: {units: 3}"),
        ["6:5: conv2d_1: its window of 9 does not fit into an extent of 8 with padding [0, 0]"],
    ),
    (
        with_network("dense: {units: 4}\nconv2d: {filters: 4, kernel: 3}", "[4]"),
        ["7:5: conv2d_1: it wants [height, width, channels], and is given [4]"],
    ),
    (with_network("conv2d: {filters: 4, kernel: 3, groups: 2}"), ["6:5: conv2d_1: its 2 groups do not divide 3 input channels"]),
    (
        with_network("conv2d: {filters: 4, kernel: 3, stride: 2, padding: same}"),
        ["6:5: conv2d_1: `padding: same` exists only at stride 1, here the stride is 2; write the padding as numbers"],
    ),
    (with_network("conv2d: {filters: 4, kernel: [1, 2, 3]}"), ["6:34: `kernel` must be one number or [height, width], got a list"]),
    (
        with_network("conv2d: {filters: 4, kernel: 3, padding: valid}"),
        ["6:46: `padding` must be one number, [height, width], [[top, bottom], [left, right]] or same, got the text 'valid'"],
    ),
    (
        with_network("batch_norm"),
        [
            "6:5: batch_norm needs `eps`; say it here, or once for the file under `defaults:`",
            "6:5: batch_norm needs `keep`; it is the weight of the old running value, 1 - momentum in some frameworks; say it here, or once for the file under `defaults:`",
        ],
    ),
    (with_network("gelu: {form: exact}"), ["6:18: `form` cannot be 'exact'; there are erf, tanh"]),
    (
        with_network("max_pool2d: {size: 2, padding: 2}"),
        ["6:5: max_pool2d_1: its padding [2, 2] must be less than its size 2, or a window would see padding alone"],
    ),
    (
        with_network("avg_pool2d: {size: 3, padding: 1}"),
        ["6:5: avg_pool2d_1: with padding, its divisor must be said; write `count_padding: true` (the whole window) or `false`"],
    ),
    (with_network("reshape: {shape: [5, -1]}"), ["6:5: reshape_1: [8, 8, 3] has 192 elements, which [5, -1] cannot hold"]),
    (with_network("select_token: {index: 8}", "[4, 8]"), ["6:5: select_token_1: its index 8 is outside of the 4 positions of [4, 8]"]),
    (
        with_network("attention: {heads: 3}", "[4, 8]"),
        ["6:5: attention_1: its 3 heads do not divide 8 channels; choose other heads, or say `head_units`"],
    ),
    (with_network("attention: {heads: 4, kv_heads: 3}", "[4, 8]"), ["6:5: attention_1: its 3 kv_heads do not divide its 4 heads"]),
    (
        with_network("attention: {heads: 2, rotary: true}", "[4, 8]"),
        ["6:35: `rotary` must be the base of its angles or none, got the boolean true"],
    ),
    (
        with_network("embedding: {vocabulary: 3, units: 3}", "[4]"),
        ["6:5: embedding_1: it wants integers, and [4] holds numbers; give the input `fill: integers`"],
    ),
    (
        with_network("unembedding: {of: words}", "[4]"),
        ["6:5: unembedding_1: no embedding before it is called `words`; put an `embedding` before it and give it a `name`"],
    ),
    (
        with_network("residual: {body: [dense: {units: 3}]}", "[4]"),
        ["6:5: residual_1: its body gives [3], its input [4], and these cannot be added; give it a `shortcut` that has the body's shape"],
    ),
    (
        with_network("residual: {bdy: [relu]}", "[4]"),
        ["6:5: residual needs `body`", "6:16: residual has no key `bdy`; did you mean `body`?"],
    ),
    (
        with_network("branches: {merge: concat, paths: [[dense: {units: 3}], [tokens]]}", "[4]"),
        ["6:61: branches_1.path_2.tokens_1: it wants [height, width, channels], and is given [4]"],
    ),
    (
        with_network("branches: {merge: add, paths: [[dense: {units: 3}], []]}", "[4]"),
        ["6:5: branches_1: its paths give [3] and [4]; `add` joins equal extents, or stretches an extent of 1"],
    ),
    (with_network("branches: {merge: sum, paths: [[], []]}", "[4]"), ["6:23: `merge` cannot be 'sum'; there are add, concat, multiply"]),
    (
        with_network("branches: {merge: add, paths: [[]]}", "[4]"),
        ["6:35: `paths` must be a list of at least two lists of layers, got a list"],
    ),
    (with_network("input: y"), ["6:12: input_1: there is no input `y`; there is only `x`"]),
    (
        with_network("relu\ninput: x", "[3]"),
        ["7:12: input_1: what relu_1 gives would be dropped here; use `branches` to join ways from several inputs"],
    ),
    (
        with_network("repeat: {times: 30000, layers: [relu]}"),
        ["6:37: the network has more than 20,000 layers once its repeats are written out"],
    ),
    (with_network("repeat: {times: 1.5, layers: [relu]}"), ["6:21: `times` must be a whole number of at least 0, got the number 1.5"]),
    (
        with_network("repeat: {times: 2, layers: [dense: {units: 3, name: a}]}", "[4]"),
        ["6:33: two layers of one list are called `a`; the first stands in line 6; give each a name of its own"],
    ),
    (
        with_network("dense: {units: 3, name: a.b}", "[4]"),
        ["6:29: `name` must be letters, digits and _ and begin with a letter, got 'a.b'"],
    ),
    (
        with_network("dense: {units: $width}", "[4]"),
        ["6:20: `$width` is not known here; declare it under `parameters:`, or under `takes:` of the block"],
    ),
    (with_network('dense: {units: "${1/0}"}', "[4]"), ["6:20: `1/0` divides by zero"]),
    (
        with_network('dense: {units: "${__import__(1)}"}', "[4]"),
        [
            "6:20: `__import__(1)` holds something that is not allowed here; there are + - * / // % **, comparisons, and, or, not, `a if c else b`, min and max"
        ],
    ),
    (with_network('dense: {units: "${2**999}"}', "[4]"), ["6:20: `2**999` is too large a number"]),
    (with_network('dense: {units: "${3 * }"}', "[4]"), ["6:20: `3 * ` is not an expression; write something like `${4 * width}`"]),
    (with_network('dense: {units: "${3"}', "[4]"), ["6:20: `${3` has a `${` without its `}`"]),
    (
        with_network('dense: {units: "${3/2}"}', "[4]"),
        ["6:20: `units` must be a whole number of at least 1, got the number 1.5 (from `${3/2}`)"],
    ),
    (with_network("dense: {units: ${3}}", "[4]"), ["6:21: the braces of `${...}` end here for YAML; write it in quotes"]),
    (
        with_network("dense: {units: 3, when: 3}", "[4]"),
        ["6:29: `when` must be true or false, got '3'; compare it with something, as in `stride != 1`"],
    ),
    (
        with_network("dense: {units: 3, when: wide}", "[4]"),
        ["6:29: `$wide` is not known here; declare it under `parameters:`, or under `takes:` of the block"],
    ),
    (
        with_network("b", "[4]") + "blocks: {b: {takes: {u: required}, layers: [dense: {units: $u}]}}\n",
        ["6:5: the block `b` needs `u`; write `b: {u: ...}`"],
    ),
    (
        with_network("b: {v: 1}", "[4]") + "blocks: {b: {takes: {u: required}, layers: [dense: {units: $u}]}}\n",
        ["6:9: the block `b` takes no `v`; there is only `u`"],
    ),
    (
        with_network("b: {u: 1}", "[4]") + "blocks: {b: {takes: {u: required}, layers: [relu]}}\n",
        ["9:22: the block `b` takes `u` and does not use it; leave it out"],
    ),
    (with_network("b", "[4]") + "blocks: {b: {layers: [c]}, c: {layers: [b]}}\n", ["9:41: the block `b` contains itself: b -> c -> b"]),
    (with_network("matmul"), ["6:5: there is no layer or block `matmul`; it can only be measured alone, with `operator:`"]),
    (with_network("[]"), ["6:3: `network` has no layer"]),
    (
        "name: a\ninputs: {a: {shape: [2, 3], fill: normal}, b: {shape: [4, 2], fill: normal}}\noperator: matmul\n",
        ["3:11: matmul: it wants [..., m, k] and [..., k, n], and is given [2, 3] and [4, 2]"],
    ),
    (
        "name: a\ninputs: {a: {shape: [2, 3], fill: normal}}\noperator: matmull\n",
        ["3:11: there is no operator `matmull`; did you mean `matmul`?"],
    ),
    (
        "name: a\ninputs: {a: {shape: [2, 3], fill: normal}}\noperator: {reduce_sum: {axes: [2]}}\n",
        ["3:12: reduce_sum: its axes [2] are not all in [2, 3]; axes count from 0, without the batch"],
    ),
    (
        "name: a\ninputs: {a: {shape: [2, 3], fill: normal}}\noperator: copy\nloss: mean_squared_error\n",
        ["4:1: an operator is measured forward only, so `loss` means nothing; leave it out"],
    ),
    (
        "name: a\nbatch: 1\ninputs: {a: {shape: [2], fill: normal}, b: {shape: [2], fill: normal}}\nnetwork: [relu]\n",
        ["4:11: relu_1: it has no value; pick one of the inputs a, b first, such as `input: a`"],
    ),
    (
        "name: a\nbatch: 1\ninputs: {a: {shape: [2], fill: normal}, b: {shape: [2], fill: normal}}\nnetwork: [input: a, relu]\n",
        ["3:41: the input `b` is not used; pick it with `input: b`, or leave it out"],
    ),
    (
        "name: a\nbatch: 1\ninputs: {a: {shape: [2], fill: integers, below: 9}}\nnetwork: [relu]\n",
        ["4:11: relu_1: it wants numbers, and [2] holds integers; put an `embedding` first"],
    ),
    (
        "name: a\nbatch: 1\ninputs: {a: {shape: [2], fill: integers, below: 9}}\nnetwork: [embedding: {vocabulary: 8, units: 2}]\n",
        ["4:11: embedding_1: its vocabulary is 8, and the integers that it is given go up to 8"],
    ),
    (
        "name: a\ninputs: {a: {shape: [$n], fill: normal}}\nbatch: 1\nparameters: {n: 4}\nsweep: {n: [4, 5]}\nnetwork: [reshape: {shape: [2, 2]}]\n",
        ["6:11: reshape_1: [5] has 5 elements, [2, 2] has 4; with n = 5"],
    ),
]


@pytest.mark.parametrize(("text", "expected"), [*YAML, *FILE, *NETWORK])
def test_message(text: str, expected: list[str]) -> None:
    assert problems(text) == expected


def test_the_tiny_workload_has_no_problem() -> None:
    assert problems(TINY) == []


def test_problems_of_one_file_come_together() -> None:
    text = changed("dense: {units: 3}", "dens: {units: 3}").replace("sgd", "sdg").replace("fill: normal", "fill: norml")
    assert problems(text) == [
        "2:32: `fill` cannot be 'norml'; did you mean `normal`?",
        "6:5: there is no layer or block `dens`; did you mean `dense`?",
        "8:13: there is no optimizer `sdg`; did you mean `sgd`?",
    ]
