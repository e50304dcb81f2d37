"""What the PyTorch adapter does where its version lacks something: attention without `scaled_dot_product_attention`, no compiler."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from frameworks.conformance.case import Case  # noqa: E402 - they need torch
from frameworks.conformance.cases import cases  # noqa: E402
from frameworks.conformance.check import check_case  # noqa: E402
from frameworks.contract import Unsupported  # noqa: E402
from frameworks.pytorch import device  # noqa: E402
from frameworks.pytorch.adapter import PyTorchAdapter  # noqa: E402

ATTENTION = [case for case in cases() if case.layer in ("attention", "dot_product_attention")]


@pytest.mark.parametrize("case", ATTENTION, ids=lambda case: case.name)
def test_attention_written_out_conforms(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.nn.functional, "scaled_dot_product_attention", raising=False)
    monkeypatch.setattr(device, "grouped_attention", lambda name: False)
    findings = check_case(PyTorchAdapter(), case, "cpu", "float64", "eager")
    assert findings
    assert [finding for finding in findings if not finding.ok] == []


def test_without_a_compiler_its_execution_is_unsupported_with_the_version_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch, "compile", raising=False)
    with pytest.raises(Unsupported, match=r"PyTorch 2\.0") as raised:
        device.check_supported("cpu", "float32", "inductor", "train")
    assert raised.value.remedy == "use --execution eager"
