"""The commands, one module each.

A command module has NAME, HELP (one line), DESCRIPTION (optional), add_arguments(parser) and run(args) ->
exit status. What it cannot do it raises as CommandError: the user sees one line and exit status 2.
"""

from __future__ import annotations

import os
import sys

__all__ = ["CommandError", "os_error_text", "say"]


class CommandError(Exception):
    """What a command cannot do, in one line for the user.

    Args:
        message: what was wrong, where, and what would be right.
        status: the exit status; 2 for bad input, as everywhere in funcgraph.
    """

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


def os_error_text(error: OSError) -> str:
    """Return `error` as a person would say it: file and reason, without the number."""
    reason = error.strerror or os.strerror(error.errno or 0)
    return reason if error.filename is None else f"{os.fsdecode(error.filename)}: {reason}"


def say(text: str) -> None:
    """Print one line for the user; that nobody can read it (any more) is no reason to fail."""
    if sys.stderr is None:  # closed by whoever started us
        return
    try:
        print(f"funcgraph: {text}", file=sys.stderr, flush=True)
    except OSError:
        # From 3.14 on CPython keeps what it could not write: it tries again at the end, and exits with 120.
        sys.stderr = None
