"""What is refused before anything is built."""

from __future__ import annotations

import pytest

from frameworks import checks
from frameworks.contract import Job, Unsupported
from runner.spec import catalog
from runner.spec.workload import load_workload


def job(workload: str, precision: str, mode: str = "train") -> Job:
    computation = load_workload(catalog.find(workload)).resolve()
    return Job("pytorch", computation, mode, "cpu", precision, "eager")  # type: ignore[arg-type]


@pytest.mark.parametrize(("workload", "step"), [("bert-base", "2e-05"), ("vit-b16", "0.0001"), ("mlp-mixer", "0.0001")])
def test_steps_that_many_weights_cannot_take_are_unsupported(workload: str, step: str) -> None:
    with pytest.raises(Unsupported, match=rf"steps of {step} are lost on \d\d % of the weights, which bfloat16") as raised:
        checks.updates_fit(job(workload, "bfloat16"))
    assert raised.value.remedy == "use --precision mixed_bfloat16"


@pytest.mark.parametrize(
    ("workload", "precision", "mode"),
    [
        ("bert-base", "bfloat16", "infer"),
        ("bert-base", "mixed_bfloat16", "train"),
        ("bert-base", "float32", "train"),
        ("lstm-text", "bfloat16", "train"),
        ("resnet50", "bfloat16", "train"),
        ("unet-small", "bfloat16", "train"),
    ],
)
def test_steps_that_weights_can_take_are_not(workload: str, precision: str, mode: str) -> None:
    checks.updates_fit(job(workload, precision, mode))
