"""Connecting to a process, whether or not it serves its control socket yet."""

from __future__ import annotations

from funcgraph.control.client import Connection, NotServedError, connect

__all__ = ["connected"]


def connected(pid: int, *, borrows: bool) -> Connection:
    """Connect to a process; attach to it first if it serves no control socket.

    What becomes of its socket afterwards:

    - It served one already: that is used, and stays whatever `borrows` says.
    - It was attached to, without `borrows`: it keeps the socket, until `funcgraph detach`.
    - It was attached to, with `borrows`: it is borrowed. The caller ends with the procedure "give_back",
      which detaches unless somebody else uses the socket by then.

    Args:
        pid: the process.
        borrows: the caller needs the socket only for as long as it is connected.

    Returns:
        The connection.

    Raises:
        funcgraph.attach.errors.AttachError: it cannot be attached to.
        OSError: as connect(); for one, it has ended or belongs to another user.

    Example:
        >>> with connected(4711, borrows=False) as process:
        ...     process.read_text("current_tracer")
        'nop\\n'
    """
    try:
        return connect(pid)
    except NotServedError:
        pass
    from funcgraph.attach.serving import attach  # most processes serve one already

    was_needed = attach(pid)
    connection = connect(pid)
    if was_needed and borrows:
        connection.call("borrow")
    return connection
