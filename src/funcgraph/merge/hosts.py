"""The hosts of traces: what each trace says of where it was recorded, and what time it was there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from funcgraph.merge.clock_line import Bound

__all__ = ["Host", "Instant", "clock_bounds", "clock_offset_ns", "host_of", "jump_ns"]

_INFINITE = float("inf")


class Instant(NamedTuple):
    """One instant on a host: CLOCK_MONOTONIC, CLOCK_REALTIME, and how far that may be off, or None; in ns."""

    monotonic_ns: int
    real_ns: int
    error_ns: int | None


class Host(NamedTuple):
    """Where a trace was recorded.

    Attributes:
        name: the machine's name.
        boot_id: traces with one boot_id have one CLOCK_MONOTONIC; "" if it is not known.
        clocks: instants of the recording, the first and the last.
    """

    name: str
    boot_id: str
    clocks: tuple[Instant, ...]


def host_of(meta: Mapping[str, Any]) -> Host | None:
    """Return the host that a trace's JSON names; None: it names none."""
    host: Any = meta.get("host")
    try:
        clocks = tuple(_instant(item) for item in host["clocks"])
        return Host(str(host["name"]) or "unknown", str(host["boot_id"]), clocks) if clocks else None
    except (KeyError, TypeError, ValueError):
        return None


def _instant(item: Sequence[int | None]) -> Instant:
    monotonic, real, error = item
    if not isinstance(monotonic, int) or not isinstance(real, int) or not isinstance(error, int | None):
        raise TypeError(item)
    return Instant(monotonic, real, error)


def clock_bounds(host: Sequence[Instant], reference: Sequence[Instant]) -> Iterator[Bound]:
    """Yield what the real-time clocks of two hosts say of their CLOCK_MONOTONIC."""
    for one in host:
        other = _nearest(one, reference)
        error = _INFINITE if one.error_ns is None or other.error_ns is None else one.error_ns + other.error_ns
        ahead = _ahead_ns(one, other)
        yield Bound(one.monotonic_ns, ahead - error, ahead + error)


def clock_offset_ns(host: Sequence[Instant], reference: Sequence[Instant]) -> int:
    """Return by how much the reference's CLOCK_MONOTONIC is ahead, if both real-time clocks are right."""
    return _ahead_ns(host[0], _nearest(host[0], reference))


def _nearest(one: Instant, others: Sequence[Instant]) -> Instant:
    return min(others, key=lambda other: abs(other.real_ns - one.real_ns))


def _ahead_ns(one: Instant, other: Instant) -> int:
    return (other.monotonic_ns - other.real_ns) - (one.monotonic_ns - one.real_ns)


def jump_ns(clocks: Sequence[Instant]) -> int:
    """Return by how much a host's real-time clock was set while its traces were recorded."""
    offsets = [clock.real_ns - clock.monotonic_ns for clock in clocks]
    return max(offsets) - min(offsets)
