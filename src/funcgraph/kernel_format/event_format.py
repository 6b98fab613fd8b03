"""Events as the kernel describes them: the text of a `format` file, the fields of a record, its printed text.

event = parse_format(text)
event.name, event.number
event.values(record)          # field -> number, text or bytes
event.print(record, symbols)  # the text by the event's own `print fmt`
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from funcgraph.kernel_format.c_expression import PrintError
from funcgraph.kernel_format.print_format import Printer, Symbols, compile_print
from funcgraph.names import printable_lines

FieldValue: TypeAlias = int | str | bytes

# "field:unsigned long args[];	offset:24;	size:0;	signed:0;"
_FIELD = re.compile(r"\s*field(?: special)?:(.*?);\s*offset:(\d+);\s*size:(\d+);(?:\s*signed:(\d+);)?\s*$")
_ARRAY = re.compile(r"(.*?)\s*\[\s*(\w*)\s*\]$")
_DYNAMIC = {"__data_loc": "data_loc", "__rel_loc": "rel_loc"}
_MAX_NUMBER = 8
UNPARSED = (
    "[FAILED TO PARSE]"  # as trace-cmd begins the text of an event whose print fmt it does not understand
)


class FormatError(Exception):
    """A text is not that of a kernel's `format` file."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an event.

    Attributes:
        name: its name.
        type: its type in C, without the brackets of an array and without `__data_loc`.
        offset: where it begins in a record.
        size: its bytes there. 0: it takes the rest of the record.
        signed: whether its number, or its items, may be negative.
        is_array: whether it has several items.
        dynamic: where its data lies: in the field itself (""), or at an offset that the field has, counted
            from the record's beginning (`data_loc`) or from the field's end (`rel_loc`).
        item_size: bytes of an item; of a number: `size`.
    """

    name: str
    type: str
    offset: int
    size: int
    signed: bool
    is_array: bool
    dynamic: Literal["", "data_loc", "rel_loc"]
    item_size: int

    @property
    def is_text(self) -> bool:
        """Whether it has characters."""
        return self.is_array and self.item_size == 1 and "char" in self.type.split()

    @property
    def is_number(self) -> bool:
        return not self.is_array and not self.dynamic and 1 <= self.size <= _MAX_NUMBER

    def number(self, record: bytes) -> int:
        """Return its number; 0 of a record that is too short."""
        return int.from_bytes(record[self.offset : self.offset + self.size], "little", signed=self.signed)

    def data(self, record: bytes) -> bytes:
        """Return its bytes: of an array, all items. They are fewer if the record is damaged."""
        if self.dynamic:
            place = int.from_bytes(record[self.offset : self.offset + 4], "little")
            begin, size = place & 0xFFFF, place >> 16
            if self.dynamic == "rel_loc":
                begin += self.offset + self.size
            return record[begin : begin + size]
        if not self.size:
            return record[self.offset :]
        return record[self.offset : self.offset + self.size]

    def items(self, record: bytes) -> list[int]:
        """Return the numbers of an array."""
        data, size = self.data(record), self.item_size
        return [
            int.from_bytes(data[at : at + size], "little", signed=self.signed)
            for at in range(0, len(data) - size + 1, size)
        ]

    def text(self, record: bytes) -> str:
        """Return its characters, up to the first NUL."""
        return self.data(record).partition(b"\0")[0].decode("utf-8", "backslashreplace")

    def value(self, record: bytes) -> FieldValue:
        """Return a number, a text, or the bytes of anything else."""
        if self.is_text:
            return self.text(record)
        return self.number(record) if self.is_number else self.data(record)

    def plain(self, record: bytes) -> str:
        """Return its value as trace-cmd prints that of an event whose print fmt it does not understand."""
        if self.is_text:
            return self.text(record)
        if not self.is_number:
            return f"ARRAY[{', '.join(f'{byte:02x}' for byte in self.data(record))}]"
        number = self.number(record)
        words = self.type.split()
        if "*" in self.type or ("long" in words and not self.signed):
            return f"{number & (1 << 8 * self.size) - 1:#x}"
        return str(number)


@dataclass(frozen=True)
class EventFormat:
    """An event.

    Attributes:
        system: the group that it belongs to, as `sched`; "ftrace" for those of the tracers.
        name: its name.
        number: its id, which records begin with.
        fields: name -> field, without the fields that all events have.
        common: name -> field: those.
        print_fmt: how the kernel prints it: a format and its arguments, in C.
    """

    system: str
    name: str
    number: int
    fields: Mapping[str, Field]
    common: Mapping[str, Field]
    print_fmt: str = field(repr=False)

    def values(self, record: bytes) -> dict[str, FieldValue]:
        """Return the values of its fields, by name."""
        return {name: item.value(record) for name, item in self.fields.items()}

    def print(self, record: bytes, symbols: Symbols) -> str:
        """Return what its print fmt says about a record.

        If that is not understood, or fails for this record: all fields as `name=value`, as trace-cmd does.

        Args:
            record: the record, from its common fields on.
            symbols: returns the function in which an address lies.
        """
        if self._printer is not None:
            try:
                return printable_lines(self._printer(record, symbols))
            except PrintError:
                pass
        plain = " ".join(f"{name}={item.plain(record)}" for name, item in self.fields.items())
        return printable_lines(f"{UNPARSED} {plain}")

    @cached_property
    def _printer(self) -> Printer | None:
        try:
            return compile_print(self.print_fmt, {**self.common, **self.fields})
        except PrintError:
            return None


def parse_format(text: str, system: str = "") -> EventFormat:
    """Parse the text of a `format` file.

    Args:
        text: the text.
        system: the group that the event belongs to.

    Raises:
        FormatError: it has no name, no id, or a field with impossible numbers.
    """
    name, number, print_fmt = "", -1, ""
    groups: list[dict[str, Field]] = [{}]
    lines = iter(text.splitlines())
    for line in lines:
        key, _, rest = line.partition(":")
        if key == "name":
            name = rest.strip()
        elif key == "ID":
            number = _number(rest)
        elif key == "print fmt":
            print_fmt = "\n".join([rest.strip(), *lines])
        elif match := _FIELD.match(line):
            item = _field(*match.groups())
            groups[-1][item.name] = item
        elif not line.strip() and groups[-1]:
            groups.append({})
    if not name or not 0 <= number < 2**16:
        raise FormatError(f"the format of an event has no name or id: {text[:60]!r}")
    common, fields = _split(groups)
    return EventFormat(system, name, number, fields, common, print_fmt)


def _split(groups: list[dict[str, Field]]) -> tuple[dict[str, Field], dict[str, Field]]:
    """Tell the fields of all events from the event's own."""
    every = {name: item for group in groups for name, item in group.items()}
    common = {name: item for name, item in every.items() if name.startswith("common_")}
    return common, {name: item for name, item in every.items() if name not in common}


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise FormatError(f"{text.strip()!r} is not a number") from None


