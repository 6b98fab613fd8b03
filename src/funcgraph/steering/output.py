"""Printing what several processes say: with more than one, each line begins with the process."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import TextIO

__all__ = ["Output"]


class Output:
    """Prints texts of processes.

    Args:
        pids: all processes that may say something. With one, or none, lines are as they came.
        stream: where to; None: standard output.
    """

    def __init__(self, pids: Collection[int], stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._is_told_apart = len(set(pids)) > 1

    def text(self, pid: int, text: str) -> None:
        """Print a text, and end its last line."""
        if not text:
            return
        if not text.endswith("\n"):
            text += "\n"
        if self._is_told_apart:
            text = "".join(f"{pid}: {line}" for line in text.splitlines(keepends=True))
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))

    def flush(self) -> None:
        """Have all that was printed go out now."""
        self._stream.flush()
