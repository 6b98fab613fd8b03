"""Makes trace.dat files of version 6 as trace-cmd records them on a kernel: from event formats and records.

Nothing of funcgraph's is used: the layout is trace-cmd's manual page trace-cmd.dat.v6(5).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

HEADER_PAGE = """\
\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: char overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
"""
HEADER_EVENT = """\
# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
"""
COMMON = [
    ("unsigned short", "common_type", 0, 2, 0),
    ("unsigned char", "common_flags", 2, 1, 0),
    ("unsigned char", "common_preempt_count", 3, 1, 0),
    ("int", "common_pid", 4, 4, 1),
]
PAGE = 4096
KALLSYMS = """\
ffffffff81000100 T one
ffffffff81000200 t two
ffffffff81000300 t three\t[mod]
ffffffff81000400 T end
"""
_DELTA_LIMIT = 1 << 27


def format_text(name: str, number: int, fields: list[tuple[str, str, int, int, int]], print_fmt: str) -> str:
    """Return the text of an event's `format` file; a field is (type, name, offset, size, signed)."""
    lines = [f"name: {name}", f"ID: {number}", "format:"]
    for group in (COMMON, fields):
        for kind, member, offset, size, signed in group:
            base, bracket, count = member.partition("[")
            lines.append(
                f"\tfield:{kind} {base}{bracket}{count};\toffset:{offset};\tsize:{size};\tsigned:{signed};"
            )
        lines.append("")
    return "\n".join([*lines, f"print fmt: {print_fmt}", ""])


ENTRY = format_text(
    "funcgraph_entry",
    11,
    [
        ("unsigned long", "func", 8, 8, 0),
        ("unsigned long", "depth", 16, 8, 0),
        ("unsigned long", "args[]", 24, 0, 0),
    ],
    '"--> %ps (%lu)", (void *)REC->func, REC->depth',
)
RETADDR_ENTRY = format_text(
    "fgraph_retaddr_entry",
    12,
    [
        ("unsigned long", "func", 8, 8, 0),
        ("unsigned long", "depth", 16, 8, 0),
        ("unsigned long", "retaddr", 24, 8, 0),
        ("unsigned long", "args[]", 32, 0, 0),
    ],
    '"--> %ps (%lu) <- %ps", (void *)REC->func, REC->depth, (void *)REC->retaddr',
)
EXIT = format_text(
    "funcgraph_exit",
    10,
    [
        ("unsigned long", "func", 8, 8, 0),
        ("unsigned long", "retval", 16, 8, 0),
        ("unsigned int", "depth", 24, 4, 0),
        ("unsigned int", "overrun", 28, 4, 0),
        ("unsigned long long", "calltime", 32, 8, 0),
        ("unsigned long long", "rettime", 40, 8, 0),
    ],
    '"<-- %ps (%u) (start: %llx  end: %llx) over: %u retval: %lx", (void *)REC->func, REC->depth, '
    "REC->calltime, REC->rettime, REC->depth, REC->retval",
)
OLD_ENTRY = format_text(
    "funcgraph_entry",
    11,
    [("unsigned long", "func", 8, 8, 0), ("int", "depth", 16, 4, 1)],
    '"--> %ps (%d)", (void *)REC->func, REC->depth',
)
OLD_EXIT = format_text(
    "funcgraph_exit",
    10,
    [
        ("unsigned long", "func", 8, 8, 0),
        ("int", "depth", 16, 4, 1),
        ("unsigned int", "overrun", 20, 4, 0),
        ("unsigned long long", "calltime", 24, 8, 0),
        ("unsigned long long", "rettime", 32, 8, 0),
    ],
    '"<-- %ps (%d) (start: %llx  end: %llx) over: %d", (void *)REC->func, REC->depth, REC->calltime, '
    "REC->rettime, REC->depth",
)
FUNCTION = format_text(
    "function",
    1,
    [("unsigned long", "ip", 8, 8, 0), ("unsigned long", "parent_ip", 16, 8, 0)],
    '" %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip',
)
PRINT = format_text(
    "print",
    5,
    [("unsigned long", "ip", 8, 8, 0), ("char", "buf[]", 16, 0, 0)],
    '"%ps: %s", (void *)REC->ip, REC->buf',
)
FTRACE = [ENTRY, EXIT, RETADDR_ENTRY, FUNCTION, PRINT]


