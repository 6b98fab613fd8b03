"""Symbols of an object's code: its own, those in its compressed .gnu_debugdata, those of its debug file."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice

from funcgraph import _system
from funcgraph.native.elf import Elf, Section
from funcgraph.native.errors import PlanError

__all__ = ["DEBUG_FOLDER", "Symbol", "debug_file_of", "symbol_address", "symbols"]

#: Where distributions put the symbols that they strip from objects, as gdb looks for them.
DEBUG_FOLDER = "/usr/lib/debug/.build-id"
_SHT_SYMTAB, _SHT_DYNSYM = 2, 11
_STT_NOTYPE, _STT_OBJECT, _STT_FUNC, _STT_GNU_IFUNC = 0, 1, 2, 10
_STB_LOCAL = 0
#: The symbols of .gnu_debugdata (MiniDebuginfo) are small: more is an attack on our memory.
_MOST_DEBUGDATA = 1 << 28


@dataclass(slots=True)
class Symbol:
    """All symbols of one address.

    Attributes:
        address: where.
        size: the largest of their sizes; 0: none has one.
        names: of those that are functions.
        is_resolver: whether one is an ifunc: its code chooses the function, and is not it.
    """

    address: int
    size: int = 0
    names: set[str] = field(default_factory=set)
    is_resolver: bool = False

    def add(self, name: str, size: int, is_resolver: bool) -> None:
        """Add a symbol that is a function."""
        if name:
            self.names.add(name)
            self.size = max(self.size, size)
            self.is_resolver |= is_resolver


def symbols(elf: Elf) -> dict[int, Symbol]:
    """Return what the tables of an object say of its code, by address; local labels are left out."""
    found: dict[int, Symbol] = {}
    for kind in (_SHT_SYMTAB, _SHT_DYNSYM):
        _collect(found, elf, kind, _code_indices(elf))
    if not any(elf.sections_of(_SHT_SYMTAB)):
        for source in (_debug_file, _debugdata):
            with source(elf) as other:
                if other is not None:
                    with suppress(PlanError):
                        _collect(found, other, _SHT_SYMTAB, _code_indices(other))
    return found


def _code_indices(elf: Elf) -> set[int]:
    return {index for index, section in enumerate(elf.sections) if section.has_instructions}


def _collect(found: dict[int, Symbol], elf: Elf, kind: int, indices: set[int]) -> None:
    """Add the symbols of a table that are in one of the sections of these numbers."""
    for section in islice(elf.sections_of(kind), 1):
        names = _strings(elf, section)
        data = elf.data(section)
        for at, info, _, index, address, size in struct.iter_unpack("<IBBHQQ", data[: len(data) // 24 * 24]):
            if index not in indices:
                continue
            symbol_kind = info & 15
            if symbol_kind in (_STT_FUNC, _STT_GNU_IFUNC):
                _symbol(found, address).add(_name(names, at), size, symbol_kind == _STT_GNU_IFUNC)
            elif symbol_kind == _STT_NOTYPE and info >> 4 != _STB_LOCAL:
                _symbol(found, address)  # a label; of local ones only branches of this object know


def _symbol(found: dict[int, Symbol], address: int) -> Symbol:
    symbol = found.get(address)
    if symbol is None:
        symbol = found[address] = Symbol(address)
    return symbol


def _strings(elf: Elf, section: Section) -> bytes:
    if section.link >= len(elf.sections):
        raise PlanError("has damaged section headers")
    return elf.data(elf.sections[section.link])


def _name(names: bytes, at: int) -> str:
    """Return a symbol's name. Tables of symbols have those with versions as memcpy@@GLIBC_2.14."""
    name = names[at : max(names.find(b"\0", at), at)].decode("utf-8", "replace")
    return name.partition("@")[0] if "@" in name[1:] else name


def symbol_address(elf: Elf, name: str) -> int | None:
    """Return the address, within the object, of its variable or function of a name; None: it has none."""
    for kind in (_SHT_SYMTAB, _SHT_DYNSYM):
        for section in islice(elf.sections_of(kind), 1):
            names, data = _strings(elf, section), elf.data(section)
            for at, info, _, index, address, _ in struct.iter_unpack("<IBBHQQ", data[: len(data) // 24 * 24]):
                is_place = index and info & 15 in (_STT_NOTYPE, _STT_OBJECT, _STT_FUNC)
                if is_place and _name(names, at) == name:
                    return int(address)
    return None


def debug_file_of(elf: Elf) -> str:
    """Return the path that the debug file of an object has, if there is one; "": it can have none."""
    identity = elf.build_id.hex()
    return f"{DEBUG_FOLDER}/{identity[:2]}/{identity[2:]}.debug" if len(identity) > 2 else ""


@contextmanager
def _debug_file(elf: Elf) -> Iterator[Elf | None]:
    """Open the debug file of an object's build id; None: there is none that is root's or ours."""
    try:
        fd = os.open(debug_file_of(elf), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        yield None
        return
    try:
        other = None
        if stat.S_ISREG(os.fstat(fd).st_mode):
            with suppress(PlanError):
                other = Elf(fd)
                other = other if other.build_id == elf.build_id else None
        yield other
    finally:
        os.close(fd)


@contextmanager
def _debugdata(elf: Elf) -> Iterator[Elf | None]:
    """Open the ELF file that .gnu_debugdata has, compressed; None: there is none, or it is damaged."""
    section = elf.section(".gnu_debugdata")
    if section is None:
        yield None
        return
    try:
        data = _decompress(elf.data(section))
    except PlanError:
        yield None
        return
    fd = _system.memfd_create("debugdata")
    with open(fd, "w+b") as file:
        file.write(data)
        file.flush()
        try:
            other = Elf(file.fileno())
        except PlanError:
            yield None
            return
        yield other


def _decompress(data: bytes) -> bytes:
    try:
        import lzma
    except ImportError:  # some CPythons are built without it
        raise PlanError("has compressed symbols, and this Python has no lzma") from None
    try:
        return lzma.LZMADecompressor(memlimit=_MOST_DEBUGDATA).decompress(data, _MOST_DEBUGDATA)
    except (lzma.LZMAError, EOFError):
        raise PlanError("has damaged symbols in .gnu_debugdata") from None
