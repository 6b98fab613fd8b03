"""A small writer of trace.dat files for the tests of the reader, independent of the writer in C.

It follows wire.h and the facts of the format, and uses nothing else of funcgraph.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

PAGE = 4096
FUNC_BASE = 0x10000000
FUNC_STEP = 16
HAS_START, HAS_CALLER, IRQ = 0x80, 0x40, 0x20
START, RESUME = 0, 1
RETURN, RAISE, SUSPEND, CLOSE = 0, 1, 2, 3


def text_value(tag: int, number: int, text: bytes, limit: int) -> bytes:
    return struct.pack("<BQB", tag, number, len(text[:limit])) + text[:limit]


def value(thing: object) -> bytes:
    """Encode one value as record.h describes."""
    if thing is None:
        return b"\1"
    if thing is True or thing is False:
        return b"\2" if thing else b"\3"
    if isinstance(thing, int):
        if -128 <= thing < 128:
            return struct.pack("<Bb", 4, thing)
        if -(2**63) <= thing < 2**63:
            return struct.pack("<Bq", 5, thing)
        return struct.pack("<BBI", 6, thing < 0, thing.bit_length())
    if isinstance(thing, float):
        return struct.pack("<Bd", 7, thing)
    if isinstance(thing, str):
        return text_value(8, len(thing), thing.encode("utf-8", "surrogatepass"), 48)
    if isinstance(thing, bytes):
        return text_value(9, len(thing), thing, 48)
    if isinstance(thing, list | tuple | dict | set):
        return text_value(10, len(thing), type(thing).__name__.encode(), 32)
    name = thing if isinstance(thing, type) else type(thing)
    return text_value(11, 0x7F00DEADBEEF, name.__name__.encode(), 32)


def values(*things: object) -> bytes:
    return b"".join(map(value, things))


#: Follows a result that the caller throws away.
DISCARDED = b"\x18"


def deep(type_name: str, *parts: tuple[str, bytes], form: int = 0) -> bytes:
    """Encode a value with parts, as `--values` records it."""
    inside = b"".join(
        (struct.pack("<BB", 21, len(name)) + name.encode() if name else b"") + part for name, part in parts
    )
    return struct.pack("<BBQB", 19, form, len(parts), len(type_name)) + type_name.encode() + inside + b"\x14"


def word(size: int, bits: int) -> bytes:
    """Encode a machine word of native code."""
    return struct.pack("<BBQ", 14, size, bits)


def address(func: int | None) -> int:
    return 0 if func is None else FUNC_BASE + FUNC_STEP * func


def head(event: int, tid: int) -> bytes:
    return struct.pack("<HBBi", event, 0, 0, tid)


def tail(kind: int, start: int | None, recorded: bytes) -> bytes:
    if start is None:
        return struct.pack("<B", kind) + recorded
    return struct.pack("<BQ", kind | HAS_START, start) + recorded


@dataclass
class Task:
    """A task and its lane. Each method adds a record; times are in nanoseconds."""

    lane: Lane
    tid: int
    pid: int
    name: str
    times: list[int] = field(default_factory=list)

    def add(self, time: int, payload: bytes, lost: int = 0) -> None:
        self.times.append(time)
        self.lane.add(time, payload, lost)

    def enter(
        self,
        time: int,
        func: int,
        depth: int,
        *,
        kind: int = START,
        start: int | None = None,
        caller: tuple[int | None, int] | None = None,
        args: bytes = b"",
        lost: int = 0,
    ) -> None:
        if caller is not None:
            kind |= HAS_CALLER
            args = struct.pack("<II", address(caller[0]), caller[1]) + args
        fixed = struct.pack("<II", FUNC_BASE + FUNC_STEP * func, depth)
        self.add(time, head(11, self.tid) + fixed + tail(kind, start, args), lost)

    def leave(
        self,
        time: int,
        func: int,
        depth: int,
        *,
        calltime: int,
        kind: int = RETURN,
        start: int | None = None,
        result: bytes = b"",
        overrun: int = 0,
        lost: int = 0,
    ) -> None:
        fixed = struct.pack("<IIQQH", FUNC_BASE + FUNC_STEP * func, depth, calltime, time, overrun)
        self.add(time, head(10, self.tid) + fixed + tail(kind, start, result), lost)

    def function(self, time: int, func: int, caller: int | None, args: bytes = b"", *, line: int = 0) -> None:
        place = struct.pack("<I", line) if line else b""
        fixed = struct.pack("<II", address(func), address(caller) + bool(line))
        self.add(time, head(1, self.tid) + fixed + place + args)

    def stack(self, time: int, functions: Sequence[int]) -> None:
        callers = struct.pack(f"<ii{len(functions)}Q", len(functions), 0, *map(address, functions))
        self.add(time, head(4, self.tid) + callers)

    def repeats(self, time: int, func: int, caller: int | None, count: int, last: int) -> None:
        delta = time - last
        fixed = struct.pack("<IIHHI", address(func), address(caller), count, delta >> 32, delta & 2**32 - 1)
        self.add(time, head(20, self.tid) + fixed)

    def wait(self, time: int, duration: int) -> None:
        self.add(time, head(2001, self.tid) + struct.pack("<Q", duration))

    def overrun(self, time: int, total: int) -> None:
        self.add(time, head(2002, self.tid) + struct.pack("<Q", total))

    def message(self, time: int, text: bytes) -> None:
        self.add(time, head(5, self.tid) + struct.pack("<Q", 0) + text + b"\0")


class Lane:
    """One pseudo CPU's pages."""

    def __init__(self) -> None:
        self.pages: list[bytes] = []
        self.first = self.last = 0
        self.data = b""
        self.lost = 0

    def add(self, time: int, payload: bytes, lost: int = 0) -> None:
        payload += bytes(-len(payload) % 4)
        delta = time - self.last
        extend = (
            b"" if delta < 1 << 27 else struct.pack("<II", 30 | (delta & (1 << 27) - 1) << 5, delta >> 27)
        )
        small = 0 if extend else delta
        words = len(payload) // 4
        if words <= 28:
            record = extend + struct.pack("<I", words | small << 5) + payload
        else:
            record = extend + struct.pack("<II", small << 5, len(payload) + 4) + payload
        if not self.data or lost or len(self.data) + len(record) > PAGE - 16 - 8:
            self.flush()
            self.first, self.last, self.lost = time, time, lost
            self.data = b""
            self.add_first(payload)
            return
        self.data += record
        self.last = time

    def add_first(self, payload: bytes) -> None:
        words = len(payload) // 4
        self.data = (
            struct.pack("<I", words) if words <= 28 else struct.pack("<II", 0, len(payload) + 4)
        ) + payload

    def flush(self) -> None:
        if not self.data:
            return
        flags = 3 << 30 if self.lost else 0
        page = struct.pack("<QQ", self.first, len(self.data) | flags) + self.data
        if self.lost:
            page += struct.pack("<Q", self.lost)
        self.pages.append(page.ljust(PAGE, b"\0"))
        self.data = b""


