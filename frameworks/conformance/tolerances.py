"""How far a correct adapter may be from the reference, by precision.

Errors are relative: the largest difference within a tensor over the largest value in it. The suite's sums are short (some tens of terms),
so rounding stays within a few dozen units of the precision's last place; a wrong formula, even a wrong epsilon, shows at 1e-3 and above.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerance:
    """``values`` is for outputs and losses, ``gradients`` for gradients, ``updates`` for what three optimizer steps change.

    An update is judged against ``floor`` times the largest weight where it is smaller than that, since a weight cannot show less than
    its own rounding. Gradients and updates are judged against ``share`` of the largest in the case where they are smaller, since those
    that are zero in mathematics (of a bias before batch_norm, of attention's key_bias) are rounding noise in every framework.
    """

    values: float
    gradients: float
    updates: float
    floor: float
    share: float


TOLERANCES = {
    # Last place 1e-16. Frameworks keep learning rates and betas as float32 numbers (3e-8), which updates show and nothing else does.
    "float64": Tolerance(1e-9, 1e-8, 1e-6, 1e-6, 1e-2),
    # Last place 6e-8; normalisation and softmax cancel one or two digits, their gradients one more.
    "float32": Tolerance(2e-5, 1e-4, 5e-4, 1e-2, 1e-2),
    # Products of 11 significant bits (5e-4) with float32 sums.
    "tf32": Tolerance(5e-3, 1e-2, 2e-2, 1e-2, 0.1),
    # 11 bits everywhere, weights too, so that small updates are lost in them.
    "float16": Tolerance(1e-2, 5e-2, 5e-2, 0.1, 0.1),
    # 8 bits everywhere (4e-3).
    "bfloat16": Tolerance(5e-2, 2e-1, 2e-1, 0.2, 0.1),
    # Half-precision products, float32 weights and updates.
    "mixed_float16": Tolerance(1e-2, 5e-2, 5e-2, 1e-2, 0.1),
    "mixed_bfloat16": Tolerance(5e-2, 2e-1, 2e-1, 1e-2, 0.1),
}

# Instead of those of float64 where the session declares that its framework keeps a constant as a float32 number or computes in it.
FLOAT32_INSIDE = Tolerance(1e-6, 1e-5, 1e-5, 1e-6, 1e-2)

# Cases that need the range of float32 are left out here.
NARROW = ("float16", "mixed_float16", "bfloat16", "mixed_bfloat16")
