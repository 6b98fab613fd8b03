"""Where a report goes: to a pager on a terminal, else unchanged to standard output."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Literal

ColorChoice = Literal["auto", "always", "never"]


def wants_color(choice: ColorChoice) -> bool:
    """Return whether to print in colour.

    "auto" means: on a terminal with colours, unless NO_COLOR (no-color.org) is set.
    """
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def text_width() -> int | None:
    """Return how many columns a line may have: those of the terminal; None: the output is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def pager_command() -> str | None:
    """Return the shell command of the user's pager; None: the user wants none, or there is none."""
    command = os.environ.get("PAGER")
    if command is None:
        return "less -RSFX" if shutil.which("less") else None
    return None if command.strip() in ("", "cat") else command


def write_text(pieces: Iterable[bytes], *, pager: bool) -> None:
    """Write UTF-8 text to standard output.

    Args:
        pieces: the text.
        pager: show it in the user's pager if standard output is a terminal.

    Raises:
        BrokenPipeError: the reader of standard output is gone. (A pager may quit: that is no error.)
        KeyboardInterrupt: Ctrl-C.
        OSError: the text cannot be written.
    """
    command = pager_command() if pager and sys.stdout.isatty() else None
    if command is None:
        _write_pieces(pieces, sys.stdout.buffer)
        return
    sys.stdout.flush()
    # As git does: with these options less leaves a short text on the screen, passes colours on, and does not
    # wrap lines. The user's own options win.
    environment = {"LESS": "FRSX", **os.environ}
    process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environment)
    assert process.stdin is not None
    try:
        with suppress(BrokenPipeError):
            _write_pieces(pieces, process.stdin)
    finally:
        # Ctrl-C goes to the pager too, which goes on: wait until it ends.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.wait()
        signal.signal(signal.SIGINT, before)


def _write_pieces(pieces: Iterable[bytes], stream: IO[bytes]) -> None:
    for piece in pieces:
        stream.write(piece)
    stream.flush()
