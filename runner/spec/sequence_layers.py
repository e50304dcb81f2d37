"""Layers over sequences of tokens: tables, attention, recurrence. Attributes, shape rule, parameters and operations together.

The order is that of ``workloads/README.md``, which says what each computes.
"""

from __future__ import annotations

from typing import ClassVar

from frameworks.contract import Parameter, Shape
from runner.spec.shapes import Layer, Result, ShapeError, bias, channels, image, kernel, rows, size, table, written
from runner.spec.values import Extent, Flag, Fraction, Index, Rotary, Text


class Embedding(Layer):
    kind = "embedding"
    integer_input = True

    vocabulary: Extent
    units: Extent

    def apply(self, x: Shape) -> Result:
        return Result((*x, self.units), (table((self.vocabulary, self.units)),))


class PositionEmbedding(Layer):
    kind = "position_embedding"

    length: Extent

    def apply(self, x: Shape) -> Result:
        n, c = rows(x)
        if n > self.length:
            raise ShapeError(f"its table is for {self.length} positions, and it is given {n} of them in {written(x)}")
        return Result(x, (table((self.length, c)),))


class ClassToken(Layer):
    kind = "class_token"

    def apply(self, x: Shape) -> Result:
        n, c = rows(x)
        return Result((n + 1, c), (table((c,), "token"),))


class Tokens(Layer):
    kind = "tokens"

    def apply(self, x: Shape) -> Result:
        h, w, c = image(x)
        return Result((h * w, c))


class Transpose(Layer):
    kind = "transpose"

    def apply(self, x: Shape) -> Result:
        n, c = rows(x)
        return Result((c, n))


class SelectToken(Layer):
    kind = "select_token"

    index: Index

    def apply(self, x: Shape) -> Result:
        n, c = rows(x)
        if not -n <= self.index < n:
            raise ShapeError(f"its index {self.index} is outside of the {n} positions of {written(x)}")
        return Result((c,))


class MeanTokens(Layer):
    kind = "mean_tokens"

    def apply(self, x: Shape) -> Result:
        return Result((rows(x)[1],))


class Attention(Layer):
    kind = "attention"

    heads: Extent
    kv_heads: Extent | None = None
    head_units: Extent | None = None
    causal: Flag = False
    rotary: Rotary = None
    bias: Flag = True
    dropout: Fraction = 0.0

    def apply(self, x: Shape) -> Result:
        n, c = rows(x)
        groups = self.kv_heads or self.heads
        if self.heads % groups:
            raise ShapeError(f"its {groups} kv_heads do not divide its {self.heads} heads")
        if self.head_units is None and c % self.heads:
            raise ShapeError(f"its {self.heads} heads do not divide {c} channels", "choose other heads, or say `head_units`")
        units = self.head_units or c // self.heads
        if self.rotary is not None and units % 2:
            raise ShapeError(f"rotary turns pairs, and each head has {units} units, an odd number")
        wide, narrow = self.heads * units, groups * units
        arrays: list[Parameter] = []
        for part, before, after in (("query", c, wide), ("key", c, narrow), ("value", c, narrow), ("output", wide, c)):
            arrays.append(kernel((before, after), before, f"{part}_kernel"))
            if self.bias:
                arrays.append(bias(after, f"{part}_bias"))
        projections = 2 * n * c * (2 * wide + 2 * narrow)
        products = 2 * 2 * n * n * wide
        return Result(x, tuple(arrays), projections + products, {"kv_heads": groups, "head_units": units})


class Unembedding(Layer):
    """Its table is that of another layer, so the network applies it with :meth:`apply_table`."""

    kind = "unembedding"

    of: Text
    bias: Flag = False

    def apply_table(self, x: Shape, vocabulary: int, units: int) -> Result:
        if channels(x) != units:
            raise ShapeError(f"the table of `{self.of}` is [{vocabulary}, {units}], and it is given {written(x)}")
        return Result((*x[:-1], vocabulary), (bias(vocabulary),) if self.bias else (), 2 * size(x) * vocabulary)


class _Recurrent(Layer):
    gates: ClassVar[int]
    hints: ClassVar[dict[str, str]] = {"sequences": "`true` gives the output of every position, `false` the last one"}

    units: Extent
    sequences: Flag

    def apply(self, x: Shape) -> Result:
        n, c = rows(x)
        wide = self.gates * self.units
        arrays = (kernel((c, wide), c), kernel((self.units, wide), self.units, "recurrent_kernel"), *self.biases(wide))
        return Result((n, self.units) if self.sequences else (self.units,), arrays, 2 * n * (c + self.units) * wide)

    def biases(self, extent: int) -> tuple[Parameter, ...]:
        return (bias(extent),)


class Lstm(_Recurrent):
    kind = "lstm"
    gates = 4


class Gru(_Recurrent):
    kind = "gru"
    gates = 3

    def biases(self, extent: int) -> tuple[Parameter, ...]:
        return bias(extent), bias(extent, "recurrent_bias")


SEQUENCE_LAYERS: tuple[type[Layer], ...] = (
    Embedding,
    PositionEmbedding,
    ClassToken,
    Tokens,
    Transpose,
    SelectToken,
    MeanTokens,
    Attention,
    Unembedding,
    Lstm,
    Gru,
)
