"""A small writer of ring-buffer files for the tests of the recorder, independent of the writer in C.

It follows ring_layout.h and record.h, and uses nothing else of funcgraph. Times are ticks of the ring's
clock: nanoseconds, unless the ring's header says otherwise.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from funcgraph._tracedata import Recorder

ENTRY, RESUME, RETURN, RAISE, SUSPEND, CLOSE, FUNCTION, WAIT, LOST, OVERRUN = range(10)
EVENT = 14
FUNC, SEEN, TASK, PROCESS, _CALLER, EVENT_TYPE = range(1, 7)
MONOTONIC, TSC = range(2)
FREE, OWNED, FULL, CLAIMED = range(4)

HEADER_BYTES = 4096
SUBBUF_HEADER_BYTES = 64
SYMBOL_AREA_BYTES = 1 << 20


def record(
    kind: int,
    time: int,
    func: int = 0,
    depth: int = 0,
    *payload: int,
    start: int | None = None,
    values: bytes = b"",
) -> bytes:
    """Encode one record; `payload` holds the fixed words of its kind."""
    words = list(payload) + ([] if start is None else [start])
    body = struct.pack(f"<{len(words)}Q", *words) + values + bytes(-len(values) % 8)
    info = kind | (start is not None) << 4 | bool(values) << 5 | (2 + len(body) // 8) << 7 | depth << 14
    return struct.pack("<QII", time, func, info) + body


def enter(time: int, func: int, depth: int = 0, *, start: int | None = None, values: bytes = b"") -> bytes:
    return record(ENTRY if start is None else RESUME, time, func, depth, start=start, values=values)


def leave(
    time: int,
    func: int,
    depth: int,
    calltime: int,
    *,
    kind: int = RETURN,
    start: int | None = None,
    values: bytes = b"",
) -> bytes:
    return record(kind, time, func, depth, calltime, start=start, values=values)


def leaf(time: int, func: int, depth: int, duration: int) -> bytes:
    """Encode the two records of a call without callees."""
    return enter(time, func, depth) + leave(time + duration, func, depth, time)


def event(
    time: int, number: int, fields: bytes, func: int = 0, depth: int = 0, *, caller: int = 0, line: int = 0
) -> bytes:
    """Encode an event: `fields` is its image from its fields on."""
    padded = fields + bytes(-len(fields) % 8)
    words = struct.unpack(f"<{len(padded) // 8}Q", padded)
    return record(EVENT, time, func, depth, number | len(fields) << 32, caller | line << 32, *words)


class Header(ctypes.LittleEndianStructure):
    _fields_ = (
        ("magic", ctypes.c_char * 8),
        ("header_bytes", ctypes.c_uint32),
        ("pid", ctypes.c_uint32),
        ("file_bytes", ctypes.c_uint64),
        ("queue_offset", ctypes.c_uint64),
        ("symbols_offset", ctypes.c_uint64),
        ("symbols_capacity", ctypes.c_uint64),
        ("data_offset", ctypes.c_uint64),
        ("subbuf_bytes", ctypes.c_uint32),
        ("nr_subbufs", ctypes.c_uint32),
        ("mode", ctypes.c_uint32),
        ("clock_kind", ctypes.c_uint32),
        ("start_ticks", ctypes.c_uint64),
        ("start_ns", ctypes.c_uint64),
        ("latest_ticks", ctypes.c_uint64),
        ("latest_ns", ctypes.c_uint64),
        ("clock_seq", ctypes.c_uint32),
        ("finished", ctypes.c_uint32),
        ("stop", ctypes.c_uint32),
        ("waiters", ctypes.c_uint32),
        ("free_futex", ctypes.c_uint32),
        ("nr_tasks", ctypes.c_uint32),
        ("symbols_committed", ctypes.c_uint64),
        ("symbols_lost", ctypes.c_uint64),
        ("full_head", ctypes.c_uint64),
        ("full_tail", ctypes.c_uint64),
        ("free_head", ctypes.c_uint64),
        ("free_tail", ctypes.c_uint64),
        ("records_lost", ctypes.c_uint64),
        ("overrun", ctypes.c_uint64),
        ("wait_count", ctypes.c_uint64),
        ("wait_ticks", ctypes.c_uint64),
        ("killed", ctypes.c_char * 1024),
        ("instance", ctypes.c_char * 64),
    )


class Subbuf(ctypes.LittleEndianStructure):
    _fields_ = (
        ("state", ctypes.c_uint32),
        ("task", ctypes.c_uint32),
        ("seq", ctypes.c_uint64),
        ("commit", ctypes.c_uint64),
        ("lost", ctypes.c_uint64),
        ("reserved", ctypes.c_uint64 * 4),
    )


class RingFile:
    """One process's ring-buffer file, written as the process would.

    Args:
        path: the file; its folder must exist.
        instance: name of the instance; empty for the top one.
        clock: (ticks, ns) at the start and at the latest reading, for a ring whose clock is the TSC.
    """

    def __init__(
        self,
        path: Path,
        pid: int = 4711,
        *,
        subbuf_bytes: int = 4096,
        nr_subbufs: int = 64,
        instance: bytes = b"",
        clock: tuple[tuple[int, int], tuple[int, int]] | None = None,
    ) -> None:
        self.path = path
        queue_bytes = -(-8 * nr_subbufs // 4096) * 4096
        symbols_offset = HEADER_BYTES + queue_bytes
        data_offset = symbols_offset + SYMBOL_AREA_BYTES
        file_bytes = data_offset + nr_subbufs * subbuf_bytes
        with path.open("xb+") as file:
            os.truncate(file.fileno(), file_bytes)
            self.map = mmap.mmap(file.fileno(), file_bytes)
        self.header = Header.from_buffer(self.map)
        self.header.header_bytes = HEADER_BYTES
        self.header.pid = pid
        self.header.instance = instance
        self.header.file_bytes = file_bytes
        self.header.queue_offset = HEADER_BYTES
        self.header.symbols_offset = symbols_offset
        self.header.symbols_capacity = SYMBOL_AREA_BYTES
        self.header.data_offset = data_offset
        self.header.subbuf_bytes = subbuf_bytes
        self.header.nr_subbufs = nr_subbufs
        start, latest = clock or ((1, 1), (1, 1))
        self.header.clock_kind = MONOTONIC if clock is None else TSC
        self.header.start_ticks, self.header.start_ns = start
        self.header.latest_ticks, self.header.latest_ns = latest
        self.map[:8] = b"FGRING\0\2"
        self.full_queue = (ctypes.c_uint32 * nr_subbufs).from_buffer(self.map, HEADER_BYTES)
        self.free_queue = (ctypes.c_uint32 * nr_subbufs).from_buffer(self.map, HEADER_BYTES + 4 * nr_subbufs)
        self.fresh = 0
        self.seq = 0

    # ---- symbols

    def symbol(
        self, kind: int, number: int, strings: tuple[str, ...], *, line: int = 0, tid: int = 0, flags: int = 0
    ) -> None:
        text = b"".join(string.encode("utf-8", "surrogateescape") + b"\0" for string in strings)
        text += bytes(-len(text) % 8)
        fixed = struct.pack("<IHHIIII", 24 + len(text), kind, flags, number, line, tid, len(strings))
        at = self.header.symbols_offset + self.header.symbols_committed
        self.map[at : at + 24 + len(text)] = fixed + text
        self.header.symbols_committed += 24 + len(text)

    def function(
        self, number: int, name: str, *, args: str = "", line: int = 1, flags: int = 0, kind: int = FUNC
    ) -> None:
        """Add the symbol of a function `module.qualname` (with kind SEEN, of one that ran unrecorded)."""
        module, _, qualname = name.partition(".")
        self.symbol(kind, number, (module, qualname, f"/src/{module}.py", args), line=line, flags=flags)

    def task(self, number: int, tid: int, name: str = "python") -> None:
        self.symbol(TASK, number, (name,), tid=tid)
        self.header.nr_tasks = max(self.header.nr_tasks, number)

    def event_type(self, number: int, system: str, name: str, fields_at: int, fields: str) -> None:
        """Add the symbol of a kind of event; `fields`: "TYPE NAME COUNT OFFSET;..."."""
        self.symbol(EVENT_TYPE, number, (system, name, fields), line=fields_at)

    def process(self, ppid: int, *argv: str) -> None:
        self.symbol(PROCESS, 0, argv, tid=ppid)

    # ---- records

    def take(self) -> int:
        """Take a free sub-buffer from the pool, as a writer does; IndexError if no one is free."""
        if self.header.free_tail != self.header.free_head:
            index = self.free_queue[self.header.free_tail % self.header.nr_subbufs]
            self.header.free_tail += 1
            return index
        if self.fresh == self.header.nr_subbufs:
            raise IndexError("the ring is full")
        self.fresh += 1
        return self.fresh - 1

    def put(self, task: int, data: bytes, *, lost: int = 0, state: int = FULL) -> int:
        """Fill one sub-buffer with a task's records, and queue it if its state is FULL; return its index."""
        index = self.take()
        at = self.header.data_offset + index * self.header.subbuf_bytes
        subbuf = Subbuf.from_buffer(self.map, at)
        assert len(data) <= self.header.subbuf_bytes - SUBBUF_HEADER_BYTES
        self.map[at + SUBBUF_HEADER_BYTES : at + SUBBUF_HEADER_BYTES + len(data)] = data
        subbuf.task, subbuf.seq, subbuf.lost, subbuf.commit, subbuf.state = (
            task,
            self.seq,
            lost,
            len(data),
            state,
        )
        self.seq += 1
        if state == FULL:
            self.full_queue[self.header.full_head % self.header.nr_subbufs] = index
            self.header.full_head += 1
        return index

    def put_all(self, task: int, records: list[bytes]) -> None:
        """Write these records into as many sub-buffers as they need."""
        room = self.header.subbuf_bytes - SUBBUF_HEADER_BYTES
        data = b""
        for item in records:
            if len(data) + len(item) > room:
                self.put(task, data)
                data = b""
            data += item
        if data:
            self.put(task, data)

    def finish(self) -> None:
        self.header.finished = 1


def add_ring(recorder: Recorder, path: str | os.PathLike[str]) -> int:
    """Have a recorder map a ring-buffer file; return its number there."""
    with open(path, "r+b") as ring:
        return recorder.add_ring(ring.fileno(), os.path.basename(path))
