"""Recorded values as Python objects: arguments and results. FG_VALUE_TAGS in record.h is their table."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from struct import Struct
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from funcgraph.tracedata.description import EventField

Form: TypeAlias = Literal["call", "list", "tuple", "set", "dict"]

# enum fg_value_tag
_END, _NONE, _TRUE, _FALSE, _INT8, _INT64, _BIGINT, _FLOAT = range(8)
_STR, _BYTES, _SIZED, _OBJECT, _UNBOUND, _MORE, _WORD = range(8, 15)
_TEXT, _DATA, _SHOWN, _MEMBER, _OPEN, _CLOSE, _NAME, _HIDDEN, _FAULT, _DISCARDED = range(15, 25)
_ENDS = (_END, _DISCARDED)

# enum fg_value_form, with the brackets of each
_FORMS: tuple[Form, ...] = ("call", "list", "tuple", "set", "dict")
_BRACKETS = {"call": "()", "list": "[]", "tuple": "()", "set": "{}", "dict": "{}"}

_I64 = Struct("<q")
_U64 = Struct("<Q")
_F64 = Struct("<d")
_NUMBER_AND_LONG_TEXT = Struct("<QH")
_NUMBER_AND_TEXT = Struct("<QB")  # a length or address, and the number of bytes of the text after it
_SIGN_AND_BITS = Struct("<BI")
_SIZE_AND_WORD = Struct("<BQ")

# The last 4095 values of a machine word are negative error numbers (the kernel's IS_ERR_VALUE).
_MAX_ERRNO = 4095


@dataclass(frozen=True, slots=True)
class PartialValue:
    """What a trace has of a value that is not in it as a whole. `str()` of it is what the report prints.

    Attributes:
        kind: `str`, `bytes`: a long text, of which the beginning is recorded. `int`: one of over 64 bits.
            `container`: anything with a length. `object`: anything else. `unbound`: an argument had no value.
            `more`: stands for the values after it, for which there was no room. `parts`: something of which
            parts were recorded. `shown`: an object that a text stands for, as a date. `member`: a name that
            stands for itself, as a member of an enumeration. `redacted`: left out for its name. `fault`: it
            could not be read.
        type_name: the name of its type; "" if it has none, or is a built-in container with parts.
        length: characters of a text, bytes of a bytes, bits of an int, items of a container; else 0.
        beginning: of a str or bytes; the text of what is shown, or of a member; else None.
        address: of an object, as `id()` returned it; else 0.
        negative: whether an int is below 0.
        form: of what has parts: what it looks like; else "".
        parts: each with its key: of a dict a value, of "call" the name of the argument or attribute, or
            None; else None.
        is_cut: whether further parts were left out.
    """

    kind: Literal[
        "str",
        "bytes",
        "int",
        "container",
        "object",
        "unbound",
        "more",
        "parts",
        "shown",
        "member",
        "redacted",
        "fault",
    ]
    type_name: str = ""
    length: int = 0
    beginning: str | bytes | None = None
    address: int = 0
    negative: bool = False
    form: Form | Literal[""] = ""
    parts: tuple[tuple[Value, Value], ...] = ()
    is_cut: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it is left out, so that two that look the same are the same."""
        if self.kind == "shown":
            return len(self.beginning or "") == self.length
        parts = [part for pair in self.parts for part in pair]
        whole = all(part.is_whole for part in parts if isinstance(part, PartialValue))
        # Of an array of numpy, a frame or a series of pandas the items are not recorded.
        is_shape = self.form == "call" and bool(self.parts) and self.parts[0][0] == "shape"
        is_open = self.kind == "parts" and not self.is_cut and not is_shape
        return self.kind in ("unbound", "member") or (is_open and whole)

    def __str__(self) -> str:
        match self.kind:
            case "str" | "bytes":
                return f"{self.beginning!r}...({self.length})"
            case "int":
                return f"{'-' if self.negative else ''}int({self.length} bits)"
            case "container":
                return f"{self.type_name}({self.length})"
            case "object":
                return f"<{self.type_name} at {self.address:#x}>" if self.address else f"<{self.type_name}>"
            case "unbound" | "redacted":
                return f"<{self.kind}>"
            case "fault":
                return "(fault)"
            case "member":
                return str(self.beginning)
            case "shown":
                text = repr(self.beginning)
                whole = isinstance(self.beginning, str) and len(self.beginning) == self.length
                return f"{self.type_name}({text})" if whole else f"{self.type_name}({text}...({self.length}))"
            case "parts":
                return self._with_parts()
        return "..."

    def _with_parts(self) -> str:
        separator = ": " if self.form == "dict" else "="
        texts = [
            _shown(part)
            if key is None and self.form != "dict"
            else f"{self._key(key)}{separator}{_shown(part)}"
            for key, part in self.parts
        ]
        inside = ", ".join([*texts, *(["..."] if self.is_cut else [])])
        if self.form == "call" or (self.form == "set" and not self.length):
            return f"{self.type_name or 'set'}({inside})"
        if self.form == "tuple" and len(texts) == 1 and not self.is_cut:
            inside += ","
        brackets = _BRACKETS[self.form]
        text = f"{brackets[0]}{inside}{brackets[1]}"
        if self.type_name:
            text = f"{self.type_name}({text})"
        return f"{text}({self.length})" if self.is_cut else text

    def _key(self, key: Value) -> str:
        return _shown(key) if self.form == "dict" else str(key)


