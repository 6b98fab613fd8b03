"""`--redact` and the events of a recording: a field whose value must not be recorded has a text in its place.

The name of such a value is that of the field, or of what the field reads: a variable, a function's result, an
attribute or a key. The definition that a recording's processes get reads the text in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from funcgraph import _engine
from funcgraph.events import static
from funcgraph.events.recording_events import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from funcgraph.definitions.definition import Definition
    from funcgraph.definitions.field import Field

__all__ = ["redacted"]

_TEXT = r'\"<redacted>"'
_TEXT_TYPES = ("value", "string", "object")


def redacted(text: str, words: Sequence[str]) -> str:
    """Return the text of an event which records no value of such a name.

    An event that the program may declare later stays as it is.

    Args:
        text: as recording_events.parse() takes it.
        words: texts as `--redact` takes them.

    Raises:
        ValueError: as recording_events.parse(). Or a field has such a name and cannot show the text in place
            of its value; or nobody can tell the name of what it reads.
    """
    request = parse(text)
    definition = request.definition
    if definition is None:
        if not request.is_undeclared:
            _check_static(request.name, words)
        return text
    arguments = tuple(
        _argument(definition, field, argument, words)
        for field, argument in zip(definition.fields, definition.arguments, strict=True)
    )
    if arguments == definition.arguments:
        return text
    return definition._replace(arguments=arguments).text + text[len(request.text) :]


def _check_static(name: tuple[str, str], words: Sequence[str]) -> None:
    event = static.find(*name)
    assert event is not None
    for field in event.fields:
        if _is_hidden([field.name], words):
            raise ValueError(
                f"{'/'.join(name)} records the field {field.name}, which --redact names: "
                f"define an event on it with the other fields, 't:NAME {event.name} FIELD ...'"
            )


def _argument(definition: Definition, field: Field, argument: str, words: Sequence[str]) -> str:
    """Return the argument as it is, or with the text in place of what it reads."""
    if not _is_hidden(_names(definition, field), words):
        return argument
    if definition.is_native or field.type not in _TEXT_TYPES or field.count:
        what = f"{field.type}[{field.count}]" if field.count else field.type
        raise ValueError(
            f"{argument}: --redact names it, and a field of the type {what} cannot show that: leave it out"
        )
    return f"{field.name}={_TEXT}"


def _is_hidden(names: Iterable[str], words: Sequence[str]) -> bool:
    return any(_engine.redacts(one, name) for name in names for one in words)


def _names(definition: Definition, field: Field) -> list[str]:
    """Return the names of what a field reads. ValueError: it reads something whose name nobody knows."""
    kind, operand = field.source[0], str(field.source[-1])
    names = [field.name, *(str(step[1]) for step in field.steps if step[0] in ("attr", "key"))]
    if kind in ("name", "field", "data"):
        names.append(operand)
    elif kind == "retval":
        names.append(_function_name(definition.symbol))
    elif kind in ("arg", "stack") and not definition.is_native:
        raise ValueError(f"${kind}{operand}: --redact goes by names: give the variable's name")
    return names


def _function_name(symbol: str) -> str:
    name = symbol.rpartition(".")[2].rpartition(":")[2]
    if set(name) & set("*?["):
        raise ValueError(f"$retval of {symbol}: --redact goes by names: give the name of one function")
    return name
