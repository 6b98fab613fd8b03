"""Pages of the kernel's ring buffer: what per_cpu/cpuN/trace_pipe_raw gives.

They are those of a trace.dat (src/tracedata/make/pages.h), as events/header_page describes them.
"""

from __future__ import annotations

from struct import iter_unpack, unpack_from

from funcgraph import _tracedata
from funcgraph.session.memory_file import contents, memory_file

__all__ = ["PAGE_BYTES", "bytes_used", "of_lane"]

PAGE_BYTES = 4096
_TABLE = (
    b"flyrecord\0"  # the lanes' offsets and sizes follow; nothing before it in the file has a NUL after it
)
_COMMITTED = (1 << 20) - 1  # of the word that has flags, too


def of_lane(trace: bytes, lane: int) -> bytes:
    """Return the pages of a lane of a trace; b"": it has no records.

    Args:
        trace: the bytes of a .fg.
    """
    with memory_file(trace) as source, memory_file() as converted:
        _tracedata.convert(source, converted, version=6)
        data = contents(converted)
        reader = _tracedata.Reader(converted)
    if lane >= reader.nr_cpus:
        return b""
    at = data.index(_TABLE)
    if reader.nr_lanes > reader.nr_cpus:  # the instance's table follows that of the recording's own buffer
        at = data.index(_TABLE, at + 1)
    offset, size = unpack_from("<QQ", data, at + len(_TABLE) + 16 * lane)
    return data[offset : offset + size]


def bytes_used(pages: bytes) -> int:
    """Return how many bytes of pages have records."""
    heads = (pages[at : at + 16] for at in range(0, len(pages), PAGE_BYTES))
    return sum(word & _COMMITTED for head in heads for _, word in iter_unpack("<QQ", head))
