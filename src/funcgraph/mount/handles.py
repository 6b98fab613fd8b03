"""The open files of a mount.

The kernel tells a file system of close(2) at once (flush), for each descriptor, and of the last one only some
time after it (release). A program that has closed a file expects that its text has arrived, and that the file
is no longer open. So a file that was written to is closed at each flush, and opened again if it is used
afterwards: by a descriptor that dup() made. Who finds something busy waits for the releases that are on their
way.
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

#: How long a busy file or instance may wait for releases.
_RELEASE_S = 0.5


class Handle:
    """One open file of the mount: the file of the tree, as often as it has to be opened.

    Args:
        tree: where the file is.
        path: the file's path in it.
        flags: of open(2).

    Raises:
        OSError: as Tree.open().
    """

    def __init__(self, tree: Tree, path: str, flags: int) -> None:
        self.path, self.flags = path, flags
        self.released = False
        #: A descriptor was closed, and the file not used since: perhaps it was the last one.
        self.leaving = False
        self._tree = tree
        self._lock = threading.Lock()
        self._file: OpenFile | None = tree.open(path, flags)
        self._written = False

    def file(self) -> OpenFile:
        """Return the open file of the tree."""
        with self._lock:
            self.leaving = False
            if self._file is None:
                self._file = self._tree.open(self.path, self.flags & ~os.O_TRUNC)
            return self._file

    def write(self, offset: int, data: bytes) -> int:
        """Carry out one write()."""
        file = self.file()
        self._written = True
        return file.write(offset, data)

    def flush(self) -> None:
        """One descriptor of the file was closed."""
        with self._lock:
            self.leaving = True
            if self._written:
                self._written = False
                self._close()

    def release(self) -> None:
        """The last descriptor was closed."""
        with self._lock:
            self.released = True
            self._close()

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


class Handles:
    """All open files, by number."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._handles: dict[int, Handle] = {}
        self._numbers = itertools.count(1)
        self._released = threading.Condition()

    def open(self, path: str, flags: int) -> int:
        """Open a file, and return its number."""
        handle = self.unless_busy(lambda: Handle(self._tree, path, flags))
        number = next(self._numbers)
        self._handles[number] = handle
        return number

    def __getitem__(self, number: int) -> Handle:
        return self._handles[number]

    def release(self, number: int) -> None:
        """Close the file for good."""
        handle = self._handles.pop(number)
        try:
            handle.release()
        finally:
            with self._released:
                self._released.notify_all()

    def unless_busy(self, action: Callable[[], _Result]) -> _Result:
        """Return action(). If something is busy, try again after each release that is on its way.

        Raises:
            OSError: as `action`; EBUSY if it is still busy when no release is on its way, or none came.
        """
        end = time.monotonic() + _RELEASE_S
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
