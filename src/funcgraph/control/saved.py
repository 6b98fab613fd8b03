"""Procedures that give a client an instance's buffer as a trace: the trace is made, and then read in parts.

The client writes the file, so that nothing is written where and as whom the traced program runs.
"""

from __future__ import annotations

from base64 import b64encode
from errno import EINVAL, ENOENT
from itertools import count

from funcgraph.instance.instance import instances
from funcgraph.instance.whole_trace import whole_trace
from funcgraph.settings.table import TOP

__all__ = ["MOST_BYTES", "save", "saved_end", "saved_part"]

#: The most that one part has: as base64 it fits into an answer.
MOST_BYTES = 1 << 19
_MOST_HELD = 4  # a client that has ended leaves its trace: the oldest one goes

_held: dict[int, bytes] = {}
_numbers = count(1)


def save(instance: str, snapshot: bool = False) -> dict[str, int]:
    """Make a trace of an instance, to be read by `saved_part`.

    Args:
        instance: its name; "": the top one.
        snapshot: of its snapshot, not of its buffer.

    Returns:
        number: what names the trace; bytes: its size.

    Raises:
        OSError: ENOENT: there is no such instance. EINVAL: it has no snapshot.
    """
    found = instances().get(instance or TOP)
    if found is None:
        raise OSError(ENOENT, f"no such instance: {instance or TOP!r}")
    trace = whole_trace(found, snapshot=snapshot)
    while len(_held) >= _MOST_HELD:
        del _held[next(iter(_held))]
    number = next(_numbers)
    _held[number] = trace
    return {"number": number, "bytes": len(trace)}


def saved_part(number: int, offset: int) -> str:
    """Return at most MOST_BYTES of a trace from an offset on, in base64; "": the end.

    Raises:
        OSError: ENOENT: there is no such trace any longer. EINVAL: an offset below 0.
    """
    if number not in _held:
        raise OSError(ENOENT, f"no saved trace {number}: others have replaced it")
    if offset < 0:
        raise OSError(EINVAL, f"invalid offset {offset}: must be 0 or more")
    return b64encode(_held[number][offset : offset + MOST_BYTES]).decode("ascii")


def saved_end(number: int) -> None:
    """Let go of a trace. May be called twice."""
    _held.pop(number, None)
