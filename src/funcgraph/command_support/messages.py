"""How a command says what it cannot do, and other messages on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from funcgraph.names import printable

__all__ = [
    "CommandError",
    "os_error_text",
    "print_message",
    "process_error_lines",
    "process_error_text",
    "refusal_of",
]


class CommandError(Exception):
    """A command cannot do what it was asked to.

    Args:
        message: one line for the user: what was wrong, where, and what would be right.
        status: the exit status; 2 for bad input.
        below: further lines, such as the place in a text of the user.
    """

    def __init__(self, message: str, status: int = 2, below: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.below = tuple(below)


def refusal_of(error: Exception, begin: str = "") -> CommandError:
    """Return a refusal of what the user gave. The error's text may show the place of the mistake below its
    first line."""
    message, *below = str(error).split("\n")
    return CommandError(begin + message, below=below)


def os_error_text(error: OSError) -> str:
    """Return an error as "FILE: REASON", without its number."""
    reason = error.strerror or os.strerror(error.errno or 0)
    return reason if error.filename is None else f"{os.fsdecode(error.filename)}: {reason}"


def process_error_text(pid: int, error: Exception) -> str:
    """Return what a process could not do, as "process PID: REASON"."""
    if isinstance(error, ProcessLookupError):
        is_zombie = os.path.exists(f"/proc/{pid}")
        return f"process {pid}: {'it has ended' if is_zombie else 'there is no such process'}"
    text = os_error_text(error) if isinstance(error, OSError) else str(error)
    for begin in (f"process {pid}: ", f"process {pid} "):
        text = text.removeprefix(begin)
    return f"process {pid}: {text}"


def process_error_lines(pid: int, error: Exception) -> list[str]:
    """Return the lines of process_error_text(). Each names the process: none can pass for another's, or for
    one of ours."""
    first, *below = process_error_text(pid, error).split("\n")
    return [first, *(f"process {pid}: {line}" for line in below)]


def print_message(message: str, below: Iterable[str] = ()) -> None:
    """Print a message on standard error, and ignore that it is closed.

    Args:
        message: one line: a newline in it is one in a name, and is escaped.
        below: lines that are printed below it.
    """
    if sys.stderr is None:  # the parent process closed it
        return
    text = "\n".join(map(printable, (f"funcgraph: {message}", *below)))
    try:
        if sys.stderr.isatty():
            from funcgraph.tracedata.links import links_on  # a message in a pipe needs nothing of it

            text = links_on(sys.stderr).message(text)
        print(text, file=sys.stderr, flush=True)
    except OSError:
        # From 3.14 on CPython keeps the text, tries to write it again at the end, and exits with 120.
        sys.stderr = None
