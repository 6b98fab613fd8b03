"""Static events: what CPython itself tells, and what the program declares (program_event.py).

The engine's table (src/arch/cpython/static/static_event.h) names CPython's and what they tell. They exist in
every process. Each event is off until an instance wants it.
"""

from __future__ import annotations

from typing import NamedTuple

from funcgraph import _engine
from funcgraph.definitions.field import Field

__all__ = ["PRINT", "StaticEvent", "find", "is_cpythons", "names", "static_events"]

#: The event of a text that the program writes into traces. It is always recorded, as that text.
PRINT = ("ftrace", "print")


class StaticEvent(NamedTuple):
    """A static event.

    Attributes:
        index: its number in the engine.
        group, name: "py" and "raise".
        fields: its fields.
        arguments: what a dynamic event on it can fetch, in the order of `$argN`: its fields, and more.
        is_declared: by the program; False: it is CPython's.
    """

    index: int  # type: ignore[assignment]  # not tuple.index(), which nobody needs here
    group: str
    name: str
    fields: tuple[Field, ...]
    arguments: tuple[str, ...]
    is_declared: bool


_found: dict[tuple[str, str], StaticEvent] = {}


def static_events() -> dict[tuple[str, str], StaticEvent]:
    """Return all static events by group and name: CPython's, then the program's, the oldest first."""
    for index, (group, name, values, is_declared) in enumerate(_engine.static_events()):
        if (group, name) not in _found:
            _found[group, name] = StaticEvent(index, group, name, *_values(values), is_declared)
    return dict(_found)


def is_cpythons(group: str) -> bool:
    """Return whether a group has events of CPython's: a program declares none in it."""
    return any(event.group == group and not event.is_declared for event in static_events().values())


def _values(text: str) -> tuple[tuple[Field, ...], tuple[str, ...]]:
    """Return the fields and the names of values that a row of the engine's table has.

    >>> _values("event:string args=text:string args")[1]
    ('event', 'text', 'args')
    """
    fields, arguments = [], []
    for number, word in enumerate(text.split(), 1):
        value, _, type = word.partition(":")
        field, equals, value = value.rpartition("=")
        arguments.append(value)
        if type:
            fields.append(Field(field if equals else value, type, 0, ("arg", number), ()))
    return tuple(fields), tuple(arguments)


def find(group: str, name: str) -> StaticEvent | None:
    """Return a static event; None: there is none.

    Args:
        group: its group; "": any.
        name: its name.
    """
    if group:
        return static_events().get((group, name))
    return next((event for event in static_events().values() if event.name == name), None)


def names(group: str, name: str) -> tuple[str, ...] | None:
    """Return what can be fetched from a static event; None: there is no such event."""
    event = find(group, name)
    return event.arguments if event else None
