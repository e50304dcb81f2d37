"""The commented file that ``h2h new`` writes."""

from __future__ import annotations

from runner.spec import catalog
from runner.spec.problems import Problem, SpecError
from runner.spec.tree import YamlScalar
from runner.spec.values import Wrong, file_name

_TEXT = """\
# yaml-language-server: $schema={schema}
#
# A workload: what is computed. Every framework builds the same network from it.
# Check it with `h2h validate {name}.yaml`, look at it with `h2h show ./{name}.yaml`, run it with `h2h run ./{name}.yaml`.

name: {quoted}
title: A small image classifier  # shown in tables and lists
# source: https://...            # where the network is defined, if it is a known one

# Shapes are per sample, channels last, without the batch. Fills: normal, uniform, integers, linspace, sin.
inputs:
  image: {{shape: [32, 32, 3], fill: normal}}
target: {{fill: integers, below: 10}}  # class numbers; the shape follows from the loss
batch: 64
unit: images  # what one sample is called in a table

# Named numbers; `sweep` lists the values that each make a row of their own.
parameters: {{width: 32}}
# sweep: {{batch: [16, 64, 256], width: [32, 64]}}

# What frameworks default differently is said once here, or at each layer.
defaults:
  batch_norm: {{eps: 1e-5, keep: 0.9}}  # keep is the weight of the old running value

# Pieces that are used more than once.
blocks:
  stage:
    takes: {{filters: required, stride: 1}}
    layers:
      - conv2d: {{filters: $filters, kernel: 3, stride: $stride, padding: 1, bias: false}}
      - batch_norm
      - relu

network:
  - stage: {{filters: $width}}
  - stage: {{filters: "${{2 * width}}", stride: 2}}
  - residual:
      body:
        - stage: {{filters: "${{2 * width}}"}}
        - conv2d: {{filters: "${{2 * width}}", kernel: 3, padding: 1}}
  - global_avg_pool2d
  - dense: {{units: 10}}

# Without these two the workload runs in mode `infer` only.
loss: softmax_cross_entropy
optimizer: {{sgd: {{learning_rate: 0.1, momentum: 0.9}}}}
"""


def starter(name: str) -> str:
    """A valid workload file called ``name``. Raises :class:`SpecError` where that cannot be a name."""
    try:
        file_name(YamlScalar(name, name, 0, 0))
    except Wrong as wrong:
        raise SpecError([Problem(name, 0, 0, f"the name {wrong.what}", remedy=wrong.remedy)]) from None
    return _TEXT.format(name=name, quoted=f'"{name}"', schema=catalog.library() / "workload.schema.json")
