"""Images of events as engine/ring/field.h lays them out, made of Python values; and filters that read them.

The C code is the engine's, compiled by itself (tests/events/filter_probe.c).
"""

from __future__ import annotations

import ctypes
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from funcgraph.events.filter_program import Program

ROOT = Path(__file__).parents[2]
SOURCES = [
    ROOT / "tests/events/filter_probe.c",
    *sorted((ROOT / "src/engine/event").glob("filter*.c")),
    ROOT / "src/engine/event/text_glob.c",
    ROOT / "src/engine/ring/field.c",
]

#: The names of FG_FIELD_TYPES in order, each with the code of struct for one element; "": it refers to text.
TYPES = {
    "u8": "B", "u16": "H", "u32": "I", "u64": "Q", "s8": "b", "s16": "h", "s32": "i", "s64": "q",
    "x8": "B", "x16": "H", "x32": "I", "x64": "Q", "f64": "d", "bool": "B", "char": "B",
    "string": "", "symbol": "Q", "object": "", "value": "",
}  # fmt: skip
INTEGERS = [name for name, code in TYPES.items() if code not in ("", "d") and name not in ("char", "symbol")]

#: Bytes of a str or bytes that are kept: FG_VALUE_MAX_TEXT.
MAX_TEXT = 48
FIELDS_AT = 16


class Field(NamedTuple):
    """A field of a definition."""

    name: str
    type: str
    count: int = 0


@dataclass(frozen=True)
class Sized:
    """A container: its type's name and its length."""

    type: str
    length: int


@dataclass(frozen=True)
class Object:
    """Any other object: its type's name and its address."""

    type: str
    address: int


@dataclass(frozen=True)
class Word:
    """A machine word of native code."""

    number: int


UNBOUND = type("Unbound", (), {"__repr__": lambda self: "UNBOUND"})()


def kept(text: str | bytes) -> bytes:
    """Return what is kept of a str or bytes: the characters from its start that fit whole."""
    if isinstance(text, bytes):
        return text[:MAX_TEXT]
    found = b""
    for character in text:
        if len(found + character.encode()) > MAX_TEXT:
            break
        found += character.encode()
    return found


def _counted(tag: int, number: int, text: bytes) -> bytes:
    return struct.pack("<BQB", tag, number, len(text)) + text


def tagged(value: Any) -> bytes:
    """Return a value as FG_VALUE_TAGS of record.h has it."""
    match value:
        case None:
            return b"\x01"
        case bool():
            return b"\x02" if value else b"\x03"
        case int() if -128 <= value < 128:
            return struct.pack("<Bb", 4, value)
        case int() if -(1 << 63) <= value < 1 << 63:
            return struct.pack("<Bq", 5, value)
        case int():
            return struct.pack("<BBI", 6, value < 0, value.bit_length())
        case float():
            return struct.pack("<Bd", 7, value)
        case str():
            return _counted(8, len(value), kept(value))
        case bytes():
            return _counted(9, len(value), kept(value))
        case Sized():
            return _counted(10, value.length, value.type.encode())
        case Object():
            return _counted(11, value.address, value.type.encode())
        case Word():
            return struct.pack("<BBQ", 14, 8, value.number)
    assert value is UNBOUND
    return b"\x0c"


class Image:
    """An image of an event, and where its fields lie.

    Args:
        fields: the definition's.
        values: a value for each field; an array's is a sequence.
        pid, place: its common_pid and __probe_ip.
    """

    def __init__(
        self, fields: Sequence[Field], values: Mapping[str, Any], pid: int = 1, place: int = 0
    ) -> None:
        sizes = {name: struct.calcsize("<" + (code or "I")) for name, code in TYPES.items()}
        end = FIELDS_AT + sum(sizes[field.type] * max(field.count, 1) for field in fields)
        fixed, referred = bytearray(struct.pack("<HBBiQ", 7, 0, 2, pid, place)), bytearray()
        self.layout = []
        #: For each field, up to where the image must reach for the field to be readable.
        self.ends = {}
        for field in fields:
            value = values[field.name]
            self.layout.append((len(fixed), list(TYPES).index(field.type), field.count))
            elements = value if field.count else [value]
            if TYPES[field.type]:
                fixed += struct.pack(f"<{len(elements)}{TYPES[field.type]}", *elements)
                self.ends[field.name] = len(fixed)
            else:
                content = value.encode() + b"\0" if field.type == "string" else tagged(value)
                fixed += struct.pack("<HH", end + len(referred), len(content))
                referred += content
                self.ends[field.name] = end + len(referred)
        assert len(fixed) == end
        self.bytes = bytes(fixed + referred)


class _CField(ctypes.Structure):
    """struct fg_field."""

    _fields_ = (("offset", ctypes.c_uint16), ("type", ctypes.c_uint8), ("count", ctypes.c_uint8))


class Engine:
    """The engine's filters."""

    def __init__(self, folder: Path) -> None:
        library = folder / "filter_probe.so"
        command = [
            "gcc",
            "-std=gnu11",
            "-O1",
            "-g",
            "-fPIC",
            "-shared",
            "-Wall",
            "-Wextra",
            "-Werror",
        ]
        command += ["-fsanitize=undefined", "-fno-sanitize-recover=all", f"-I{ROOT / 'src'}"]
        done = subprocess.run(
            [*command, *map(str, SOURCES), "-o", str(library)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        self._library = ctypes.CDLL(str(library))
        self._library.probe_matches.restype = ctypes.c_bool
        self._library.probe_matches.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32)
        self._library.fg_event_filter_free.argtypes = (ctypes.c_void_p,)

    def names(self, table: str) -> tuple[str, ...]:
        """Return the names in a table of filter.h: "operations", "operands" or "sources"."""
        words = ctypes.c_char_p.in_dll(self._library, f"probe_{table}").value
        assert words is not None
        return tuple(words.decode().split())

    def name_task(self, name: str | None) -> None:
        """Give this thread a task with this name; None: no task."""
        self._library.probe_name_task(None if name is None else name.encode())

    def make(self, program: bytes, layout: Sequence[tuple[int, int, int]]) -> EngineFilter:
        """Return a filter of the bytes of a program. Raises OSError."""
        made = ctypes.c_void_p()
        fields = (_CField * len(layout))(*layout)
        error = self._library.probe_make(
            ctypes.byref(made), program, ctypes.c_size_t(len(program)), fields, len(layout)
        )
        if error:
            raise OSError(-error, "fg_event_filter_make")
        return EngineFilter(self._library, made)

    def matches(self, program: Program, image: Image, n: int | None = None) -> bool:
        """Return whether a filter accepts an image, of which only the first `n` bytes are there."""
        made = self.make(program.pack(), image.layout)
        return made.matches(image.bytes[:n])


class EngineFilter:
    """A filter that the engine made."""

    def __init__(self, library: ctypes.CDLL, made: ctypes.c_void_p) -> None:
        self._library = library
        self._made = made

    def __del__(self) -> None:
        self._library.fg_event_filter_free(self._made)

    def matches(self, image: bytes) -> bool:
        """Return whether the filter accepts an image."""
        found: bool = self._library.probe_matches(self._made, image, len(image))
        return found
