"""The lines of an instance of a running process as they come: its trace_pipe, or that of a lane."""

from __future__ import annotations

import os

from funcgraph.steering.folder import InstanceFolder
from funcgraph.tracefs.interface import Wait

__all__ = ["TRACE_PIPE", "Pipe"]

TRACE_PIPE = "trace_pipe"
_READ_BYTES = 1 << 20  # as much as one answer has
_LINE_BYTES = 1 << 16


class Pipe:
    """An open pipe of an instance, which is not waited for.

    While it is open the instance can neither be removed nor get another tracer.

    Args:
        folder: the instance.
        file: trace_pipe, or per_cpu/cpuN/trace_pipe.

    Attributes:
        has_ended: no further line will come: something turned tracing off, or removed the instance.
    """

    def __init__(self, folder: InstanceFolder, file: str = TRACE_PIPE) -> None:
        self._file = folder.open(file, os.O_RDONLY | os.O_NONBLOCK)
        self._rest = b""  # the beginning of a line
        self._wait: Wait | None = None
        self.has_ended = False

    def is_quiet(self) -> bool:
        """Return whether there is no news, without any request or wait."""
        return self._wait is not None and self._wait.is_quiet()

    def has_news(self) -> bool:
        """Return whether lines() may have something. The process is asked once, until there is news.

        Raises:
            OSError: the process cannot be asked.
        """
        if self._wait is None:
            self._wait = self._file.wait()
        if self._wait is not None and not self._wait.over(0):
            return False
        self._end_wait()
        return True

    def _end_wait(self) -> None:
        wait, self._wait = self._wait, None
        if wait is not None:
            wait.close()

    def lines(self) -> str:
        """Return the whole lines that have come since the last call; "": none has, or none will.

        Raises:
            OSError: the process cannot be asked.
        """
        try:
            data = self._file.read(0, _READ_BYTES)
        except BlockingIOError:
            return ""
        if not data:
            self.has_ended = True
            return ""
        whole, newline, rest = (self._rest + data).rpartition(b"\n")
        if len(rest) > _LINE_BYTES:  # no line of a trace is so long: what never ends is not kept
            whole, newline, rest = whole + newline + rest, b"\n", b""
        self._rest = rest
        return (whole + newline).decode("utf-8", "replace")

    def close(self) -> None:
        """Let go of the instance; lines that nobody has read stay in its buffer. May be called twice."""
        self._end_wait()
        self._file.close()
