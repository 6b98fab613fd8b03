"""Static events as events of the engine, and dynamic events on them."""

from __future__ import annotations

from errno import ENODEV
from typing import TYPE_CHECKING

from funcgraph import _engine
from funcgraph.events import static
from funcgraph.events.filter import Fields

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from funcgraph.definitions.definition import Definition
    from funcgraph.definitions.field import Field, Part

__all__ = ["LiveStaticEvent", "add_probe", "static_fields"]


class LiveStaticEvent:
    """A static event of this process. It looks as installer.LiveEvent does.

    Attributes:
        group, name: its names.
        fields: its fields.
        filter_fields: the names that its filters can have.
        engine: the engine's half.
        is_switched: False: the texts of the program are always recorded, and no filter takes any away.
        has_probes: True: it never goes.
        definitions: it has none.
    """

    has_probes = True
    definitions: tuple[Definition, ...] = ()

    def __init__(self, event: static.StaticEvent, functions: Callable[[str], Collection[int]]) -> None:
        self.group = event.group
        self.name = event.name
        self.fields = event.fields
        self.filter_fields = Fields(event.fields, (), functions)
        self.engine = _engine.Event(event.group, event.name, event.fields, is_static=True)
        self.engine.add_static_probe(event.index, event.fields)
        self.is_switched = (event.group, event.name) != static.PRINT


def _base(definition: Definition) -> static.StaticEvent:
    event = static.find(*definition.base)
    if event is None:
        raise OSError(ENODEV, f"there is no static event {definition.symbol!r}")
    return event


def add_probe(engine: _engine.Event, definition: Definition) -> None:
    """Hit an event at the hits of the static event that a `t` is on.

    Raises:
        OSError: ENODEV: there is no such static event. EEXIST: the fields are not the event's.
    """
    engine.add_static_probe(_base(definition).index, static_fields(definition))


def static_fields(definition: Definition) -> list[Field]:
    """Return the fields of a `t` as the engine takes them: what is passed has a number.

    Raises:
        OSError: as add_probe().
    """
    event = _base(definition)
    return [field._replace(source=_source(field.source, event)) for field in definition.fields]


def _source(source: Part, event: static.StaticEvent) -> Part:
    return ("arg", event.arguments.index(str(source[1])) + 1) if source[0] == "field" else source
