"""Redaction in events: a field whose value an instance must not record has a text in its place.

The name of such a value is that of the field, or of what the field reads: a variable, a function's result, an
attribute or a key. What is redacted is never fetched: the definition of the event reads the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from funcgraph import _engine
from funcgraph.definitions.field import Field

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from funcgraph.definitions.definition import Definition

__all__ = ["RedactionError", "check_event", "check_fields", "redact"]

_TEXT = "<redacted>"
_TEXT_TYPES = ("value", "string", "object")


class RedactionError(ValueError):
    """An event would record a value that must not be recorded.

    Attributes:
        argument: the number of the argument of its definition, counted from 0; -1: it is none's.
    """

    argument = -1


class Event(Protocol):
    """An event of this process: what this needs of it."""

    @property
    def group(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def fields(self) -> tuple[Field, ...]: ...
    @property
    def definitions(self) -> Sequence[Definition]:
        """The definitions of its probes; none: its fields are not fetched."""


def redact(definition: Definition, words: Sequence[str]) -> Definition:
    """Return the definition of an event that records no value of such a name.

    Args:
        definition: the definition; it is returned itself if it records none.
        words: texts as `--redact` takes them.

    Raises:
        RedactionError: a field has such a name and cannot show the text in place of its value; or nobody can
            tell the name of what it reads.
    """
    fields, arguments = list(definition.fields), list(definition.arguments)
    for at, field in enumerate(definition.fields):
        try:
            if not _is_hidden(_names(definition, field), words):
                continue
            fields[at] = _text_field(definition, field, arguments[at])
        except RedactionError as error:
            error.argument = at
            raise
        arguments[at] = f'{field.name}=\\"{_TEXT}"'
    if arguments == list(definition.arguments):
        return definition
    return definition._replace(fields=tuple(fields), arguments=tuple(arguments))


def check_event(event: Event, words: str) -> None:
    """Check that an event records no value of such a name.

    Raises:
        RedactionError: it does.
    """
    for definition in event.definitions:
        other = redact(definition, [words])
        if other is not definition:
            pairs = zip(definition.arguments, other.arguments, strict=True)
            argument = next(own for own, redacted in pairs if own != redacted)
            raise RedactionError(f"{event.group}/{event.name} records {argument}: define it again")
    if not event.definitions:
        check_fields(event.group, event.name, event.fields, [words])


def check_fields(group: str, name: str, fields: Iterable[Field], words: Sequence[str]) -> None:
    """Check that an event whose fields are not fetched has none of such a name.

    Raises:
        RedactionError: it has one.
    """
    for field in fields:
        if _is_hidden([field.name], words):
            raise RedactionError(
                f"{group}/{name} records the field {field.name}, which is redacted: "
                f"define an event on it with the other fields, 't:NAME {name} FIELD ...'"
            )


def _text_field(definition: Definition, field: Field, argument: str) -> Field:
    """Return a field that has the text in place of what it reads."""
    if definition.is_native or field.type not in _TEXT_TYPES or field.count:
        what = f"{field.type}[{field.count}]" if field.count else field.type
        raise RedactionError(
            f"{argument}: it is redacted, and a field of the type {what} cannot show that: leave it out"
        )
    return Field(field.name, "string", 0, ("imm", _TEXT), ())


def _is_hidden(names: Iterable[str], words: Sequence[str]) -> bool:
    return any(_engine.redacts(one, name) for name in names for one in words)


def _names(definition: Definition, field: Field) -> list[str]:
    """Return the names of what a field reads. RedactionError: it reads something whose name nobody knows."""
    kind, operand = field.source[0], str(field.source[-1])
    names = [field.name, *(str(step[1]) for step in field.steps if step[0] in ("attr", "key"))]
    if kind in ("name", "field", "data"):
        names.append(operand)
    elif kind == "retval":
        names.append(_function_name(definition.symbol))
    elif kind in ("arg", "stack") and not definition.is_native:
        raise RedactionError(f"${kind}{operand}: redaction goes by names: give the variable's name")
    return names


def _function_name(symbol: str) -> str:
    name = symbol.rpartition(".")[2].rpartition(":")[2]
    if set(name) & set("*?["):
        raise RedactionError(f"$retval of {symbol}: redaction goes by names: give the name of one function")
    return name
