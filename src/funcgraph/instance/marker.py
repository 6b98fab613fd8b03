"""Texts of the program in traces: the kernel's trace_marker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from funcgraph import _engine

__all__ = ["TraceMarker", "trace_marker"]


class TraceMarker:
    """A file to write to: each text that is written is in the trace, in its place between the calls.

    `write` is a builtin function, so that tracers see no call of it.

    Attributes:
        write: write(text: str) -> int: puts the text into the trace; returns its length. A text of more
            than 992 bytes (UTF-8) continues in further records. When nothing records, it does nothing. When
            the buffer is full, the text is lost and counted, as calls are.
    """

    __slots__ = ("write",)

    def __init__(self, write: Callable[[str], int]) -> None:
        self.write = write


#: Writes into the recordings of this process (`funcgraph record`, `funcgraph.record`) and the instance
#: "top".
trace_marker: Final = TraceMarker(_engine.mark)