def zstd_compress(data: bytes) -> bytes:
    try:
        from compression import zstd
    except ImportError:
        from backports import zstd
    return zstd.compress(data, 1)


#: Name of a compression -> what does it; None: nothing has to be done.
COMPRESSIONS: dict[str, Callable[[bytes], bytes] | None] = {
    "zstd": zstd_compress,
    "zlib": zlib.compress,
    "none": None,
}
CHUNK_PAGES = 3


class Sections:
    """A trace.dat of version 7 that is being written: sections one after the other."""

    def __init__(self, compression: str) -> None:
        self.compress = COMPRESSIONS[compression]
        self.out = b"\x17\x08\x44tracing7\0" + struct.pack("<BBI", 0, 8, PAGE)
        self.out += compression.encode() + b"\0" + b"1.2\0"
        self.options_at = len(self.out)
        self.out += bytes(8)

    def block(self, data: bytes) -> bytes:
        assert self.compress
        packed = self.compress(data)
        return struct.pack("<II", len(packed), len(data)) + packed

    def put(self, number: int, data: bytes, *, plain: bool = False) -> int:
        """Append a section; return its offset."""
        at = len(self.out)
        compressed = bool(self.compress) and not plain
        data = self.block(data) if compressed else data
        self.out += struct.pack("<HHIQ", number, compressed, 0, len(data)) + data
        return at

    def put_buffer(self, lanes: Sequence[Sequence[bytes]]) -> bytes:
        """Append the section of the one buffer; return the data of its option."""
        at = len(self.out)
        self.out += bytes(16)
        if not self.compress:
            self.out += bytes(-len(self.out) % PAGE)
        table = b""
        for cpu, pages in enumerate(lanes):
            chunks = [b"".join(pages[i : i + CHUNK_PAGES]) for i in range(0, len(pages), CHUNK_PAGES)]
            data = b"".join(pages)
            if self.compress and pages:
                data = struct.pack("<I", len(chunks)) + b"".join(map(self.block, chunks))
            table += struct.pack("<IQQ", cpu, len(self.out), len(data))
            self.out += data
        header = struct.pack("<HHIQ", 3, bool(self.compress), 0, len(self.out) - at - 16)
        self.out = self.out[:at] + header + self.out[at + 16 :]
        return struct.pack("<Q", at) + b"\0" + b"mono\0" + struct.pack("<II", PAGE, len(lanes)) + table

    def put_options(self, options: Sequence[tuple[int, bytes]]) -> None:
        """Append a section of options, to which those before it, or the beginning of the file, lead."""
        data = b"".join(struct.pack("<HI", number, len(value)) + value for number, value in options)
        at = self.put(0, data + struct.pack("<HIQ", 0, 8, 0), plain=True)
        self.out = self.out[: self.options_at] + struct.pack("<Q", at) + self.out[self.options_at + 8 :]
        self.options_at = len(self.out) - 8

    def put_description(self, description: object) -> None:
        """Append the JSON and the footer."""
        at = self.put(0x4746, json.dumps(description).encode())
        self.out += b"FGEXTRA1" + struct.pack("<QQ", at, len(self.out) - at)


