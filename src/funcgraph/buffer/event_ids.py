"""The numbers of events in this process: the kernel's events/GROUP/EVENT/id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funcgraph.events.static import PRINT

if TYPE_CHECKING:
    from funcgraph.events.installer import AnyEvent

__all__ = ["FIRST", "PRINT_ID", "event_id"]

#: ftrace's own events have numbers below (FG_EVENT_FIRST_DYNAMIC of trace_event.h).
FIRST = 3000
#: FG_EVENT_print, as in the kernel.
PRINT_ID = 5


def event_id(event: AnyEvent) -> int:
    """Return an event's number."""
    return PRINT_ID if (event.group, event.name) == PRINT else FIRST + event.engine.number
