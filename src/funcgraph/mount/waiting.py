"""Waiting for records: read() that blocks until a pipe has some, and poll().

A file of a tree never waits (interface.py). So a reader asks again, after pauses that grow while nothing
comes.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from errno import EINTR
from typing import Protocol

from funcgraph.tracefs.interface import OpenFile

__all__ = ["Polls", "read_when_ready"]

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.02


def _pauses() -> Iterator[float]:
    pause = _FIRST_PAUSE_S
    while True:
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE_S)


def read_when_ready(file: OpenFile, offset: int, size: int, stopped: Callable[[], bool]) -> bytes:
    """Read as read(2) without O_NONBLOCK: wait until the file has something, or its end.

    Args:
        stopped: asked while waiting: whether to give up.

    Raises:
        InterruptedError: `stopped` said so.
        OSError: the file's.
    """
    for pause in _pauses():
        try:
            return file.read(offset, size)
        except BlockingIOError:
            if stopped():
                raise InterruptedError(EINTR, os.strerror(EINTR)) from None
        time.sleep(pause)
    raise AssertionError("the pauses do not end")


class Notifier(Protocol):
    """Who wakes a poll(): libfuse.Session."""

    def notify(self, waiter: int) -> None: ...

    def forget(self, waiter: int) -> None: ...


class Polls:
    """The poll() calls that wait for a file. A thread looks after them while there are any.

    Args:
        notifier: wakes them.
    """

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._waiters: dict[int, tuple[OpenFile, int]] = {}  # handle -> its file, and libfuse's handle
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def add(self, handle: int, file: OpenFile, waiter: int) -> None:
        """Wake `waiter` once the file is ready. A newer one of the same handle takes its place."""
        with self._changed:
            old = self._waiters.pop(handle, None)
            self._waiters[handle] = file, waiter
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="polls", daemon=True)
                self._thread.start()
            self._changed.notify()
        if old is not None:
            self._notifier.forget(old[1])

    def remove(self, handle: int) -> None:
        """Forget what waits for a handle: its file is being closed."""
        with self._changed:
            gone = self._waiters.pop(handle, None)
        if gone is not None:
            self._notifier.forget(gone[1])

    def close(self) -> None:
        """End the thread. libfuse's session may go after that."""
        with self._changed:
            self._closed = True
            waiters, self._waiters = self._waiters, {}
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
        for _, waiter in waiters.values():
            self._notifier.forget(waiter)

    def _look(self) -> None:
        pauses = _pauses()
        while True:
            with self._changed:
                while not self._waiters and not self._closed:
                    self._changed.wait()
                    pauses = _pauses()
                if self._closed:
                    return
                files = [(handle, file) for handle, (file, _) in self._waiters.items()]
            for handle, file in files:
                if _ready(file):
                    self._wake(handle)
            time.sleep(next(pauses))

    def _wake(self, handle: int) -> None:
        with self._changed:
            found = self._waiters.pop(handle, None)
        if found is not None:
            self._notifier.notify(found[1])


def _ready(file: OpenFile) -> bool:
    """Return whether read() would return at once: also with an error, which it then tells."""
    try:
        return file.ready
    except OSError:
        return True
