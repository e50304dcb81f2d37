"""Whether a plug-in loads with a TensorFlow, decided by the symbols of their libraries alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from runner.wheels.macho import Library, demangled, function_name

ENTRY = "_pywrap_tensorflow_internal.so"
"""The library that ``import tensorflow`` opens for all others to see; what it links to comes with it."""

# Symbols that are looked for everywhere and are the system's: of the C++ library, and of C whatever does not begin as TensorFlow's do.
_CPP_LIBRARY = re.compile(r"__Z(?:N?K?St|NS[abdios]|n[aw]|d[al]|T[IVS]St)")
_C_INTERFACE = re.compile(r"_T(?:F|SL)[A-Z]?_")


@dataclass(frozen=True)
class Pairing:
    """``needed`` symbols of TensorFlow's; those that no library of it defines; those that it has, but not where the plug-in looks; and
    libraries that the plug-in links to and TensorFlow has not."""

    needed: int
    missing: tuple[str, ...]
    misplaced: tuple[str, ...]
    absent: tuple[str, ...]

    @property
    def loads(self) -> bool:
        return not (self.missing or self.misplaced or self.absent)


def pair(tensorflow: Mapping[str, Library], plugin: Library) -> Pairing:
    """Hold what a plug-in needs against the libraries of a TensorFlow, by file name, that are in the process when it is loaded."""
    loaded = frozenset().union(*(library.defines for library in tensorflow.values()))
    needs = [need for need in plugin.needs if _belongs_to_tensorflow(need.symbol, need.library)]
    missing = [need.symbol for need in needs if need.symbol not in loaded]
    misplaced = [
        need.symbol
        for need in needs
        if need.symbol in loaded and need.library is not None and need.symbol not in _offers(tensorflow, need.library)
    ]
    absent = [name for name in plugin.links if _is_tensorflows(name) and name not in tensorflow]
    return Pairing(len(needs), tuple(missing), tuple(misplaced), tuple(absent))


def alternatives(tensorflow: Mapping[str, Library], symbol: str) -> list[str]:
    """What TensorFlow defines under the same name with other arguments, demangled."""
    name = function_name(symbol)
    if name is None:
        return []
    return sorted(demangled(other) for library in tensorflow.values() for other in library.defines if other.startswith(name))


def _belongs_to_tensorflow(symbol: str, library: str | None) -> bool:
    if library is not None:
        return _is_tensorflows(library)
    if symbol.startswith("__Z"):
        return not _CPP_LIBRARY.match(symbol)
    return bool(_C_INTERFACE.match(symbol))


def _is_tensorflows(name: str) -> bool:
    return "tensorflow" in name


def _offers(tensorflow: Mapping[str, Library], name: str) -> frozenset[str]:
    """What a library defines, and what those define that it passes on."""
    found: set[str] = set()
    waiting, seen = [name], set()
    while waiting:
        library = tensorflow.get(waiting.pop())
        if library is not None and library.name not in seen:
            seen.add(library.name)
            found |= library.defines
            waiting += library.passes_on
    return frozenset(found)
