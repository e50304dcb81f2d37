"""Parameters and operations of the library's networks against counts that owe nothing to the runner's rules."""

from __future__ import annotations

import pytest

from runner.spec import catalog
from runner.spec.workload import load_workload

torch = pytest.importorskip("torch")

from torch.utils.flop_counter import FlopCounterMode  # noqa: E402 - it needs torch

from tests.frameworks.plain_models import MODELS  # noqa: E402 - they need torch

# A polynomial has no product of matrices, which is all that the counter sees.
NETWORKS = [path.stem for path in catalog.all_workloads() if path.parent.name != "operators" and "polynomial" not in path.stem]

# Multiply-adds in units of 10^9, as published; a multiply-add is two operations here.
PUBLISHED = {
    # torchvision.models, `_ops` of the weights IMAGENET1K_V1, the column GFLOPS of its table
    "vgg16": 15.47,
    "resnet50": 4.089,
    "densenet121": 2.834,
    "mobilenet-v2": 0.301,
    "vit-b16": 17.564,
    # https://huggingface.co/timm/mixer_b16_224.goog_in21k_ft_in1k
    "mlp-mixer": 12.6,
}


@pytest.mark.parametrize("name", NETWORKS)
def test_counts_are_those_of_a_plain_implementation(name: str) -> None:
    computation = load_workload(name).resolve()
    with torch.device("meta"):
        module, inputs = MODELS[name]()
    module.eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module(*inputs)
    assert computation.parameter_count(trainable_only=True) == sum(parameter.numel() for parameter in module.parameters())
    running = sum(b.numel() for key, b in module.named_buffers() if not key.endswith("num_batches_tracked"))
    assert computation.parameter_count() - computation.parameter_count(trainable_only=True) == running
    assert computation.operations() == pytest.approx(counter.get_total_flops(), rel=0.01)


@pytest.mark.parametrize("name", PUBLISHED)
def test_operations_are_the_published_ones(name: str) -> None:
    assert load_workload(name).resolve().operations() / 2e9 == pytest.approx(PUBLISHED[name], rel=0.01)
