"""Triggers of an event, read from the kernel's syntax: `traceoff:3 if size > 100`, `hist:keys=user`.

Documentation/trace/events.rst, "Event triggers", and histogram.rst; docs/reference/events-triggers.md has the
syntax.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import NamedTuple

from funcgraph.definitions.command import number
from funcgraph.events import filter as event_filter
from funcgraph.events import hist
from funcgraph.events.event_field import EventField
from funcgraph.events.hist_spec import HistSpec, Others

__all__ = [
    "KINDS",
    "UNLIMITED",
    "WITH_EVENT",
    "Key",
    "Trigger",
    "TriggerError",
    "count_of",
    "key_of",
    "parse",
]

#: The triggers that an event can have, and what of them there is one of: traceon and traceoff are one kind.
#: Of those that name an event there is one of a kind for each such event.
KINDS = {
    "traceon": "trace",
    "traceoff": "trace",
    "snapshot": "snapshot",
    "stacktrace": "stacktrace",
    "enable_event": "event",
    "disable_event": "event",
    "enable_hist": "hist of",
    "disable_hist": "hist of",
    "hist": "hist",
}

#: The kinds of those that name an event: `enable_event:GROUP:EVENT`.
WITH_EVENT = ("event", "hist of")

#: The count of a trigger that acts at each hit.
UNLIMITED = -1


class TriggerError(OSError, ValueError):
    """A trigger was refused, and nothing was changed. The kernel says nothing of these in its error_log.

    Attributes:
        errno: the kernel's number.
    """


class Key(NamedTuple):
    """What of triggers an event has one of; any number only of histograms.

    Attributes:
        kind: a value of KINDS.
        target: group and name of the event that the trigger names, if it names one.
    """

    kind: str
    target: tuple[str, str] | None = None


class Trigger(NamedTuple):
    """A trigger as it was asked for.

    Attributes:
        kind: one of KINDS.
        times: how often it acts, or UNLIMITED.
        filter: at which hits; None: at all.
        hist: what a "hist" counts.
        target: group and name of the event that it names, if it names one.
    """

    kind: str
    times: int
    filter: event_filter.Filter | None
    hist: HistSpec | None
    target: tuple[str, str] | None = None

    @property
    def key(self) -> Key:
        """What of it an event has one of."""
        return Key(KINDS[self.kind], self.target)

    def text(self, left: int, is_paused: bool) -> str:
        """Return how it reads back.

        Args:
            left: how often it still acts, or UNLIMITED.
            is_paused: of a histogram.
        """
        if self.hist:
            return self.hist.info(is_paused)
        count = "unlimited" if left == UNLIMITED else f"count={left}"
        words = (self.kind, *(self.target or ()), count)
        return ":".join(words) + (f" if {self.filter.text}" if self.filter else "")


def key_of(text: str) -> Key:
    """Return what of a trigger an event has one of; its count and its filter are not looked at.

    Raises:
        TriggerError: there is no such trigger.
    """
    return _split(hist.split_filter(text)[0])[1]


def _split(command: str) -> tuple[str, Key, str]:
    """Return a trigger's name, its key, and what follows these."""
    name, _, rest = command.rstrip().partition(":")
    if name not in KINDS:
        word = name.partition(" ")[0]
        names = ", ".join(KINDS)
        raise TriggerError(errno.EINVAL, f"no such trigger: {word!r}; the triggers are {names}")
    if KINDS[name] not in WITH_EVENT:
        return name, Key(KINDS[name]), rest
    group, _, rest = rest.partition(":")
    event, _, rest = rest.partition(":")
    if not group or not event:
        raise TriggerError(errno.EINVAL, f"{name} needs an event: {name}:GROUP:EVENT")
    return name, Key(KINDS[name], (group, event)), rest


def parse(
    text: str,
    system: str,
    event: str,
    fields: Sequence[EventField],
    names: event_filter.Fields,
    others: Others | None = None,
) -> Trigger:
    """Return the trigger that a text means for an event.

    Args:
        text: `NAME[:COUNT][ if FILTER]`, `NAME:GROUP:EVENT[:COUNT][ if FILTER]`, or a histogram, as for
            hist.parse().
        system, event: the event's names.
        fields: its fields.
        names: the names that a filter can have.
        others: what else a histogram may refer to.

    Raises:
        TriggerError, HistError, FilterError: it means none.
    """
    command, condition = hist.split_filter(text)
    name, key, count = _split(command)
    found = None
    if key.kind == "hist":
        spec = hist.parse(text, system, event, fields, others)
        if spec.filter:
            found = event_filter.parse(spec.filter, names)
        return Trigger("hist", UNLIMITED, found, spec)
    times = count_of(count)
    if condition is not None:
        found = event_filter.parse(condition, names)
    return Trigger(name, times, found, None, key.target)


def count_of(text: str) -> int:
    """Return the number after a name; what comes after a second colon is passed over, as in the kernel.

    Raises:
        TriggerError: it is none.
    """
    digits = text.partition(":")[0]
    if not digits:
        return UNLIMITED
    value = number(digits)
    if value is None or value >= 1 << 63:
        raise TriggerError(errno.EINVAL, f"the count of a trigger must be a number, not {digits!r}")
    return value
