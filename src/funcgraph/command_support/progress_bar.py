"""The bar of a command whose work takes long: its share and the time left, on a terminal, and only there."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from funcgraph.names import printable, shortened
from funcgraph.recorder.terminal_use import encodable_text, terminal_columns, terminal_is_free, write_text

__all__ = ["ProgressBar"]

FIRST_S = 0.5  # work that ends sooner gets no bar
INTERVAL_S = 0.1
_WIDTH = 24  # of the bar itself
_COLUMNS = 80  # of a terminal that does not tell
_LEAST_SHARE = 0.01  # less tells nothing about the time left
_ERASE = "\r\x1b[K"


class ProgressBar:
    """A bar on standard error, if that is a terminal. The work calls it with the share that is done.

    It stands in the cursor's line, and is erased at the end of the `with` block, or by `stop`. Whatever is
    printed comes after that. It is not shown in the background, nor while the terminal is in a mode without
    line editing or echo, nor on a terminal that cannot erase a line (TERM=dumb).

    Where work consists of several passes, each begins with a lesser share: the time left is that of the pass.

    Args:
        text: what is done, as `reading trace.fg`.
        visible: False for a bar that never shows.
        fd: where to.
        clock: returns seconds.

    Example:
        >>> with ProgressBar("reading trace.fg") as bar, Trace("trace.fg", progress=bar) as trace:
        ...     count = sum(len(batch) for batch in trace.columns())
    """

    def __init__(
        self,
        text: str,
        *,
        visible: bool = True,
        fd: int = 2,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._text, self._clock = encodable_text(printable(text)), clock
        shows = visible and os.environ.get("TERM", "dumb") != "dumb" and os.isatty(fd)
        self._fd = fd if shows else None
        self._next = clock() + FIRST_S
        self._pass: tuple[float, float] | None = None  # when it began, with which share
        self._share = 0.0  # the latest
        self._is_shown = False
        self._lock = threading.Lock()  # SQL is answered by several threads

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def __call__(self, share: float) -> None:
        """Show how much is done.

        Args:
            share: 0 to 1.
        """
        if self._fd is None:
            return
        with self._lock:
            now = self._clock()
            if self._pass is None or share < self._share:
                self._pass = now, share
            self._share = share
            if now >= self._next:
                self._next = now + INTERVAL_S
                self._show(now)

    def clear(self) -> None:
        """Erase the bar, which comes back: what is printed now begins a line."""
        with self._lock:
            if self._is_shown:
                self._write(_ERASE)
            self._is_shown = False

    def stop(self) -> None:
        """Erase the bar for good."""
        self.clear()
        self._fd = None

    def _show(self, now: float) -> None:
        fd = self._fd
        if fd is None or not terminal_is_free(fd):
            return
        columns = terminal_columns(fd) or _COLUMNS
        filled = round(_WIDTH * self._share)
        tail = f" [{'#' * filled}{'.' * (_WIDTH - filled)}] {self._share:4.0%}{self._left(now)}"
        line = shortened(f"funcgraph: {self._text}", columns - 1 - len(tail)) + tail
        self._is_shown = True
        self._write(f"{_ERASE}{line[: columns - 1]}")  # some terminals wrap after the last column

    def _left(self, now: float) -> str:
        """Return the time that the rest takes, if it goes on as so far."""
        assert self._pass is not None
        begin, first_share = self._pass
        done = self._share - first_share
        if done < _LEAST_SHARE:
            return ""
        seconds = round((now - begin) * (1 - self._share) / done)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return f"  {hours}:{minutes:02}:{seconds:02} left" if hours else f"  {minutes}:{seconds:02} left"

    def _write(self, text: str) -> None:
        assert self._fd is not None
        if not write_text(self._fd, text):
            self._fd = None  # the terminal is gone
