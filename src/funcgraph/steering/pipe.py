"""The lines of an instance of a running process as they come: its trace_pipe, or that of a lane."""

from __future__ import annotations

import os

from funcgraph.steering.folder import InstanceFolder

__all__ = ["TRACE_PIPE", "Pipe"]

TRACE_PIPE = "trace_pipe"
_READ_BYTES = 1 << 20  # as much as one answer has


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
        self.has_ended = False

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
        self._rest = rest
        return (whole + newline).decode("utf-8", "replace")

    def close(self) -> None:
        """Let go of the instance; lines that nobody has read stay in its buffer. May be called twice."""
        self._file.close()
