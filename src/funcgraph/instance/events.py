"""The events of an instance: the kernel's folder `events`, as a mapping of names to typed files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from errno import ENODEV, ENOENT
from typing import TYPE_CHECKING

from funcgraph import _engine
from funcgraph.buffer.event_ids import event_id
from funcgraph.definitions.addresses import SYMBOLS
from funcgraph.events import filter as event_filter
from funcgraph.events import live
from funcgraph.events.event_state import EventState
from funcgraph.events.hist_text import Names
from funcgraph.events.trigger import TriggerError
from funcgraph.names import did_you_mean

if TYPE_CHECKING:
    from funcgraph.events.installer import AnyEvent
    from funcgraph.instance.state import State

__all__ = ["EventFile", "Events", "FunctionNames", "find_event_state"]


class EventFile:
    """An event in an instance: the kernel's events/GROUP/EVENT. It is got from Instance.events.

    A change takes effect before the assignment returns.

    Attributes:
        name: "GROUP/EVENT".
    """

    def __init__(self, state: State, event: AnyEvent) -> None:
        self._state = state
        self._event = event
        self.name = f"{event.group}/{event.name}"

    def __repr__(self) -> str:
        return f"<event {self.name}, {'on' if self.enable else 'off'}>"

    @property
    def is_switched(self) -> bool:
        """Whether it can be switched on and off, and filtered: all events but the texts of the program."""
        return self._event.is_switched

    @property
    def enable(self) -> bool:
        """Whether the instance records it.

        Raises:
            OSError: ENODEV: the event or the instance is gone. ENOSPC: all slots for users are taken.
            RuntimeError: no hook is free.
        """
        event = self._event
        return not event.is_switched or (
            event.has_probes and event.engine.is_recorded(self._state.engine.handle)
        )

    @enable.setter
    def enable(self, on: bool) -> None:
        with self._state.lock:
            self._event_state().set_records(bool(on))

    @property
    def filter(self) -> str:
        """Which hits the instance records, "none": all. "0" takes the filter away.

            i.events["shop/co"].filter = 'amount > 1000 && user ~ "a*"'

        docs/reference/events-filters.md has the syntax.

        Raises:
            ValueError: it is no filter for the event's fields; nothing has changed.
            OSError: as enable.
        """
        found = self._event_state().filter
        return found.text if found else "none"

    @filter.setter
    def filter(self, text: str) -> None:
        found = None if event_filter.clears(text) else event_filter.parse(text, self._event.filter_fields)
        with self._state.lock:
            self._event_state().set_filter(found)

    @property
    def filter_fields(self) -> event_filter.Fields:
        """The names that a filter of it can have."""
        return self._event.filter_fields

    @property
    def trigger(self) -> str:
        """What its hits do besides being recorded, a line for each trigger.

        An assignment adds a trigger, as `echo TEXT >> trigger`; one that begins with `!` takes it away.
        Triggers act whether the event is enabled or not, and whatever its filter.

            i.events["shop/co"].trigger = "traceoff:1 if amount < 0"
            i.events["shop/co"].trigger = "hist:keys=user:vals=amount:sort=amount.descending"

        Kinds: `traceon`, `traceoff`, `snapshot`, `stacktrace`, `enable_event:GROUP:EVENT`,
        `disable_event:...`, `enable_hist:...`, `disable_hist:...`, each with `[:COUNT]` and ` if FILTER`
        (docs/reference/events-triggers.md), and histograms (docs/reference/events-hist.md).

        Raises:
            ValueError: it is no trigger; the text has the place. Some are OSError, too, with the kernel's
                number: EEXIST: the event has one of that kind. ENOENT: it has none that could be taken away.
            OSError: as enable.
        """
        return self._event_state().trigger_text()

    @trigger.setter
    def trigger(self, text: str) -> None:
        with self._state.lock:
            if not self.write_trigger(text):
                raise TriggerError(ENOENT, f"the event has no such trigger: {text.strip()[1:]}")

    def write_trigger(self, text: str) -> bool:
        """Do as `echo TEXT >> trigger`: take away what is not there, too.

        Returns:
            False: it was not there.

        Raises:
            ValueError, OSError: as `trigger`.
        """
        with self._state.lock:
            return self._event_state().write_trigger(text.strip())

    @property
    def is_soft(self) -> bool:
        """Whether triggers or function commands have it: the `*` in the kernel's file `enable`."""
        return self._event_state().is_soft

    @property
    def is_base(self) -> bool:
        """Whether an event on its fields (`e`) is in use, in whichever instance."""
        return self._event.has_probes and self._event.engine.is_base

    @property
    def faults(self) -> int:
        """How many fields of its hits could not be fetched since it was defined, in whichever instance.

        A record shows them as `(fault)`. It is 0 once the event is removed.
        """
        return self._event.engine.faults if self._event.has_probes else 0

    def remove_histograms(self) -> None:
        """Take all histograms away, as opening the kernel's file `trigger` with `>` does.

        Raises:
            OSError: as enable.
        """
        with self._state.lock:
            self._event_state().remove_histograms()

    @property
    def hist(self) -> str:
        """The histograms of its triggers as they are now; "": it has none."""
        return self._event_state().hist_text(FunctionNames())

    @property
    def id(self) -> int:
        """Its number in this process."""
        return event_id(self._event)

    @property
    def format(self) -> str:
        """The layout of its records, as the kernel's file `format` has it: a line for each field, and how a
        hit is printed.

        A trace.dat has the same text, but for fields of any type of value: there they are numbers if all
        values are.

        Raises:
            OSError: ENODEV: the event is gone.
        """
        self._event_state()
        return _engine.untraced(_format, self._event)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of its fields."""
        return tuple(field.name for field in self._event.fields)

    def _event_state(self) -> EventState:
        if self._state.engine.closed:
            raise OSError(ENODEV, f"the instance {self._state.name!r} is closed", self.name)
        if not self._event.has_probes:
            raise OSError(ENODEV, "the event was removed", self.name)
        return _event_state(self._state, self._event)


def _event_state(state: State, event: AnyEvent) -> EventState:
    name = f"{event.group}/{event.name}"
    everything = state.event_states
    found = everything.get(name)
    if found is None or found.event is not event:
        found = EventState(
            event, state.engine.handle, lambda group, name: find_event_state(state, group, name), everything
        )
        everything[name] = found
    return found


def find_event_state(state: State, group: str, name: str) -> EventState | None:
    """Return what an instance wants of an event, by the event's names; None: there is no such event."""
    event = live.events().get((group, name))
    return _event_state(state, event) if event else None


