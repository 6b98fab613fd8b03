"""Printing what others say: processes, traces, command lines. Of several processes, each line says which."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Collection, Iterable
from io import RawIOBase
from typing import TextIO

from funcgraph.names import printable, printable_lines

__all__ = ["Output", "PrintableStream", "print_line"]


def print_line(line: str) -> None:
    """Print a line with names of others on standard output, at once. It stays one line, and harms no
    terminal."""
    _print(printable(line) + "\n", sys.stdout)
    sys.stdout.flush()


def _print(text: str, stream: TextIO) -> None:
    """Print a text of others; what the stream's encoding lacks is escaped, too."""
    encoding = stream.encoding or "utf-8"
    stream.write(printable_lines(text).encode(encoding, "backslashreplace").decode(encoding))


class Output:
    """Prints texts of processes.

    Args:
        pids: all processes that may say something. With one, or none, lines are as they came.
        stream: where to; None: standard output.
    """

    def __init__(self, pids: Collection[int], stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._is_labelled = len(set(pids)) > 1
        self._held: dict[int, list[str]] = {}

    def text(self, pid: int, text: str) -> None:
        """Print a text, and end its last line."""
        if not text:
            return
        if pid in self._held:
            self._held[pid].append(text)
            return
        begin = f"{pid}: " if self._is_labelled else ""
        _print("".join(f"{begin}{line}\n" for line in text.removesuffix("\n").split("\n")), self._stream)

    def hold(self, pids: Iterable[int]) -> None:
        """Keep the texts of processes that are asked at the same time until it is their turn: release()."""
        self._held = {pid: [] for pid in pids}

    def release(self, pid: int) -> None:
        """Print what was kept of a process, and its further texts at once."""
        for text in self._held.pop(pid, ()):
            self.text(pid, text)

    def flush(self) -> None:
        """Have all that was printed go out now."""
        self._stream.flush()


class PrintableStream(RawIOBase):
    """Standard output for UTF-8 text that comes in pieces, as the exporters write it, on a terminal."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def writable(self) -> bool:
        """Return that it is."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Print a piece, which may end in the middle of a character."""
        _print(self._decoder.decode(data), sys.stdout)
        return len(data)
