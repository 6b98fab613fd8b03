"""Where a report goes: to a pager when a person looks, as it is into a pipe or a file."""

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
    """Say whether to print in colour: on a terminal that has it, unless NO_COLOR (no-color.org) is set."""
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def pager_command() -> str | None:
    """Return the shell command of the user's pager, or None if output goes straight to the terminal."""
    command = os.environ.get("PAGER")
    if command is None:
        return "less -R -F -X" if shutil.which("less") else None
    return None if command.strip() in ("", "cat") else command


def write_text(pieces: Iterable[bytes], *, pager: bool) -> None:
    """Write UTF-8 text to standard output.

    Args:
        pieces: the text.
        pager: show it in the user's pager if standard output is a terminal.

    Raises:
        BrokenPipeError: whoever read standard output has left. (A pager may: that is no error.)
        KeyboardInterrupt: Ctrl-C.
        OSError: the text cannot be written.
    """
    command = pager_command() if pager and sys.stdout.isatty() else None
    if command is None:
        _write_pieces(pieces, sys.stdout.buffer)
        return
    sys.stdout.flush()
    # As git does: options that make less leave a short text on the screen and pass colours on, unless there
    # are some already.
    environment = {"LESS": "FRX", **os.environ}
    process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environment)
    assert process.stdin is not None
    try:
        with suppress(BrokenPipeError):
            _write_pieces(pieces, process.stdin)
    finally:
        # Ctrl-C goes to the pager too, which stays: so do we, until it ends.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.wait()
        signal.signal(signal.SIGINT, before)


def _write_pieces(pieces: Iterable[bytes], stream: IO[bytes]) -> None:
    for piece in pieces:
        stream.write(piece)
    stream.flush()
