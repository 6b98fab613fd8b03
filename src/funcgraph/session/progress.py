"""The progress line of a recording on a terminal, and numbers as text for a person."""

from __future__ import annotations

import os
import termios
import time

__all__ = ["ProgressLine", "bytes_text", "plural"]

FIRST_S = 0.5  # a program that ends sooner gets no line
INTERVAL_S = 0.25
ERASE = "\r\x1b[K"


def plural(count: int, thing: str) -> str:
    """Return `1 thread`, `2 threads`, `1,234 processes`."""
    if count == 1:
        return f"1 {thing}"
    return f"{count:,} {thing}{'es' if thing.endswith('s') else 's'}"


def bytes_text(count: int) -> str:
    """Return a size in the largest unit that leaves a whole number before the point."""
    size, units = float(count), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{count} bytes" if units[0] == "bytes" else f"{size:.1f} {units[0]}"


class ProgressLine:
    """A line on standard error with the recording's figures, if standard error is a terminal.

    The line is not shown while the program uses the terminal itself: from another process group, or in a
    mode without line editing or echo (an editor, a prompt, a password).

    Args:
        wanted: False for a line that never shows.
    """

    def __init__(self, wanted: bool) -> None:
        self._fd = 2 if wanted and os.isatty(2) else None
        self._next = time.monotonic() + FIRST_S
        self._shown = ""

    def due(self) -> bool:
        """Return whether it is time to show new figures."""
        return self._fd is not None and time.monotonic() >= self._next

    def show(self, text: str) -> None:
        """Show `text` after the name "funcgraph"."""
        self._next = time.monotonic() + INTERVAL_S
        if self._fd is not None and text != self._shown and self._terminal_is_free():
            self._write(f"{ERASE}funcgraph: {text}")
            self._shown = text

    def close(self) -> None:
        """Erase the line."""
        if self._shown:
            self._write(ERASE)
            self._shown = ""

    def _terminal_is_free(self) -> bool:
        assert self._fd is not None
        try:
            if os.tcgetpgrp(self._fd) != os.getpgrp():
                return False
            local_modes = termios.tcgetattr(self._fd)[3]
        except (OSError, termios.error):
            return True  # a terminal, but not our controlling terminal
        needed = termios.ICANON | termios.ECHO
        return bool(local_modes & needed == needed)

    def _write(self, text: str) -> None:
        assert self._fd is not None
        try:
            os.write(self._fd, text.encode())
        except OSError:
            self._fd = None  # the terminal is gone
