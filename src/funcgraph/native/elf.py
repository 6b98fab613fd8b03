"""ELF files: sections, segments and notes of an object, read piece by piece.

The file may be another user's and change while it is read: it is read with pread(), never mapped, and every
number in it is held against the size of the file.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from funcgraph.native.errors import PlanError

__all__ = ["EM_X86_64", "ET_EXEC", "Block", "Elf", "Section"]

EM_X86_64 = 62
ET_EXEC, _ET_DYN = 2, 3
_PT_LOAD, _PT_NOTE = 1, 4
_PF_X = 1
_SHF_ALLOC, _SHF_EXECINSTR, _SHF_COMPRESSED = 2, 4, 0x800
_SHT_NOBITS = 8
_DT_NEEDED, _DT_SONAME = 1, 14
_NT_GNU_BUILD_ID = 3
_HEADER_BYTES = 64
_MOST_SEGMENTS = 256
#: How often each byte of a file may be read. Hostile headers name all of it in each of thousands of sections.
_MOST_READS = 8
#: Of one segment of code: some programs have 200 MB.
_MOST_CODE = 1 << 30
_MOST_NOTE_BYTES = 1 << 16
_MOST_BUILD_ID = 32
_ADDRESS_END = 1 << 63


@dataclass(frozen=True, slots=True)
class Section:
    """A section: the fields of its header."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int

    @property
    def has_instructions(self) -> bool:
        """Whether what is loaded for it is instructions. In a debug file it has no bytes."""
        both = _SHF_ALLOC | _SHF_EXECINSTR
        return self.flags & both == both

    @property
    def is_code(self) -> bool:
        """Whether its bytes are loaded as instructions."""
        return self.has_instructions and self.kind != _SHT_NOBITS

    @property
    def is_loaded_data(self) -> bool:
        """Whether its bytes are loaded, and not as instructions."""
        return self.flags & (_SHF_ALLOC | _SHF_EXECINSTR) == _SHF_ALLOC and self.kind != _SHT_NOBITS


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes that are loaded at an address."""

    address: int
    data: bytes

    @property
    def end(self) -> int:
        return self.address + len(self.data)


class Elf:
    """An object, by a descriptor of its file, which stays the caller's.

    Args:
        fd: the descriptor, of a regular file.

    Attributes:
        kind: ET_EXEC or ET_DYN.
        machine: its processor, e_machine.

    Raises:
        PlanError: it is no 64-bit little-endian ELF executable or library, or its headers are damaged.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.size = os.fstat(fd).st_size
        self._budget = _MOST_READS * self.size + _HEADER_BYTES
        header = self._pread(0, _HEADER_BYTES)
        if header[:4] != b"\x7fELF":
            raise PlanError("is not an ELF file")
        if header[4:6] != b"\2\1" or len(header) < _HEADER_BYTES:
            raise PlanError("is not a 64-bit little-endian ELF file")
        self.kind, self.machine = struct.unpack_from("<HH", header, 16)
        if self.kind not in (ET_EXEC, _ET_DYN):
            raise PlanError("is neither an executable nor a shared library")
        self._at_segments, self._at_sections = struct.unpack_from("<QQ", header, 32)
        sizes = struct.unpack_from("<HHHHH", header, 54)
        self._segment_bytes, self._segments, self._section_bytes, self._sections, self._names = sizes

    def _pread(self, at: int, size: int) -> bytes:
        self._budget -= size
        if self._budget < 0:
            raise PlanError("is damaged: its headers name the same bytes many times")
        pieces, end = [], at + size
        while at < end and (piece := os.pread(self._fd, end - at, at)):
            pieces.append(piece)
            at += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def bytes_at(self, offset: int, size: int) -> bytes:
        """Return a part of the file.

        Raises:
            PlanError: it is not all inside of the file.
        """
        if offset < 0 or size < 0 or offset + size > self.size:
            raise PlanError("is damaged: a header points outside of the file")
        data = self._pread(offset, size)
        if len(data) != size:
            raise PlanError("became shorter while it was read")
        return data

    @cached_property
    def segments(self) -> list[tuple[int, ...]]:
        """The program headers: type, flags, offset, address, physical address, bytes in file and memory,
        alignment."""
        if self._segment_bytes != 56 or self._segments > _MOST_SEGMENTS:
            raise PlanError("has damaged program headers")
        table = self.bytes_at(self._at_segments, 56 * self._segments)
        return list(struct.iter_unpack("<IIQQQQQQ", table))

    @cached_property
    def sections(self) -> list[Section]:
        """Its sections, in the order of their headers."""
        if not self._at_sections or not self._sections:
            raise PlanError("has no section headers")
        if self._section_bytes != 64 or self._names >= self._sections:
            raise PlanError("has damaged section headers")
        table = list(struct.iter_unpack("<IIQQQQIIQQ", self.bytes_at(self._at_sections, 64 * self._sections)))
        names = self.bytes_at(*table[self._names][4:6])
        sections = [Section(_string(names, row[0]), *row[1:7]) for row in table]
        if any(section.address + section.size >= _ADDRESS_END for section in sections):
            raise PlanError("has damaged section headers")
        return sections

    def section(self, name: str) -> Section | None:
        """Return the first section of a name that has bytes in the file; None: it has no such."""
        of_name = (section for section in self.sections if section.name == name)
        return next((section for section in of_name if section.kind != _SHT_NOBITS), None)

    def sections_of(self, kind: int) -> Iterator[Section]:
        """Yield the sections of a type (SHT_...)."""
        return (section for section in self.sections if section.kind == kind)

    def data(self, section: Section) -> bytes:
        """Return a section's bytes.

        Raises:
            PlanError: they are not all in the file, or compressed.
        """
        if section.flags & _SHF_COMPRESSED:
            raise PlanError(f"has a compressed section {section.name}")
        return self.bytes_at(section.offset, section.size)

    def loaded(self, address: int, size: int) -> bytes:
        """Return bytes of data by their address, fewer at the end of a section, none outside of sections."""
        for begin, data in self._data:
            if begin <= address < begin + len(data):
                return data[address - begin : address - begin + size]
        return b""

    @cached_property
    def _data(self) -> list[tuple[int, bytes]]:
        sections = [section for section in self.sections if section.is_loaded_data and section.size]
        return [(section.address, self.data(section)) for section in sections]

    @cached_property
    def code(self) -> list[Block]:
        """The bytes of its executable segments, by address."""
        loads = [row for row in self.segments if row[0] == _PT_LOAD and row[1] & _PF_X and row[5]]
        if any(row[5] > _MOST_CODE for row in loads):
            raise PlanError(f"has a segment of more than {_MOST_CODE >> 20} MiB of code")
        blocks = [
            Block(row[3], self.bytes_at(row[2], row[5])) for row in sorted(loads, key=lambda row: row[3])
        ]
        overlap = any(first.end > second.address for first, second in pairwise(blocks))
        if overlap or any(block.end >= _ADDRESS_END for block in blocks):
            raise PlanError("has damaged program headers")
        return blocks

    @cached_property
    def build_id(self) -> bytes:
        """Its build id; b"": it has none, or none that plans have room for."""
        for row in self.segments:
            if row[0] == _PT_NOTE and row[5] <= _MOST_NOTE_BYTES:
                found = _build_id(self.bytes_at(row[2], row[5]), row[7])
                if 0 < len(found) <= _MOST_BUILD_ID:
                    return found
        # In a debug file only the section is sure to have its bytes.
        section = self.section(".note.gnu.build-id")
        found = _build_id(self.data(section), 4) if section and section.size <= _MOST_NOTE_BYTES else b""
        return found if len(found) <= _MOST_BUILD_ID else b""

    @cached_property
    def _dynamic(self) -> list[tuple[int, int]]:
        section = self.section(".dynamic")
        data = self.data(section) if section else b""
        return list(struct.iter_unpack("<QQ", data[: len(data) // 16 * 16]))

    @property
    def needs_others(self) -> bool:
        """Whether other libraries are loaded with it."""
        return any(tag == _DT_NEEDED for tag, _ in self._dynamic)

    @property
    def soname(self) -> str:
        """The name under which others need it; "": it has none."""
        names = self.section(".dynstr")
        at = next((value for tag, value in self._dynamic if tag == _DT_SONAME), None)
        return "" if names is None or at is None else _string(self.data(names), at)


def _string(table: bytes, at: int) -> str:
    end = table.find(b"\0", at)
    return table[at : end if end >= 0 else len(table)].decode("utf-8", "replace")


def _build_id(notes: bytes, align: int) -> bytes:
    """Return the build id among the notes of a segment; b"": there is none."""
    step = 8 if align == 8 else 4
    at = 0
    while at + 12 <= len(notes):
        name_bytes, value_bytes, kind = struct.unpack_from("<III", notes, at)
        value_at = at + 12 + -(-name_bytes // 4) * 4
        if step == 8:
            value_at = -(-value_at // 8) * 8
        if kind == _NT_GNU_BUILD_ID and notes[at + 12 : at + 12 + name_bytes] == b"GNU\0":
            return notes[value_at : value_at + value_bytes]
        at = -(-(value_at + value_bytes) // step) * step
    return b""
