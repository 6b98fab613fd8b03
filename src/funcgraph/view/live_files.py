"""The files of a recording that goes on and is rotated: the newest two as one trace."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import BinaryIO

from funcgraph.tracedata.flaw import is_written
from funcgraph.tracedata.rotated import joined
from funcgraph.tracedata.trace_file import TraceFile

__all__ = ["LiveFiles"]


class LiveFiles:
    """The files of a recording of which one is kept beside the newest.

    Args:
        output: the name of the trace.
    """

    def __init__(self, output: str) -> None:
        self._output = output
        self._part = f"{output}.part"

    def key(self) -> Hashable:
        """Return what changes whenever there is more."""
        return tuple((status.st_ino, status.st_size) for status in map(os.stat, self._names()))

    def is_written(self) -> bool:
        """Whether the recording goes on."""
        try:
            with open(self._part, "rb", buffering=0) as file:
                return is_written(file.fileno())
        except FileNotFoundError:  # a change of files, or the end
            return os.path.exists(f"{self._part}.next")

    def open(self) -> BinaryIO:
        """Return a file with the trace as it is now.

        Raises:
            TraceError, OSError: they cannot be read, perhaps as they change just now.
        """
        names = self._names()
        if len(names) == 1:
            return open(names[0], "rb", buffering=0)
        with joined([TraceFile(name) for name in names]) as trace:
            assert isinstance(trace.path, int)
            file = open(os.dup(trace.path), "rb", buffering=0)
            file.seek(0)
            return file

    def _names(self) -> list[str]:
        """Return the files that there are. Raises FileNotFoundError: there are none."""
        names = [name for name in (self._output, self._part) if os.path.exists(name)]
        if not names:
            raise FileNotFoundError(f"{self._output} is gone")
        return names
