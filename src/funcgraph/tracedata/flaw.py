"""What a trace lacks as a whole: it is not complete, or parts of it were damaged."""

from __future__ import annotations

import fcntl
import os
from typing import Any, NamedTuple

from funcgraph import _tracedata

__all__ = ["DAMAGED_KEY", "Flaw", "flaw_of", "is_written"]

DAMAGED_KEY = "damaged"  # in the description: how many damaged places were left out when the file was made


class Flaw(NamedTuple):
    """Why the figures of a trace are not those of its whole recording.

    Attributes:
        text: a predicate whose subject is the trace.
        is_usual: it is still being recorded: whoever reads it knows.
    """

    text: str
    is_usual: bool = False


def flaw_of(reader: _tracedata.Reader, description: dict[str, Any]) -> Flaw | None:
    """Return what an opened trace lacks; None: nothing.

    Args:
        description: the trace's own.
    """
    if not reader.is_complete:
        return _unfinished(reader, description.get("events", 0))
    damaged = description.get(DAMAGED_KEY)
    if isinstance(damaged, int) and damaged > 0:
        places = "a place" if damaged == 1 else f"{damaged:,} places"
        return Flaw(f"was made of files with {places} damaged: the events there are missing")
    return None


def _unfinished(reader: _tracedata.Reader, events: int) -> Flaw:
    if reader.whole_bytes:
        size = os.fstat(reader.fileno()).st_size
        return Flaw(
            f"was cut off: {size:,} of {reader.whole_bytes:,} bytes are left, with {events:,} events"
            if size < reader.whole_bytes
            else f"has {size:,} bytes, but had {reader.whole_bytes:,} when it was complete"
        )
    if is_written(reader.fileno()):
        return Flaw("is still being recorded", is_usual=True)
    return Flaw(f"is not complete: it was cut off, or its recorder was killed; it has {events:,} events")


def is_written(fd: int) -> bool:
    """Return whether a recorder has its lock on the file."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # a file system without locks
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False
