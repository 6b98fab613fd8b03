"""Static events: what CPython itself tells. Each exists in every process, off until an instance wants it.

The engine's table (src/arch/cpython/static/static_event.h) names them and what they tell.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from funcgraph import _engine
from funcgraph.events.field import Field

__all__ = ["PRINT", "StaticEvent", "find", "names", "static_events"]

#: The event of a text that the program writes into traces. It is always recorded, as that text.
PRINT = ("ftrace", "print")


class StaticEvent(NamedTuple):
    """A static event.

    Attributes:
        index: in the engine's table.
        group, name: "py" and "raise".
        fields: its fields.
        told: what a dynamic event on it can fetch, in the order of `$argN`: its fields, and more.
    """

    index: int  # type: ignore[assignment]  # not tuple.index(), which nobody needs here
    group: str
    name: str
    fields: tuple[Field, ...]
    told: tuple[str, ...]


@cache
def static_events() -> dict[tuple[str, str], StaticEvent]:
    """Return all static events by group and name."""
    found = {}
    for index, (group, name, values) in enumerate(_engine.static_events()):
        fields, told = _values(values)
        found[group, name] = StaticEvent(index, group, name, fields, told)
    return found


def _values(text: str) -> tuple[tuple[Field, ...], tuple[str, ...]]:
    """Return the fields and the names of values that a row of the engine's table has.

    >>> _values("event:string args=text:string args")[1]
    ('event', 'text', 'args')
    """
    fields, told = [], []
    for number, word in enumerate(text.split(), 1):
        value, _, type = word.partition(":")
        field, equals, value = value.rpartition("=")
        told.append(value)
        if type:
            fields.append(Field(field if equals else value, type, 0, ("arg", number), ()))
    return tuple(fields), tuple(told)


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
    return event.told if event else None
