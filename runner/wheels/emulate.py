"""Which kernels a Metal plug-in registers, found by running its own registration on an emulated arm64 processor.

The names of kernels stand in a plug-in's library beside many others (those of graph rewrites, for one), and short ones stand nowhere as
text. But ``TF_InitKernel`` registers them through TensorFlow's C interface (tensorflow/c/kernels.h), so it is run here with those calls
answered and written down. Questions about the version of macOS are answered as the newest one would.
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from macholib import mach_o
from macholib.MachO import MachO

from runner.errors import UserError
from runner.wheels.macho import ARM64

STACK, HEAP, CALLS, SIZE = 0x7_0000_0000, 0x8_0000_0000, 0x9_0000_0000, 0x100_0000
RETURN = b"\xc0\x03\x5f\xd6"
LIMIT = 200_000_000  # instructions; a registration takes a million
_INDIRECT_POINTERS, _STUBS = (6, 7), 8  # kinds of sections
_CHAINED_FIXUPS = 0x80000034

# tensorflow/c/tf_datatype.h
TYPES = dict(enumerate(["float", "double", "int32", "uint8", "int16", "int8", "string", "complex64", "int64", "bool"], 1)) | {
    14: "bfloat16",
    17: "uint16",
    18: "complex128",
    19: "half",
    20: "resource",
    21: "variant",
    22: "uint32",
    23: "uint64",
}

Kernel = tuple[str, tuple[tuple[str, str], ...]]
"""An operation, and the types that its attributes must have."""


def registered(path: Path) -> list[Kernel]:
    """The kernels that a plug-in's library registers for the GPU. Raises :class:`UserError` where that cannot be found out."""
    try:
        import unicorn
    except ImportError as error:
        raise UserError(
            "reading the kernels of a plug-in needs an emulated processor, and it is not installed: pip install 'headtohead[mac]'"
        ) from error
    image = _Image(path)
    version_checks: set[int] = set()
    while True:
        machine = _Machine(unicorn, image, version_checks)
        try:
            machine.run()
        except unicorn.UcError as error:
            raise UserError(f"{path.name}: its registration of kernels cannot be followed: {error}") from error
        if machine.version_checks == version_checks:
            return machine.kernels
        version_checks = machine.version_checks


