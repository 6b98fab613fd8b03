"""A folder to record in and a small reader of trace.dat files, for the tests of the recorder.

The reader is independent of the one in C. It follows wire.h and the facts of the format, and uses nothing
else of funcgraph.
"""

from __future__ import annotations

import json
import re
import struct
import subprocess
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from ringfile import RingFile, add_ring

from funcgraph._tracedata import Recorder, codec_names, convert
from funcgraph.tracedata import TraceError, TraceFile

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
    """The parts of a trace.dat."""

    lanes: list[list[Event]] = field(default_factory=list)
    meta: dict[str, Any] = field(default_factory=dict)
    formats: list[str] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)  # of the formats, but the first one's
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
    convert(path, dat, version=6)
    return dat


def read_trace(path: Path) -> Trace:
    """Return the parts of a trace. The latest one is kept: tests ask several questions about it."""
    state = path.stat()
    return _read_trace(path, state.st_ino, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1)
def _read_trace(path: Path, *state: int) -> Trace:
    data = trace_dat(path).read_bytes()
    trace = read_trace_7(data) if data.startswith(b"\x17\x08\x44tracing7\0") else read_trace_6(data)
    for events in trace.lanes:
        times = [event.time for event in events]
        assert times == sorted(times)
    return trace


def read_trace_6(data: bytes) -> Trace:
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
        name, at = at, data.index(b"\0", at) + 1
        trace.systems.append(data[name : at - 1].decode())
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
    return trace


def decompressors() -> dict[str, Callable[[bytes], bytes]]:
    """Return by the name of a compression what undoes it."""
    try:
        from compression import zstd
    except ImportError:
        from backports import zstd
    return {"zstd": zstd.decompress, "zlib": zlib.decompress}


def report(path: Path) -> bytes:
    """Return the text that funcgraph prints of a trace, or why it prints none."""
    try:
        return b"".join(TraceFile(path).report())
    except TraceError as error:
        return str(error).encode()


class Sections:
    """A trace.dat of version 7: sections that options lead to."""

    def __init__(self, data: bytes) -> None:
        head = b"\x17\x08\x44tracing7\0\0\x08" + struct.pack("<I", 4096)
        assert data.startswith(head)
        self.data = data
        compression, _, rest = data[len(head) :].partition(b"\0")
        self.compression = compression.decode()
        options = len(data) - len(rest) + rest.index(b"\0") + 1
        (self.options,) = struct.unpack_from("<Q", data, options)
        self.first = options + 8

    def block(self, at: int) -> tuple[bytes, int]:
        """Return what a compressed block has, and where it ends."""
        packed, size = struct.unpack_from("<II", self.data, at)
        data = decompressors()[self.compression](self.data[at + 8 : at + 8 + packed])
        assert len(data) == size
        return data, at + 8 + packed

    def section(self, at: int, expected: int) -> bytes:
        """Return the data of the section at an offset, which has this id.

        Of a buffer, it is not empty if the lanes are compressed.
        """
        number, flags, _name, size = struct.unpack_from("<HHIQ", self.data, at)
        assert number == expected
        assert at + 16 + size <= len(self.data)
        assert flags in (0, 1)
        if flags:
            assert self.compression != "none"
            if expected == 3:
                return b"compressed"
            return self.block(at + 16)[0]
        return b"" if expected == 3 else self.data[at + 16 : at + 16 + size]

    def names(self) -> dict[int, str]:
        """Go from section to section to the end of the file; return the name of each by its id."""
        found: dict[int, tuple[int, int]] = {}
        at = self.first
        while at < len(self.data):
            number, _flags, name, size = struct.unpack_from("<HHIQ", self.data, at)
            found[number] = at, name
            at += 16 + size
        assert at == len(self.data)
        strings = self.section(found[15][0], 15)
        return {number: strings[name:].partition(b"\0")[0].decode() for number, (_, name) in found.items()}

    def chunks(self, offset: int, size: int) -> bytes:
        """Return the pages of a lane."""
        if not size:
            return b""
        at, pages = offset + 4, b""
        for _ in range(struct.unpack_from("<I", self.data, offset)[0]):
            data, at = self.block(at)
            assert len(data) % 4096 == 0
            assert len(data) <= 256 << 10
            pages += data
        assert at == offset + size
        return pages


def read_formats(trace: Trace, data: bytes, at: int) -> int:
    """Take in a number of formats, and these; return where they end."""
    (count,) = struct.unpack_from("<I", data, at)
    at += 4
    for _ in range(count):
        (size,) = struct.unpack_from("<Q", data, at)
        trace.formats.append(data[at + 8 : at + 8 + size].decode())
        at += 8 + size
    return at


