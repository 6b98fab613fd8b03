"""Waiting for the records of another process: at a connection of its own, without the interpreter lock there.

The process's native thread keeps the request, and answers once there is news or some time is over. It needs
no "hello", holds no file, and ends with the connection.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from contextlib import closing

from funcgraph.control import wire
from funcgraph.control.sockets import connect_to
from funcgraph.rights.identity import ProcessIdentity
from funcgraph.tracefs.interface import OpenFile

__all__ = ["RemoteWait", "Waits", "wait_until_ready"]

_TIMEOUT_S = 10.0  # for a connection, and for an answer that has begun
#: The process cannot be waited for: how long until the reader looks again.
_POLL_S = 0.2
_STEP_S = 1.0


class Waits:
    """The connections to one process that wait, or that did and are kept for the next wait.

    Args:
        process: the process.
    """

    def __init__(self, process: ProcessIdentity) -> None:
        self._process = process
        self._idle: list[socket.socket] = []
        self._lock = threading.Lock()
        self._is_open = True

    def take(self) -> socket.socket | None:
        """Return a connection that nobody uses; None: none can be had."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        try:
            return connect_to(self._process, _TIMEOUT_S)
        except OSError:
            return None

    def put(self, stream: socket.socket) -> None:
        """Keep a connection for the next wait."""
        with self._lock:
            if self._is_open:
                self._idle.append(stream)
                return
        stream.close()

    def close(self) -> None:
        """End the connections that nobody uses, and the others once their waits end."""
        with self._lock:
            self._is_open = False
            idle, self._idle = self._idle, []
        for stream in idle:
            stream.close()


class RemoteWait:
    """A reader that waits for news of an instance of the process: a Wait.

    Args:
        waits: where the connection is from.
        place: what the process said when the file had nothing.
    """

    def __init__(self, waits: Waits, place: tuple[int, int]) -> None:
        self.place = place
        self._waits = waits
        self._request = wire.framed(wire.wait_message(*place))
        self._is_over = False
        self._look_at_s = 0.0  # without a connection
        self._stream = waits.take()
        self._send_request()

    def over(self, timeout_s: float) -> bool:
        """Wait for news, at most so long; return whether the reader should look again."""
        end = time.monotonic() + timeout_s
        while not self._is_over:
            left_s = max(end - time.monotonic(), 0)
            if self._stream is None:
                time.sleep(max(min(left_s, self._look_at_s - time.monotonic()), 0))
                self._is_over = time.monotonic() >= self._look_at_s
                break
            if not _is_readable(self._stream, left_s):
                break
            self._receive()
        return self._is_over

    def is_quiet(self) -> bool:
        """Return whether nothing has come, not even a part of an answer."""
        if self._stream is None:
            return not self.over(0)
        return not _is_readable(self._stream, 0)

    def close(self) -> None:
        """Wait no longer."""
        if self._stream is not None:
            self._stream.close()  # the process forgets the request
            self._stream = None

    def _send_request(self) -> None:
        try:
            if self._stream is not None:
                self._stream.sendall(self._request)
        except OSError:
            self.close()
        if self._stream is None:
            self._look_at_s = time.monotonic() + _POLL_S

    def _receive(self) -> None:
        assert self._stream is not None
        try:
            header, _ = wire.unpack(wire.receive(self._stream))
        except (OSError, EOFError, wire.WireError):  # it has ended, or has too many clients
            self.close()
            self._look_at_s = time.monotonic() + _POLL_S
            return
        if header.get("ok") is False:
            self._send_request()
            return
        self._is_over = True
        self._waits.put(self._stream)
        self._stream = None


def _is_readable(stream: socket.socket, timeout_s: float) -> bool:
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))


def wait_until_ready(file: OpenFile, timeout_s: float | None = None) -> bool:
    """Wait until a file has something to read: a blocking read of a pipe is this, and then read().

    The process is asked once. It then tells when there are records, and nothing of it runs until then.

    Args:
        file: an open file, of a Connection or of a tree of this process.
        timeout_s: for how many seconds at most; None: for ever.

    Returns:
        Whether it is ready.

    Raises:
        OSError: the connection has ended.
    """
    end = None if timeout_s is None else time.monotonic() + timeout_s
    while (wait := file.wait()) is not None:
        with closing(wait):
            while not wait.over(_STEP_S if end is None else min(end - time.monotonic(), _STEP_S)):
                if end is not None and time.monotonic() >= end:
                    return False
    return True
