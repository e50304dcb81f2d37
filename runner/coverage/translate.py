"""From the operators that PyTorch calls on the CPU to those that it calls on MPS.

Most are the same. Some functions ask for the device and go another way there (aten/src/ATen/native: Linear.cpp, Pooling.cpp, RNN.cpp,
Convolution.cpp, transformers/attention.cpp, Normalization.cpp), and older versions lack operators that a newer one records.
"""

from __future__ import annotations

from collections.abc import Iterable

from runner.coverage.mps import State, Torch

UPDATE = "update:"  # see frameworks.pytorch.operators

# Attention made of other operators, as MPS does it where gradients are wanted; with a causal mask it also makes the mask.
_ATTENTION = ("bmm", "_softmax", "mul.Scalar")
_MASK = ("tril", "masked_fill_.Scalar")

Ways = tuple[tuple[str, ...], ...]

# Each operator's ways: the first of which a version has every operator is the one that it takes.
INSTEAD: dict[str, Ways] = {
    "convolution": (("_mps_convolution",),),
    "convolution[transposed]": (("_mps_convolution_transpose",),),
    "convolution_backward": (("mps_convolution_backward",),),
    "convolution_backward[transposed]": (("mps_convolution_transpose_backward",),),
    # A product with a bias is a linear layer's; its gradient has an operator of its own.
    "addmm": (("addmm", "linear", "linear_backward"), ("addmm", "_mps_linear", "mps_linear_backward")),
    "max_pool2d_with_indices": (("_mps_max_pool2d",), ("max_pool2d",)),
    "max_pool2d_with_indices_backward": (("mps_max_pool2d_backward",), ("max_pool2d_backward",)),
    "lstm": (("_lstm_mps", "lstm_mps_backward"),),
    "mkldnn_rnn_layer": (("_lstm_mps",),),
    "mkldnn_rnn_layer_backward": (("lstm_mps_backward",),),
    "_scaled_dot_product_flash_attention_for_cpu": (("_scaled_dot_product_attention_math_for_mps", *_ATTENTION), _ATTENTION),
    "_scaled_dot_product_flash_attention_for_cpu[is_causal]": (
        ("_scaled_dot_product_attention_math_for_mps", *_ATTENTION, *_MASK),
        (*_ATTENTION, *_MASK),
    ),
    "_scaled_dot_product_flash_attention_for_cpu_backward": (("bmm", "_softmax_backward_data", "mul.Scalar"),),
    "_safe_softmax": (("_safe_softmax",), ("_softmax",)),
    "_native_batch_norm_legit": (("native_batch_norm",),),
    "_native_batch_norm_legit_no_training": (("native_batch_norm",),),
    "_batch_norm_with_update": (("native_batch_norm",),),
    "_batch_norm_no_update": (("native_batch_norm",),),
    "batch_norm_backward": (("native_batch_norm_backward",),),
    "_fused_rms_norm": (("_fused_rms_norm",), ("pow.Tensor_Scalar", "mean.dim", "add.Scalar", "rsqrt", "mul.Tensor")),
    "_fused_rms_norm_backward": (("_fused_rms_norm_backward",), ("mul.Tensor", "sum.dim_IntList", "sub.Tensor")),
    "lift_fresh": (("lift_fresh",), ()),
}

# What the optimizers of versions before this one call instead (torch/optim of each).
UPDATES_BEFORE: dict[tuple[int, int], dict[str, tuple[str, ...]]] = {(2, 1): {"lerp_.Scalar": ("mul_.Tensor", "add_.Tensor")}}

FUSED = {"sgd": "_fused_sgd_", "momentum": "_fused_sgd_", "adam": "_fused_adam_", "adamw": "_fused_adamw_"}
"""The operator that updates all parameters at once, by optimizer; it runs where a person asks for ``fused=True``."""


def on_mps(recorded: Iterable[str], torch: Torch) -> dict[str, State | None]:
    """The operators that a version of PyTorch calls on MPS for these that were recorded, with their state; None for one it lacks."""
    found: dict[str, State | None] = {}
    for name in recorded:
        for operator in _instead(name, torch):
            found[operator] = _state(operator, torch)
    return found


def _instead(name: str, torch: Torch) -> tuple[str, ...]:
    if name.startswith(UPDATE):
        name = name.removeprefix(UPDATE)
        for version, others in UPDATES_BEFORE.items():
            if torch.numbers < version and name in others:
                return others[name]
    ways = INSTEAD.get(name, ((name,),))
    return next((way for way in ways if all(_state(operator, torch) is not None for operator in way)), ways[-1])


def _state(operator: str, torch: Torch) -> State | None:
    """An operator's state; that of its other overloads where they all agree, since overloads come and go between versions."""
    state = torch.state(operator)
    if state is None:
        base = operator.partition(".")[0]
        others = {found for name, found in torch.operators.items() if name.partition(".")[0] == base}
        state = others.pop() if len(others) == 1 else None
    return state
