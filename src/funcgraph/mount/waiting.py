"""Waiting for records: read() that blocks until a pipe has some, and poll().

Who waits is notified of records (interface.py, Wait). In between it only looks whether it is still to wait,
which asks the traced process nothing.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import closing
from errno import EINTR
from typing import Protocol

from funcgraph.tracefs.interface import OpenFile

__all__ = ["Polls", "read_when_ready"]

_LOOK_S = 0.02  # between two looks whether to wait on
_PAUSE_S = (
    0.01  # after a read of nothing from a file that was ready: of a lane, while other lanes have records
)


def _wait(file: OpenFile, stopped: Callable[[], bool]) -> bool:
    """Wait until a file may have something; return False if `stopped` said so first."""
    wait = file.wait()
    if wait is None:
        time.sleep(_PAUSE_S)
        return not stopped()
    with closing(wait):
        while not wait.over(_LOOK_S):
            if stopped():
                return False
    return True


def read_when_ready(file: OpenFile, offset: int, size: int, stopped: Callable[[], bool]) -> bytes:
    """Read as read(2) without O_NONBLOCK: wait until the file has something, or its end.

    Args:
        stopped: asked while waiting: whether to give up.

    Raises:
        InterruptedError: `stopped` said so.
        OSError: the file's.
    """
    while True:
        try:
            return file.read(offset, size)
        except BlockingIOError:
            if stopped() or not _wait(file, stopped):
                raise InterruptedError(EINTR, os.strerror(EINTR)) from None


class Notifier(Protocol):
    """Who wakes a poll(): libfuse.Session."""

    def notify(self, waiter: int) -> None: ...

    def forget(self, waiter: int) -> None: ...


class _Poll:
    """One poll() that waits, in a thread of its own.

    Args:
        file: for what.
        waiter: libfuse's handle.
        wake: called once the file is ready.
    """

    def __init__(self, file: OpenFile, waiter: int, wake: Callable[[_Poll], None]) -> None:
        self.waiter = waiter
        self._file, self._wake = file, wake
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="poll", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._file.ready:
                if not _wait(self._file, self._is_over.is_set):
                    return
        except OSError:
            pass  # read() tells it
        self._wake(self)

    def end(self) -> None:
        """Have the thread end; it wakes nobody who asks whether to."""
        self._is_over.set()

    def join(self) -> None:
        """Wait until the thread has ended."""
        self._thread.join()


class Polls:
    """The poll() calls that wait for a file.

    Args:
        notifier: wakes them.
    """

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._polls: dict[int, _Poll] = {}  # by the file's handle
        self._lock = threading.Lock()

    def add(self, handle: int, file: OpenFile, waiter: int) -> None:
        """Wake `waiter` once the file is ready. A newer one of the same handle takes its place."""
        with self._lock:
            old = self._polls.pop(handle, None)
            self._polls[handle] = _Poll(file, waiter, lambda poll: self._wake(handle, poll))
        self._forget(old)

    def remove(self, handle: int) -> None:
        """Forget what waits for a handle: its file is being closed."""
        with self._lock:
            gone = self._polls.pop(handle, None)
        self._forget(gone)

    def close(self) -> None:
        """End the threads. libfuse's session may go after that."""
        with self._lock:
            polls, self._polls = list(self._polls.values()), {}
        for poll in polls:
            self._forget(poll)
        for poll in polls:
            poll.join()

    def _forget(self, poll: _Poll | None) -> None:
        if poll is not None:
            poll.end()
            self._notifier.forget(poll.waiter)

    def _wake(self, handle: int, poll: _Poll) -> None:
        with self._lock:
            if self._polls.get(handle) is not poll:
                return
            del self._polls[handle]
            self._notifier.notify(poll.waiter)
