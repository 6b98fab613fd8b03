"""Traces that trace-cmd recorded on a Linux kernel: what their heads tell of events, functions and tasks.

A trace of funcgraph's says that in its own description, which these do not have.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from funcgraph import _tracedata
from funcgraph.kernel_format.event_format import EventFormat, FormatError, parse_format
from funcgraph.names import printable_lines
from funcgraph.tracedata.description import (
    META_VERSION,
    NATIVE,
    UNNAMED,
    Buffer,
    Description,
    Function,
    Task,
    TraceError,
)

_IDLE = "<idle>"  # what trace-cmd prints for the task 0 of each CPU
_ADDRESS_ROW = struct.Struct("<QII")
_WORD_SIZES = (1, 2, 4, 8)
# Which events of the system `ftrace` the C side reads itself, and as what.
_ROLES = {
    "funcgraph_entry": "entry",
    "fgraph_retaddr_entry": "entry",
    "funcgraph_exit": "exit",
    "function": "function",
}
# A trace of funcgraph's that lacks its end has this system of events.
_OWN_SYSTEM = "funcgraph"


class KernelHead:
    """The head of a kernel's trace, decoded.

    Attributes:
        formats: event id -> its format.
        description: as funcgraph's own traces have one.
    """

    def __init__(self, reader: _tracedata.Reader) -> None:
        """Read the head, and then all records once: only they tell which tasks and functions occur.

        Raises:
            TraceError: the head is damaged, or is that of a trace of funcgraph's.
            OSError: the file cannot be read.
        """
        try:
            parts = {name: reader.part(name) for name in ("ftrace", "events", "kallsyms", "cmdlines")}
        except ValueError as error:
            raise TraceError(str(error)) from None
        self.formats = _formats(parts["ftrace"], parts["events"])
        self._symbols = SymbolTable(_sized_text(parts["kallsyms"], 4))
        self._events = [_event_row(event) for event in self.formats.values()]
        comms = _comms(_sized_text(parts["cmdlines"], 8))
        self._set_formats(reader)
        tasks, addresses, lanes = reader.scan()
        functions, self._rows = self._functions(addresses)
        self.description = _describe(reader, tasks, lanes, comms, functions)
        reader.set_addresses(self._rows)

    def prepare(self, reader: _tracedata.Reader) -> None:
        """Hand in what the head says to another reader of the same file."""
        self._set_formats(reader)
        reader.set_addresses(self._rows)

    def fill(self, piece: bytes, holes: Sequence[tuple[int, int, bytes]]) -> bytes:
        """Return a piece of a report with the texts of the events that the C side left out."""
        if not holes:
            return piece
        parts = []
        at = 0
        for place, number, record in holes:
            parts += [piece[at:place], self.event_text(number, record).encode("utf-8", "backslashreplace")]
            at = place
        return b"".join([*parts, piece[at:]])

    def event_text(self, number: int, record: bytes) -> str:
        """Return what an event says, by its print fmt, without the newline at its end."""
        event = self.formats.get(number)
        if event is None:
            return f"no format for the event {number}"
        if (event.system, event.name) == ("ftrace", "kernel_stack") and "caller" in event.fields:
            return self._stack_text(event, record)
        return event.print(record, self._symbols.find).removesuffix("\n")

    def _stack_text(self, event: EventFormat, record: bytes) -> str:
        """Return the callers in a record. Its print fmt has a fixed number of them."""
        caller = event.fields["caller"]
        size = caller.item_size
        lines = ["<stack trace >"]
        for at in range(caller.offset, len(record) - size + 1, size):
            address = int.from_bytes(record[at : at + size], "little")
            if address == (1 << 8 * size) - 1:  # the end, in traces of old kernels
                break
            found = self._symbols.find(address)
            lines.append(f"=> {found[0]} ({address:x})" if found else f"=> {address:x}")
        return printable_lines("\n".join(lines))

    def _set_formats(self, reader: _tracedata.Reader) -> None:
        try:
            reader.set_formats(self._events)
        except (ValueError, OverflowError) as error:
            raise TraceError(f"damaged: {error}") from None

    def _functions(self, addresses: bytes) -> tuple[list[Function], bytes]:
        """Return the functions in which these addresses lie, and a row for each address."""
        words = array("Q")
        words.frombytes(addresses)
        functions: list[Function] = []
        numbers: dict[str | int, int] = {}
        rows = bytearray()
        for address in sorted(words):
            place = self._symbols.place(address)
            offset = 0 if place is None else address - self._symbols.address(place)
            key = place if place is not None else f"{address:#x}"
            if key not in numbers:
                numbers[key] = len(functions)
                functions.append(self._function(place, address))
            rows += _ADDRESS_ROW.pack(address, numbers[key], min(offset, 2**32 - 1))
        return functions, bytes(rows)

    def _function(self, place: int | None, address: int) -> Function:
        if place is None:
            return Function("", f"{address:#x}", "", 0, NATIVE, ())
        name, module = self._symbols.name(place)
        return Function(module, name, "", self._symbols.size(place), NATIVE, ())


class SymbolTable:
    """The kernel's symbols, found by address as trace-cmd finds them.

    Of several symbols with one address it prints the one that its binary search meets first. So the symbols
    are in the same order here, and the search takes the same steps.
    """

    def __init__(self, text: str) -> None:
        """Parse the text of kallsyms: lines of address, type, name, tab, module in brackets."""
        entries = []
        for line in text.splitlines():
            words = line.split(None, 3)
            # Absolute symbols are offsets of per-CPU variables, and "$" begins marks within functions.
            if len(words) < 3 or words[1] in ("A", "a") or words[2][0] == "$":
                continue
            try:
                address = int(words[0], 16)
            except ValueError:
                continue
            if address < 1 << 64:
                entries.append((address, words[2], words[3].strip("[]") if len(words) > 3 else ""))
        entries.reverse()
        entries.sort(key=lambda entry: entry[0])
        self._entries = entries
        self._addresses = [entry[0] for entry in entries]

    def place(self, address: int) -> int | None:
        """Return the number of the symbol in which an address lies.

        An address after the last symbol lies in none: nobody knows where that ends.
        """
        addresses = self._addresses
        low, high = 0, len(addresses)
        while low < high:
            middle = (low + high) // 2
            if address < addresses[middle]:
                high = middle
            elif address == addresses[middle] or (
                middle + 1 < len(addresses) and address < addresses[middle + 1]
            ):
                return middle
            else:
                low = middle + 1
        return None

    def address(self, place: int) -> int:
        return self._addresses[place]

    def name(self, place: int) -> tuple[str, str]:
        """Return a symbol's name and module."""
        return self._entries[place][1:]

    def size(self, place: int) -> int:
        """Return the bytes up to the next symbol."""
        begin = self._addresses[place]
        following = bisect_right(self._addresses, begin)
        end = self._addresses[following] if following < len(self._addresses) else begin + 1
        return min(end - begin, 2**32 - 1)

    def find(self, address: int) -> tuple[str, int] | None:
        """Return the name of the symbol in which an address lies, and its place there."""
        place = self.place(address)
        return None if place is None else (self._entries[place][1], address - self._addresses[place])


