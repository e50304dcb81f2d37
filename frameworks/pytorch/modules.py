"""Modules that PyTorch does not bring, as its users write them."""

# mypy: disallow-subclassing-any=False
# PyTorch is not followed by the type checker, so that its classes are of type Any.

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

import numpy
import torch
import torch.nn.functional as F
from torch import Tensor, nn

Merge = Callable[[list[Tensor]], Tensor]


class Residual(nn.Module):
    """``body(x) + shortcut(x)``; ``x`` itself without a shortcut."""

    def __init__(self, body: nn.Module, shortcut: nn.Module | None) -> None:
        super().__init__()
        self.body = body
        self.shortcut = shortcut

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x) + (x if self.shortcut is None else self.shortcut(x))


class Branches(nn.Module):
    """The results of all paths, merged."""

    def __init__(self, paths: list[nn.Module], merge: Merge) -> None:
        super().__init__()
        self.paths = nn.ModuleList(paths)
        self.merge = merge

    def forward(self, x: Tensor) -> Tensor:
        return self.merge([path(x) for path in self.paths])


def merge(name: str, dim: int) -> Merge:
    """What joins the results of branches: ``concat`` along ``dim``, ``add`` or ``multiply``."""
    if name == "concat":
        return functools.partial(torch.cat, dim=dim)
    return functools.partial(functools.reduce, {"add": operator.add, "multiply": operator.mul}[name])


class RMSNorm(nn.Module):
    """Root mean square normalisation over the last axis, for versions before 2.4, which lack ``nn.RMSNorm``."""

    def __init__(self, units: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(units))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


class Polynomial(nn.Module):
    """``coefficients[0] + coefficients[1] x + coefficients[2] x^2 + ...``, element by element."""

    def __init__(self, degree: int) -> None:
        super().__init__()
        self.coefficients = nn.Parameter(torch.zeros(degree + 1))

    def forward(self, x: Tensor) -> Tensor:
        constant, *others = self.coefficients.unbind()
        total = constant.expand_as(x)
        for power, coefficient in enumerate(others, 1):
            total = total + coefficient * (x if power == 1 else x**power)
        return total


