"""Exchanged stamps: what two connected hosts know of each other's clocks, as by NTP (RFC 5905)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from funcgraph.merge.clock_line import Bound

__all__ = ["Exchange", "exchange", "read_stamps", "stamp", "stamp_bounds"]


class Exchange(NamedTuple):
    """One question and its answer; all times are of CLOCK_MONOTONIC, in ns.

    Attributes:
        sent_ns: when the reference asked, on its clock.
        received_ns: when the host got that, on its clock.
        answered_ns: when the host answered, on its clock.
        returned_ns: when the reference had the answer, on its clock.
    """

    sent_ns: int
    received_ns: int
    answered_ns: int
    returned_ns: int


def stamp() -> int:
    """Return the time on this host's clock: what exchange() calls over there, in ns of CLOCK_MONOTONIC."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def exchange(call: Callable[[Callable[[], int]], int], rounds: int = 16) -> list[Exchange]:
    """Exchange stamps with a host. Called at the beginning and at the end of a recording, it shows the drift.

    Args:
        call: calls a function without arguments on the host, and returns what that returned.
        rounds: how often. The quickest ones tell most.

    Example:
        >>> stamps = exchange(lambda function: client.run(function, workers=[worker])[worker])
    """
    exchanges = []
    for _ in range(rounds):
        sent = stamp()
        host = call(stamp)
        exchanges.append(Exchange(sent, host, host, stamp()))
    return exchanges


def stamp_bounds(exchanges: Sequence[Exchange]) -> Iterator[Bound]:
    """Yield what exchanges say: neither question nor answer arrived before it was sent."""
    for one in exchanges:
        yield Bound(one.received_ns, one.sent_ns - one.received_ns, float("inf"))
        yield Bound(one.answered_ns, -float("inf"), one.returned_ns - one.answered_ns)


def read_stamps(path: str) -> Mapping[str, list[Exchange]]:
    """Read a file of stamps.

    It is a JSON object: of each host's name a list of [sent, received, answered, returned].

    Raises:
        ValueError: it is not that.
        OSError: it cannot be read.
    """
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    try:
        return {str(name): [_exchange(item) for item in items] for name, items in found.items()}
    except (AttributeError, TypeError, ValueError):
        raise ValueError("not an object of lists of [sent, received, answered, returned]") from None


def _exchange(item: Sequence[int]) -> Exchange:
    if not all(isinstance(value, int) for value in item):
        raise ValueError(item)
    sent, received, answered, returned = item
    if received > answered or sent > returned:
        raise ValueError(item)
    return Exchange(sent, received, answered, returned)
