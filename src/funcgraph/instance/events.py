"""The events of an instance: the kernel's folder `events`, as a mapping of names to typed files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from errno import ENODEV, ENOENT
from typing import TYPE_CHECKING

from funcgraph.events import filter as event_filter
from funcgraph.events import live
from funcgraph.names import did_you_mean

if TYPE_CHECKING:
    from funcgraph.events.installer import LiveEvent
    from funcgraph.instance.state import State

__all__ = ["EventFile", "Events"]


class EventFile:
    """An event in an instance: the kernel's events/GROUP/EVENT. It is got from Instance.events.

    Attributes:
        name: "GROUP/EVENT".
    """

    def __init__(self, state: State, event: LiveEvent) -> None:
        self._state = state
        self._event = event
        self.name = f"{event.group}/{event.name}"

    def __repr__(self) -> str:
        return f"<event {self.name}, {'on' if self.enable else 'off'}>"

    @property
    def enable(self) -> bool:
        """Whether the instance records it. Setting it takes effect before the assignment returns.

        Raises:
            OSError: ENODEV: the event or the instance is gone. ENOSPC: all slots for users are taken.
            RuntimeError: no hook is free.
        """
        return self._event.has_probes and self._event.engine.is_recorded(self._state.engine.handle)

    @enable.setter
    def enable(self, on: bool) -> None:
        with self._state.lock:
            self._check()
            if on:
                live.enable(self._event, self._state.engine.handle, self._state.event_filters.get(self.name))
            else:
                live.disable(self._event, self._state.engine.handle)

    @property
    def filter(self) -> str:
        """Which hits the instance records, "none": all. "0" takes the filter away.

            i.events["shop/co"].filter = 'amount > 1000 && user ~ "a*"'

        docs/events-filters.md has the syntax.

        Raises:
            ValueError: it is no filter for the event's fields; nothing has changed.
            OSError: as enable.
        """
        found = self._state.event_filters.get(self.name)
        return found.text if found else "none"

    @filter.setter
    def filter(self, text: str) -> None:
        found = None if event_filter.clears(text) else event_filter.parse(text, self._event.filter_fields)
        with self._state.lock:
            self._check()
            if self.enable:
                live.enable(self._event, self._state.engine.handle, found)
            if found:
                self._state.event_filters[self.name] = found
            else:
                self._state.event_filters.pop(self.name, None)

    @property
    def id(self) -> int:
        """Its number in this process."""
        return self._event.engine.number

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of its fields."""
        return tuple(field.name for field in self._event.fields)

    def _check(self) -> None:
        if self._state.engine.closed:
            raise OSError(ENODEV, f"the instance {self._state.name!r} is closed", self.name)
        if not self._event.has_probes:
            raise OSError(ENODEV, "the event was removed", self.name)


class Events(Mapping[str, EventFile]):
    """The events of this process, as an instance has them: `instance.events["GROUP/EVENT"]`.

        funcgraph.dynamic_events.define("f:shop/co shop.checkout amount user=order.user.name")
        i.events["shop/co"].enable = True

    Iterating gives the names, the oldest first; they are those of funcgraph.dynamic_events.

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