def common(number: int, pid: int, flags: int = 0) -> bytes:
    return struct.pack("<HBBi", number, flags, 0, pid)


def entry(pid: int, func: int, depth: int, args: tuple[int, ...] = ()) -> bytes:
    return common(11, pid) + struct.pack(f"<QQ{len(args)}Q", func, depth, *args)


def retaddr_entry(pid: int, func: int, depth: int, retaddr: int) -> bytes:
    return common(12, pid) + struct.pack("<QQQ", func, depth, retaddr)


def leave(pid: int, func: int, depth: int, calltime: int, rettime: int, retval: int = 0) -> bytes:
    return common(10, pid) + struct.pack("<QQIIQQ", func, retval, depth, 0, calltime, rettime)


def old_entry(pid: int, func: int, depth: int) -> bytes:
    return common(11, pid) + struct.pack("<Qi", func, depth)


def old_leave(pid: int, func: int, depth: int, calltime: int, rettime: int) -> bytes:
    return common(10, pid) + struct.pack("<QiIQQ", func, depth, 0, calltime, rettime)


def function(pid: int, ip: int, parent_ip: int) -> bytes:
    return common(1, pid) + struct.pack("<QQ", ip, parent_ip)


def mark(pid: int, ip: int, text: bytes) -> bytes:
    return common(5, pid) + struct.pack("<Q", ip) + text + b"\0"


@dataclass
class Lane:
    """The pages of one CPU."""

    pages: list[bytearray] = field(default_factory=list)
    time: int = 0

    def _page(self, time: int, lost: int | None) -> None:
        self.pages.append(bytearray(struct.pack("<QQ", time, 0)))
        self.time = time
        self.lost = lost

    def raw(self, data: bytes) -> None:
        """Append words as they are."""
        self.pages[-1] += data

    def add(self, time: int, record: bytes, *, lost: int | None = None, padding: bool = False) -> None:
        """Append a record; `lost`: records lost before it, -1: an unknown number. That begins a page."""
        record += bytes(-len(record) % 4)
        size = len(record) + 8 + 8 + 8
        if not self.pages or lost is not None or len(self.pages[-1]) + size > PAGE:
            self._page(time, lost)
        delta = time - self.time
        page = self.pages[-1]
        if delta >= _DELTA_LIMIT or delta < 0:
            if delta < 0:
                raise ValueError("times of a CPU must not run backwards")
            page += struct.pack("<II", 30 | (delta & (_DELTA_LIMIT - 1)) << 5, delta >> 27)
            delta = 0
        words = len(record) // 4
        if padding:
            page += struct.pack("<II", 29 | max(delta, 1) << 5, len(record) + 4) + record
        elif 1 <= words <= 28:
            page += struct.pack("<I", words | delta << 5) + record
        else:
            page += struct.pack("<II", delta << 5, len(record) + 4) + record
        self.time = time
        self._commit(page)

    def _commit(self, page: bytearray) -> None:
        used = len(page) - 16
        flags = 0
        if self.lost is not None:
            flags = 1 << 31 | (1 << 30 if self.lost >= 0 else 0)
        struct.pack_into("<Q", page, 8, used | flags)

    def data(self) -> bytes:
        whole = b""
        for number, page in enumerate(self.pages):
            flags = struct.unpack_from("<Q", page, 8)[0]
            tail = b""
            if flags & 1 << 30:
                tail = struct.pack("<Q", self.losses[number])
            whole += bytes(page) + tail + bytes(PAGE - len(page) - len(tail))
        return whole

    @property
    def losses(self) -> dict[int, int]:
        return self.__dict__.setdefault("_losses", {})


