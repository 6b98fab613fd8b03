"""The type of a fetch argument: what follows its colon, such as `u8`, `string`, `x64[4]`.

Documentation/trace/kprobetrace.rst, "Types".
"""

from __future__ import annotations

from typing import NamedTuple

from funcgraph.events import messages
from funcgraph.events.command import number
from funcgraph.events.field import FIELD_TYPES, TYPE_ALIASES
from funcgraph.events.messages import Message

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
    """A type, one of FIELD_TYPES, and the number of elements; 0: no array."""

    name: str
    elements: int


def parse_type(text: str, offset: int) -> FetchType:
    """Return the type that a text names.

    Args:
        text: the type, without the colon before it.
        offset: its place in the argument.

    Raises:
        RefusedError: there is no such type, or an array's size is none.
    """
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


def _unknown(name: str, offset: int) -> RefusedError:
    if name[:1] == "b" and name[1:2].isdecimal() and name.partition("/")[2] in _BITFIELD_SIZES:
        hint = "Python's integers have no bitfields: fetch the number."
        return RefusedError(messages.BAD_BITFIELD, offset, hint)
    from funcgraph.names import did_you_mean  # only for an error

    known = (*FIELD_TYPES, *TYPE_ALIASES)
    return RefusedError(messages.BAD_TYPE, offset, f"Types: {' '.join(known)}{did_you_mean(name, known)}")
