"""Triggers of an event, read from the kernel's syntax: `traceoff:3 if size > 100`, `hist:keys=user`.

Documentation/trace/events.rst, "Event triggers", and histogram.rst; docs/events-triggers.md has the syntax.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import NamedTuple

from funcgraph.events import filter as event_filter
from funcgraph.events import hist
from funcgraph.events.command import number
from funcgraph.events.hist_spec import EventField, HistSpec, Others

__all__ = ["KINDS", "UNLIMITED", "Trigger", "TriggerError", "key_of", "parse"]

#: The triggers that an event can have, and what of them there is one of: traceon and traceoff are one kind.
KINDS = {"traceon": "trace", "traceoff": "trace", "hist": "hist"}

#: The count of a trigger that acts at each hit.
UNLIMITED = -1


class TriggerError(OSError, ValueError):
    """A trigger was refused, and nothing was changed. The kernel says nothing of these in its error_log.

    Attributes:
        errno: the kernel's number.
    """


class Trigger(NamedTuple):
    """A trigger as it was asked for.

    Attributes:
        kind: one of KINDS.
        times: how often it acts, or UNLIMITED.
        filter: at which hits; None: at all.
        hist: what a "hist" counts.
    """

    kind: str
    times: int
    filter: event_filter.Filter | None
    hist: HistSpec | None

    def text(self, left: int, is_paused: bool) -> str:
        """Return how it reads back.

        Args:
            left: how often it still acts, or UNLIMITED.
            is_paused: of a histogram.
        """
        if self.hist:
            return self.hist.info(is_paused)
        count = "unlimited" if left == UNLIMITED else f"count={left}"
        return f"{self.kind}:{count}" + (f" if {self.filter.text}" if self.filter else "")


def key_of(text: str) -> str:
    """Return what there is one of in an event: "trace"; "hist" for any histogram.

    Raises:
        TriggerError: there is no such trigger.
    """
    name = text.partition(" ")[0].partition(":")[0]
    if name not in KINDS:
        names = ", ".join(KINDS)
        raise TriggerError(errno.EINVAL, f"no such trigger: {name!r}; the triggers are {names}")
    return KINDS[name]


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
        text: `NAME[:COUNT][ if FILTER]`, or a histogram: hist.parse().
        system, event: the event's names.
        fields: its fields.
        names: the names that a filter can have.
        others: what else a histogram may refer to.

    Raises:
        TriggerError, HistError, FilterError: it means none.
    """
    key = key_of(text)
    command, condition = hist.split_filter(text)
    found = None
    if key == "hist":
        spec = hist.parse(text, system, event, fields, others)
        if any(action.action == "snapshot" for action in spec.actions):
            raise TriggerError(errno.EOPNOTSUPP, "the action snapshot() cannot be made yet")
        if spec.filter:
            found = event_filter.parse(spec.filter, names)
        return Trigger("hist", UNLIMITED, found, spec)
    if condition is not None:
        found = event_filter.parse(condition, names)
    name, _, count = command.partition(":")
    return Trigger(name, _count(count), found, None)


def _count(text: str) -> int:
    """Return the number after the name; what comes after a second colon is passed over, as in the kernel."""
    digits = text.partition(":")[0]
    if not digits:
        return UNLIMITED
    value = number(digits)
    if value is None or value >= 1 << 63:
        raise TriggerError(errno.EINVAL, f"the count of a trigger must be a number, not {digits!r}")
    return value
