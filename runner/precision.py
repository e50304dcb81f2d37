"""What precision a cell was measured at, beside the one it asks for: which operators tell, and what is said about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from frameworks.contract import Computation

CLASSES = {"mixed_bfloat16": "bfloat16", "mixed_float16": "float16"}
"""The class (of ``frameworks.precision``) that a precision should be measured at, where it has another name."""

_CONVOLUTIONS = {"conv1d", "conv2d", "depthwise_conv2d", "conv2d_transpose"}
_PRODUCTS = {"dense", "attention", "unembedding", "lstm", "gru", "matmul", "dot_product_attention"}


def operators(computation: Computation) -> tuple[str, ...]:
    """The operators whose precision decides that of a computation; ``matmul`` stands for one that has neither products nor convolutions."""
    kinds = {node.kind for _, node in computation.network.walk()}
    convolution = bool(kinds & _CONVOLUTIONS)
    return (*(("matmul",) if kinds & _PRODUCTS or not convolution else ()), *(("convolution",) if convolution else ()))


def note(precision: str, measured: Mapping[str, Mapping[str, Any]]) -> str | None:
    """A sentence where an operator was not measured at the precision asked for, or not at all; None where all is as it should be."""
    expected = CLASSES.get(precision, precision)
    if all(one.get("class") == expected for one in measured.values()):
        return None
    found = f"asked for {precision}, measured: {', '.join(f'{operator} {_said(one)}' for operator, one in measured.items())}"
    lower = any(one.get("class", expected) != expected for one in measured.values())
    return f"{found}; there is no ratio to what was measured at another precision" if lower else found


def _said(one: Mapping[str, Any]) -> str:
    return f"{one['class']} (relative error {one['error']:.0e})" if "class" in one else f"not known ({one['reason']})"


def comparable(one: Mapping[str, Mapping[str, Any]], other: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether two cells may share a ratio: each operator whose class is known of both is of the same in both."""
    known = [operator for operator in one.keys() & other.keys() if "class" in one[operator] and "class" in other[operator]]
    return all(one[operator]["class"] == other[operator]["class"] for operator in known)