def _format(event: AnyEvent) -> str:
    from funcgraph import _tracedata

    engine = event.engine
    return _tracedata.event_format(event.group, event.name, engine.layout, engine.fields_at, event_id(event))


class FunctionNames(Names):
    """What numbers in the histograms of this process stand for."""

    def function(self, function: int) -> str:
        """Return the name of a function by its id."""
        return _engine.function_name(function) or super().function(function)

    def address(self, function: int) -> int:
        """Return the address that a function has in available_filter_functions_addrs."""
        return SYMBOLS.address(self.function(function))

    def symbol(self, address: int) -> str:
        """Return the name of the function that has an address; "": none."""
        return SYMBOLS.name(address)


class Events(Mapping[str, EventFile]):
    """The events of this process, as an instance has them: `instance.events["GROUP/EVENT"]`.

        funcgraph.dynamic_events.define("f:shop/co shop.checkout amount user=order.user.name")
        i.events["shop/co"].enable = True

    Iterating gives the names: static events first, then those of funcgraph.dynamic_events, the oldest first.

    Raises:
        OSError: ENOENT, which is a KeyError too: there is no such event.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def __getitem__(self, name: str) -> EventFile:
        group, _, event = name.partition("/")
        found = live.events().get((group, event))
        if found is None:
            raise NoEventError(ENOENT, f"no such event{did_you_mean(name, self)}", name)
        return EventFile(self._state, found)

    def __iter__(self) -> Iterator[str]:
        return iter([f"{group}/{event}" for group, event in live.events()])

    def __len__(self) -> int:
        return len(live.events())

    def __repr__(self) -> str:
        return f"<events of instance {self._state.name!r}>"


class NoEventError(FileNotFoundError, KeyError):
    """There is no event of that name."""

    __str__ = OSError.__str__