class CountedAvgPool2d(nn.Module):
    """The mean over the cells of a window that lie inside the image, where ``nn.AvgPool2d`` does not know the padding."""

    def __init__(self, size: tuple[int, int], stride: tuple[int, int], pads: tuple[int, int, int, int], image: tuple[int, ...]) -> None:
        super().__init__()
        self.size, self.stride, self.pads = size, stride, pads
        inside = F.avg_pool2d(F.pad(torch.ones(1, 1, *image), pads), size, stride, divisor_override=1)
        self.register_buffer("share", 1.0 / inside.clamp(min=1.0).double(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(F.pad(x, self.pads), self.size, self.stride, divisor_override=1) * self.share


class Permute(nn.Module):
    """The axes of a value in another order; a view."""

    def __init__(self, *order: int) -> None:
        super().__init__()
        self.order = order

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(self.order)


class SelectToken(nn.Module):
    """One position along ``dim``."""

    def __init__(self, index: int, dim: int) -> None:
        super().__init__()
        self.index, self.dim = index, dim

    def forward(self, x: Tensor) -> Tensor:
        return x.select(self.dim, self.index)


class Mean(nn.Module):
    """The mean along ``dim``."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(self.dim)


class Tokens(nn.Module):
    """``[batch, c, h, w]`` to ``[batch, h * w, c]``."""

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(2).transpose(1, 2)


class PositionEmbedding(nn.Module):
    """``x[i] + table[i]``."""

    def __init__(self, length: int, units: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(length, units))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.shape[1]]


class ClassToken(nn.Module):
    """A learnt token before all others."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.zeros(units))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.token.expand(x.shape[0], 1, -1), x], 1)


class Unembedding(nn.Module):
    """Scores against the rows of an embedding's table, which both share."""

    def __init__(self, embedding: nn.Embedding, bias: bool) -> None:
        super().__init__()
        self.embedding = embedding
        self.bias = nn.Parameter(torch.zeros(embedding.num_embeddings)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.embedding.weight, self.bias)


class Attention(nn.Module):
    """Self-attention over ``[batch, n, c]`` with four projections and ``scaled_dot_product_attention``.

    ``grouped`` says that the latter takes fewer key heads than query heads itself; otherwise they are repeated. Before 2.0, which brought
    it, the products and the softmax are written out, as one did then.
    """

    mask: Tensor | None

    def __init__(
        self,
        units: int,
        heads: int,
        kv_heads: int,
        head_units: int,
        *,
        length: int,
        causal: bool,
        rotary: float | None,
        bias: bool,
        dropout: float,
        grouped: bool,
    ) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_units = heads, kv_heads, head_units
        self.causal, self.dropout, self.grouped = causal, dropout, grouped
        self.query = nn.Linear(units, heads * head_units, bias)
        self.key = nn.Linear(units, kv_heads * head_units, bias)
        self.value = nn.Linear(units, kv_heads * head_units, bias)
        self.output = nn.Linear(heads * head_units, units, bias)
        self.rotary = None if rotary is None else Rotary(length, head_units, rotary)
        self.fused = hasattr(F, "scaled_dot_product_attention")
        later = torch.full((length, length), -float("inf")).triu(1) if causal and not self.fused else None
        self.register_buffer("mask", later, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        query = self.query(x).view(batch, length, self.heads, self.head_units).transpose(1, 2)
        key = self.key(x).view(batch, length, self.kv_heads, self.head_units).transpose(1, 2)
        value = self.value(x).view(batch, length, self.kv_heads, self.head_units).transpose(1, 2)
        if self.rotary is not None:
            query, key = self.rotary(query), self.rotary(key)
        dropout = self.dropout if self.training else 0.0
        if self.kv_heads != self.heads and not self.grouped:
            key = key.repeat_interleave(self.heads // self.kv_heads, 1)
            value = value.repeat_interleave(self.heads // self.kv_heads, 1)
        if not self.fused:
            scores = torch.matmul(query * self.head_units**-0.5, key.transpose(-2, -1))
            scores = scores if self.mask is None else scores + self.mask
            joined = torch.matmul(F.dropout(scores.softmax(-1), dropout), value)
        elif self.kv_heads != self.heads and self.grouped:
            joined = F.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=self.causal, enable_gqa=True)
        else:
            joined = F.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=self.causal)
        return self.output(joined.transpose(1, 2).reshape(batch, length, self.heads * self.head_units))


class Rotary(nn.Module):
    """Turns each pair ``(j, j + d / 2)`` of ``[batch, heads, n, d]`` by an angle that grows with the position."""

    cosine: Tensor
    sine: Tensor

    def __init__(self, length: int, head_units: int, base: float) -> None:
        super().__init__()
        half = head_units // 2
        angles = numpy.arange(length)[:, None] * float(base) ** (-2.0 * numpy.arange(half) / head_units)
        self.register_buffer("cosine", torch.from_numpy(numpy.cos(angles)), persistent=False)
        self.register_buffer("sine", torch.from_numpy(numpy.sin(angles)), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        first, second = x.chunk(2, -1)
        cosine, sine = self.cosine.to(x.dtype), self.sine.to(x.dtype)  # nothing to do but under autocast
        return torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)


class LSTM(nn.LSTM):
    """``nn.LSTM`` that gives its outputs, or the last one. Its second bias stays zero, as the workload has one."""

    def __init__(self, units_in: int, units: int, sequences: bool) -> None:
        super().__init__(units_in, units, batch_first=True)
        self.sequences = sequences
        nn.init.zeros_(self.bias_hh_l0)
        self.bias_hh_l0.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        outputs, (last, _) = super().forward(x)
        return outputs if self.sequences else last[-1]


class GRU(nn.GRU):
    """``nn.GRU`` that gives its outputs, or the last one."""

    def __init__(self, units_in: int, units: int, sequences: bool) -> None:
        super().__init__(units_in, units, batch_first=True)
        self.sequences = sequences

    def forward(self, x: Tensor) -> Tensor:
        outputs, last = super().forward(x)
        return outputs if self.sequences else last[-1]


class MatMul(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.matmul(a, b)


class DotProductAttention(nn.Module):
    """``scaled_dot_product_attention``, or before 2.0 what it computes."""

    def __init__(self) -> None:
        super().__init__()
        self.fused = hasattr(F, "scaled_dot_product_attention")

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if not self.fused:
            return torch.matmul(torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(-2, -1)).softmax(-1), v)
        return F.scaled_dot_product_attention(q, k, v)


class Copy(nn.Module):
    def forward(self, a: Tensor) -> Tensor:
        return a.clone()


class ReduceSum(nn.Module):
    def __init__(self, axes: tuple[int, ...]) -> None:
        super().__init__()
        self.axes = axes

    def forward(self, a: Tensor) -> Tensor:
        return a.sum(self.axes)


class Argmax(nn.Module):
    def __init__(self, axis: int) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, a: Tensor) -> Tensor:
        return a.argmax(self.axis)


class Sort(nn.Module):
    def __init__(self, axis: int) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, a: Tensor) -> Tensor:
        return a.sort(self.axis).values


class Concat(nn.Module):
    def __init__(self, axis: int) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, *parts: Tensor) -> Tensor:
        return torch.cat(parts, self.axis)


class TakesInputs(nn.Module):
    """A part of a network that picks named inputs: it is given all of them beside the value, and its plain parts the value alone."""

    def hand(self, part: nn.Module, x: Tensor, inputs: tuple[Tensor, ...]) -> Tensor:
        result: Tensor = part(x, inputs) if isinstance(part, TakesInputs) else part(x)
        return result


class PickInput(TakesInputs):
    """The input of this number, whatever the value was."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def forward(self, x: Tensor, inputs: tuple[Tensor, ...]) -> Tensor:
        return inputs[self.number]


class SequenceOfInputs(TakesInputs):
    """Parts in a row."""

    def __init__(self, parts: list[nn.Module]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x: Tensor, inputs: tuple[Tensor, ...]) -> Tensor:
        for part in self.parts:
            x = self.hand(part, x, inputs)
        return x


class BranchesOfInputs(TakesInputs):
    """The results of all paths, merged; those of a residual's body and shortcut too."""

    def __init__(self, paths: list[nn.Module], merge: Merge) -> None:
        super().__init__()
        self.paths = nn.ModuleList(paths)
        self.merge = merge

    def forward(self, x: Tensor, inputs: tuple[Tensor, ...]) -> Tensor:
        return self.merge([self.hand(path, x, inputs) for path in self.paths])


class OfInputs(nn.Module):
    """A whole network of named inputs, called with them in their order."""

    def __init__(self, body: TakesInputs) -> None:
        super().__init__()
        self.body = body

    def forward(self, *inputs: Tensor) -> Tensor:
        result: Tensor = self.body(inputs[0], inputs)
        return result


def rms_norm(units: int, eps: float) -> nn.Module:
    """PyTorch's own class where it exists."""
    return nn.RMSNorm(units, eps=eps) if hasattr(nn, "RMSNorm") else RMSNorm(units, eps)
