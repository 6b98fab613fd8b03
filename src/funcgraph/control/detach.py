"""Procedures that leave this process as it was before somebody steered it: see docs/guides/detach.md."""

from __future__ import annotations

from funcgraph.control import owned, server
from funcgraph.control.recordings import leave_dead, sessions
from funcgraph.control.serving import stop_serving
from funcgraph.session import tracing

__all__ = ["borrow", "detach", "give_back"]

# Somebody attached to this process only for as long as it is needed.
_state = {"is_borrowed": False}


def detach() -> None:
    """Take back all that was made through the control socket, and stop to serve it.

    What the program itself has registered, recorded or made stays. The connections of readers end.
    """
    _state["is_borrowed"] = False
    for directory in list(sessions):
        tracing.leave(directory)
    sessions.clear()
    tracing.leave_dead()
    server.close_all()  # an instance with an open pipe is busy
    owned.take_back()
    stop_serving()


def borrow() -> None:
    """Note that whoever attached wants to detach as soon as nobody needs the socket any longer."""
    _state["is_borrowed"] = True


def give_back() -> bool:
    """Detach if the socket is only borrowed and nobody uses it any longer; return whether that is done.

    Users are recordings, instances and events that clients made, and other clients that are connected.
    """
    leave_dead()
    if not _state["is_borrowed"] or sessions or not owned.is_empty() or server.clients() > 1:
        return False
    detach()
    return True
