"""Starting and stopping the control socket of this process.

Traced processes import this module, so it imports only modules that Python has loaded already.
"""

import os
import sys

from funcgraph import _control
from funcgraph.control.place import folders
from funcgraph.session.environ import is_secure

__all__ = ["serve", "stop_serving"]

_HANDLER = "funcgraph.control.entrance:handle"


def serve(on: bool = True, *, follow_fork: bool = False) -> "str | None":
    """Have this process steered from outside: serve its control socket, or stop to.

    A native thread waits at a Unix socket until somebody asks something: `funcgraph` commands with `-P PID`,
    a mount. Until then nothing runs and nothing else is loaded. Calling it again changes nothing. Only this
    user and root can connect: see docs/guides/control.md.

        path = funcgraph.serve()

    Args:
        on: False: stop to serve. Clients are disconnected, and the socket is removed.
        follow_fork: whether children made by fork have a socket of their own; else they have none.

    Returns:
        The path of the socket; None if it was stopped.

    Raises:
        OSError: no folder for the socket can be used. The message names each with the reason.
        RuntimeError: this is not the main interpreter.
    """
    if not on:
        stop_serving()
        return None
    # With AT_SECURE, who started this process does not choose where it makes a socket.
    places = folders({} if is_secure() else os.environ)
    return _control.start(tuple(places), _HANDLER, follow_fork)


def stop_serving() -> bool:
    """Stop to serve, as serve(False). Return whether it did."""
    did_serve = _control.stop()
    if server := sys.modules.get("funcgraph.control.server"):
        server.close_all()
    return did_serve