class Trace:
    """A whole trace.

    functions: names "module.qualname", or (module, qualname, file, line, flags, [argument names]).
    """

    #: "6", or the compression of version 7.
    format: ClassVar[str] = "6"

    def __init__(
        self, functions: Sequence[str | tuple[str, str, str, int, int, list[str]]], **meta: object
    ) -> None:
        self.functions = [self.described(function) for function in functions]
        self.lanes: list[Lane] = []
        self.tasks: list[Task] = []
        self.meta = meta

    @staticmethod
    def described(function: str | tuple[str, str, str, int, int, list[str]]) -> tuple[object, ...]:
        if not isinstance(function, str):
            return function
        module, _, qualname = function.partition(".")
        return (module, qualname, f"/src/{module}.py", 1, 0, [])

    def task(
        self, tid: int, name: str = "python", *, lane: int | None = None, pid: int | None = None
    ) -> Task:
        lane = len(self.lanes) if lane is None else lane
        while len(self.lanes) <= lane:
            self.lanes.append(Lane())
        task = Task(self.lanes[lane], tid, pid or tid, name)
        self.tasks.append(task)
        return task

    def description(self) -> dict[str, object]:
        tasks = [
            {
                "lane": self.lanes.index(task.lane),
                "pid": task.pid,
                "tid": task.tid,
                "name": task.name,
                "process": 0,
                "first_ns": min(task.times, default=0),
                "last_ns": max(task.times, default=0),
                "records": len(task.times),
            }
            for task in self.tasks
        ]
        events = sum(len(task.times) for task in self.tasks)
        base = {"version": 1, "functions": self.functions, "tasks": tasks, "lost": 0, "overrun": 0}
        base["processes"] = [{"pid": 69, "ppid": 1, "argv": ["python", "an app.py"]}]
        return base | {"waits": 0, "wait_ns": 0, "events": events, "tracer": "function_graph"} | self.meta

    def to_bytes(self) -> bytes:
        for lane in self.lanes:
            lane.flush()
        return self.version_6() if self.format == "6" else self.version_7(self.format)

    def version_7(self, compression: str) -> bytes:
        """Return it in version 7, in another order than funcgraph's writer."""
        sections = Sections(compression)
        sections.put(15, b"\0")
        texts = {number: b"text\n" * number for number in (21, 20, 19, 18, 17, 16)}
        texts[18] = struct.pack("<I", 1) + b"funcgraph\0" + struct.pack("<IQ", 1, 3) + b"xy\n"
        texts[17] = struct.pack("<I", 0)
        parts = [(number, sections.put(number, text)) for number, text in texts.items()]
        sections.put_options(
            [(4, b"[mono]\0"), *((number, struct.pack("<Q", offset)) for number, offset in parts)]
        )
        sections.put_options(
            [(99, b"unknown"), (3, sections.put_buffer([lane.pages for lane in self.lanes]))]
        )
        sections.put_description(self.description())
        return sections.out

    def version_6(self) -> bytes:
        out = b"\x17\x08\x44tracing6\0" + struct.pack("<BBI", 0, 8, PAGE)
        for section in (b"header_page\0", b"header_event\0"):
            out += section + struct.pack("<Q", 5) + b"text\n"
        out += struct.pack("<I", 2) + (struct.pack("<Q", 7) + b"format\n") * 2
        out += struct.pack("<I", 1) + b"funcgraph\0" + struct.pack("<I", 1) + struct.pack("<Q", 3) + b"xy\n"
        out += struct.pack("<I", 4) + b"abc\n" + struct.pack("<I", 0)
        out += struct.pack("<Q", 7) + b"69 work" + struct.pack("<I", len(self.lanes))
        out += b"options  \0" + struct.pack("<HI", 4, 5) + b"clock" + struct.pack("<H", 0) + b"flyrecord\0"
        offset = -(-(len(out) + 16 * len(self.lanes)) // PAGE) * PAGE
        data = b""
        for lane in self.lanes:
            size = len(lane.pages) * PAGE
            out += struct.pack("<QQ", offset + len(data), size)
            data += b"".join(lane.pages)
        body = out.ljust(offset, b"\0") + data
        meta = json.dumps(self.description()).encode()
        return body + meta + b"FGEXTRA1" + struct.pack("<QQ", len(body), len(meta))

    def save(self, path: Path) -> Path:
        path.write_bytes(self.to_bytes())
        return path
