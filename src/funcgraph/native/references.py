"""What may refer to code in an object: bytes that may be direct branches or load addresses, words of data.

All of these are candidates. A byte that looks like a branch may be in the middle of another instruction.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Container, Iterator

from funcgraph.native.elf import ET_EXEC, Block, Elf

__all__ = ["address_loads", "branches", "calls", "indirect_jumps", "initial_words", "resolvers"]

_CALL = 0xE8
# jcc, jmp, loop and jrcxz with 8 bits. A prefix before any of these changes nothing.
_SHORT = re.compile(rb"[\x70-\x7f\xe0-\xe3\xeb]")
# With 32 bits: call and jmp, jcc, xbegin. One expression for all of them would take three times as long.
_NEAR = tuple(map(re.compile, (rb"[\xe8\xe9]", rb"\x0f[\x80-\x8f]", rb"\xc7\xf8")))
_NEAR_CALL = re.compile(rb"\xe8")
# lea of an address that counts from the next instruction.
_LOAD = re.compile(rb"\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]")
_INDIRECT = re.compile(rb"\xff[\xe0-\xe7]")
_SIGNED = [byte - 256 if byte > 127 else byte for byte in range(256)]

_SHT_RELA, _SHT_RELR = 4, 19
_R_X86_64_RELATIVE, _R_X86_64_IRELATIVE = 8, 37
_WORD = 8


def branches(block: Block, targets: Container[int]) -> Iterator[tuple[int, int, bool]]:
    """Yield place, target and whether it is a call, of direct branches to one of `targets`.

    The place is that of the opcode's last byte.
    """
    data, base = block.data, block.address
    for match in _SHORT.finditer(data, 0, max(len(data) - 1, 0)):
        at = match.end()
        target = base + at + 1 + _SIGNED[data[at]]
        if target in targets:
            yield base + at - 1, target, False
    for pattern in _NEAR:
        for at, target in _near(pattern, block, targets):
            yield base + at - 1, target, data[at - 1] == _CALL


def calls(block: Block, targets: Container[int]) -> Iterator[int]:
    """Yield the targets of direct calls to one of `targets`."""
    return (target for _, target in _near(_NEAR_CALL, block, targets))


def address_loads(block: Block, targets: Container[int] | None = None) -> Iterator[tuple[int, int]]:
    """Yield the place in an instruction that loads a relative address, and that address.

    Args:
        targets: only those of these addresses are looked for; None: all.
    """
    base = block.address
    return ((base + at - 1, target) for at, target in _near(_LOAD, block, targets))


def indirect_jumps(block: Block) -> Iterator[int]:
    """Yield the places of jumps to an address in a register."""
    return (block.address + match.start() for match in _INDIRECT.finditer(block.data))


def _near(
    pattern: re.Pattern[bytes], block: Block, targets: Container[int] | None
) -> Iterator[tuple[int, int]]:
    """Yield the offset of each 32-bit displacement that follows a match, and the address that it leads to."""
    data, base = block.data, block.address + 4
    words = [memoryview(data[shift : len(data) - (len(data) - shift) % 4]).cast("i") for shift in range(4)]
    for match in pattern.finditer(data, 0, max(len(data) - 4, 0)):
        at = match.end()
        target = base + at + words[at & 3][at >> 2]
        if targets is None or target in targets:
            yield at, target


def initial_words(elf: Elf) -> Iterator[int]:
    """Yield the words of data that are addresses once an object is loaded.

    Those of a position-independent object are relocated. Each aligned word of another one may be an address.
    """
    for kind, addend in _relocations(elf):
        if kind == _R_X86_64_RELATIVE:
            yield addend
    for section in elf.sections_of(_SHT_RELR):
        for address in _relr_places(elf.data(section)):
            word = elf.loaded(address, _WORD)
            if len(word) == _WORD:
                yield int.from_bytes(word, "little")
    if elf.kind == ET_EXEC:
        for section in elf.sections:
            if section.is_loaded_data:
                data = elf.data(section)
                yield from memoryview(data[: len(data) // _WORD * _WORD]).cast("Q")


def resolvers(elf: Elf) -> set[int]:
    """Return the addresses of functions that choose a function while the object is loaded (ifuncs)."""
    return {addend for kind, addend in _relocations(elf) if kind == _R_X86_64_IRELATIVE}


def _relocations(elf: Elf) -> Iterator[tuple[int, int]]:
    """Yield kind and addend of the relocations with an addend."""
    for section in elf.sections_of(_SHT_RELA):
        data = elf.data(section)
        for _, info, addend in struct.iter_unpack("<QQQ", data[: len(data) // 24 * 24]):
            yield info & 0xFFFFFFFF, addend


def _relr_places(data: bytes) -> Iterator[int]:
    """Yield the places that a packed table of relative relocations names.

    An even entry is an address. An odd one is a bitmap of the 63 words that follow (the generic ABI of ELF).
    """
    place = 0
    for (entry,) in struct.iter_unpack("<Q", data[: len(data) // _WORD * _WORD]):
        if entry & 1 == 0:
            yield entry
            place = entry + _WORD
            continue
        bits = entry >> 1
        while bits:
            lowest = bits & -bits
            yield place + _WORD * (lowest.bit_length() - 1)
            bits ^= lowest
        place += 63 * _WORD