def _shown(value: Value) -> str:
    return str(value) if isinstance(value, PartialValue) else repr(value)


Value: TypeAlias = bool | int | float | str | bytes | PartialValue | None


def decode_values(data: bytes) -> tuple[Value, ...]:
    """Return the values in `data`, up to their end or to the first one that is cut off or of unknown sort."""
    values: list[Value] = []
    at, size = 0, len(data)
    try:
        while at < size and data[at] not in _ENDS:
            value, at = _decode(data[at], data, at + 1)
            values.append(value)
    except (IndexError, struct.error, RecursionError):  # the last: only a damaged file has so many levels
        pass
    return tuple(values)


FieldValue: TypeAlias = "Value | tuple[Value, ...]"

# FG_FIELD_TYPES in field.h
_NUMBERS = {
    **{
        f"{sign}{bits}": Struct(f"<{code}")
        for sign in "ux"
        for bits, code in zip((8, 16, 32, 64), "BHIQ", strict=True)
    },
    **{f"s{bits}": Struct(f"<{code}") for bits, code in zip((8, 16, 32, 64), "bhiq", strict=True)},
    "f64": _F64,
    "bool": Struct("<B"),
    "char": Struct("<B"),
    "symbol": Struct("<Q"),
}
_LOC = Struct("<HH")  # what a field of the other types has: where its bytes lie in the image, and how many

UNREAD = PartialValue("unbound")


def decode_field(image: bytes, field: EventField, name_of: Callable[[int], str | None]) -> FieldValue:
    """Return the value of an event's field.

    Args:
        image: the event (field.h).
        field: the field.
        name_of: returns the name of the function at an address.
    """
    layout = _NUMBERS.get(field.type, _LOC)
    values = tuple(
        UNREAD
        if field.fault_bit and _is_fault(image, field.fault_bit + i)
        else _decode_element(image, field.type, layout, field.offset + i * layout.size, name_of)
        for i in range(field.count or 1)
    )
    return values if field.count else values[0]


def _is_fault(image: bytes, bit: int) -> bool:
    byte, place = divmod(bit, 8)
    return byte < len(image) and bool(image[byte] >> place & 1)


def _decode_element(
    image: bytes, kind: str, layout: Struct, at: int, name_of: Callable[[int], str | None]
) -> Value:
    if at + layout.size > len(image):
        return UNREAD
    number: int  # or, of a f64, a float
    number, *size = layout.unpack_from(image, at)
    if size:
        return _decode_referred(image[number : number + size[0]], kind, size[0])
    if kind == "bool":
        return number != 0
    if kind == "char":
        return chr(number)
    return name_of(number) if kind == "symbol" else number


def _decode_referred(data: bytes, kind: str, size: int) -> Value:
    if len(data) < size:
        return UNREAD
    if kind == "string":
        return _decode_str(data.split(b"\0", 1)[0])
    return next(iter(decode_values(data)), UNREAD)


