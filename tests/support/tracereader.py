"""A folder to record in and a small reader of trace.dat files, for the tests of the recorder.

The reader is independent of the one in C. It follows wire.h and the facts of the format, and uses nothing
else of funcgraph.
"""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringfile import RingFile

from funcgraph._tracedata import Recorder, convert

FUNC_BASE, FUNC_STEP = 0x10000000, 16
UNKNOWN = FUNC_BASE - FUNC_STEP


@dataclass
class Event:
    lane: int
    time: int
    lost: int
    type: int
    tid: int
    data: bytes  # after the common fields

    def fields(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack_from("<" + layout, self.data)


@dataclass
class Trace:
    """The parts of a trace.dat of version 6."""

    lanes: list[list[Event]] = field(default_factory=list)
    meta: dict[str, Any] = field(default_factory=dict)
    formats: list[str] = field(default_factory=list)
    kallsyms: str = ""
    cmdlines: str = ""
    page_sizes: list[int] = field(default_factory=list)
    buffers: list[str] = field(default_factory=list)
    clock: str = ""
    cpus: int = 0  # number of lanes of each buffer

    @property
    def events(self) -> list[Event]:
        return [event for lane in self.lanes for event in lane]


def read_pages(lane: int, data: bytes) -> Iterator[Event]:
    for at in range(0, len(data), 4096):
        page = data[at : at + 4096]
        time, commit = struct.unpack_from("<QQ", page)
        size = commit & 0xFFFF
        assert size <= 4096 - 16
        lost = 0
        if commit >> 30 & 3:
            (lost,) = struct.unpack_from("<Q", page, 16 + size)
        where, end = 16, 16 + size
        while where < end:
            (head,) = struct.unpack_from("<I", page, where)
            where += 4
            kind, delta = head & 31, head >> 5
            if kind == 30:
                time += delta | struct.unpack_from("<I", page, where)[0] << 27
                where += 4
                continue
            assert kind <= 28
            length = kind * 4
            if kind == 0:
                length = struct.unpack_from("<I", page, where)[0] - 4
                where += 4
            time += delta
            payload = page[where : where + length]
            where += length
            assert where <= end
            event, flags, preempt, tid = struct.unpack_from("<HBBi", payload)
            assert flags == preempt == 0
            yield Event(lane, time, lost, event, tid, payload[8:])
            lost = 0


def trace_dat(path: Path) -> Path:
    """Return the path of a trace.dat of this trace, which is made beside a .fg."""
    if path.suffix == ".dat":
        return path
    dat = path.with_suffix(".dat")
    convert(path, dat)
    return dat


def read_trace(path: Path) -> Trace:
    data = trace_dat(path).read_bytes()
    trace = Trace()
    at = 0

    def take(layout: str) -> int:
        nonlocal at
        (value,) = struct.unpack_from("<" + layout, data, at)
        at += struct.calcsize("<" + layout)
        return int(value)

    def expect(text: bytes) -> None:
        nonlocal at
        assert data[at : at + len(text)] == text
        at += len(text)

    def piece(layout: str) -> bytes:
        nonlocal at
        size = take(layout)
        at += size
        return data[at - size : at]

    expect(b"\x17\x08\x44tracing6\0\0\x08" + struct.pack("<I", 4096) + b"header_page\0")
    piece("Q")
    expect(b"header_event\0")
    piece("Q")
    trace.formats += [piece("Q").decode() for _ in range(take("I"))]
    for _ in range(take("I")):
        at = data.index(b"\0", at) + 1
        trace.formats += [piece("Q").decode() for _ in range(take("I"))]
    trace.kallsyms = piece("I").decode()
    piece("I")
    trace.cmdlines = piece("Q").decode()
    trace.cpus = take("I")
    expect(b"options  \0")
    clock, tables = b"", []
    while option := take("H"):
        value = piece("I")
        if option == 3:
            tables.append(struct.unpack_from("<Q", value)[0])
            trace.buffers.append(value[8:-1].decode())
        elif option == 4:
            clock = value
    trace.clock = clock.rstrip(b"\0").decode().strip("[]")
    trace.buffers.insert(0, "")
    for table in [at, *tables]:
        at = table
        expect(b"flyrecord\0")
        for lane in range(len(trace.lanes), len(trace.lanes) + trace.cpus):
            offset, size = take("Q"), take("Q")
            assert offset % 4096 == size % 4096 == 0
            trace.page_sizes.append(size)
            trace.lanes.append(list(read_pages(lane, data[offset : offset + size])))
        assert piece("Q") == clock
    assert data[-24:-16] == b"FGEXTRA1"
    offset, size = struct.unpack("<QQ", data[-16:])
    assert offset + size + 24 == len(data)
    trace.meta = json.loads(data[offset : offset + size])
    for events in trace.lanes:
        times = [event.time for event in events]
        assert times == sorted(times)
    return trace


class Desk:
    """A folder with the rings, the spool and the trace of one session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.part = folder / "trace.dat.part"
        self.output = folder / "trace.dat"
        self.rings: list[RingFile] = []

    def ring(self, pid: int = 4711, **settings: Any) -> RingFile:
        ring = RingFile(self.folder / f"{pid}.{len(self.rings)}.ring", pid, **settings)
        self.rings.append(ring)
        return ring

    def recorder(self, *, clock: str = "mono", resume: bool = False) -> Recorder:
        return Recorder(str(self.part), clock=clock, resume=resume)

    def record(self, *rings: RingFile, meta: dict[str, Any] | None = None, clock: str = "mono") -> Trace:
        """Drain all rings at once, assemble the trace and read it."""
        recorder = self.recorder(clock=clock)
        for ring in rings or self.rings:
            recorder.finish(recorder.add_ring(ring.path))
        recorder.assemble(self.output, json.dumps(meta or {}))
        recorder.close()
        return read_trace(self.output)

    def trace_cmd(self, *words: str) -> str:
        """Return the output of stock trace-cmd for the trace; it must print no warning."""
        result = subprocess.run(
            ["trace-cmd", "report", "-i", str(self.output), *words],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert result.returncode == 0, result.stderr
        assert result.stderr == ""
        return result.stdout

    def assemble_spool(self, spool: bytes) -> Trace:
        """Assemble a trace from a spool without rings."""
        self.part.write_bytes(spool)
        recorder = self.recorder(resume=True)
        try:
            recorder.assemble(self.output, "{}")
        finally:
            recorder.close()
        return read_trace(self.output)
