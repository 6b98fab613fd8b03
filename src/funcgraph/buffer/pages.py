"""Pages of the kernel's ring buffer: what per_cpu/cpuN/trace_pipe_raw gives.

They are those of a trace.dat (src/tracedata/make/pages.h), as events/header_page describes them. There events
and functions have numbers within the file. Here they have those of the process: events/GROUP/EVENT/id, and
available_filter_functions_addrs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from struct import pack_into, unpack_from

from funcgraph.buffer.dat_parts import Format, Parts, parts_of
from funcgraph.buffer.event_ids import FIRST as FIRST_ID
from funcgraph.definitions.addresses import FIRST, SYMBOLS

__all__ = ["PAGE_BYTES", "bytes_used", "of_lane"]

PAGE_BYTES = 4096
_HEADER_BYTES = 16
_COMMITTED = (1 << 20) - 1  # of the word that has flags, too
_PADDING, _TIME_EXTEND, _TIME_STAMP = 29, 30, 31
_UNKNOWN_EVENT = 65535
_ENTRY, _STACK = 11, 4  # funcgraph_entry, kernel_stack: addresses in the rest of the record
_HAS_START, _HAS_CALLER = 0x80, 0x40


def of_lane(trace: bytes, lane: int, ids: Mapping[tuple[str, str], int]) -> bytes:
    """Return the pages of a lane of a trace; b"": it has no records.

    Args:
        trace: the bytes of a .fg.
        ids: group and name of an event -> its number in this process.
    """
    parts = parts_of(trace)
    if lane >= len(parts.lanes):
        return b""
    pages = bytearray(parts.lanes[lane])
    _Renumbered(parts, ids).renumber(pages)
    return bytes(pages)


def bytes_used(pages: bytes) -> int:
    """Return how many bytes of pages have records."""
    heads = range(8, len(pages), PAGE_BYTES)
    return sum(unpack_from("<Q", pages, at)[0] & _COMMITTED for at in heads)


class _Renumbered:
    """Replaces numbers of a file in its pages."""

    def __init__(self, parts: Parts, ids: Mapping[tuple[str, str], int]) -> None:
        self._ids = {one.id: _id_of(one, ids) for one in parts.formats}
        self._fields = {one.id: one.addresses for one in parts.formats}
        self._addresses = {
            address: SYMBOLS.address(name) for address, name in parts.names.items() if address >= FIRST
        }

    def renumber(self, pages: bytearray) -> None:
        for begin in range(0, len(pages), PAGE_BYTES):
            for at, size in _records(pages, begin):
                self._renumber_record(pages, at, size)

    def _renumber_record(self, pages: bytearray, at: int, size: int) -> None:
        (event,) = unpack_from("<H", pages, at)
        for offset, bytes_ in self._fields.get(event, ()):
            self._renumber_address(pages, at + offset, bytes_)
        if event == _ENTRY:
            kind, tail = pages[at + 16], at + 17
            if kind & _HAS_CALLER:
                self._renumber_address(pages, tail + (8 if kind & _HAS_START else 0), 4)
        elif event == _STACK:
            for caller in range(at + 16, at + size - 7, 8):
                self._renumber_address(pages, caller, 8)
        pack_into("<H", pages, at, self._ids.get(event, _UNKNOWN_EVENT))

    def _renumber_address(self, pages: bytearray, at: int, size: int) -> None:
        letter = "<I" if size == 4 else "<Q"
        (address,) = unpack_from(letter, pages, at)
        pack_into(letter, pages, at, self._addresses.get(address, address))


def _id_of(event: Format, ids: Mapping[tuple[str, str], int]) -> int:
    """Return an event's number in this process: ftrace's own have the same everywhere."""
    if event.id < FIRST_ID or event.id == _UNKNOWN_EVENT:
        return event.id
    return ids.get((event.group, event.name), _UNKNOWN_EVENT)


def _records(pages: bytearray, begin: int) -> Iterator[tuple[int, int]]:
    """Yield where each record of a page lies, without its head, and its size."""
    at = begin + _HEADER_BYTES
    end = at + (unpack_from("<Q", pages, begin + 8)[0] & _COMMITTED)
    while at < end:
        head, length = unpack_from("<II", pages, at) if at + 8 <= end else (*unpack_from("<I", pages, at), 0)
        kind = head & 31
        if kind == 0:
            yield at + 8, length - 4
            at += 4 + length
        elif kind < _PADDING:
            yield at + 4, kind * 4
            at += 4 + kind * 4
        elif kind in (_TIME_EXTEND, _TIME_STAMP):
            at += 8
        else:
            return