# ---- the parts of the head


class _Cursor:
    """Takes numbers and texts from a part of the head."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise TraceError("damaged: a format of an event goes beyond what it lies in")
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def name(self) -> str:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise TraceError("damaged: the name of a group of events has no end")
        return self.take(end + 1 - self._at)[:-1].decode("utf-8", "backslashreplace")


def _sized_text(data: bytes, size_bytes: int) -> str:
    """Return the text of a part that begins with its size."""
    size = int.from_bytes(data[:size_bytes], "little")
    return data[size_bytes : size_bytes + size].decode("utf-8", "backslashreplace")


def _formats(ftrace: bytes, events: bytes) -> dict[int, EventFormat]:
    """Return all formats by event id; of two with one id the first."""
    texts = {"ftrace": list(_texts(_Cursor(ftrace))) if ftrace else []}
    cursor = _Cursor(events)
    for _ in range(cursor.number(4) if events else 0):
        texts.setdefault(cursor.name(), []).extend(_texts(cursor))
    if _OWN_SYSTEM in texts:
        raise TraceError("truncated, or not recorded by funcgraph: its last 24 bytes are not the footer")
    formats: dict[int, EventFormat] = {}
    try:
        for system, group in texts.items():
            for text in group:
                event = parse_format(text, system)
                formats.setdefault(event.number, event)
    except FormatError as error:
        raise TraceError(f"damaged: {error}") from None
    return formats


def _texts(cursor: _Cursor) -> Iterator[str]:
    """Take the formats of a group of events."""
    for _ in range(cursor.number(4)):
        yield cursor.take(cursor.number(8)).decode("utf-8", "backslashreplace").rstrip("\0")


def _comms(text: str) -> dict[int, str]:
    """Return the names of tasks, of lines of thread id and name. Of two names the first."""
    names = {0: _IDLE}
    for line in text.splitlines():
        number, _, name = line.strip().partition(" ")
        if number.isdecimal() and name:
            names.setdefault(int(number), name)
    return names


def _event_row(event: EventFormat) -> tuple[int, str, str, tuple[tuple[int, int], ...]]:
    """Return an event as a Reader takes it, with its role if it has all the fields of that."""
    name = event.name.replace("\0", "")
    role = _ROLES.get(event.name, "other") if event.system == "ftrace" else "other"
    places = []
    for field_name in _tracedata.KERNEL_FIELDS:
        item = event.fields.get(field_name)
        size = (item.item_size if item.is_array else item.size) if item else 0
        if field_name == "args" and item and "func" in event.fields:
            size = event.fields["func"].size  # both are unsigned long: a word of the machine
        usable = item is not None and size in _WORD_SIZES and item.offset + size < 2**16
        places.append((item.offset, size) if item is not None and usable else (0, 0))
    needed = {"entry": ("func", "depth"), "exit": ("func", "depth", "calltime", "rettime")}
    fields = dict(zip(_tracedata.KERNEL_FIELDS, places, strict=True))
    if any(not fields[field][1] for field in needed.get(role, ())):
        role = "other"
    if role == "function" and not (fields["ip"][1] and fields["parent_ip"][1]):
        role = "other"
    return event.number, name, role, tuple(places)


# ---- the description


def _describe(
    reader: _tracedata.Reader,
    tasks: list[tuple[int, int, int, int, int]],
    lanes: list[tuple[int, int]],
    comms: dict[int, str],
    functions: list[Function],
) -> Description:
    cpus = reader.nr_cpus or 1
    names = [name.decode("utf-8", "backslashreplace") for name in reader.buffer_names]
    clock = reader.clock.decode("utf-8", "backslashreplace").partition("[")[2].partition("]")[0] or "local"
    if len(names) * cpus != max(reader.nr_lanes, 1):
        raise TraceError(f"damaged: it has {reader.nr_lanes} lanes, and names of {len(names)} buffers")
    buffers = []
    for number, name in enumerate(names):
        figures = lanes[number * cpus : (number + 1) * cpus]
        events, lost = (sum(column) for column in zip((0, 0), *figures, strict=True))
        buffers.append(Buffer(name, "function_graph", {}, lost, 0, 0, 0, events))
    return Description(
        meta={
            "version": META_VERSION,
            "tracer": "function_graph",
            "clock": clock,
            "buffers": names,
            "cpus": cpus,
        },
        functions=functions,
        tasks=[
            Task(lane, tid, tid, comms.get(tid, UNNAMED), "", first_ns, last_ns, events, lane // cpus)
            for lane, tid, first_ns, last_ns, events in tasks
        ],
        clock=clock,
        lost=sum(buffer.lost for buffer in buffers),
        overrun=0,
        waits=0,
        wait_ns=0,
        events=sum(buffer.events for buffer in buffers),
        buffers=buffers,
        killed={},
        hosts={},
        event_types=[],
    )