def _decode(tag: int, data: bytes, at: int) -> tuple[Value, int]:
    """Return the value whose tag lies before `at`, and where it ends."""
    if tag <= _FALSE:
        return (None if tag == _NONE else tag == _TRUE), at
    if tag == _INT8:
        return (data[at] ^ 128) - 128, at + 1
    if tag == _INT64:
        return _I64.unpack_from(data, at)[0], at + _I64.size
    if tag == _FLOAT:
        return _F64.unpack_from(data, at)[0], at + _F64.size
    if tag in (_STR, _BYTES, _SIZED, _OBJECT):
        number, size = _NUMBER_AND_TEXT.unpack_from(data, at)
        begin = at + _NUMBER_AND_TEXT.size
        end = begin + size
        if end > len(data):
            raise IndexError
        return _with_text(tag, number, data[begin:end]), end
    if tag == _BIGINT:
        negative, bits = _SIGN_AND_BITS.unpack_from(data, at)
        return PartialValue("int", "int", bits, negative=negative != 0), at + _SIGN_AND_BITS.size
    if tag == _WORD:
        size, word = _SIZE_AND_WORD.unpack_from(data, at)
        return _word(size, word), at + _SIZE_AND_WORD.size
    if tag in _WITHOUT_DATA:
        return _WITHOUT_DATA[tag], at
    return _decode_deep(tag, data, at)


_WITHOUT_DATA = {
    _UNBOUND: PartialValue("unbound"),
    _MORE: PartialValue("more"),
    _HIDDEN: PartialValue("redacted"),
    _FAULT: PartialValue("fault"),
}


def _decode_deep(tag: int, data: bytes, at: int) -> tuple[Value, int]:
    """Return a value that only recordings with `values` have, and where it ends."""
    if tag in (_TEXT, _DATA):
        length, size = _NUMBER_AND_LONG_TEXT.unpack_from(data, at)
        text, at = _taken(data, at + _NUMBER_AND_LONG_TEXT.size, size)
        return _with_text(_STR if tag == _TEXT else _BYTES, length, text), at
    if tag == _MEMBER:
        name, at = _counted(data, at)
        return PartialValue("member", beginning=_decode_str(name)), at
    if tag == _SHOWN:
        name, at = _counted(data, at)
        shown, at = _decode(data[at], data, at + 1)
        if isinstance(shown, PartialValue):
            return replace(shown, kind="shown", type_name=_decode_str(name)), at
        text_shown = str(shown)
        return PartialValue("shown", _decode_str(name), len(text_shown), text_shown), at
    if tag == _OPEN:
        return _decode_parts(data, at)
    raise IndexError


def _taken(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    if at + size > len(data):
        raise IndexError
    return data[at : at + size], at + size


def _counted(data: bytes, at: int) -> tuple[bytes, int]:
    return _taken(data, at + 1, data[at])


def _decode_parts(data: bytes, at: int) -> tuple[Value, int]:
    """Return what has parts. Those of a dict are keys and values in turn, some of others have names."""
    form = _FORMS[data[at]] if data[at] < len(_FORMS) else "call"
    (length,) = _U64.unpack_from(data, at + 1)
    name, at = _counted(data, at + 1 + _U64.size)
    keys: list[Value] = []
    parts: list[tuple[Value, Value]] = []
    is_cut = False
    while data[at] != _CLOSE:
        if data[at] == _NAME:
            key, at = _counted(data, at + 1)
            keys.append(_decode_str(key))
            continue
        is_cut |= data[at] == _MORE
        value, at = _decode(data[at], data, at + 1)
        if isinstance(value, PartialValue) and value.kind == "more":
            continue
        if form == "dict" and not keys:
            keys.append(value)
        else:
            parts.append((keys.pop() if keys else None, value))
    type_name = _decode_str(name)
    return PartialValue("parts", type_name, length, form=form, parts=tuple(parts), is_cut=is_cut), at + 1


def _with_text(tag: int, number: int, text: bytes) -> Value:
    if tag == _STR:
        beginning = _decode_str(text)
        if len(beginning) == number:
            return beginning
        return PartialValue("str", "str", number, beginning)
    if tag == _BYTES:
        return text if len(text) == number else PartialValue("bytes", "bytes", number, text)
    name = text.decode("utf-8", "backslashreplace")
    if tag == _SIZED:
        return PartialValue("container", name, number)
    return PartialValue("object", name, address=number)


def _decode_str(text: bytes) -> str:
    try:
        return text.decode("utf-8", "surrogatepass")  # a str may have lone surrogates
    except UnicodeDecodeError:  # a damaged file
        return text.decode("utf-8", "backslashreplace")


def _word(size: int, word: int) -> int:
    """Return a machine word of `size` bytes: a negative error number as such, anything else as unsigned."""
    bits = 8 * size if 1 <= size <= 8 else 64
    word &= (1 << bits) - 1
    below_zero = (1 << bits) - word
    return -below_zero if below_zero <= _MAX_ERRNO else word
