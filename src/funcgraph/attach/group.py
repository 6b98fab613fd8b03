"""Attaching to several processes at the same time."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from funcgraph.attach.deadline import Deadline
from funcgraph.attach.errors import AttachError

__all__ = ["MOST_AT_ONCE", "PLACE_S", "AttachGroup"]

#: Attaching computes for some tens of milliseconds. More at the same time would cost the time limit of each.
MOST_AT_ONCE = 16
#: One that takes longer does not compute but waits, until its time limit: its place goes to the next one. So
#: many processes that cannot be attached to cost the limit of one, and not each sixteen of them one more.
PLACE_S = 1.0
#: An attacher asks who a process is while it has a thread of it stopped, and needs the GIL for that. In the
#: turns of 5 ms that are the default, the program would stand still until the other attachers had theirs.
_GIL_TURN_S = 0.0001


class AttachGroup:
    """Attaches of one command, 16 at the same time, not counting those that have waited for a second.

    A context manager, whose end gives up those being made.

    Each is made in a thread of its own, within a turn():

        with AttachGroup() as group:
            # in a thread
            with group.turn(pid):
                attach(pid, within=group.deadline)

    Args:
        clock: returns seconds.

    Attributes:
        deadline: of all of them: none, until cancel().
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.deadline = Deadline(math.inf)
        self._clock = clock
        self._places: dict[object, float] = {}  # those that are taken, with the times; the oldest comes first
        self._changes = threading.Condition()
        self._running = 0
        self._gil_turn_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.cancel()
        with self._changes:  # each takes back what it did, in seconds
            self._changes.wait_for(lambda: not self._running)

    def cancel(self) -> None:
        """Give up: those that are being made end, and no further one begins."""
        with self._changes:
            self.deadline.cancel()
            self._changes.notify_all()

    @contextmanager
    def turn(self, pid: int) -> Iterator[None]:
        """Wait for a place for an attach, and keep it during the block, for a second at most.

        Raises:
            AttachError: the group was given up.
        """
        place = object()
        self._begin(pid, place)
        try:
            yield
        finally:
            self._end(place)

    def _begin(self, pid: int, place: object) -> None:
        with self._changes:
            while not self.deadline.is_over() and (wait_s := self._wait_s()) > 0:
                self._changes.wait(wait_s)
            if self.deadline.is_over():
                raise AttachError(pid, "interrupted before it was attached to")
            if len(self._places) == MOST_AT_ONCE:
                del self._places[next(iter(self._places))]
            self._places[place] = self._clock()
            if not self._running:
                self._gil_turn_s = sys.getswitchinterval()
                sys.setswitchinterval(min(self._gil_turn_s, _GIL_TURN_S))
            self._running += 1

    def _wait_s(self) -> float:
        """Return how long to wait for a place, at most; 0: there is one."""
        if len(self._places) < MOST_AT_ONCE:
            return 0.0
        return max(next(iter(self._places.values())) + PLACE_S - self._clock(), 0.0)

    def _end(self, place: object) -> None:
        with self._changes:
            self._places.pop(place, None)
            self._running -= 1
            if not self._running:
                sys.setswitchinterval(self._gil_turn_s)
            self._changes.notify_all()
