"""The tracefs of one process, over a connection that is made again if it was lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from funcgraph.control.client import Connection, connect
from funcgraph.rights.identity import ProcessIdentity
from funcgraph.tracefs.interface import Entry, OpenFile

__all__ = ["ProcessTree"]

_Answer = TypeVar("_Answer")


class ProcessTree:
    """A tree (tracefs.interface.Tree). It connects at once, so that an error comes early.

    A connection is lost if the process keeps one waiting too long, stops serving, or executes another
    program. The question at hand fails then, and the next one finds the process anew.

    Args:
        pid: the process. It must have a control socket.
        connection: to that process, which the tree closes; None: make one.

    Raises:
        OSError: as control.client.connect().
    """

    def __init__(self, pid: int, connection: Connection | None = None) -> None:
        self.pid = pid
        self._lock = threading.Lock()
        self._process = ProcessIdentity.of(pid)
        self._connection: Connection | None = connection or connect(pid)

    def has_ended(self) -> bool:
        """Return whether the process has."""
        return self._process.has_ended()

    def is_served(self) -> bool:
        """Return whether the process is there, and answered the last question."""
        return self._connection is not None and not self.has_ended()

    def stat(self, path: str) -> Entry:
        """As Tree.stat()."""
        return self._request(lambda connection: connection.stat(path))

    def list(self, path: str) -> list[str]:
        """As Tree.list()."""
        return self._request(lambda connection: connection.list(path))

    def mkdir(self, path: str) -> None:
        """As Tree.mkdir()."""
        self._request(lambda connection: connection.mkdir(path))

    def rmdir(self, path: str) -> None:
        """As Tree.rmdir()."""
        self._request(lambda connection: connection.rmdir(path))

    def open(self, path: str, flags: int) -> OpenFile:
        """As Tree.open()."""
        return self._request(lambda connection: connection.open(path, flags))

    def _request(self, question: Callable[[Connection], _Answer]) -> _Answer:
        connection = self._connected()
        try:
            return question(connection)
        except (ConnectionError, TimeoutError):
            with self._lock:
                if self._connection is connection:
                    self._connection = None
            connection.close()
            raise

    def _connected(self) -> Connection:
        with self._lock:
            if self._connection is None:
                self._connection = connect(self.pid)
            return self._connection
