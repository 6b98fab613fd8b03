"""A reader of .fg files in plain Python, written from docs/reference/trace-file.md.

It is slow, and independent of the reader in C. It uses nothing of funcgraph. What it can read, anybody can
read who has that page.
"""

from __future__ import annotations

import ctypes
import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

CHUNK = struct.Struct("<4sBBHIIIIIIIIQQQQ")
FILE_HEADER = b"FGTRACE\1"
MAGIC = b"FGCK"
FOOTER_MAGIC = b"FGFOOTER"
MAX_BYTES = 64 << 20
RING, SYMBOLS, DATA, STATE, CLOCK, META, DIRECTORY, HOST = range(1, 9)
(
    ENTRY,
    RESUME,
    RETURN,
    RAISE,
    SUSPEND,
    CLOSE,
    FUNCTION,
    WAIT,
    LOST,
    OVERRUN,
    MARK,
    STACK,
    REPEATS,
    CALL_AT,
    EVENT,
) = range(15)
PAYLOAD_WORDS = (0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2, 1, 2)
BEGINS = {ENTRY, RESUME, CALL_AT}
ENDS = {RETURN, RAISE, SUSPEND, CLOSE}
NAMES_A_FUNCTION = {ENTRY, RESUME, CALL_AT, FUNCTION, MARK, STACK, REPEATS, EVENT}
DEPTH_SURPRISE, FUNCTION_SURPRISE, BEGAN, REST, BACKWARDS = 1, 2, 4, 8, 16
CLOCKS = ("local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "tai", "x86-tsc")
WORD = (1 << 64) - 1
DEPTHS = (1 << 18) - 1
ONE = 1 << 60
FUNC_BASE, FUNC_STEP = 0x10000000, 16


class DamagedError(Exception):
    """A chunk's payload is not what its header says."""


# ---- compression


def _zstd(data: bytes, size: int) -> bytes:
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        return _python_zstd(data, size)
    library.ZSTD_decompress.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(max(size, 1))
    got = library.ZSTD_decompress(room, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    if got != size:
        raise DamagedError("it does not decompress to its size")
    return room.raw[:size]


def _python_zstd(data: bytes, size: int) -> bytes:
    names = ("compression.zstd", "backports.zstd")
    module = import_module(next(name for name in names if find_spec(name.split(".")[0]) and find_spec(name)))
    stream = module.ZstdDecompressor()
    try:
        out = bytes(stream.decompress(data, size + 1))
    except module.ZstdError as error:
        raise DamagedError(str(error)) from None
    if len(out) != size or not stream.eof or stream.unused_data:
        raise DamagedError("it does not decompress to its size")
    return out


def _zlib(data: bytes, size: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        out = stream.decompress(data, size + 1)
    except zlib.error as error:
        raise DamagedError(str(error)) from None
    if len(out) != size or not stream.eof or stream.unused_data:
        raise DamagedError("it does not decompress to its size")
    return out


def decompress(codec: int, data: bytes, size: int) -> bytes:
    if size == 0 and not data:
        return b""
    if codec == 1:
        return _zstd(data, size)
    if codec == 2:
        return _zlib(data, size)
    if codec != 0 or len(data) != size:
        raise DamagedError("no such codec, or another size")
    return data


# ---- chunks


@dataclass(frozen=True)
class Chunk:
    offset: int
    type: int
    codec: int
    flags: int
    ring: int
    stored_bytes: int
    bytes: int
    payload_crc: int
    task: int
    nr_records: int
    record_bytes: int
    seq: int
    lost: int
    first_ticks: int
    last_ticks: int

    @property
    def end(self) -> int:
        return self.offset + CHUNK.size + (self.stored_bytes + 7) // 8 * 8


def sound_chunk(header: bytes, offset: int, file_bytes: int) -> Chunk | None:
    """Return the chunk that has this header, if it is sound."""
    if len(header) < CHUNK.size:
        return None
    magic, kind, codec, flags, ring, stored, size, crc, header_crc, *rest = CHUNK.unpack(header)
    chunk = Chunk(offset, kind, codec, flags, ring, stored, size, crc, *rest)
    if magic != MAGIC or not RING <= kind <= HOST or max(stored, size) > MAX_BYTES:
        return None
    if zlib.crc32(header[:24] + bytes(4) + header[28:]) != header_crc or chunk.end > file_bytes:
        return None
    return chunk


class File:
    """The chunks of a file."""

    def __init__(self, data: bytes) -> None:
        if len(data) < 16 or data[:8] != FILE_HEADER:
            raise ValueError("not a .fg file")
        self.data = data
        self.gaps = 0
        (self.whole_bytes,) = struct.unpack("<Q", data[8:16])
        found = self._directory()
        self.is_complete = found is not None or self.whole_bytes == len(data)
        self.chunks = list(self._walk()) if found is None else found

    def _at(self, offset: int) -> Chunk | None:
        return sound_chunk(self.data[offset : offset + CHUNK.size], offset, len(self.data))

    def _directory(self) -> list[Chunk] | None:
        if self.data[-8:] != FOOTER_MAGIC:
            return None
        (offset,) = struct.unpack("<Q", self.data[-16:-8])
        chunk = self._at(offset)
        if chunk is None or chunk.type != DIRECTORY or chunk.bytes % (8 + CHUNK.size):
            return None
        try:
            places = self.payload(chunk)
        except DamagedError:
            return None
        chunks, end = [], 16
        for at in range(0, len(places), 8 + CHUNK.size):
            (place,) = struct.unpack_from("<Q", places, at)
            listed = sound_chunk(MAGIC + places[at + 12 : at + 8 + CHUNK.size], place, offset)
            if listed is None or place < end:
                return None
            end = listed.end
            chunks.append(listed)
        return chunks

    def _walk(self) -> Iterator[Chunk]:
        at = 16
        while True:
            chunk = self._at(at)
            if chunk is None:
                found = (self._at(later) for later in range(at + 8, len(self.data) - CHUNK.size + 1, 8))
                chunk = next((later for later in found if later), None)
                if chunk is None:
                    return
                self.gaps += 1
            if chunk.type == DIRECTORY:
                return
            yield chunk
            at = chunk.end

    def payload(self, chunk: Chunk) -> bytes:
        """Return a chunk's payload, decompressed."""
        header = self._at(chunk.offset)
        if header is None or header.stored_bytes != chunk.stored_bytes:
            raise DamagedError("another header than the directory says")
        begin = chunk.offset + CHUNK.size
        stored = self.data[begin : begin + chunk.stored_bytes]
        if zlib.crc32(stored) != header.payload_crc:
            raise DamagedError("its checksum is another one")
        return decompress(header.codec, stored, header.bytes)


# ---- rows


@dataclass
class Record:
    kind: int
    time: int
    func: int
    depth: int
    words: list[int]
    start: int | None
    values: bytes  # of a MARK: what follows its length; of an EVENT: its fields
    has_values: bool
    is_irq: bool

    @property
    def bytes(self) -> int:
        return 8 * (2 + len(self.words) + (self.start is not None)) + len(self.values)


class Stream:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        if self.at >= len(self.data):
            raise DamagedError("a stream is too short")
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift >= 70:
                return value & WORD

    def signed(self) -> int:
        value = self.varint()
        return value >> 1 if value % 2 == 0 else -(value >> 1) - 1

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise DamagedError("a stream is too short")
        self.at += count
        return self.data[self.at - count : self.at]


class Rows:
    """The records of a DATA chunk's payload."""

    def __init__(self, payload: bytes) -> None:
        if len(payload) < 24:
            raise DamagedError("it has no header of rows")
        self.count, *sizes = struct.unpack_from("<6I", payload)
        if 24 + sum(sizes) != len(payload):
            raise DamagedError("the streams are not all of the payload")
        streams, at = [], 24
        for size in sizes:
            streams.append(Stream(payload[at : at + size]))
            at += size
        self.codes, self.functions, self.times, self.more_words, self.values = self.streams = streams
        self.time = self.open_calls = self.flat_depth = 0
        self.slots = [(0, 0)] * 256

    def records(self) -> list[Record]:
        records = [self._row() for _ in range(self.count)]
        if any(stream.at != len(stream.data) for stream in self.streams):
            raise DamagedError("a stream is too long")
        return records

    def _row(self) -> Record:
        code = self.codes.byte()
        surprise = self.codes.byte() if code & 0x80 else 0
        kind = code & 15
        if kind > EVENT:
            raise DamagedError("no such kind")
        passed = self.times.varint()
        time = (self.time - passed if surprise & BACKWARDS else self.time + passed) & WORD
        depth = self.open_calls - (kind in ENDS) if kind in BEGINS | ENDS else self.flat_depth
        depth = (depth + (self.more_words.signed() if surprise & DEPTH_SURPRISE else 0)) & DEPTHS
        slot_func, slot_time = self.slots[depth % 256]
        func = slot_func if kind in ENDS else 0
        if kind in NAMES_A_FUNCTION or surprise & FUNCTION_SURPRISE:
            func = self.functions.varint() & 0xFFFFFFFF
        if kind in ENDS:
            words = [(time - self.times.signed()) & WORD if surprise & BEGAN else slot_time]
        elif kind == WAIT:
            words = [(time - self.times.signed()) & WORD]
        elif kind in (CALL_AT, EVENT):
            words = [self._halves() for _ in range(PAYLOAD_WORDS[kind])]
        else:
            words = [self.more_words.varint() for _ in range(PAYLOAD_WORDS[kind])]
        start = (time - self.times.signed()) & WORD if code & 16 else None
        values = b""
        if code & 32 or surprise & REST or kind in (MARK, EVENT):
            values = self.values.take(8 * self.more_words.varint())
        record = Record(kind, time, func, depth, words, start, values, bool(code & 32), bool(code & 64))
        if record.bytes > 127 * 8:
            raise DamagedError("a record is too long")
        if kind == EVENT and words[0] >> 32 > len(values):
            raise DamagedError("an event's fields are longer than its record")
        self.time = time
        if kind in BEGINS:
            self.slots[depth % 256] = (func, time)
            self.open_calls = depth + 1
        elif kind in ENDS:
            self.open_calls = depth
        else:
            self.flat_depth = depth
        return record

    def _halves(self) -> int:
        low, high = self.more_words.varint(), self.more_words.varint()
        return (low & 0xFFFFFFFF) | (high << 32 & WORD)


# ---- times


@dataclass(frozen=True)
class Line:
    """From ticks to nanoseconds."""

    ticks: int = 0
    ns: int = 0
    ns_per_tick: int = ONE

    def span(self, ticks: int) -> int:
        return ticks * self.ns_per_tick // ONE

    def at(self, ticks: int) -> int:
        passed = (ticks - self.ticks) & WORD
        if passed >> 63:  # a signed number: the word in a damaged record may be anything
            return (self.ns - self.span((self.ticks - ticks) & WORD)) & WORD
        return (self.ns + self.span(passed)) & WORD


def line_between(first: tuple[int, int], last: tuple[int, int]) -> Line:
    ticks, ns = last[0] - first[0], last[1] - first[1]
    slope = ONE
    if ticks > 0 and ns > 0 and ticks // 16 < ns and ns // 16 < ticks:
        slope = ns * ONE // ticks
    return Line(*first, slope)


def on_clock(line: Line, first: tuple[int, int], last: tuple[int, int]) -> Line:
    """Return the line to another clock, of which two instants are known."""
    second = line_between(first, last)
    if last[0] - first[0] < 10_000_000 or abs(second.ns_per_tick - ONE) > ONE // 1000:
        second = Line(*first)
    return Line(line.ticks, second.at(line.ns), second.span(line.ns_per_tick))


# ---- the trace


@dataclass
class Task:
    id: int
    ring: Ring
    tid: int | None = None
    name: str = ""
    chunks: list[Chunk] = field(default_factory=list)
    lane: int = -1

    def limit(self, which: str) -> list[int]:
        return [getattr(chunk, which) for chunk in self.chunks if chunk.record_bytes]


@dataclass
class Ring:
    number: int
    pid: int = 0
    parent: int = 0
    clock_kind: int = 0
    clock_start: tuple[int, int] = (0, 0)
    clock_latest: tuple[int, int] = (0, 0)
    clock_base: tuple[int, int] = (0, 0)  # the latest one when the file began
    instance: str = ""
    host: str = ""
    host_number: int = 0
    host_times: tuple[tuple[int, int], tuple[int, int]] | tuple[()] = ()
    host_error_ns: int | None = None
    name: str = ""
    argv: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    base: dict[str, int] = field(default_factory=dict)  # counts when the file began
    killed: str = ""
    functions: dict[int, int] = field(default_factory=dict)  # id -> number in the trace
    events: dict[int, int] = field(default_factory=dict)  # number -> number in the trace
    tasks: dict[int, Task] = field(default_factory=dict)
    buffer: int = 0

    def task(self, number: int) -> Task:
        return self.tasks.setdefault(number, Task(number, self))


@dataclass
class Event:
    """An event with all its fields; a function is its number in the trace, None: unknown."""

    lane: int
    tid: int
    time: int  # in the unit of the trace's clock
    lost: int  # records of its task that were lost just before it
    kind: int
    func: int | None
    depth: int
    is_irq: bool
    end_ns: int  # the record's time in nanoseconds
    begin_ns: int = 0  # of a call's end: the calltime, without waits; of a wait: how long it took
    start_ns: int | None = None
    caller: int | None = None
    has_caller: bool = False  # of a message: a function wrote it
    line: int = 0
    overrun: int = 0
    count: int = 0
    stack: list[int | None] = field(default_factory=list)
    values: bytes = b""
    text: bytes = b""
    has_func: bool = True  # False of an event that was hit in no function
    event: int | None = None  # number of its kind; None: unknown
    image: bytes = b""  # from its fields on


def strings_of(data: bytes, count: int) -> list[bytes]:
    *whole, _ = data.split(b"\0")
    return whole[:count]


def decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


FIELD_BYTES = {
    **{f"{sign}{bits}": bits // 8 for sign in "usx" for bits in (8, 16, 32, 64)},
    "f64": 8,
    "bool": 1,
    "char": 1,
    "string": 4,
    "symbol": 8,
    "object": 4,
    "value": 4,
}


def is_event(system: str, name: str, fields_at: int, fields: str) -> bool:
    """Return whether this says what a kind of event is."""
    if not system or not name or fields_at not in (8, 16, 24):
        return False
    texts = fields.removesuffix(";").split(";") if fields else []
    end: int | None = fields_at
    for text in texts:
        end = end and field_end(text, end)
    return len(texts) <= 128 and end is not None


def field_end(text: str, least: int) -> int | None:
    """Return where a field ends, if it begins at `least` or later; None: it cannot be."""
    words = text.split(" ")
    if len(words) != 4 or words[0] not in FIELD_BYTES or not all(words):
        return None
    if not all(word.isascii() and word.isdigit() for word in words[2:]):
        return None
    count, offset = map(int, words[2:])
    end = offset + FIELD_BYTES[words[0]] * (count or 1)
    return end if count <= 255 and offset >= least and end <= 24 + 984 else None


class FgTrace:
    """A .fg file as a trace.

    Attributes:
        functions: (module, qualname, file, line, flags, argument names), by number.
        event_types: (system, name, where its fields begin, "TYPE NAME COUNT OFFSET;..."), by number.
        damaged: offsets of DATA chunks that are not as they were written, once they were read.
    """

    def __init__(self, data: bytes) -> None:
        self.file = File(data)
        self.is_complete = self.file.is_complete
        self.gaps = self.file.gaps
        self.rings: list[Ring] = []
        self.functions: list[tuple[str, str, str, int, int, list[str]]] = []
        self.event_types: list[tuple[str, str, int, str]] = []
        self.meta: dict[str, Any] = {}
        self.clock = 0
        self.damaged: list[int] = []
        self._known: dict[tuple[Any, ...], int] = {}  # what makes functions equal -> number
        self._flags: dict[tuple[Any, ...], int] = {}
        self._clock_pairs: list[tuple[int, int]] = []
        for chunk in self.file.chunks:
            try:
                self._take(chunk)
            except (DamagedError, struct.error):
                self.gaps += 1
        self._assign_lanes()

    # ---- chunks

    def _ring(self, number: int) -> Ring:
        if number >= 65536:
            raise DamagedError("no such ring")
        while len(self.rings) <= number:
            self.rings.append(Ring(len(self.rings)))
        return self.rings[number]

    def _take(self, chunk: Chunk) -> None:
        if chunk.type == DATA:
            self._ring(chunk.ring).task(chunk.task).chunks.append(chunk)
            return
        payload = self.file.payload(chunk)
        if chunk.type == CLOCK:
            self._take_clock(payload)
        elif chunk.type == META:
            self.meta = json.loads(payload)
        elif chunk.type == DIRECTORY:
            raise DamagedError("a second directory")
        else:
            ring = self._ring(chunk.ring)
            take = {
                RING: self._take_ring,
                SYMBOLS: self._take_symbols,
                STATE: self._take_state,
                HOST: self._take_host,
            }
            take[chunk.type](ring, payload)
            if chunk.type == STATE:
                self._subtract_base(ring, chunk.flags & 2 != 0)

    def _take_clock(self, payload: bytes) -> None:
        clock, monotonic, now = struct.unpack_from("<3Q", payload)
        if clock >= len(CLOCKS):
            raise DamagedError("no such clock")
        self.clock = clock
        if self._clock_pairs or monotonic:
            self._clock_pairs.append((monotonic, now))

    def _take_ring(self, ring: Ring, payload: bytes) -> None:
        pid, kind, ticks, ns, instance, size = struct.unpack_from("<IIQQ64sQ", payload)
        if size > len(payload) - 96:
            raise DamagedError("the name is too long")
        ring.pid, ring.clock_kind, ring.clock_start = pid, kind, (ticks, ns)
        ring.instance = decoded(instance.split(b"\0")[0])
        ring.name = decoded(payload[96 : 96 + size])
        if ring.clock_latest[1] == 0:
            ring.clock_latest = ring.clock_start

    def _take_host(self, ring: Ring, payload: bytes) -> None:
        number, size, *times, error_ns = struct.unpack_from("<II5Q", payload)
        if number >= 65536 or not 0 < size <= len(payload) - 48:
            raise DamagedError("an impossible host")
        ring.host, ring.host_number = decoded(payload[48 : 48 + size].split(b"\0")[0]), number
        ring.host_times = ((times[0], times[1]), (times[2], times[3]))
        ring.host_error_ns = None if error_ns == WORD else error_ns

    def _take_state(self, ring: Ring, payload: bytes) -> None:
        ticks, ns, lost, overrun, waits, wait_ticks, symbols_lost, tasks, finished, size = struct.unpack_from(
            "<7QIIQ", payload
        )
        if size > len(payload) - 72:
            raise DamagedError("the text is too long")
        ring.clock_latest = (ticks, ns)
        ring.counts = {
            "lost": lost,
            "overrun": overrun,
            "waits": waits,
            "wait_ticks": wait_ticks,
            "symbols_lost": symbols_lost,
            "tasks": tasks,
            "finished": finished,
        }
        ring.killed = decoded(payload[72 : 72 + size])

    @staticmethod
    def _subtract_base(ring: Ring, is_base: bool) -> None:
        """Leave out what was told in the file before, if a recording was rotated into this one."""
        if is_base:
            ring.base = dict(ring.counts)
            ring.clock_base = ring.clock_latest
        for name in ("lost", "overrun", "waits", "wait_ticks", "tasks"):
            ring.counts[name] -= ring.base.get(name, 0)

    def _take_symbols(self, ring: Ring, payload: bytes) -> None:
        at = 0
        while at < len(payload):
            size, kind, flags, number, line, tid, count = struct.unpack_from("<IHHIIII", payload, at)
            if size < 24 or size % 8 or size > len(payload) - at:
                raise DamagedError("a symbol of an impossible size")
            strings = strings_of(payload[at + 24 : at + size], count)
            at += size
            if kind in (1, 2, 5):
                self._take_function(ring, kind, number, (strings + [b""] * 4)[:4], line, flags)
            elif kind == 3:
                task = ring.task(number)
                task.tid = tid
                task.name = decoded(strings[0]) if strings else task.name
            elif kind == 6:
                self._take_event(ring, number, (strings + [b""] * 3)[:3], line)
            elif kind == 4:
                ring.parent, ring.argv = tid, [decoded(text) for text in strings]

    def _take_function(
        self, ring: Ring, kind: int, number: int, strings: list[bytes], line: int, flags: int
    ) -> None:
        identity = (*strings, line)
        self._flags.setdefault(identity, flags)
        if kind == 2:
            return
        if identity not in self._known:
            self._known[identity] = len(self.functions)
            module, qualname, path, arguments = map(decoded, strings)
            names = arguments.split(",") if arguments else []
            self.functions.append((module, qualname, path, line, self._flags[identity], names))
        ring.functions[number] = self._known[identity]

    def _take_event(self, ring: Ring, number: int, strings: list[bytes], fields_at: int) -> None:
        system, name, fields = map(decoded, strings)
        known = (system, name, fields_at, fields)
        is_new = known not in self.event_types
        if number > 65535 or not is_event(*known) or (is_new and len(self.event_types) == 8192):
            return
        if is_new:
            self.event_types.append(known)
        ring.events[number] = self.event_types.index(known)

    # ---- times

    def line(self, ring: Ring) -> Line:
        """Return the line from a ring's ticks to nanoseconds of the trace's clock."""
        line = Line()
        if ring.clock_kind == 1:
            here = [other for other in self.rings if other.host_number == ring.host_number]
            counters = [other for other in here if other.clock_kind == 1]
            last = max((other.clock_latest for other in counters), key=lambda pair: pair[1])
            starts = [other.clock_base if other.clock_base[1] else other.clock_start for other in counters]
            first = min(starts, key=lambda pair: pair[1])
            if last[1] - first[1] < 1_000_000_000:
                first = min((other.clock_start for other in counters), key=lambda pair: pair[1])
            line = line_between(first, last)
        if ring.host_times:
            line = on_clock(line, *ring.host_times)
        if self._clock_pairs:
            line = on_clock(line, self._clock_pairs[0], self._clock_pairs[-1])
        return line

    # ---- lanes

    def _assign_lanes(self) -> None:
        self.buffers = [""]
        for ring in self.rings:
            name = "/".join(part for part in (ring.host, ring.instance) if part)
            if name not in self.buffers:
                self.buffers.append(name)
            ring.buffer = self.buffers.index(name)
        self.tasks: list[Task] = []
        spans = {}
        for ring in self.rings:
            line = self.line(ring)
            for task in ring.tasks.values():
                if not any(task.limit("last_ticks")):
                    continue
                spans[id(task)] = (
                    line.at(min(task.limit("first_ticks"))),
                    line.at(max(task.limit("last_ticks"))),
                )
                self.tasks.append(task)
        self.tasks.sort(key=lambda task: spans[id(task)][0])
        ends: dict[tuple[int, int], int] = {}
        for task in self.tasks:
            first, last = spans[id(task)]
            cpu = 0
            while ends.get((task.ring.buffer, cpu), -1) >= first:
                cpu += 1
            ends[task.ring.buffer, cpu] = last
            task.lane = cpu
        self.cpus = 1 + max((task.lane for task in self.tasks), default=0)
        for task in self.tasks:
            task.lane += task.ring.buffer * self.cpus
            task.chunks.sort(key=lambda chunk: chunk.seq)
        self.nr_lanes = self.cpus * len(self.buffers)

    # ---- events

    @property
    def lost(self) -> int:
        """All records that are known to be lost."""
        flagged = sum(chunk.flags & 1 for task in self.all_tasks() for chunk in task.chunks)
        return sum(ring.counts.get("lost", 0) for ring in self.rings) + flagged + self.gaps

    def all_tasks(self) -> Iterator[Task]:
        for ring in self.rings:
            yield from ring.tasks.values()

    def lanes(self) -> list[list[Event]]:
        """Return the events of each lane."""
        self.damaged = []
        lanes: list[list[Event]] = [[] for _ in range(self.nr_lanes)]
        for task in self.tasks:
            lanes[task.lane] += self._events(task)
        self._set_times(lanes)
        for lane in lanes:
            latest = 0
            for event in lane:
                latest = event.time = max(latest, event.time)
        return lanes

    def events(self) -> list[Event]:
        """Return all events in order of time."""
        every = [event for lane in self.lanes() for event in lane]
        return sorted(every, key=lambda event: (event.time, event.lane))

    def _set_times(self, lanes: list[list[Event]]) -> None:
        if CLOCKS[self.clock] == "counter":
            every = [event for lane in lanes for event in lane]
            for number, event in enumerate(sorted(every, key=lambda event: event.end_ns), 1):
                event.time = number
        elif CLOCKS[self.clock] == "uptime":
            for lane in lanes:
                for event in lane:
                    event.time = event.end_ns // 10_000_000

    def _records(self, task: Task) -> Iterator[tuple[int, Record]]:
        """Yield the records of a task, each with how many the chunks say were lost before it."""
        lost = 0
        for chunk in task.chunks:
            lost += chunk.lost
            try:
                header = self.file._at(chunk.offset)
                records = Rows(self.file.payload(chunk)).records()
                if header is None or sum(record.bytes for record in records) != header.record_bytes:
                    raise DamagedError("its records have another size")
            except DamagedError:
                self.damaged.append(chunk.offset)
                lost += chunk.nr_records
                records = []
            for record in records:
                yield lost, record
                lost = 0
            lost += chunk.flags & 1

    def _events(self, task: Task) -> Iterator[Event]:
        line = self.line(task.ring)
        waits: list[tuple[int, int]] = []
        lost = overrun = 0
        for lost_before, record in self._records(task):
            lost += lost_before
            if record.kind == LOST:
                lost += record.words[0]
                continue
            ns = line.at(record.time)
            time = record.time if CLOCKS[self.clock] == "x86-tsc" else ns
            tid = task.ring.pid if task.tid is None else task.tid
            func = task.ring.functions.get(record.func)
            event = Event(task.lane, tid, time, lost, record.kind, func, record.depth, record.is_irq, ns)
            lost = 0
            if record.has_values:
                event.values = record.values
            if record.start is not None:
                event.start_ns = line.at(record.start)
            if record.kind in ENDS:
                began = record.words[0]
                passed = sum(b - a for a, b in waits if a >= began and b <= record.time)
                event.begin_ns = line.at(began + passed)
            elif record.kind == WAIT:
                begin = record.words[0]
                event.begin_ns = line.span(max(record.time - begin, 0))
                if record.depth == 0 and begin <= record.time and (not waits or begin >= waits[-1][1]):
                    waits.append((begin, record.time))
            elif record.kind == OVERRUN:
                overrun = record.words[0]
            elif record.kind == MARK:
                event.text = record.values[: record.words[0]]
                event.has_caller = record.func != 0
            elif record.kind == EVENT:
                self._take_fields(event, task.ring, record)
            elif record.kind == STACK:
                self._take_stack(event, task.ring, record)
            elif record.kind in (FUNCTION, REPEATS, CALL_AT):
                caller = record.words[0] & 0xFFFFFFFF
                event.has_caller = caller != 0
                event.caller = task.ring.functions.get(caller)
                event.line = record.words[0] >> 32
                event.count = record.words[-1]
            event.overrun = overrun
            yield event

    def _take_fields(self, event: Event, ring: Ring, record: Record) -> None:
        caller = record.words[1] & 0xFFFFFFFF
        event.has_caller = caller != 0
        event.caller = ring.functions.get(caller)
        event.line = record.words[1] >> 32
        event.has_func = record.func != 0
        event.event = ring.events.get(record.words[0] & 0xFFFFFFFF)
        if event.event is None:
            return
        image = bytearray(record.values[: record.words[0] >> 32])
        _, _, fields_at, fields = self.event_types[event.event]
        for kind, _, count, offset in (text.split(" ") for text in fields.split(";") if text):
            begin, end = int(offset) - fields_at, int(offset) - fields_at + 8 * (int(count) or 1)
            for at in range(begin, end, 8) if kind == "symbol" and end <= len(image) else ():
                struct.pack_into("<Q", image, at, self._address(ring, struct.unpack_from("<Q", image, at)[0]))
        event.image = bytes(image)

    @staticmethod
    def _address(ring: Ring, number: int) -> int:
        """Return the address of the function that has this id in a ring; 0: none."""
        function = ring.functions.get(number, -1)
        return FUNC_BASE + FUNC_STEP * function if number else 0

    @staticmethod
    def _take_stack(event: Event, ring: Ring, record: Record) -> None:
        ids = struct.unpack(f"<{len(event.values) // 4}I", event.values)
        if 0 in ids:
            ids = ids[: ids.index(0)]
        event.stack = [ring.functions.get(number) for number in ids]
