"""The open files of a mount.

The kernel tells a file system of close(2) at once (flush), for each descriptor, and of the end of the open
file only later (release). A program that has closed a file expects that its text has arrived, and that the
file is no longer open. Whether a flush was of the last descriptor is unknown. So:

- closing carries out a last word, or an O_TRUNC without a write. After a flush of such a file others wait for
  the release, for a moment: a shell that has duplicated the descriptor keeps it open.
- who finds something busy waits for the releases of files that were flushed.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable
from errno import EBUSY
from typing import TypeVar

from funcgraph.tracefs.interface import OpenFile, Tree

__all__ = ["Handle", "Handles"]

_Result = TypeVar("_Result")

#: How long to wait for the release of a file that has something to carry out; of one that keeps others busy.
#: The kernel queues a release before close() returns.
_UNFINISHED_S, _BUSY_S = 0.1, 0.5


class Handle:
    """One open file of the mount.

    Args:
        path: the file's path in the tree.
        flags: of open(2).
        file: the file of the tree.

    Attributes:
        leaving: a descriptor was closed, and the file not used since: perhaps it was the last one.
        unfinished: closing the file carries out something.
        released: the last descriptor was closed.
    """

    def __init__(self, path: str, flags: int, file: OpenFile) -> None:
        self.path, self.flags, self.file = path, flags, file
        self.leaving = self.released = False
        self.unfinished = bool(flags & os.O_TRUNC)

    def write(self, offset: int, data: bytes) -> int:
        """Carry out one write()."""
        self.unfinished = not data[-1:].isspace()
        return self.file.write(offset, data)


class Handles:
    """All open files, by number."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._handles: dict[int, Handle] = {}
        self._numbers = itertools.count(1)
        self._released = threading.Condition()
        self._unfinished: set[Handle] = set()  # those that others wait for

    def open(self, path: str, flags: int) -> int:
        """Open a file, and return its number.

        Raises:
            OSError: as Tree.open().
        """
        handle = Handle(path, flags, self.unless_busy(lambda: self._tree.open(path, flags)))
        number = next(self._numbers)
        self._handles[number] = handle
        return number

    def use(self, number: int) -> Handle:
        """Return an open file, in order to read or write it."""
        handle = self._handles[number]
        handle.leaving = False
        self._unfinished.discard(handle)
        self.settle()
        return handle

    def flush(self, number: int) -> None:
        """A descriptor of the file was closed."""
        handle = self._handles[number]
        handle.leaving = True
        if handle.unfinished:
            self._unfinished.add(handle)

    def release(self, number: int) -> None:
        """The last descriptor was closed."""
        handle = self._handles[number]
        try:
            handle.file.close()
        finally:
            with self._released:
                del self._handles[number]
                handle.released = True
                self._unfinished.discard(handle)
                self._released.notify_all()

    def settle(self, path: str | None = None) -> None:
        """Wait until files that were closed have been carried out, but for those of `path`."""
        if not self._unfinished:
            return
        waited = [handle for handle in list(self._unfinished) if handle.path != path]
        with self._released:
            self._released.wait_for(lambda: self._unfinished.isdisjoint(waited), _UNFINISHED_S)
        self._unfinished.difference_update(waited)  # they are open: another descriptor is

    def unless_busy(self, action: Callable[[], _Result]) -> _Result:
        """Return action(). If something is busy, try again after each release that is on its way.

        Raises:
            OSError: as `action`; EBUSY if it is still busy when no release is on its way, or none came.
        """
        end = time.monotonic() + _BUSY_S
        while True:
            leaving = [handle for handle in list(self._handles.values()) if handle.leaving]
            try:
                return action()
            except OSError as error:
                if error.errno != EBUSY or not leaving or not self._wait_for(leaving, end):
                    raise

    def _wait_for(self, leaving: list[Handle], end: float) -> bool:
        """Wait until one of the handles is released. Return whether one was."""
        with self._released:
            return self._released.wait_for(
                lambda: any(handle.released for handle in leaving), end - time.monotonic()
            )
