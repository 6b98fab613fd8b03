"""The commands, one module each.

A command module has NAME, HELP (one line), DESCRIPTION (optional), add_arguments(parser) and run(args),
which returns the exit status. It raises CommandError for what it cannot do: the user sees one line and exit
status 2.
"""

from __future__ import annotations

import os
import sys

from funcgraph.names import printable

__all__ = ["CommandError", "os_error_text", "process_error_text", "say"]


class CommandError(Exception):
    """A command cannot do what it was asked to.

    Args:
        message: one line for the user: what was wrong, where, and what would be right.
        status: the exit status; 2 for bad input.
    """

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


def os_error_text(error: OSError) -> str:
    """Return an error as "FILE: REASON", without its number."""
    reason = error.strerror or os.strerror(error.errno or 0)
    return reason if error.filename is None else f"{os.fsdecode(error.filename)}: {reason}"


def _harmless(text: str) -> str:
    """Return a text without control characters, which a file name or a pattern may have."""
    return "".join(c if c in "\n\t" else printable(c) for c in text)


def process_error_text(pid: int, error: Exception) -> str:
    """Return what a process could not do, as "process PID: REASON"."""
    if isinstance(error, ProcessLookupError):
        is_zombie = os.path.exists(f"/proc/{pid}")
        return f"process {pid}: {'it has ended' if is_zombie else 'there is no such process'}"
    text = os_error_text(error) if isinstance(error, OSError) else str(error)
    for begin in (f"process {pid}: ", f"process {pid} "):
        text = text.removeprefix(begin)
    return f"process {pid}: {text}"


def say(text: str) -> None:
    """Print one line on standard error, and ignore that it is closed."""
    if sys.stderr is None:  # the parent process closed it
        return
    try:
        print(f"funcgraph: {_harmless(text)}", file=sys.stderr, flush=True)
    except OSError:
        # From 3.14 on CPython keeps the text, tries to write it again at the end, and exits with 120.
        sys.stderr = None
