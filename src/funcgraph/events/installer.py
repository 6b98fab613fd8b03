"""Makes events of definitions: the half of the table of dynamic events that knows the engine."""

from __future__ import annotations

from errno import EOPNOTSUPP
from typing import NamedTuple

from funcgraph import _engine
from funcgraph.events.asked import filter_fields
from funcgraph.events.definition import Definition
from funcgraph.events.install_kprobe import add_place
from funcgraph.events.synthetic_definition import SyntheticDefinition
from funcgraph.fprobe import nobody

__all__ = ["Installed", "Installer", "LiveEvent"]


def _numbers_of(name: str) -> list[int]:
    """Return the numbers of the functions with a whole name, as `symbol` fields have them."""
    return [function.id for function in _engine.functions_named([name])[name]]


class LiveEvent:
    """An event that exists.

    Attributes:
        group, name: its names.
        fields: its fields; all its probes have the same.
        filter_fields: the names that its filters can have.
        engine: the engine's half.
    """

    __slots__ = ("_probes", "engine", "fields", "filter_fields", "group", "name")

    def __init__(self, definition: Definition) -> None:
        self.group = definition.group
        self.name = definition.event
        self.fields = definition.fields
        self.filter_fields = filter_fields(definition, _numbers_of)
        self.engine = _engine.Event(self.group, self.name, definition.fields, is_return=definition.is_return)
        self._probes: list[object] = []  # in the engine's order

    def add_probe(self, definition: Definition, *, is_pending: bool) -> object:
        """Hit the event where a definition says; return what remove_probe() takes.

        Args:
            definition: of this event.
            is_pending: the function may be defined later.

        Raises:
            OSError: ENOENT: no function has the name. EEXIST: the fields are not the event's. Also the errors
                of add_place().
        """
        if definition.place:
            add_place(self.engine, definition, is_pending=is_pending)
        else:
            self._add_functions(definition, is_pending)
        probe = object()
        self._probes.append(probe)
        return probe

    def _add_functions(self, definition: Definition, is_pending: bool) -> None:
        try:
            self.engine.add_probe([definition.symbol], definition.fields, is_pending)
        except FileNotFoundError:
            raise nobody([definition.symbol]) from None

    def remove_probe(self, probe: object) -> None:
        """Remove a probe; with the last one the event goes."""
        at = self._probes.index(probe)
        self.engine.remove_probe(at)
        del self._probes[at]
        if not self._probes:
            self.engine.close()

    @property
    def has_probes(self) -> bool:
        """Whether it still exists."""
        return bool(self._probes)


class Installed(NamedTuple):
    """The handle of one definition."""

    event: LiveEvent
    probe: object


class Installer:
    """Makes events, and finds them by name.

    Attributes:
        events: (group, name) -> the event, the oldest first.
    """

    def __init__(self) -> None:
        self.events: dict[tuple[str, str], LiveEvent] = {}

    def install(self, definition: Definition | SyntheticDefinition, *, is_pending: bool = False) -> Installed:
        """Make the event of a definition, or add a probe to it; is_pending: as add_probe() has it.

        Raises:
            OSError: ENOENT: no function has the name. EOPNOTSUPP: events of this kind cannot be made.
        """
        if isinstance(definition, SyntheticDefinition) or definition.kind not in "fpr":
            raise OSError(EOPNOTSUPP, "only events on functions can be made")
        key = (definition.group, definition.event)
        event = self.events.get(key) or LiveEvent(definition)
        probe = event.add_probe(definition, is_pending=is_pending)
        self.events[key] = event
        return Installed(event, probe)

    def remove(self, handle: Installed) -> None:
        """Undo install()."""
        handle.event.remove_probe(handle.probe)
        if not handle.event.has_probes:
            del self.events[handle.event.group, handle.event.name]

    def is_busy(self, handle: Installed) -> bool:
        """Return whether an instance records the event."""
        return handle.event.engine.used
