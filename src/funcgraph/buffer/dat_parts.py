"""Parts of a trace.dat of version 6: formats of events, addresses of functions, the pages of a lane."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from struct import unpack_from
from typing import NamedTuple

from funcgraph import _tracedata
from funcgraph.session.memory_file import contents, memory_file

__all__ = ["Format", "Parts", "own_formats", "parts_of"]

_TABLE = (
    b"flyrecord\0"  # the lanes' offsets and sizes follow; nothing before it in the file has a NUL after it
)
_FIELD = re.compile(r"field:(.*?) (\w+)(?:\[\w*\])?;\toffset:(\d+);\tsize:(\d+);")
_SHOWN_AS_FUNCTION = re.compile(r"\(void \*\)(?:\(unsigned long\))?REC->(\w+)")


class Format(NamedTuple):
    """The format of an event.

    Attributes:
        group, name: the event's.
        id: its number in the file.
        text: as the kernel's file `format` has it.
    """

    group: str
    name: str
    id: int
    text: str

    @property
    def addresses(self) -> list[tuple[int, int]]:
        """Offset and size of each field that is the address of a function."""
        names = set(_SHOWN_AS_FUNCTION.findall(self.text.partition("print fmt:")[2]))
        fields = _FIELD.findall(self.text)
        return [(int(offset), int(size)) for _, name, offset, size in fields if name in names]


class Parts(NamedTuple):
    """What a trace.dat has.

    Attributes:
        formats: of all its events.
        names: address -> the function's name, without spaces.
        lanes: the pages of each lane of the instance's buffer.
    """

    formats: list[Format]
    names: dict[int, str]
    lanes: list[bytes]


def parts_of(trace: bytes) -> Parts:
    """Return the parts of a trace, the bytes of a .fg, as a trace.dat."""
    with memory_file(trace) as source, memory_file() as converted:
        _tracedata.convert(source, converted, version=6, values_are_texts=True)
        reader = _tracedata.Reader(converted)
        formats = [*_group_formats(reader.part("ftrace"), 0, "ftrace")[0], *_formats(reader.part("events"))]
        lanes = _lanes(contents(converted), reader.nr_cpus, reader.nr_lanes)
        return Parts(formats, _names(reader.part("kallsyms")), lanes)


@cache
def own_formats() -> dict[str, Format]:
    """Return the events that are no events of the program: "GROUP/EVENT" -> format."""
    with memory_file() as spool:
        recorder = _tracedata.Recorder(spool, compress=False)
        recorder.complete("{}")
        recorder.close()
        return {f"{one.group}/{one.name}": one for one in parts_of(contents(spool)).formats}


def _lanes(data: bytes, nr_cpus: int, nr_lanes: int) -> list[bytes]:
    at = data.index(_TABLE)
    if nr_lanes > nr_cpus:  # the instance's table follows that of the recording's own buffer
        at = data.index(_TABLE, at + 1)
    extents = [unpack_from("<QQ", data, at + len(_TABLE) + 16 * lane) for lane in range(nr_cpus)]
    return [data[offset : offset + size] for offset, size in extents]


def _names(part: bytes) -> dict[int, str]:
    lines = part[4:].decode("utf-8", "replace").splitlines()
    words = [line.split(None, 2) for line in lines]
    return {int(address, 16): name for address, _, name in words}


def _formats(part: bytes) -> Iterator[Format]:
    (count,) = unpack_from("<I", part)
    at = 4
    for _ in range(count):
        end = part.index(b"\0", at)
        formats, at = _group_formats(part, end + 1, part[at:end].decode("utf-8", "replace"))
        yield from formats


def _group_formats(part: bytes, at: int, group: str) -> tuple[list[Format], int]:
    """Return the formats that begin there: u32 number; of each u64 size, text. And where they end."""
    (count,) = unpack_from("<I", part, at)
    at += 4
    formats = []
    for _ in range(count):
        (size,) = unpack_from("<Q", part, at)
        text = part[at + 8 : at + 8 + size].decode("utf-8", "replace")
        at += 8 + size
        name, number = re.findall(r"^(?:name|ID): (.*)$", text, re.MULTILINE)[:2]
        formats.append(Format(group, name, int(number), text))
    return formats, at
