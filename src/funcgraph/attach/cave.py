"""Executable memory that nobody executes: the rest of the last page of a library's code.

The file's bytes there are filler of one value. A stub is put over it, and afterwards the filler comes back. A
stub that a killed attacher has left there is known by its magic word.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from funcgraph import _inject
from funcgraph.attach.errors import AttachError
from funcgraph.attach.target import Target

__all__ = ["Cave", "find_cave"]

_PAGE = os.sysconf("SC_PAGESIZE")
_ALIGN = 16


class Cave(NamedTuple):
    """A place for a stub: [low, high).

    Args:
        left: the stub that a killed attacher left there; b"": none.
        filler: the byte that is there otherwise.
    """

    low: int
    high: int
    left: bytes
    filler: int

    @property
    def spawn(self) -> int:
        """The address of the function that a stub there queues."""
        return self.low + _inject.SPAWN_OFFSET

    def now(self, target: Target) -> bytes:
        """Return what is there."""
        return target.process.read(self.low, self.high - self.low)


def find_cave(target: Target, size: int) -> Cave:
    """Return a place for a stub of `size` bytes.

    Raises:
        AttachError: no library leaves so much room.
    """
    for image in sorted(target.images, key=lambda image: image is not target.image):
        for segment in image.segments:
            low, high = -(-segment.high // _ALIGN) * _ALIGN, -(-segment.high // _PAGE) * _PAGE
            if segment.is_code and high - low >= size and _is_code(target, low, high):
                cave = _look(target, low, high)
                if cave is not None:
                    return cave
    raise AttachError(target.pid, f"no library in it has {size} unused bytes after its code")


def _is_code(target: Target, low: int, high: int) -> bool:
    return any(m.low <= low and high <= m.high and m.rights[2] == "x" for m in target.mappings)


def _look(target: Target, low: int, high: int) -> Cave | None:
    """Return the cave if nothing is there, or a stub of ours; None: others use it."""
    content = target.process.read(low, high - low)
    at = _inject.MAGIC_OFFSET
    is_ours = content[at : at + 8] == _inject.MAGIC.to_bytes(8, "little")
    end = content.find(b"\0", _inject.TEXT_OFFSET) + 1 if is_ours else 0
    filler = content[-1]
    if content[end:].strip(bytes([filler])):
        return None
    return Cave(low, high, content[:end], filler)