class _Image:
    """A library's memory as the loader would lay it out from address 0, with what must be known about it."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        header = next((header for header in MachO(str(path)).headers if header.header.cputype == ARM64), None)
        if header is None:
            raise UserError(f"{path.name}: holds nothing for arm64")
        self.start = header.offset
        self.segments: list[Any] = []
        self.sections: list[Any] = []
        self.commands: dict[int, Any] = {}
        for command, detail, data in header.commands:
            if command.cmd == mach_o.LC_SEGMENT_64:
                self.segments.append(detail)
                self.sections += data
            else:
                self.commands[command.cmd] = detail
        self.top = max(segment.vmaddr + segment.vmsize for segment in self.segments)
        self.functions = list(self._functions())

    def unpack(self, form: str, offset: int) -> tuple[Any, ...]:
        return struct.unpack_from(form, self.data, self.start + offset)

    def text(self, offset: int) -> str:
        start = self.start + offset
        return self.data[start : self.data.index(b"\0", start)].decode("utf-8", "replace")

    def symbol(self, number: int) -> tuple[str, int, int]:
        """Name, type and value."""
        table = self.commands[mach_o.LC_SYMTAB]
        place, kind, _, _, value = self.unpack("<IBBHQ", table.symoff + 16 * number)
        return self.text(table.stroff + place), kind, value

    def address(self, name: str) -> int | None:
        for number in range(self.commands[mach_o.LC_SYMTAB].nsyms):
            found, kind, value = self.symbol(number)
            if found == name and kind & 0x0E:
                return value
        return None

    def indirect(self, number: int) -> int:
        """The number of the symbol behind a stub or pointer."""
        return int(self.unpack("<I", self.commands[mach_o.LC_DYSYMTAB].indirectsymoff + 4 * number)[0])

    def _functions(self) -> Iterator[int]:
        """Start addresses, which are kept as differences in numbers of seven bits a byte."""
        table = self.commands[mach_o.LC_FUNCTION_STARTS]
        address = value = shift = 0
        for byte in self.data[self.start + table.dataoff : self.start + table.dataoff + table.datasize]:
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                if not value:
                    return
                address += value
                yield address
                value = shift = 0

    def chained(self, at: Callable[[int], int]) -> Iterator[tuple[int, int, str | None]]:
        """Pointers to be set, as <mach-o/fixup-chains.h> keeps them: address, value, and the name of the symbol for one from elsewhere."""
        table = self.commands.get(_CHAINED_FIXUPS)
        if table is None:
            return
        _, starts, imports, symbols, *_ = self.unpack("<7I", table.dataoff)
        (count,) = self.unpack("<I", table.dataoff + starts)
        for segment in self.unpack(f"<{count}I", table.dataoff + starts + 4):
            if not segment:
                continue
            info = table.dataoff + starts + segment
            _, page_size, _, offset, _, pages = self.unpack("<IHHQIH", info)
            for page, first in enumerate(self.unpack(f"<{pages}H", info + 22)):
                address = offset + page * page_size + first
                while first != 0xFFFF:
                    value = at(address)
                    if value >> 63:
                        (entry,) = self.unpack("<I", table.dataoff + imports + 4 * (value & 0xFFFFFF))
                        yield address, 0, self.text(table.dataoff + symbols + (entry >> 9))
                    else:
                        yield address, value & 0xFFFFFFFFF, None
                    step = value >> 51 & 0xFFF
                    if not step:
                        break
                    address += 4 * step


@dataclass
class _Builder:
    operation: str
    device: str
    types: list[tuple[str, str]] = field(default_factory=list)


class _Machine:
    """A processor with the library in its memory. What the library calls elsewhere is answered in Python, with 0 where nothing is known."""

    def __init__(self, unicorn: Any, image: _Image, version_checks: set[int]) -> None:
        self._unicorn, self._image = unicorn, image
        self._uc = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
        self._names: dict[int, str] = {}
        self._builders: dict[int, _Builder] = {}
        self._free = HEAP
        self.kernels: list[Kernel] = []
        self.version_checks = set(version_checks)
        self._uc.mem_map(0, (image.top + 0xFFFF) & ~0xFFFF)
        for base in (STACK, HEAP, CALLS):
            self._uc.mem_map(base, SIZE)
        self._uc.mem_write(CALLS, RETURN * (SIZE // 4))
        for segment in image.segments:
            start = image.start + segment.fileoff
            self._uc.mem_write(segment.vmaddr, image.data[start : start + segment.filesize])
        self._link()
        for address in version_checks:
            self._hook(address, "version check")
        self._answers: dict[str, Callable[..., int | None]] = {
            "_TF_NewKernelBuilder": self._new_builder,
            "_TF_KernelBuilder_TypeConstraint": self._constrain,
            "_TF_RegisterKernelBuilder": self._register,
            "_dispatch_once_f": self._version_check,
            "version check": lambda: 1,
            "_NSClassFromString": lambda: 1,
            "_objc_msgSend": lambda: 1,  # a class is only asked whether it can do something
            "_TF_NewStatus": lambda: self._allocate(16),
            "__Znwm": self._allocate,
            "__Znam": self._allocate,
            "_malloc": self._allocate,
            "_memcpy": self._copy,
            "_memmove": self._copy,
            "_strlen": lambda address: len(self._c_string(address)),
            "_memset": self._fill,
            f"{_STRING}25__init_copy_ctor_externalEPKcm": lambda to, start, size: self._set_string(to, self._read(start, size)),
            f"{_STRING}6appendEPKcm": lambda to, start, size: self._set_string(to, self._string(to) + self._read(start, size)),
        }
        watched = sorted(self._names)
        for start in {address & ~0xFFF for address in watched}:  # watching every instruction would take a minute
            places = [address for address in watched if address & ~0xFFF == start]
            self._uc.hook_add(unicorn.UC_HOOK_CODE, self._step, begin=places[0], end=places[-1])

    def run(self) -> None:
        entry = self._image.address("_TF_InitKernel")
        if entry is None:
            raise UserError("the library has no TF_InitKernel, so it is no plug-in with kernels")
        const, end = self._unicorn.arm64_const, CALLS + SIZE - 16
        self._uc.reg_write(const.UC_ARM64_REG_SP, STACK + SIZE // 2)
        self._uc.reg_write(const.UC_ARM64_REG_LR, end)
        self._uc.emu_start(entry, end, count=LIMIT)
        if self._uc.reg_read(const.UC_ARM64_REG_PC) != end:
            raise UserError(f"its registration of kernels does not end within {LIMIT} instructions")

    def _link(self) -> None:
        image = self._image
        for address, value, name in list(image.chained(lambda place: int.from_bytes(self._read(place, 8), "little"))):
            self._uc.mem_write(address, struct.pack("<Q", value if name is None else self._call(name)))
        for section in image.sections:
            kind = section.flags & 0xFF
            if kind in _INDIRECT_POINTERS:
                for number in range(section.size // 8):
                    if (behind := image.indirect(section.reserved1 + number)) & 0xC0000000 == 0:
                        name, how, value = image.symbol(behind)
                        target = value if how & 0x0E else self._call(name)
                        self._uc.mem_write(section.addr + 8 * number, struct.pack("<Q", target))
            elif kind == _STUBS:
                for number in range(section.size // section.reserved2):
                    name = image.symbol(image.indirect(section.reserved1 + number))[0]
                    self._hook(section.addr + section.reserved2 * number, name)

    def _call(self, name: str) -> int:
        address = CALLS + 4 * len(self._names)
        self._names[address] = name
        return address

    def _hook(self, address: int, name: str) -> None:
        self._names[address] = name
        self._uc.mem_write(address, RETURN)

    def _step(self, uc: Any, address: int, size: int, data: Any) -> None:
        name = self._names.get(address)
        if name is None:
            return
        answer = self._answers.get(name)
        result = 0
        if answer is not None:
            count = answer.__code__.co_argcount - (1 if hasattr(answer, "__self__") else 0)
            result = answer(*(self._register_value(number) for number in range(count))) or 0
        uc.reg_write(self._unicorn.arm64_const.UC_ARM64_REG_X0, result)

    def _register_value(self, number: int) -> int:
        return int(self._uc.reg_read(self._unicorn.arm64_const.UC_ARM64_REG_X0 + number))

    # --- what the library calls ---------------------------------------------------------------------------------------------

    def _new_builder(self, operation: int, device: int) -> int:
        address = self._allocate(16)
        self._builders[address] = _Builder(self._c_string(operation).decode(), self._c_string(device).decode())
        return address

    def _constrain(self, builder: int, attribute: int, kind: int) -> None:
        self._builders[builder].types.append((self._c_string(attribute).decode(), TYPES[kind & 0xFFFFFFFF]))

    def _register(self, name: int, builder: int) -> None:
        made = self._builders[builder]
        self.kernels.append((made.operation, tuple(made.types)))

    def _version_check(self) -> None:
        """Only the compiler's check of the system's version is done once: what asks for that is such a check, and is answered yes."""
        caller = int(self._uc.reg_read(self._unicorn.arm64_const.UC_ARM64_REG_LR))
        self.version_checks.add(self._image.functions[bisect.bisect_right(self._image.functions, caller) - 1])

    def _allocate(self, size: int) -> int:
        address, self._free = self._free, (self._free + size + 31) & ~15
        return address

    def _copy(self, to: int, start: int, size: int) -> int:
        self._uc.mem_write(to, self._read(start, size))
        return to

    def _fill(self, to: int, value: int, size: int) -> int:
        self._uc.mem_write(to, bytes([value & 0xFF]) * size)
        return to

    def _set_string(self, to: int, text: bytes) -> int:
        """A std::string of libc++ in its long form."""
        place = self._allocate(len(text) + 1)
        self._uc.mem_write(place, text + b"\0")
        self._uc.mem_write(to, struct.pack("<QQQ", place, len(text), (len(text) + 16) | 1 << 63))
        return to

    def _string(self, address: int) -> bytes:
        raw = self._read(address, 24)
        place, size, _ = struct.unpack("<QQQ", raw)
        return self._read(place, size) if raw[23] & 0x80 else raw[: raw[23]]

    def _read(self, address: int, size: int) -> bytes:
        return bytes(self._uc.mem_read(address, size))

    def _c_string(self, address: int) -> bytes:
        found = b""
        while b"\0" not in found:
            found += self._read(address + len(found), 1)
        return found[:-1]


_STRING = "__ZNSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEE"
