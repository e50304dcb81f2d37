"""A plug-in's registration of kernels, assembled here instruction by instruction, is followed to its end."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from runner.errors import UserError
from runner.wheels import emulate
from tests.wheels import written

TEXT, STUBS, STRINGS, LINKEDIT = 0x400, 0x800, 0xA00, 0x1000
CALLS = ("_TF_NewKernelBuilder", "_TF_KernelBuilder_TypeConstraint", "_TF_RegisterKernelBuilder", "_dispatch_once_f", "_puts")
WORDS = ("Relu", "GPU", "T", "ReluOp", "Elu")
PUSH, POP, RETURN = 0xA9BF7BFD, 0xA8C17BFD, 0xD65F03C0


class Assembler:
    """Writes arm64 instructions one after the other from an address on (Arm Architecture Reference Manual, C6)."""

    def __init__(self) -> None:
        self.code: list[int] = []

    @property
    def here(self) -> int:
        return TEXT + 4 * len(self.code)

    def address(self, register: int, word: str) -> None:
        target = STRINGS + sum(len(each) + 1 for each in WORDS[: WORDS.index(word)])
        offset = target - self.here
        self.code.append(0x10000000 | (offset & 3) << 29 | (offset >> 2 & 0x7FFFF) << 5 | register)

    def number(self, register: int, value: int) -> None:
        self.code.append(0x52800000 | value << 5 | register)

    def move(self, to: int, source: int) -> None:
        self.code.append(0xAA0003E0 | source << 16 | to)

    def call(self, target: int | str) -> None:
        place = STUBS + 12 * CALLS.index(target) if isinstance(target, str) else target
        self.code.append(0x94000000 | (place - self.here) >> 2 & 0x3FFFFFF)

    def register_kernel(self, operation: str, kind: int) -> None:
        self.address(0, operation)
        self.address(1, "GPU")
        self.call("_TF_NewKernelBuilder")
        self.move(19, 0)
        self.address(1, "T")
        self.number(2, kind)
        self.call("_TF_KernelBuilder_TypeConstraint")
        self.address(0, "ReluOp")
        self.move(1, 19)
        self.call("_TF_RegisterKernelBuilder")


def plugin(entry: str = "_TF_InitKernel", endless: bool = False) -> bytes:
    """A plug-in that registers Relu for float, and for bfloat16 and Elu for half where the system is new enough."""
    a = Assembler()
    a.code.append(PUSH)
    a.register_kernel("Relu", 1)
    a.call("_puts")
    check_call, skip = len(a.code), len(a.code) + 1
    a.code += [0, 0]
    a.register_kernel("Relu", 14)
    a.register_kernel("Elu", 19)
    a.code[skip] = 0x34000000 | (len(a.code) - skip) << 5  # to here where the check says no
    if endless:
        a.code.append(0x14000000)
    a.code += [POP, RETURN]
    check = a.here
    a.code[check_call] = 0x94000000 | len(a.code) - check_call
    a.code.append(PUSH)
    a.call("_dispatch_once_f")
    a.number(0, 0)
    a.code += [POP, RETURN]
    return assembled(a.code, check, entry)


def assembled(code: list[int], check: int, entry: str) -> bytes:
    strings = b"".join(word.encode() + b"\0" for word in WORDS)
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (entry, *CALLS))
    symbols, place = b"", 1
    for name in (entry, *CALLS):
        symbols += struct.pack("<IBBHQ", place, 0x0F if name == entry else 0x01, 0, 0, TEXT if name == entry else 0)
        place += len(name) + 1
    indirect = struct.pack(f"<{len(CALLS)}I", *range(1, len(CALLS) + 1))
    starts = bytes([0x80 | TEXT & 0x7F, TEXT >> 7]) + bytes([0x80 | (check - TEXT) & 0x7F, (check - TEXT) >> 7]) + b"\0"
    sections = [
        (b"__text", TEXT, 4 * len(code), 0x80000400, 0, 0),
        (b"__stubs", STUBS, 12 * len(CALLS), 0x80000408, 0, 12),
        (b"__cstring", STRINGS, len(strings), 2, 0, 0),
    ]
    segment = struct.pack("<2I16s4Q4I", 0x19, 72 + 80 * len(sections), b"__TEXT", 0, LINKEDIT, 0, LINKEDIT, 5, 5, len(sections), 0)
    for name, address, size, flags, first, each in sections:
        segment += struct.pack("<16s16s2Q8I", name, b"__TEXT", address, size, address, 2, 0, 0, flags, first, each, 0)
    offsets = [LINKEDIT]
    for part in (symbols, names, indirect, starts):
        offsets.append(offsets[-1] + len(part))
    table = struct.pack("<6I", 0x2, 24, offsets[0], len(symbols) // 16, offsets[1], len(names))
    dynamic = struct.pack("<20I", 0xB, 80, *[0] * 12, offsets[2], len(CALLS), *[0] * 4)
    functions = struct.pack("<4I", 0x26, 16, offsets[3], len(starts))
    commands = segment + table + dynamic + functions
    data = bytearray(LINKEDIT)
    head = struct.pack("<8I", 0xFEEDFACF, written.ARM64, 0, 6, 4, len(commands), 0x85, 0) + commands
    for start, part in ((0, head), (TEXT, struct.pack(f"<{len(code)}I", *code)), (STRINGS, strings)):
        data[start : start + len(part)] = part
    return bytes(data) + symbols + names + indirect + starts


@pytest.fixture
def library(tmp_path: Path) -> Path:
    pytest.importorskip("unicorn")
    path = tmp_path / "libmetal_plugin.dylib"
    path.write_bytes(plugin())
    return path


def test_what_is_registered_is_found_on_the_newest_system(library: Path) -> None:
    assert emulate.registered(library) == [
        ("Relu", (("T", "float"),)),
        ("Relu", (("T", "bfloat16"),)),
        ("Elu", (("T", "half"),)),
    ]


def test_what_is_no_plug_in_or_never_ends_is_a_plain_message(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library.write_bytes(plugin(entry="_Something"))
    with pytest.raises(UserError, match="no plug-in with kernels"):
        emulate.registered(library)
    monkeypatch.setattr(emulate, "LIMIT", 10_000)
    library.write_bytes(plugin(endless=True))
    with pytest.raises(UserError, match="does not end within 10000 instructions"):
        emulate.registered(library)


def test_a_crash_of_the_code_is_a_plain_message(library: Path) -> None:
    data = bytearray(library.read_bytes())
    data[TEXT : TEXT + 4] = struct.pack("<I", 0xF9400000)  # ldr x0, [x0] from where nothing is
    data[TEXT + 4 : TEXT + 8] = struct.pack("<I", 0x00000000)  # no instruction
    library.write_bytes(bytes(data))
    with pytest.raises(UserError, match="cannot be followed"):
        emulate.registered(library)
