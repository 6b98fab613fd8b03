"""An executable or library as it lies in a process's memory: its segments and the symbols that it exports.

No file is read: the file may be gone, replaced by an update, or out of sight in another mount namespace.
The process may have made up everything here: a table that cannot be right is refused, not followed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from funcgraph.attach.errors import AttachError
from funcgraph.attach.process import Mapping, Process

__all__ = ["Image", "Segment", "images"]

_PT_LOAD, _PT_DYNAMIC, _PT_GNU_EH_FRAME = 1, 2, 0x6474E550
_DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_GNU_HASH = 4, 5, 6, 0x6FFFFEF5
_PF_X = 1
_EM_X86_64 = 62
_SYMBOL = struct.Struct("<IBBHQQ")
_MAX_NAME = 200
_FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
_MAX_SYMBOLS = 1 << 20
#: Symbols whose hashes share a bucket: linkers make a few.
_MAX_CHAIN = 1 << 12
_MAX_HEADERS = 64
_ADDRESS_END = 1 << 63
_MAX_IMAGES = 4096


class Segment(NamedTuple):
    """A part of the file that is loaded: [low, high) in memory."""

    low: int
    high: int
    is_code: bool


class Image:
    """An ELF image.

    Args:
        process: where it is.
        path: of its file, as the process's mappings name it.
        base: the address of its first byte.
    """

    def __init__(self, process: Process, path: str, base: int) -> None:
        self.process = process
        self.path = path
        self.base = base
        header = process.read(base, 64)
        if header[:6] != b"\x7fELF\x02\x01":
            raise AttachError(process.pid, f"{path} is not a 64-bit ELF file")
        self.machine: int = struct.unpack_from("<H", header, 18)[0]
        at, size, count = struct.unpack_from("<Q14xHH", header, 32)
        if size != 56 or count > _MAX_HEADERS:
            raise AttachError(process.pid, f"{path} has damaged program headers")
        table = process.read(base + at, size * count)
        self._headers = list(struct.iter_unpack("<IIQQQQQQ", table))
        loads = [header for header in self._headers if header[0] == _PT_LOAD]
        if not loads:
            raise AttachError(process.pid, f"{path} has no loaded segment")
        self.bias = base - (loads[0][3] - loads[0][2])
        self.segments = [
            Segment(self.bias + vaddr, self.bias + vaddr + memory, bool(flags & _PF_X))
            for _, flags, _, vaddr, _, _, memory, _ in loads
        ]
        index = self.unwind_index
        ranges = [(segment.low, segment.high) for segment in self.segments] + [(index[0], sum(index))]
        if not all(0 <= low <= high < _ADDRESS_END for low, high in ranges):
            raise AttachError(process.pid, f"{path} has segments outside of memory")

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    @property
    def is_x86_64(self) -> bool:
        """Whether its code is for x86-64."""
        return self.machine == _EM_X86_64

    @property
    def unwind_index(self) -> tuple[int, int]:
        """Address and size of .eh_frame_hdr, which finds a function's call frame information; 0: none."""
        header = self._header(_PT_GNU_EH_FRAME)
        return (self.bias + header[3], header[6]) if header else (0, 0)

    def _header(self, kind: int) -> tuple[int, ...] | None:
        return next((header for header in self._headers if header[0] == kind), None)

    @cached_property
    def _dynamic(self) -> dict[int, int]:
        header = self._header(_PT_DYNAMIC)
        if header is None:
            return {}
        data = self.process.read(self.bias + header[3], min(header[6], 1 << 16) & ~15)
        return dict(reversed(list(struct.iter_unpack("<QQ", data))))

    def _table(self, tag: int) -> int:
        """Return the address of a table. glibc's loader has relocated it in memory, musl's has not."""
        value = self._dynamic.get(tag, 0)
        return value + self.bias if 0 < value < self.base else value

    def symbol(self, name: str) -> tuple[int, int] | None:
        """Return address and size of a symbol that it defines and exports; None: it has no such."""
        for index in self._chain(name.encode()):
            entry = self.process.read(self._table(_DT_SYMTAB) + index * _SYMBOL.size, _SYMBOL.size)
            at, _, _, section, value, size = _SYMBOL.unpack(entry)
            address = self.bias + value
            if section and 0 <= address <= address + size < _ADDRESS_END and self._is_name(at, name.encode()):
                return address, size
        return None

    def address(self, *names: str) -> int:
        """Return the address of the first of these symbols that it has; 0: it has none of them."""
        found = (self.symbol(name) for name in names)
        return next((symbol[0] for symbol in found if symbol is not None), 0)

    def symbol_at(self, address: int) -> str:
        """Return the name of the function that it exports whose code is at `address`; "": none."""
        table = self.process.read(self._table(_DT_SYMTAB), self._count() * _SYMBOL.size)
        for at, info, _, section, value, size in _SYMBOL.iter_unpack(table):
            if section and info & 15 in _FUNCTIONS and value <= address - self.bias < value + size:
                return self._name(at)
        return ""

    def _name(self, at: int) -> str:
        name = b""
        while b"\0" not in name and len(name) < _MAX_NAME:
            name += self.process.read(self._table(_DT_STRTAB) + at + len(name), 1)
        return name.rstrip(b"\0").decode(errors="replace")

    def _count(self) -> int:
        """Return how many symbols it has: a table of hashes ends with the last of them."""
        if not self._table(_DT_GNU_HASH):
            return min(self._word(self._table(_DT_HASH) + 4), _MAX_SYMBOLS) if self._table(_DT_HASH) else 0
        table = self._table(_DT_GNU_HASH)
        buckets, first, words, _ = struct.unpack("<IIII", self.process.read(table, 16))
        if buckets > _MAX_SYMBOLS:
            return 0
        bucket_table = table + 16 + words * 8
        starts = struct.unpack(f"<{buckets}I", self.process.read(bucket_table, 4 * buckets))
        last = max(starts, default=0)
        if last < first:
            return 0
        while last < _MAX_SYMBOLS and not self._word(bucket_table + 4 * (buckets + last - first)) & 1:
            last += 1
        return last + 1

    def _is_name(self, at: int, name: bytes) -> bool:
        return self.process.read(self._table(_DT_STRTAB) + at, len(name) + 1) == name + b"\0"

    def _chain(self, name: bytes) -> Iterator[int]:
        """Yield the indices of the symbols that may have this name."""
        if self._table(_DT_GNU_HASH):
            yield from self._gnu_chain(name)
        elif self._table(_DT_HASH):
            yield from self._sysv_chain(name)

    def _word(self, address: int) -> int:
        return int.from_bytes(self.process.read(address, 4), "little")

    def _gnu_chain(self, name: bytes) -> Iterator[int]:
        """The layout: nbuckets, first symbol, words and shift of a Bloom filter; that, buckets, chains."""
        table = self._table(_DT_GNU_HASH)
        buckets, first, words, _ = struct.unpack("<IIII", self.process.read(table, 16))
        if not buckets:
            return
        hash_value = _gnu_hash(name)
        bucket_table = table + 16 + words * 8
        start = self._word(bucket_table + 4 * (hash_value % buckets))
        for index in range(start, start + _MAX_CHAIN if start >= first else start):
            found = self._word(bucket_table + 4 * (buckets + index - first))
            if found | 1 == hash_value | 1:
                yield index
            if found & 1:
                return

    def _sysv_chain(self, name: bytes) -> Iterator[int]:
        table = self._table(_DT_HASH)
        buckets, chains = struct.unpack("<II", self.process.read(table, 8))
        index = self._word(table + 8 + 4 * (_sysv_hash(name) % buckets)) if buckets else 0
        for _ in range(min(chains, _MAX_CHAIN)):
            if not 0 < index < chains:
                return
            yield index
            index = self._word(table + 8 + 4 * (buckets + index))


def _gnu_hash(name: bytes) -> int:
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def _sysv_hash(name: bytes) -> int:
    value = 0
    for byte in name:
        value = ((value << 4) + byte) & 0xFFFFFFFF
        value = (value ^ ((value >> 24) & 0xF0)) & 0x0FFFFFFF
    return value


def images(process: Process, mappings: Sequence[Mapping]) -> Iterator[Image]:
    """Yield what is loaded from files with executable code, as far as it is ELF."""
    firsts: dict[str, Mapping] = {}
    for mapping in mappings:
        if mapping.path.startswith("/") and mapping.offset == 0:
            firsts.setdefault(mapping.path, mapping)
    code = {mapping.path for mapping in mappings if "x" in mapping.rights}
    found = 0
    for path, mapping in firsts.items():
        if path in code:
            process.check_time()
            try:
                image = Image(process, path, mapping.low)
            except AttachError:
                continue
            found += 1
            if found > _MAX_IMAGES:
                raise AttachError(process.pid, f"it has more than {_MAX_IMAGES} libraries")
            yield image
