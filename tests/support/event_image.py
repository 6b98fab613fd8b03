"""Images of events, as docs/reference/trace-file.md and engine/ring/field.h lay them out.

They are made of values, and read. Nothing of the code in C is used. There are stand-ins for values that no
Python object can be.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tracefile

#: The names of FG_FIELD_TYPES in order, each with the code of struct for one element; "": it refers to text.
TYPES = {
    "u8": "B", "u16": "H", "u32": "I", "u64": "Q", "s8": "b", "s16": "h", "s32": "i", "s64": "q",
    "x8": "B", "x16": "H", "x32": "I", "x64": "Q", "f64": "d", "bool": "B", "char": "B",
    "string": "", "symbol": "Q", "object": "", "value": "",
}  # fmt: skip
NUMBERS = {name: code for name, code in TYPES.items() if code}
INTEGERS = [name for name, code in NUMBERS.items() if code != "d" and name not in ("char", "symbol")]
REFERRING = [name for name, code in TYPES.items() if not code]

#: Bytes of a str or bytes that are kept: FG_VALUE_MAX_TEXT.
MAX_TEXT = 48
#: Where the fields of an image begin: by whether it is of a return.
FIELDS_AT = {False: 16, True: 24}


def size_of(type_name: str) -> int:
    """Return the bytes of one element."""
    return struct.calcsize("<" + (TYPES[type_name] or "HH"))


# ---- stand-ins


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
class Big:
    """An int of more than 64 bits, as it is read."""

    is_negative: bool
    bits: int


@dataclass(frozen=True)
class Word:
    """A machine word of native code."""

    number: int


class Fault:
    """What stands for a value that is not there, or that only code of the program could have told."""

    def __repr__(self) -> str:
        return "FAULT"


FAULT = Fault()

# ---- values


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


def tagged(value: object) -> bytes:
    """Return a value, or what stands for one, as FG_VALUE_TAGS of record.h has it."""
    match value:
        case str():
            return _counted(8, len(value), kept(value))
        case Sized():
            return _counted(10, value.length, value.type.encode())
        case Object():
            return _counted(11, value.address, value.type.encode())
        case Word():
            return tracefile.word(8, value.number)
        case Fault():
            return b"\x0c"
    return tracefile.value(value)


def decode_value(data: bytes) -> object:
    """Read a tagged value."""
    tag, rest = data[0], data[1:]
    if tag in (8, 9):
        length, n = struct.unpack_from("<QB", rest)
        text = rest[9:]
        assert len(text) == n
        whole = text.decode() if tag == 8 else text
        return whole if len(whole) == length else (whole, length)
    if tag in (10, 11):
        number, n = struct.unpack_from("<QB", rest)
        assert len(rest) == 9 + n
        return (Sized if tag == 10 else Object)(rest[9:].decode(), number)
    if tag == 6:
        negative, bits = struct.unpack("<BI", rest)
        return Big(bool(negative), bits)
    if tag in (4, 5, 7):
        return struct.unpack({4: "<b", 5: "<q", 7: "<d"}[tag], rest)[0]
    assert not rest
    return {1: None, 2: True, 3: False, 12: FAULT}[tag]


def decode_element(image: bytes, offset: int, type_name: str) -> object:
    """Read an element of a field; None: it refers to nothing."""
    if TYPES[type_name]:
        return struct.unpack_from("<" + TYPES[type_name], image, offset)[0]
    start, length = struct.unpack_from("<HH", image, offset)
    data = image[start : start + length]
    assert len(data) == length
    if not data:
        return None
    if type_name == "string":
        assert data[-1] == 0
        return data[:-1].decode(errors="surrogateescape")
    return decode_value(data)


# ---- fields


@dataclass(frozen=True)
class Field:
    """A field of a definition, and where it lies in the image."""

    name: str
    type: str
    count: int = 0
    offset: int = 0

    @property
    def size(self) -> int:
        return size_of(self.type)

    @property
    def end(self) -> int:
        return self.offset + self.size * (self.count or 1)

    def places(self) -> range:
        return range(self.offset, self.end, self.size)


def placed(fields: Iterable[Field], at: int) -> tuple[Field, ...]:
    """Return the fields one after the other from a place on."""
    found = []
    for field in fields:
        found.append(Field(field.name, field.type, field.count, at))
        at = found[-1].end
    return tuple(found)


def pack(fields: Sequence[Field], values: Iterable[Any]) -> tuple[bytes, list[int]]:
    """Return an image from its fields on, and for each field up to where an image must reach for it.

    Args:
        fields: where they lie.
        values: one for each; an array's is a sequence. Bytes stand for what a field refers to as they are.
    """
    fixed, referred, ends = b"", b"", []
    begin_of_texts = fields[-1].end if fields else 0
    for field, value in zip(fields, values, strict=True):
        end = field.end
        for item in value if field.count else [value]:
            if TYPES[field.type]:
                fixed += struct.pack("<" + TYPES[field.type], item)
                continue
            data = item if isinstance(item, bytes) else _referred(field.type, item)
            fixed += struct.pack("<HH", begin_of_texts + len(referred), len(data))
            referred += data
            end = begin_of_texts + len(referred)
        ends.append(end)
    assert not fields or len(fixed) == begin_of_texts - fields[0].offset
    return fixed + referred, ends


def _referred(type_name: str, value: object) -> bytes:
    return str(value).encode() + b"\0" if type_name == "string" else tagged(value)


class Image:
    """An image of an event at an entry, and where its fields lie.

    Args:
        fields: the definition's.
        values: a value for each field; an array's is a sequence.
        pid, place: its common_pid and __probe_ip.
    """

    def __init__(
        self, fields: Sequence[Field], values: Mapping[str, Any], pid: int = 1, place: int = 0
    ) -> None:
        lying = placed(fields, FIELDS_AT[False])
        self.layout = [(field.offset, list(TYPES).index(field.type), field.count) for field in lying]
        # Bytes are a value here.
        given = [_value(field, values[field.name]) for field in lying]
        packed, ends = pack(lying, given)
        #: For each field, up to where the image must reach for the field to be readable.
        self.ends = {field.name: end for field, end in zip(lying, ends, strict=True)}
        self.bytes = struct.pack("<HBBiQ", 7, 0, 2, pid, place) + packed


def _value(field: Field, value: Any) -> Any:
    if TYPES[field.type]:
        return value
    return [_referred(field.type, one) for one in value] if field.count else _referred(field.type, value)


@dataclass(frozen=True)
class Kind:
    """A kind of event, as a trace has it."""

    system: str
    name: str
    fields_at: int
    fields: tuple[Field, ...]

    @property
    def text(self) -> str:
        return ";".join(f"{f.type} {f.name} {f.count} {f.offset}" for f in self.fields)

    @property
    def fixed_end(self) -> int:
        return max((field.end for field in self.fields), default=self.fields_at)

    def pack(self, *values: object) -> bytes:
        """Return the image from its fields on. Bytes stand for what a field refers to as they are."""
        return pack(self.fields, values)[0]


def kind_of(system: str, name: str, fields_at: int, fields: Iterable[tuple[str, str, int]]) -> Kind:
    """Make a kind of event of (type, name, count) of each field."""
    bare = [Field(field_name, field_type, count) for field_type, field_name, count in fields]
    return Kind(system, name, fields_at, placed(bare, fields_at))


def parse_kind(known: tuple[str, str, int, str]) -> Kind:
    """Make a kind of (system, name, where its fields begin, "TYPE NAME COUNT OFFSET;...")."""
    system, name, fields_at, text = known
    words = [field.split(" ") for field in text.split(";") if field]
    fields = tuple(Field(field, kind, int(count), int(offset)) for kind, field, count, offset in words)
    return Kind(system, name, fields_at, fields)
