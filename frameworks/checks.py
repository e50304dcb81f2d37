"""What must hold of a model before and after it is timed; each function raises :class:`CellFailure` with the place of the fault."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence, Set

import numpy

from frameworks.contract import CellFailure, Job, Unsupported

# What a parameter and a computed value are of, in each precision (see workloads/README.md for the words).
PARAMETER_TYPES = {
    "float32": "float32",
    "tf32": "float32",
    "float64": "float64",
    "bfloat16": "bfloat16",
    "float16": "float16",
    "mixed_bfloat16": "float32",
    "mixed_float16": "float32",
}

DIGITS = {"bfloat16": 8, "float16": 11}  # binary ones of a weight, the leading one included

LOST = 1 / 3  # of the weights: with 40 % the fifth loss of MLP-Mixer is 16 % off, with 46 % that of ViT 31 %, with 19 % that of U-Net 0.7 %


def updates_fit(job: Job) -> None:
    """Refuse to train weights in a type in which many steps would be lost. Raises :class:`Unsupported`.

    Adam moves a weight by about its learning rate, whatever the gradient (Kingma and Ba, "Adam", ICLR 2015, section 2.1). A step less than
    half the distance to the next number leaves the weight where it is: one of 2e-5 all those beyond 0.005 in bfloat16.
    """
    digits, settings = DIGITS.get(job.precision), job.computation.optimizer
    if job.mode != "train" or digits is None or settings["kind"] not in ("adam", "adamw"):
        return
    bound = settings["learning_rate"] * 2.0**digits  # of weights that can still move
    lost = total = 0.0
    for _, parameter in job.computation.network.all_parameters():
        if parameter.trainable:
            size = math.prod(parameter.shape)
            total += size
            if parameter.centre:
                lost += size * (abs(parameter.centre) > bound)
            elif parameter.scale > bound:
                lost += size * (1 - bound / parameter.scale)
    if total and lost > total * LOST:
        raise Unsupported(
            f"steps of {settings['learning_rate']:g} are lost on {100 * lost / total:.0f} % of the weights, which {job.precision} holds in "
            f"{digits} binary digits",
            f"use --precision mixed_{job.precision}",
        )


def structure(job: Job, parameters: Mapping[str, numpy.ndarray]) -> None:
    """The live model holds exactly the parameters of the workload, by name and shape."""
    expected = {name: parameter.shape for name, parameter in job.computation.network.all_parameters()}
    for name, shape in expected.items():
        if name not in parameters:
            raise CellFailure("not_equivalent", f"the model has no parameter {name} {list(shape)}")
        if parameters[name].shape != shape:
            raise CellFailure("not_equivalent", f"parameter {name} is {list(parameters[name].shape)}, the workload says {list(shape)}")
    for name in parameters:
        if name not in expected:
            raise CellFailure(
                "not_equivalent", f"the model has a parameter {name} {list(parameters[name].shape)} that the workload has not"
            )


def placement(job: Job, found: Mapping[str, Mapping[str, list[str]]]) -> None:
    """Parameters, inputs, outputs and gradients live on the device asked for, and parameters are of the type asked for."""
    for what, where in found.items():
        elsewhere = [device for device in where["devices"] if device != job.device]
        if elsewhere:
            raise CellFailure("wrong_device", f"{what} are on {', '.join(elsewhere)}, the cell asks for {job.device}")
    wanted = PARAMETER_TYPES[job.precision]
    for what in ("parameters", "gradients"):
        other = [kind for kind in found.get(what, {}).get("types", []) if kind != wanted]
        if other:
            raise CellFailure("wrong_result", f"{what} are {', '.join(other)}, precision {job.precision} keeps them in {wanted}")


def fallbacks(job: Job, names: Sequence[str]) -> None:
    """No operator of a step ran on the CPU for want of a kernel of the device, unless that was allowed."""
    if names and not job.fallback:
        raise CellFailure(
            "unsupported",
            f"{job.device} has no kernel for {', '.join(names)}, which would run on the CPU",
            "--allow-fallback measures it so, and the row names the operators",
        )


def finite(loss: float, steps: int) -> float:
    """The loss, if it is a number."""
    if not math.isfinite(loss):
        raise CellFailure("nan", f"the loss is {loss} after {steps} steps")
    return loss


def outputs_finite(outputs: numpy.ndarray) -> None:
    """Every output is a number."""
    wrong = int(outputs.size - numpy.count_nonzero(numpy.isfinite(outputs)))
    if wrong:
        raise CellFailure("nan", f"{wrong} of {outputs.size} outputs are not finite numbers")


def fingerprints(parameters: Mapping[str, numpy.ndarray]) -> dict[str, int]:
    """A checksum of each parameter, so that two states can be compared without keeping both."""
    return {name: zlib.crc32(numpy.ascontiguousarray(value).tobytes()) for name, value in parameters.items()}


def training_took_place(job: Job, before: Mapping[str, int], after: Mapping[str, int]) -> None:
    """Training has changed trainable parameters; inference has changed none.

    A single one may rightly stay as it was: the bias of attention's keys, or one before a batch normalisation, has no gradient.
    """
    changed = {name for name in before if before[name] != after[name]}
    if job.mode == "infer" and changed:
        raise CellFailure("wrong_result", f"inference changed {_some(changed)}")
    trainable = {name for name, parameter in job.computation.network.all_parameters() if parameter.trainable}
    if job.mode == "train" and not trainable & changed:
        raise CellFailure("wrong_result", f"training changed none of {_some(trainable)}: the update was not done")


def _some(names: Set[str]) -> str:
    listed = sorted(names)
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")
