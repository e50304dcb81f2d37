"""What every adapter is asked: each layer, loss, optimizer, structure and operator, small, over a grid of attributes."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from frameworks.conformance import layer_cases, network_cases
from frameworks.conformance.case import Case


def cases() -> Iterator[Case]:
    """The whole suite; the same objects every time, so that what the reference says of them is computed once."""
    return iter(_all())


@functools.cache
def _all() -> tuple[Case, ...]:
    return (*layer_cases.cases(), *network_cases.cases())
