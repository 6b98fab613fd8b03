"""The type of a fetch argument: what follows its colon, such as `u8`, `string`, `x64[4]`, `b4@0/32`.

Documentation/trace/kprobetrace.rst, "Types".
"""

from __future__ import annotations

from typing import NamedTuple

from funcgraph.definitions import messages
from funcgraph.definitions.command import number
from funcgraph.definitions.field import FIELD_TYPES, TYPE_ALIASES, Part
from funcgraph.definitions.messages import Message

__all__ = ["FetchType", "RefusedError", "parse_type"]

_MOST_ELEMENTS = 64
_BITFIELD_SIZES = ("8", "16", "32", "64")


class RefusedError(Exception):
    """A part of an argument is refused; whoever knows the whole command makes a ProbeError of it.

    Attributes:
        message: what is wrong.
        offset: the place, counted from the argument's start.
        hint: what would be right.
    """

    def __init__(self, message: Message, offset: int, hint: str = "") -> None:
        super().__init__(message.text)
        self.message = message
        self.offset = offset
        self.hint = hint


class FetchType(NamedTuple):
    """A type.

    Attributes:
        name: one of FIELD_TYPES.
        elements: their number; 0: no array.
        bits: of a bitfield: the step that takes them out of the number.
    """

    name: str
    elements: int
    bits: Part | None = None


def parse_type(text: str, offset: int) -> FetchType:
    """Return the type that a text names.

    Args:
        text: the type, without the colon before it.
        offset: its place in the argument.

    Raises:
        RefusedError: there is no such type, or an array's size is none.
    """
    if text[:1] == "b" and text[1:2].isdecimal() and text.partition("/")[2] in _BITFIELD_SIZES:
        return _parse_bitfield(text, offset)
    name, bracket, rest = text.partition("[")
    elements = 0
    if bracket:
        inside = offset + len(name) + 1
        size, close, suffix = rest.partition("]")
        if not close:
            raise RefusedError(messages.ARRAY_NO_CLOSE, inside + len(rest))
        if suffix:
            raise RefusedError(messages.BAD_ARRAY_SUFFIX, inside + len(size) + 1)
        elements = number(size) or 0
        if not elements:
            raise RefusedError(messages.BAD_ARRAY_NUM, inside)
        if elements > _MOST_ELEMENTS:
            hint = f"An array has at most {_MOST_ELEMENTS} elements."
            raise RefusedError(messages.ARRAY_TOO_BIG, inside, hint)
    kind = TYPE_ALIASES.get(name, name)
    if kind not in FIELD_TYPES:
        raise _unknown(name, offset)
    return FetchType(kind, elements)


def _parse_bitfield(text: str, offset: int) -> FetchType:
    """Return the type `b<bit-width>@<bit-offset>/<container-size>`: __parse_bitfield_probe_arg().

    Raises:
        RefusedError: the bits are none, or do not lie in the container.
    """
    width, _, rest = text[1:].partition("@")
    start, _, size = rest.partition("/")
    n, first = number(width), number(start)
    if not n or first is None or first + n > int(size):
        hint = "b<bit-width>@<bit-offset>/<container-size>: the bits lie in the container."
        raise RefusedError(messages.BAD_BITFIELD, offset, hint)
    return FetchType(f"u{size}", 0, ("bits", first | n << 8))


def _unknown(name: str, offset: int) -> RefusedError:
    from funcgraph.names import did_you_mean  # only for an error

    known = (*FIELD_TYPES, *TYPE_ALIASES)
    return RefusedError(messages.BAD_TYPE, offset, f"Types: {' '.join(known)}{did_you_mean(name, known)}")
