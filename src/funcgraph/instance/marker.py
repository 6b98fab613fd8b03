"""Texts and data of the program in traces: the kernel's trace_marker and trace_marker_raw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from funcgraph import _engine

__all__ = ["TraceMarker", "TraceMarkerRaw", "TracePrintk", "trace_marker"]


class TracePrintk(Protocol):
    """A builtin function, as `write` of TraceMarker: the kernel's trace_printk()."""

    def __call__(self, format: str, /, *args: object) -> int: ...


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


class TraceMarkerRaw:
    """A file to write data to: each write is one record, which the trace prints as `# 2f buf: 01 ff 00 00`.

    Attributes:
        write: write(data: bytes) -> int: puts an id of 4 bytes (little-endian) and up to 988 bytes of data
            into the trace; returns how many bytes those are. When nothing records, it does nothing. When the
            buffer is full, they are lost and counted. Raises: OSError: EINVAL: another number of bytes.
    """

    __slots__ = ("write",)

    def __init__(self, write: Callable[[bytes], int]) -> None:
        self.write = write


#: Writes into the recordings of this process (`funcgraph record`, `funcgraph.record`) and the instance
#: "top".
trace_marker: Final = TraceMarker(_engine.mark)