@dataclass
class KernelTrace:
    """A trace; `lanes[buffer][cpu]` take its records.

    The clock is named after the lanes of each buffer, and in an option if `names_clocks`; "": nowhere.
    """

    cpus: int = 2
    buffers: tuple[str, ...] = ("",)
    ftrace: list[str] = field(default_factory=lambda: list(FTRACE))
    systems: dict[str, list[str]] = field(default_factory=dict)
    kallsyms: str = KALLSYMS
    printk: str = ""
    cmdlines: str = "63 work\n64 other task\n"
    clock: str = "[local] global counter uptime perf mono mono_raw boot tai x86-tsc\n"
    names_clocks: bool = True
    options: list[tuple[int, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lanes = [[Lane() for _ in range(self.cpus)] for _ in self.buffers]

    def add(
        self,
        cpu: int,
        time: int,
        record: bytes,
        *,
        buffer: int = 0,
        lost: int | None = None,
        padding: bool = False,
    ) -> None:
        lane = self.lanes[buffer][cpu]
        lane.add(time, record, lost=lost, padding=padding)
        if lost is not None and lost >= 0:
            lane.losses[len(lane.pages) - 1] = lost

    def parts(self) -> dict[int, bytes]:
        """Return the parts of the head, in their order, by the number that version 7 gives them."""
        header = b"".join(
            name + b"\0" + _sized(text, "Q")
            for name, text in ((b"header_page", HEADER_PAGE), (b"header_event", HEADER_EVENT))
        )
        systems = b"".join(
            system.encode() + b"\0" + _formats(texts) for system, texts in self.systems.items()
        )
        return {
            16: header,
            17: _formats(self.ftrace),
            18: struct.pack("<I", len(self.systems)) + systems,
            19: _sized(self.kallsyms, "I"),
            20: _sized(self.printk, "I"),
            21: _sized(self.cmdlines, "Q"),
        }

    def build(self) -> bytes:
        out = bytearray(b"\x17\x08\x44tracing6\0" + struct.pack("<BBI", 0, 8, PAGE))
        out += b"".join(self.parts().values())
        out += struct.pack("<I", self.cpus) + b"options  \0"
        clock_option = [(4, self.clock.encode() + b"\0" if self.names_clocks else b"")] if self.clock else []
        for number, data in [*clock_option, *self.options]:
            out += struct.pack("<HI", number, len(data)) + data
        places = []
        for name in self.buffers[1:]:
            out += struct.pack("<HI", 3, 8 + len(name) + 1)
            places.append(len(out))
            out += bytes(8) + name.encode() + b"\0"
        out += struct.pack("<H", 0)
        tables = []
        clock = self.clock.partition("[")[2].partition("]")[0]
        for number in range(len(self.buffers)):
            if number:
                struct.pack_into("<Q", out, places[number - 1], len(out))
            out += b"flyrecord\0"
            tables.append(len(out))
            out += bytes(16 * self.cpus)
            if self.clock:
                out += _sized(f"[{clock}]", "Q")
        for table, lanes in zip(tables, self.lanes, strict=True):
            for cpu, lane in enumerate(lanes):
                out += bytes(-len(out) % PAGE)
                data = lane.data()
                struct.pack_into("<QQ", out, table + 16 * cpu, len(out), len(data))
                out += data
        return bytes(out)

    def save(self, path: Path) -> Path:
        path.write_bytes(self.build())
        return path


def _formats(texts: list[str]) -> bytes:
    return struct.pack("<I", len(texts)) + b"".join(_sized(text, "Q") for text in texts)


def _sized(text: str, code: str) -> bytes:
    """Return a text after its length, of the size that a code of struct has."""
    data = text.encode()
    return struct.pack(f"<{code}", len(data)) + data
