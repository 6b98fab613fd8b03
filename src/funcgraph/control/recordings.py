"""Procedures of a recorder that runs beside the process: join its session, and leave it (`record -P`)."""

from __future__ import annotations

import os

from funcgraph.session import tracing

__all__ = ["leave_dead", "record_start", "record_stop", "sessions"]

# The sessions that were joined here, not by the program itself or with its start.
sessions: set[str] = set()


def record_start(directory: str) -> dict[str, int]:
    """Record this process into a session. A forked child that has joined with its parent goes on as it is.

    Args:
        directory: the session's directory.

    Returns:
        "pid": this process's id, as it sees it itself.

    Raises:
        FileNotFoundError: no session takes processes there.
        ValueError, OSError, RuntimeError: as session.tracing.join(). Nothing has changed.
    """
    leave_dead()
    if directory not in tracing.directories():
        try:
            tracing.join(directory, tracing.settings_of(directory), at_start=False)
        except ValueError as error:  # its text has several lines if it points at a word of an event
            raise ValueError(" ".join(str(error).split())) from None
        sessions.add(directory)
    return {"pid": os.getpid()}


def record_stop(directory: str) -> None:
    """Stop recording into a session. Does nothing if that has ended."""
    tracing.leave(directory)
    leave_dead()


def leave_dead() -> None:
    """Leave the sessions whose recorders were killed, and forget those that were left."""
    tracing.leave_dead()
    sessions.intersection_update(tracing.directories())
