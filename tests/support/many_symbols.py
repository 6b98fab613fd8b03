"""Traces of a few calls that name very many functions, as a hostile program's can."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from fgreader import CHUNK, DATA, FILE_HEADER, MAGIC, SYMBOLS, File
from ringfile import FUNC

_ZLIB = 2
_SYMBOL = struct.Struct("<IHHIIII")
_IN_A_CHUNK = 50_000


def with_symbols(whole: bytes, count: int) -> bytes:
    """Return a `.fg` in which the first ring also names so many functions, which have no calls."""
    chunks = File(whole).chunks
    parts = [FILE_HEADER, bytes(8)]
    is_first = True
    for chunk in chunks:
        if chunk.type == DATA and is_first:
            is_first = False
            parts += [
                _chunk(b"".join(_symbol(10 + n) for n in range(begin, min(begin + _IN_A_CHUNK, count))))
                for begin in range(0, count, _IN_A_CHUNK)
            ]
        parts.append(whole[chunk.offset : chunk.end])
    return b"".join(parts)


def write_with_symbols(path: Path, whole: bytes, count: int) -> Path:
    """Write it."""
    path.write_bytes(with_symbols(whole, count))
    return path


def _symbol(number: int) -> bytes:
    text = b"\0f%x\0\0\0" % number
    size = (_SYMBOL.size + len(text) + 7) // 8 * 8
    return _SYMBOL.pack(size, FUNC, 0, number, 1, 0, 4) + text.ljust(size - _SYMBOL.size, b"\0")


def _chunk(payload: bytes) -> bytes:
    stored = zlib.compress(payload)
    fields = (SYMBOLS, _ZLIB, 0, 0, len(stored), len(payload), zlib.crc32(stored))
    header = CHUNK.pack(MAGIC, *fields, 0, *[0] * 7)
    header = CHUNK.pack(MAGIC, *fields, zlib.crc32(header), *[0] * 7)
    return header + stored + bytes(-len(stored) % 8)
