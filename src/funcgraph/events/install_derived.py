"""Events that other events make: synthetic ones (`s`), which actions of histograms generate, and those on the
fields of another event (`e`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from errno import EINVAL, ENODEV
from typing import Protocol

from funcgraph import _engine
from funcgraph.definitions import messages
from funcgraph.definitions.definition import Definition
from funcgraph.definitions.errors import ProbeError
from funcgraph.definitions.field import Field
from funcgraph.definitions.synthetic_definition import SyntheticDefinition
from funcgraph.events import filter as event_filter
from funcgraph.events.filter import FilterError
from funcgraph.events.hist_plan import Term, compile_field

__all__ = ["MadeEvent", "make_event"]

#: Functions of a stack that an event keeps: FG_HIST_MAX_STACK of src/engine/hist/hist_term.h.
_STACK = 16


class BaseEvent(Protocol):
    """An event that another one can be on: what this needs of it."""

    @property
    def fields(self) -> tuple[Field, ...]: ...
    @property
    def filter_fields(self) -> event_filter.Fields: ...
    @property
    def engine(self) -> _engine.Event: ...


class MadeEvent:
    """An event that other events make. It has the attributes of installer.LiveEvent.

    Args:
        group, name: its names.
        fields: its fields.
        limits: the most bytes of each field that is a text; 0: no limit.
        definitions: of an `e`: its definition.
    """

    __slots__ = ("_exists", "definitions", "engine", "fields", "filter_fields", "group", "name")

    is_switched = True

    def __init__(
        self,
        group: str,
        name: str,
        fields: tuple[Field, ...],
        limits: tuple[int, ...],
        definitions: Sequence[Definition] = (),
    ) -> None:
        self.group = group
        self.name = name
        self.fields = fields
        self.filter_fields = event_filter.Fields(fields)
        self.engine = _engine.Event(group, name, fields, limits=limits)
        self.definitions = definitions
        self._exists = True

    def remove_probe(self, probe: object) -> None:
        """Remove the event: it has no probes of its own."""
        self._exists = False
        self.engine.close()

    @property
    def has_probes(self) -> bool:
        """Whether it still exists."""
        return self._exists


def make_event(
    definition: Definition | SyntheticDefinition, events: Mapping[tuple[str, str], BaseEvent]
) -> MadeEvent:
    """Make the event that an `s` or an `e` defines.

    Args:
        definition: the definition.
        events: those that there are.

    Raises:
        OSError: E2BIG: the fields take too much room. ENODEV: the event to attach to does not exist.
        ProbeError: the filter of an `e` is none for that event.
    """
    if isinstance(definition, SyntheticDefinition):
        return _synthetic(definition)
    base = events.get(definition.base)
    if base is None:
        raise OSError(ENODEV, "the event to attach to does not exist")
    return _on_event(definition, base)


def _synthetic(definition: SyntheticDefinition) -> MadeEvent:
    fields = tuple(
        field.field._replace(type="symbol", count=_STACK) if field.is_stack else field.field
        for field in definition.fields
    )
    limits = tuple(field.size for field in definition.fields)
    return MadeEvent(definition.group, definition.event, fields, limits)


# ---- events on events


def _on_event(definition: Definition, base: BaseEvent) -> MadeEvent:
    types = _types(base)
    for field in definition.fields:
        if field.source[0] == "field" and field.source[1] not in types:
            raise OSError(EINVAL, f"{field.source[1]!r} is an array, which has no value")
    fields = tuple(_typed(field, types) for field in definition.fields)
    values = tuple(_value(field, types) for field in fields)
    condition = _filter(definition, base)
    limits = (0,) * len(fields)
    made = MadeEvent(definition.group, definition.event, fields, limits, (definition,))
    try:
        made.engine.set_base(base.engine, values, condition)
    except BaseException:
        made.remove_probe(None)
        raise
    return made


def _types(base: BaseEvent) -> dict[str, str]:
    """Return the types of an event's fields; two may have the same name, and the first one counts."""
    return {field.name: field.type for field in reversed(base.fields) if not field.count}


def _typed(field: Field, types: Mapping[str, str]) -> Field:
    """Return a field with the type of the other event's field, if its definition names none."""
    if field.type == "value" and field.source[0] == "field":
        return field._replace(type=types[str(field.source[1])])
    return field


def _value(field: Field, types: Mapping[str, str]) -> Term | str:
    kind, *operands = field.source
    if kind == "field":
        name = str(operands[0])
        return compile_field(name, types[name])
    if kind == "comm":
        return Term("comm", (("comm",),))
    (value,) = operands
    return value if isinstance(value, str) else Term("number", (("number", value % (1 << 64)),))


def _filter(definition: Definition, base: BaseEvent) -> bytes | None:
    if not definition.filter:
        return None
    try:
        return event_filter.parse(definition.filter, base.filter_fields).program.pack()
    except FilterError as error:
        message = messages.Message(error.errno or EINVAL, error.message)
        place = error.command, error.caret
        raise ProbeError(message, error.component, *place, hint=error.hint) from error
