"""The instructions of an object, decoded by iced-x86 where they are asked for."""

from __future__ import annotations

import os
import sys
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from funcgraph.native.elf import Block
from funcgraph.native.errors import MISSING, NEEDS_GIL, PlanError

if TYPE_CHECKING:
    from iced_x86 import ConstantOffsets, Instruction

__all__ = ["Code", "require_libraries"]

_LONGEST = 15  # bytes of an x86 instruction


def require_libraries() -> None:
    """Raise PlanError, with what a person can do, if a library is not there that plans are made with."""
    try:
        import iced_x86  # noqa: F401
        import pydemumble  # noqa: F401
    except ImportError:
        if os.uname().machine != "x86_64":
            raise PlanError("planning is for x86-64 machines") from None
        if not getattr(sys, "_is_gil_enabled", lambda: True)():
            raise PlanError(NEEDS_GIL) from None
        raise PlanError(MISSING) from None


class Code:
    """Blocks of machine code.

    Args:
        blocks: by address.
        starts: addresses at which instructions are known to begin, sorted.
    """

    def __init__(self, blocks: Sequence[Block], starts: Sequence[int]) -> None:
        from iced_x86 import Decoder, Instruction

        self.blocks = blocks
        self._begins = [block.address for block in blocks]
        self._starts = starts
        self._decoders = [Decoder(64, block.data, ip=block.address) for block in blocks]
        self._buffer = Instruction()
        self._boundaries: dict[int, list[int]] = {}  # start -> addresses of the instructions that follow

    def block_of(self, address: int) -> int:
        """Return the index of the block that has an address; -1: none has."""
        index = bisect_right(self._begins, address) - 1
        return index if index >= 0 and address < self.blocks[index].end else -1

    def bytes_at(self, address: int, size: int) -> bytes:
        """Return bytes, fewer at the end of a block, none outside of blocks."""
        index = self.block_of(address)
        if index < 0:
            return b""
        at = address - self._begins[index]
        return self.blocks[index].data[at : at + size]

    def decode(self, address: int) -> Instruction | None:
        """Return the instruction at an address; None: there is none."""
        index = self.block_of(address)
        if index < 0:
            return None
        decoder = self._decoders[index]
        decoder.position = address - self._begins[index]
        decoder.ip = address
        instruction = decoder.decode()
        return None if instruction.is_invalid else instruction

    def offsets(self, instruction: Instruction) -> ConstantOffsets:
        """Return where the displacement and the immediate of an instruction are."""
        return self._decoders[self.block_of(instruction.ip)].get_constant_offsets(instruction)

    def covering(self, address: int) -> Instruction | None:
        """Return the instruction that has the byte at `address`; None: not known.

        Instructions are decoded one after the other from the last known beginning before it.
        """
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        start = self._starts[index]
        if start not in self._boundaries:
            end = self._starts[index + 1] if index + 1 < len(self._starts) else start + _LONGEST
            self._boundaries[start] = self._decode_range(start, end)
        boundaries = self._boundaries[start]
        at = bisect_right(boundaries, address) - 1
        instruction = self.decode(boundaries[at]) if at >= 0 else None
        return instruction if instruction is not None and address < instruction.next_ip else None

    def _decode_range(self, start: int, end: int) -> list[int]:
        """Return the addresses of the instructions of a range, up to the first that is none."""
        index = self.block_of(start)
        if index < 0:
            return []
        decoder, instruction = self._decoders[index], self._buffer
        decoder.position = start - self._begins[index]
        decoder.ip = address = start
        end = min(end, self.blocks[index].end)
        found = []
        while address < end:
            decoder.decode_out(instruction)
            if instruction.is_invalid:
                break
            found.append(address)
            address += instruction.len
        return found
