"""A terminal that shows one page, again and again, and takes single keys."""

from __future__ import annotations

import os
import select
import shutil
import sys
import termios
import tty
from collections.abc import Sequence
from types import TracebackType

from funcgraph.names import printable

__all__ = ["Screen"]

# ECMA-48 and xterm's control sequences.
_OTHER_SCREEN, _FIRST_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
_REVERSE, _NORMAL = "\x1b[7m", "\x1b[m"


class Screen:
    """The terminal while a block runs; what it showed before is back afterwards.

    with Screen() as screen:
        screen.show(["heading", "row"], heading=0)
        key = screen.key(1.0)
    """

    def __init__(self) -> None:
        self._input = sys.stdin.fileno()
        self._mode: list[int | list[bytes | int]] = []

    def __enter__(self) -> Screen:
        self._mode = termios.tcgetattr(self._input)
        tty.setcbreak(self._input)
        self._write(_OTHER_SCREEN)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        termios.tcsetattr(self._input, termios.TCSADRAIN, self._mode)
        self._write(_FIRST_SCREEN)

    @property
    def size(self) -> tuple[int, int]:
        """How many characters fit in a line, and how many lines, as it is now."""
        return shutil.get_terminal_size()

    def show(self, lines: Sequence[str], heading: int) -> None:
        """Show a page: lines that are too long are cut, lines that are too many left out.

        Args:
            heading: the index of the line that is shown reversed.
        """
        width, height = shutil.get_terminal_size()
        shown = []
        for at, line in enumerate(lines[:height]):
            text = printable(line)[:width]
            if at == heading:
                text = f"{_REVERSE}{text:{width}}{_NORMAL}"
            shown.append(text + _CLEAR_LINE)
        self._write(_HOME + "\r\n".join(shown) + _CLEAR_BELOW)

    def key(self, seconds: float) -> str:
        """Return the key that is pressed, "" if none is within so many seconds."""
        ready, _, _ = select.select([self._input], [], [], max(0.0, seconds))
        return os.read(self._input, 1).decode("latin-1") if ready else ""

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
