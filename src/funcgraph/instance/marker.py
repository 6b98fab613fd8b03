"""Texts that the program puts into traces: the kernel's trace_marker and trace_printk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from funcgraph import _engine

__all__ = ["TraceMarker", "trace_marker"]


class TraceMarker:
    """A file to write to: every text that is written is in the trace, in its place between the calls.

    `write` is a builtin function, so that no tracer sees a call of ours.

    Attributes:
        write: write(text: str) -> int: puts the text into the trace; returns its length. A text of more than
            992 bytes (UTF-8) goes on in further records. Where nothing records, nothing happens; where the
            buffer is full, it is lost and counted, as calls are.
    """

    __slots__ = ("write",)

    def __init__(self, write: Callable[[str], int]) -> None:
        self.write = write


#: Into the recordings of this process (`funcgraph record`, `funcgraph.record`), and into the instance "top".
trace_marker: Final = TraceMarker(_engine.mark)
