"""Makes events of definitions: the half of the table of dynamic events that knows the engine."""

from __future__ import annotations

import os
import sys
from _thread import RLock
from collections.abc import Sequence
from typing import NamedTuple

from funcgraph import _engine
from funcgraph.definitions.addresses import SYMBOLS
from funcgraph.definitions.definition import Definition
from funcgraph.definitions.field import Field
from funcgraph.definitions.synthetic_definition import SyntheticDefinition
from funcgraph.events import install_static, static
from funcgraph.events.install_derived import MadeEvent, make_event
from funcgraph.events.install_kprobe import add_place
from funcgraph.events.recording_events import filter_fields
from funcgraph.fprobe import nobody

__all__ = ["AnyEvent", "Installed", "Installer", "LiveEvent", "numbers_of"]


def numbers_of(name: str) -> list[int]:
    """Return the numbers of the functions with a whole name, or an address: `symbol` fields have them."""
    name = SYMBOLS.resolve(name)
    return [function.id for function in _engine.functions_named([name])[name]]


def _awaits_module(definition: Definition) -> bool:
    """Return whether a `MOD:SYM` is of a module that is not imported: as in the kernel, it waits for that."""
    return bool(definition.module) and definition.module not in sys.modules


def _engine_fields(definition: Definition) -> Sequence[Field]:
    """Return the fields of a definition as the engine reads them."""
    if definition.kind == "t":
        return install_static.static_fields(definition)
    if not definition.is_native:
        return definition.fields
    from funcgraph.events.install_native import native_fields  # few programs have such events

    return native_fields(definition)


class LiveEvent:
    """An event that exists.

    Attributes:
        group, name: its names.
        fields: its fields; all its probes have the same.
        filter_fields: the names that its filters can have.
        engine: the engine's half.
    """

    #: Whether it can be switched on and off. The texts of the program are always recorded.
    is_switched = True

    __slots__ = ("_probes", "engine", "fields", "filter_fields", "group", "name")

    def __init__(self, definition: Definition) -> None:
        self.group = definition.group
        self.name = definition.event
        self.fields = definition.fields
        self.filter_fields = filter_fields(definition, numbers_of)
        fields = _engine_fields(definition)
        self.engine = _engine.Event(
            self.group, self.name, fields, is_return=definition.is_return, is_native=definition.is_native
        )
        self._probes: list[tuple[object, Definition]] = []  # in the engine's order

    def add_probe(self, definition: Definition, *, is_pending: bool) -> object:
        """Hit the event where a definition says; return what remove_probe() takes.

        Args:
            definition: of this event.
            is_pending: the function may be defined later.

        Raises:
            OSError: ENOENT: no function has the name. EEXIST: the fields are not the event's. Also the errors
                of add_place().
        """
        if definition.place and not definition.is_native:
            add_place(self.engine, definition, is_pending=is_pending)
        else:
            self._add_functions(definition, is_pending)
        probe = object(), definition
        self._probes.append(probe)
        return probe

    def _add_functions(self, definition: Definition, is_pending: bool) -> None:
        try:
            if definition.kind == "t":
                install_static.add_probe(self.engine, definition)
            else:
                fields = _engine_fields(definition)
                if definition.is_native:
                    from funcgraph.events.install_native import meet_native

                    meet_native(definition)
                self.engine.add_probe([definition.pattern], fields, is_pending)
        except FileNotFoundError:
            raise nobody([definition.symbol]) from None

    def remove_probe(self, probe: object) -> None:
        """Remove a probe; with the last one the event goes."""
        at = next(at for at, one in enumerate(self._probes) if one is probe)
        self.engine.remove_probe(at)
        del self._probes[at]
        if not self._probes:
            self.engine.close()
            if native := sys.modules.get("funcgraph.events.install_native"):
                native.release_native(self.group, self.name)

    @property
    def has_probes(self) -> bool:
        """Whether it still exists."""
        return bool(self._probes)

    @property
    def definitions(self) -> list[Definition]:
        """The definitions of its probes."""
        return [definition for _, definition in self._probes]


#: An event that functions hit, or one that other events make.
AnyEvent = LiveEvent | MadeEvent | install_static.LiveStaticEvent


class Installed(NamedTuple):
    """The handle of one definition."""

    event: LiveEvent | MadeEvent
    probe: object


class Installer:
    """Makes events, and finds them by name.

    Attributes:
        events: (group, name) -> the event, the oldest first.
    """

    def __init__(self) -> None:
        self.events: dict[tuple[str, str], LiveEvent | MadeEvent] = {}
        self._static: dict[tuple[str, str], AnyEvent] = {}
        self._lock = RLock()  # so that each static event is made once
        os.register_at_fork(after_in_child=self._lock._at_fork_reinit)  # type: ignore[attr-defined]

    def everything(self) -> dict[tuple[str, str], AnyEvent]:
        """Return the events by group and name: the static ones, then the others, the oldest first."""
        with self._lock:
            for key, event in static.static_events().items():
                if key not in self._static:
                    self._static[key] = install_static.LiveStaticEvent(event, numbers_of)
        return {**self._static, **self.events}

    def install(self, definition: Definition | SyntheticDefinition, *, is_pending: bool = False) -> Installed:
        """Make the event of a definition, or add a probe to it; is_pending: as add_probe() has it.

        Raises:
            OSError: ENOENT: no function has the name. ENODEV: no static event has it. EOPNOTSUPP: events of
                this kind cannot be made.
        """
        key = (definition.group, definition.event)
        if definition.kind in "es":
            made = self.events[key] = make_event(definition, self.everything())
            return Installed(made, None)
        assert isinstance(definition, Definition)
        event = self.events.get(key) or LiveEvent(definition)
        assert isinstance(event, LiveEvent)  # the registry lets no event have probes of two kinds
        probe = event.add_probe(definition, is_pending=is_pending or _awaits_module(definition))
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
