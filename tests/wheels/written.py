"""Mach-O libraries and wheels written byte by byte, after <mach-o/loader.h> and <mach-o/nlist.h>."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ARM64, X86_64 = 0x0100000C, 0x01000007
LOAD_DYLIB, REEXPORT_DYLIB, SYMTAB = 0xC, 0x8000001F, 0x2
ANYWHERE = 0xFE


def library(
    defines: Sequence[str] = (),
    needs: Sequence[tuple[str, int]] = (),
    links: Sequence[str] = (),
    passes_on: Sequence[str] = (),
    weak: Sequence[str] = (),
    cpu: int = ARM64,
) -> bytes:
    """A dynamic library that defines and needs these symbols; a need has the number of its library, from 1, or ANYWHERE."""
    commands = [_dylib(LOAD_DYLIB, link) for link in links] + [_dylib(REEXPORT_DYLIB, link) for link in passes_on]
    size = sum(map(len, commands)) + 24
    entries, names = b"", b"\0"
    rows = [(name, 0x0F, 1, 0) for name in defines] + [(name, 0x01, 0, number << 8) for name, number in needs]
    rows += [(name, 0x01, 0, ANYWHERE << 8 | 0x40) for name in weak]
    rows += [("_local", 0x0E, 1, 0), ("_source.o", 0x66, 0, 0)]  # of no interest: not external, and of the debugger
    for name, kind, section, description in rows:
        entries += struct.pack("<IBBHQ", len(names), kind, section, description, 0)
        names += name.encode() + b"\0"
    start = 32 + size
    commands.append(struct.pack("<6I", SYMTAB, 24, start, len(rows), start + len(entries), len(names)))
    header = struct.pack("<8I", 0xFEEDFACF, cpu, 0, 6, len(commands), size, 0x85, 0)
    return header + b"".join(commands) + entries + names


def _dylib(command: int, name: str) -> bytes:
    text = name.encode() + b"\0"
    text += b"\0" * (-len(text) % 8)
    return struct.pack("<6I", command, 24 + len(text), 24, 2, 0x10000, 0x10000) + text


def wheel(folder: Path, name: str, files: Mapping[str, bytes]) -> Path:
    """A wheel of these files in a folder; ``name`` is NAME-VERSION."""
    path = folder / f"{name}-cp310-cp310-macosx_12_0_arm64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for place, data in files.items():
            archive.writestr(place, data)
    return path


LOG = "__ZN3tsl8internal10LogMessageC1EPKcii"
LOG_BEFORE = LOG
LOG_NOW = "__ZN3tsl8internal10LogMessageC1EPKciN4absl11LogSeverityE"


def tensorflow(folder: Path, version: str, log: str, *, in_entry: bool = True) -> Path:
    """A TensorFlow of two libraries, whose logging is defined in the first or the second."""
    entry = library(["_TF_NewTensor", *([log] if in_entry else [])], links=["@rpath/libtensorflow_cc.2.dylib", "/usr/lib/libc++.1.dylib"])
    other = library(["__ZN10tensorflow4NodeC1Ev", *([] if in_entry else [log])])
    files = {"tensorflow/python/_pywrap_tensorflow_internal.so": entry, "tensorflow/libtensorflow_cc.2.dylib": other}
    return wheel(folder, f"tensorflow-{version}", {**files, "tensorflow/unrelated.so": library([LOG_BEFORE])})


def metal(folder: Path, version: str) -> Path:
    """A plug-in that needs two symbols of TensorFlow anywhere, one in its entry library, and some that are the system's."""
    needs = [("__ZN10tensorflow4NodeC1Ev", ANYWHERE), ("_TF_NewTensor", ANYWHERE), (LOG, 2), ("_objc_msgSend", ANYWHERE)]
    needs += [("__ZNSt3__16localeC1Ev", ANYWHERE), ("__Znwm", ANYWHERE), ("_malloc", 1)]
    links = ["/usr/lib/libSystem.B.dylib", "@rpath/_pywrap_tensorflow_internal.so"]
    library_file = library(["_TF_InitKernel"], needs, links, weak=["_TF_Later"])
    return wheel(folder, f"tensorflow_metal-{version}", {"tensorflow-plugins/libmetal_plugin.dylib": library_file})
