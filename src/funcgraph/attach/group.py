"""Attaching to several processes at the same time."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from funcgraph.attach.deadline import Deadline
from funcgraph.attach.errors import AttachError

__all__ = ["MOST_AT_ONCE", "AttachGroup"]

#: Attaching computes for some tens of milliseconds. More at the same time would cost the time limit of each.
MOST_AT_ONCE = 16
#: An attacher asks who a process is while it has a thread of it stopped, and needs the GIL for that. In the
#: turns of 5 ms that are the default, the program would stand still until the other attachers had theirs.
_GIL_TURN_S = 0.0001


class AttachGroup:
    """Attaches of one command, 16 at the same time. A context manager, whose end gives up those being made.

    Each is made in a thread of its own, within a turn():

        with AttachGroup() as group:
            # in a thread
            with group.turn(pid):
                attach(pid, within=group.deadline)

    Attributes:
        deadline: of all of them: none, until cancel().
    """

    def __init__(self) -> None:
        self.deadline = Deadline(math.inf)
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)
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

    @contextmanager
    def turn(self, pid: int) -> Iterator[None]:
        """Wait for a place for an attach, and keep it during the block.

        Raises:
            AttachError: the group was given up.
        """
        with self._places:
            self._begin(pid)
            try:
                yield
            finally:
                self._end()

    def _begin(self, pid: int) -> None:
        with self._changes:
            if self.deadline.is_over():
                raise AttachError(pid, "interrupted before it was attached to")
            if not self._running:
                self._gil_turn_s = sys.getswitchinterval()
                sys.setswitchinterval(min(self._gil_turn_s, _GIL_TURN_S))
            self._running += 1

    def _end(self) -> None:
        with self._changes:
            self._running -= 1
            if not self._running:
                sys.setswitchinterval(self._gil_turn_s)
                self._changes.notify_all()
