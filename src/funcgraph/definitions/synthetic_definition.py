"""Definitions of synthetic events: `NAME TYPE FIELD[; TYPE FIELD]...`.

Documentation/trace/histogram.rst, "Synthetic Events".
"""

from __future__ import annotations

from typing import NamedTuple

from funcgraph.definitions import messages
from funcgraph.definitions.command import BLANKS, number
from funcgraph.definitions.errors import ProbeError
from funcgraph.definitions.event_name import is_identifier
from funcgraph.definitions.field import FIELD_TYPES, Field
from funcgraph.definitions.messages import Message

__all__ = [
    "GROUP",
    "TYPES",
    "SyntheticDefinition",
    "SyntheticField",
    "parse_dynamic_synthetic",
    "parse_synthetic",
]

GROUP = "synthetic"

_COMPONENT = "synthetic_events"
_MOST_FIELDS = 64
_MOST_TEXT_BYTES = 256

#: The types that are no texts and no stack traces -> those of FIELD_TYPES that have the same values.
TYPES = {
    **{name: name for name in FIELD_TYPES},
    "char": "s8",
    "unsigned char": "u8",
    "int": "s32",
    "unsigned int": "u32",
    "long": "s64",
    "unsigned long": "u64",
    "pid_t": "s32",
    "gfp_t": "x32",
}


class SyntheticField(NamedTuple):
    """A field of a synthetic event.

    Attributes:
        name: the field's name; two fields may have the same.
        type: the type as it reads back: "unsigned int", "char[16]", "unsigned long[]".
        size: of a text, how many bytes it has at most; 0: any number.
        is_stack: the value is a stack trace.
        field: the same as a field of an event; its source is ("arg", N), the Nth value of an action.
    """

    name: str
    type: str
    size: int
    is_stack: bool
    field: Field


class SyntheticDefinition(NamedTuple):
    """A synthetic event that one line defines.

    Attributes:
        event: the event's name; its group is "synthetic".
        fields: its fields, in order.
    """

    event: str
    fields: tuple[SyntheticField, ...]

    @property
    def kind(self) -> str:
        """The kind, as for a Definition."""
        return "s"

    @property
    def group(self) -> str:
        """The event's group."""
        return GROUP

    @property
    def synthetic_text(self) -> str:
        """The definition as it reads back in synthetic_events."""
        return f"{self.event}\t{'; '.join(f'{field.type} {field.name}' for field in self.fields)}"

    @property
    def text(self) -> str:
        """The definition as it reads back in dynamic_events."""
        return f"s:{GROUP}/{self.synthetic_text}"


class _Word(NamedTuple):
    text: str
    at: int  # in the command


def parse_synthetic(line: str) -> SyntheticDefinition:
    """Return the definition that a line of synthetic_events is.

        >>> parse_synthetic("wakeup u64 lat; char comm[16]").synthetic_text
        'wakeup\\tu64 lat; char[16] comm'

    Raises:
        ProbeError: the line defines no synthetic event.
    """
    line = line.lstrip(BLANKS)
    if len(_words(line.partition(";")[0])) < 3:
        raise _error(messages.SYNTH_INVALID_CMD, line)
    return _parse(line, 0)


def parse_dynamic_synthetic(line: str) -> SyntheticDefinition:
    """Return the definition that a line of dynamic_events is: it begins with `s:` or `s:synthetic/`.

    Raises:
        ProbeError: the line defines no synthetic event.
    """
    if not any(blank in line for blank in BLANKS):
        raise _error(messages.SYNTH_INVALID_CMD, line)
    start = len("s:")
    if "/" in line:
        if not line.startswith(f"{GROUP}/", start):
            raise _error(messages.SYNTH_INVALID_DYN_CMD, line)
        start += len(f"{GROUP}/")
    if line[start : start + 1] in (*BLANKS, "") or len(_words(line[start:].partition(";")[0])) < 3:
        raise _error(messages.SYNTH_INVALID_CMD, line)
    return _parse(line, start)


def _error(message: Message, line: str, at: int = 0, hint: str = "") -> ProbeError:
    return ProbeError(message, _COMPONENT, line, at, hint=hint)


def _words(text: str, at: int = 0) -> list[_Word]:
    words = []
    for character in BLANKS:
        text = text.replace(character, " ")
    for word in text.split(" "):
        if word:
            words.append(_Word(word, at))
        at += len(word) + 1
    return words


def _parse(line: str, start: int) -> SyntheticDefinition:
    """Return the definition whose name begins at a place of the line."""
    name = _words(line[start:], start)[0]
    if not is_identifier(name.text):
        raise _error(messages.SYNTH_BAD_NAME, line, name.at)
    fields: list[SyntheticField] = []
    at = name.at + len(name.text)
    for part in line[at:].split(";"):
        words = _words(part, at)
        at += len(part) + 1
        while words:
            field, words = _parse_field(line, words, len(fields) + 1)
            if len(fields) == _MOST_FIELDS:
                hint = f"At most {_MOST_FIELDS} are possible."
                raise _error(messages.SYNTH_TOO_MANY_FIELDS, line, hint=hint)
            fields.append(field)
    if not fields:
        raise _error(messages.SYNTH_INVALID_CMD, line)
    return SyntheticDefinition(name.text, tuple(fields))


def _parse_field(line: str, words: list[_Word], number: int) -> tuple[SyntheticField, list[_Word]]:
    """Return the first field that words describe, and the words after it."""
    first, *words = words
    prefix = ""
    if first.text == "unsigned":
        if len(words) < 2:
            raise _error(messages.SYNTH_INCOMPLETE_TYPE, line, first.at)
        prefix = "unsigned "
        first, *words = words
    if not words:
        raise _error(messages.SYNTH_INVALID_FIELD, line, first.at, "A field is TYPE NAME.")
    second, *words = words
    name, bracket, rest = second.text.partition("[")
    if not is_identifier(name):
        raise _error(messages.SYNTH_BAD_NAME, line, second.at)
    array = bracket + rest
    kind = prefix + first.text + array
    if "char[" in kind:
        size = _text_bytes(kind)
        if size is None:
            place = second.at if array else first.at
            message = messages.SYNTH_INVALID_ARRAY_SPEC if array else messages.SYNTH_INVALID_TYPE
            raise _error(message, line, place, f"A text has at most {_MOST_TEXT_BYTES} bytes.")
        return SyntheticField(name, kind, size, False, _field(name, "string", number)), words
    if "long[" in kind:
        return SyntheticField(name, kind, 0, True, _field(name, "value", number)), words
    if kind not in TYPES:
        hint = f"Types: {', '.join(TYPES)}, char[N], unsigned long[]."
        raise _error(messages.SYNTH_INVALID_TYPE, line, first.at, hint)
    return SyntheticField(name, kind, 0, False, _field(name, TYPES[kind], number)), words


def _field(name: str, kind: str, number: int) -> Field:
    return Field(name, kind, 0, ("arg", number), ())


def _text_bytes(kind: str) -> int | None:
    """Return the size that a `char[16]` gives, 0 for `char[]`, or None."""
    size, close, rest = kind.partition("char[")[2].partition("]")
    if not close or rest or len(size) > 3:
        return None
    count = number(size) if size else 0
    return None if count is None or count > _MOST_TEXT_BYTES else count
