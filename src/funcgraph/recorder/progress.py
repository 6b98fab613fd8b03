"""The progress line of a recording on a terminal, and numbers as text for a person."""

from __future__ import annotations

import os
import time

from funcgraph.recorder.terminal_use import (
    encodable_text,
    terminal_columns,
    terminal_is_free,
    terminal_use,
    write_text,
)

__all__ = ["ProgressLine", "bytes_text", "plural"]

FIRST_S = 0.5  # a program that ends sooner gets no line
INTERVAL_S = 0.25
AFTER_OUTPUT_S = 10.0  # what the program has printed after a line keeps that line, so there are few then
ERASE_LINE_ABOVE = "\x1b[A\r\x1b[K"


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

    The program prints on the same terminal. So the cursor stands at the beginning of the line below: what
    the program prints begins there. If nobody has used the terminal since, new figures replace the line.
    Otherwise it stays, and the next one is below what was printed.

    The line is not shown while the program uses the terminal itself: from another process group, or in a
    mode without line editing or echo (an editor, a prompt, a password).

    Args:
        visible: False for a line that never shows.
    """

    def __init__(self, visible: bool) -> None:
        self._fd = 2 if visible and os.isatty(2) else None
        self._next = time.monotonic() + FIRST_S
        self._shown = ""
        self._shown_s = 0.0
        self._use: object = None  # of the terminal, when the line was shown

    def due(self) -> bool:
        """Return whether it is time to show new figures."""
        return self._fd is not None and time.monotonic() >= self._next

    def show(self, text: str) -> None:
        """Show `text` after the name "funcgraph"."""
        now = time.monotonic()
        self._next = now + INTERVAL_S
        if self._fd is None or text == self._shown or not terminal_is_free(self._fd):
            return
        use = terminal_use(self._fd)
        if self._shown and use == self._use:
            start = ERASE_LINE_ABOVE
        elif self._shown and now < self._shown_s + AFTER_OUTPUT_S:
            return
        else:
            start = self._line_start()
        line = encodable_text(f"funcgraph: {text}")
        line = line[: terminal_columns(self._fd) or None]  # a second row would not be erased
        self._write(f"{start}{line}\n")
        self._shown, self._shown_s, self._use = text, now, use

    def close(self) -> None:
        """Erase the line, if it is the last one. What is printed next begins a line."""
        if self._fd is None or not terminal_is_free(self._fd):
            return
        is_last = bool(self._shown) and terminal_use(self._fd) == self._use
        self._write(ERASE_LINE_ABOVE if is_last else self._line_start())
        self._shown = ""

    def _line_start(self) -> str:
        """Return what moves the cursor to the beginning of a line, the next one if something stands in this.

        A line of blanks wraps if it does not begin at the left edge. At the edge it does not, as terminals
        wrap only before the next character (the am and xenl of terminfo(5)).
        """
        assert self._fd is not None
        return f"{' ' * terminal_columns(self._fd)}\r\x1b[K"

    def _write(self, text: str) -> None:
        assert self._fd is not None
        if not write_text(self._fd, text):
            self._fd = None  # the terminal is gone