def read_trace_7(data: bytes) -> Trace:
    trace = Trace()
    sections = Sections(data)
    parts: dict[int, bytes] = {}
    options = sections.section(sections.options, 0)
    at = 0
    while True:
        number, size = struct.unpack_from("<HI", options, at)
        value = options[at + 6 : at + 6 + size]
        at += 6 + size
        if number == 0:
            assert value == bytes(8)
            assert at == len(options)
            break
        if number == 4:
            trace.clock = value.rstrip(b"\0").decode().strip("[]")
        elif number == 8:
            (trace.cpus,) = struct.unpack("<I", value)
        elif number == 3:
            compressed = sections.section(struct.unpack_from("<Q", value)[0], 3)
            name, clock, table = value[8:].split(b"\0", 2)
            assert clock.decode() == trace.clock
            trace.buffers.append(name.decode())
            assert struct.unpack_from("<II", table) == (4096, trace.cpus)
            assert len(table) == 8 + 20 * trace.cpus
            for cpu in range(trace.cpus):
                lane, offset, size = struct.unpack_from("<IQQ", table, 8 + 20 * cpu)
                assert lane == cpu
                pages = sections.chunks(offset, size) if compressed else data[offset : offset + size]
                assert compressed or offset % 4096 == 0
                trace.page_sizes.append(len(pages))
                trace.lanes.append(list(read_pages(len(trace.lanes), pages)))
        else:
            parts[number] = sections.section(struct.unpack("<Q", value)[0], number)
    assert sections.names() == {
        16: "headers",
        17: "ftrace events",
        18: "events format",
        19: "kallsyms",
        20: "printk",
        21: "command lines",
        3: f"buffer flyrecord {trace.buffers[-1]}",
        0: "options",
        15: "strings",
        0x4746: "funcgraph",
    }
    assert sorted(parts) == [16, 17, 18, 19, 20, 21]
    assert parts[16].startswith(b"header_page\0")
    end = read_formats(trace, parts[17], 0)
    assert end == len(parts[17])
    end = 4
    for _ in range(*struct.unpack_from("<I", parts[18])):
        name = parts[18].index(b"\0", end)
        trace.systems.append(parts[18][end:name].decode())
        end = read_formats(trace, parts[18], name + 1)
    assert end == len(parts[18])
    trace.kallsyms = parts[19][4:].decode()
    assert parts[20] == bytes(4)
    trace.cmdlines = parts[21][8:].decode()
    assert data[-24:-16] == b"FGEXTRA1"
    offset, size = struct.unpack("<QQ", data[-16:])
    assert offset + size + 24 == len(data)
    description = sections.section(offset, 0x4746)
    trace.meta = json.loads(description if sections.compression != "none" else description[:-24])
    return trace


@cache
def trace_cmd_compressions() -> list[str]:
    """Return the compressions that the machine's trace-cmd knows, and funcgraph can write here."""
    result = subprocess.run(["trace-cmd", "list", "-c"], capture_output=True, text=True, timeout=60)
    known = re.findall(r"^\t(\w+), ", result.stdout, re.MULTILINE)
    return ["none", *(name for name in codec_names() if name in known)]


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
            recorder.finish(add_ring(recorder, ring.path))
        trace = self.assemble(recorder, meta)
        recorder.close()
        return trace

    def version_7(self, compression: str) -> Path:
        """Return where a trace of version 7 is."""
        return self.folder / f"trace.{compression}.dat"

    def assemble(self, recorder: Recorder, meta: dict[str, Any] | None = None) -> Trace:
        """Make the trace in version 6, and in version 7 with each compression: all have the same in them."""
        recorder.assemble(self.output, json.dumps(meta or {}))
        trace = read_trace(self.output)
        for compression in codec_names():
            path = self.version_7(compression)
            recorder.assemble(path, json.dumps(meta or {}), version=7, compression=compression)
            other = read_trace(path)
            if trace.clock == "mono":
                assert other == trace
                assert report(path) == report(self.output)
            else:  # both clocks were read again for this trace
                assert [len(lane) for lane in other.lanes] == [len(lane) for lane in trace.lanes]
        return trace

    def trace_cmd(self, *words: str) -> str:
        """Return the output of stock trace-cmd for the trace; it must print no warning.

        It prints the same for all versions of the trace that it can read.
        """
        text = self._trace_cmd(self.output, *words)
        for compression in trace_cmd_compressions():
            assert self._trace_cmd(self.version_7(compression), *words) == text
        return text

    def _trace_cmd(self, path: Path, *words: str) -> str:
        result = subprocess.run(
            ["trace-cmd", "report", "-i", str(path), *words],
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
            return self.assemble(recorder)
        finally:
            recorder.close()