def _field(declaration: str, offset: str, size: str, signed: str | None) -> Field:
    count = None
    words = declaration.strip()
    if match := _ARRAY.match(words):
        words, count = match[1], match[2]
    dynamic: str = ""
    for word, kind in _DYNAMIC.items():
        if words.startswith(word):
            words, dynamic = words.removeprefix(word).strip(), kind
    type_name, name = _type_and_name(words)
    if dynamic:  # "__data_loc char[] name": the brackets belong to the type
        type_name, count = type_name.replace("[]", "").strip(), ""
    bytes_ = int(size)
    is_array = count is not None
    item = _item_size(type_name, bytes_, count) if is_array else bytes_
    return Field(
        name,
        type_name,
        int(offset),
        bytes_,
        signed == "1",
        is_array,
        dynamic,  # type: ignore[arg-type]
        item,
    )


def _type_and_name(words: str) -> tuple[str, str]:
    """Split "unsigned long func", "void *ptr", "char[] name"."""
    match = re.match(r"(.*?)(\w+)$", words)
    if not match:
        return "", words
    return match[1].strip(), match[2]


_SIZES = {
    **dict.fromkeys(("char", "u8", "s8", "__u8", "__s8", "bool", "uint8_t", "int8_t"), 1),
    **dict.fromkeys(("short", "u16", "s16", "__u16", "__s16", "__le16", "__be16", "uint16_t"), 2),
    **dict.fromkeys(("int", "u32", "s32", "__u32", "__s32", "__le32", "__be32", "unsigned", "uint32_t"), 4),
    **dict.fromkeys(("u64", "s64", "__u64", "__s64", "__le64", "__be64", "uint64_t"), 8),
}
_WORD = 8


def _item_size(type_name: str, size: int, count: str | None) -> int:
    """Return the size of an array's items."""
    if count and count.isdecimal() and int(count) and size and size % int(count) == 0:
        return max(size // int(count), 1)
    words = type_name.split()
    if "long" in words or "*" in type_name:
        return _WORD
    return next((_SIZES[word] for word in reversed(words) if word in _SIZES), 1)
