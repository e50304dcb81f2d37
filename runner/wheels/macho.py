"""The symbols of a Mach-O library: what it defines, what it needs, and where it looks for that.

macholib reads the headers; the symbol table is read here, since macholib makes Python objects of each of its hundred thousands of entries.
Layouts and constants are those of <mach-o/nlist.h> and <mach-o/loader.h>.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import itanium_demangler
from macholib import mach_o
from macholib.MachO import MachO

from runner.errors import UserError

ARM64 = 0x0100000C
_ENTRY = struct.Struct("<IBBHQ")  # struct nlist_64: place of the name, type, section, description, value
_DEBUG, _KIND, _EXTERNAL = 0xE0, 0x0E, 0x01  # masks of the type
_WEAK_REFERENCE = 0x40  # in the description: may be missing
_HIGHEST_LIBRARY = 0xFC  # above it the number of a library means something else: 0xfe is a look-up in everything that is loaded
_LINKED = (mach_o.LC_LOAD_DYLIB, mach_o.LC_LOAD_WEAK_DYLIB, mach_o.LC_REEXPORT_DYLIB)


@dataclass(frozen=True)
class Need:
    """A symbol as the linker spells it, and the library it is looked for in; None: in everything that is loaded."""

    symbol: str
    library: str | None


@dataclass(frozen=True)
class Library:
    """``name`` and those of ``links`` and ``passes_on`` (what it links to, and offers as its own) are file names without folders."""

    name: str
    needs: tuple[Need, ...]
    defines: frozenset[str]
    links: tuple[str, ...]
    passes_on: tuple[str, ...] = ()


def read(path: Path) -> Library:
    """The arm64 part of a library. Raises :class:`UserError` for a file that is none."""
    try:
        headers = [header for header in MachO(str(path)).headers if header.header.cputype == ARM64]
    except (OSError, ValueError, struct.error) as error:
        raise UserError(f"{path.name}: is no Mach-O library that can be read: {error}") from error
    if not headers:
        raise UserError(f"{path.name}: holds nothing for arm64, and the plug-in exists for Apple silicon alone; name a macosx arm64 wheel")
    header = headers[0]
    links, passes_on, table = [], [], None
    for command, detail, data in header.commands:
        if command.cmd in _LINKED:
            links.append(_file_name(data))
            if command.cmd == mach_o.LC_REEXPORT_DYLIB:
                passes_on.append(links[-1])
        elif command.cmd == mach_o.LC_SYMTAB:
            table = detail
    needs, defines = [], set()
    if table is not None:
        for symbol, kind, description in _symbols(path, header.offset, table):
            if kind & _KIND:
                defines.add(symbol)
            elif not description & _WEAK_REFERENCE:
                number = description >> 8
                needs.append(Need(symbol, links[number - 1] if 0 < number <= min(len(links), _HIGHEST_LIBRARY) else None))
    return Library(path.name, tuple(needs), frozenset(defines), tuple(links), tuple(passes_on))


def _file_name(data: bytes) -> str:
    return PurePosixPath(data.rstrip(b"\0").decode("utf-8", "replace")).name


def _symbols(path: Path, start: int, table: mach_o.symtab_command) -> Iterator[tuple[str, int, int]]:
    """Name, type and description of every external symbol."""
    with path.open("rb") as file:
        file.seek(start + table.symoff)
        entries = file.read(table.nsyms * _ENTRY.size)
        file.seek(start + table.stroff)
        names = file.read(table.strsize)
    if len(entries) != table.nsyms * _ENTRY.size or len(names) != table.strsize:
        raise UserError(f"{path.name}: ends before its symbols do; download it again")
    for place, kind, _, description, _ in _ENTRY.iter_unpack(entries):
        if kind & _EXTERNAL and not kind & _DEBUG:
            end = names.find(b"\0", place)
            yield names[place : end if end >= 0 else None].decode("utf-8", "replace"), kind, description


def demangled(symbol: str) -> str:
    """A symbol in the words of its source; as it is where it is no C++ or cannot be read."""
    plain = symbol[1:] if symbol.startswith("_") else symbol
    try:
        parsed = itanium_demangler.parse(plain)
    except (NotImplementedError, ValueError, IndexError, KeyError, AttributeError, RecursionError):  # of the rarer forms
        return plain
    text = plain if parsed is None else str(parsed)
    if plain.startswith("_ZNK"):  # that a method is const stands before its arguments there, and after them in C++
        text = re.sub(r"^(.*?) const(\(.*\))$", r"\1\2 const", text)
    return re.sub(r"(\w+)(<[^<>]*>)?::\{([cd])tor\}", lambda m: f"{m[1]}{m[2] or ''}::{'~' if m[3] == 'd' else ''}{m[1]}", text)


def function_name(symbol: str) -> str | None:
    """The part of a mangled symbol that names a function in its namespaces, without its arguments; None where there is none."""
    found = re.match(r"__ZNK?", symbol)
    if not found:
        return None
    place = found.end()
    while place < len(symbol) and symbol[place] != "E":
        if word := re.match(r"(\d+)", symbol[place:]):
            place += word.end() + int(word[1])
        elif re.match(r"[CD][0-3]", symbol[place:]):
            place += 2
        else:
            return None  # a template or an abbreviation
    return symbol[: place + 1] if place < len(symbol) else None
