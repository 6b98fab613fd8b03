"""Connecting to a process, or to many at once, whether or not they serve their control sockets yet."""

from __future__ import annotations

import errno
from collections.abc import Callable, Generator, Sequence

from funcgraph.attach.errors import AttachError
from funcgraph.control.at_once import at_once
from funcgraph.control.client import Connection, NotServedError, connect

__all__ = ["connect_all", "connected"]

#: What is wrong with one process. Any other error is a fault of ours.
_REASONS = (AttachError, OSError, ValueError)


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
        return _attached(pid, borrows=borrows)


def connect_all(
    pids: Sequence[int], *, borrows: bool
) -> Generator[tuple[int, Connection | Exception], None, None]:
    """Connect to processes as connected() does, to all that serve a control socket at once.

    So all together those that do not answer cost the time limit of one. Those that serve no socket are
    attached to one after the other.

    Args:
        pids: the processes, each once.
        borrows: as in connected().

    Yields:
        Each process in the order of `pids`, with its connection, or with why there is none: an AttachError,
        OSError or ValueError.

    Example:
        >>> [pid for pid, made in connect_all([4711, 4712], borrows=False) if isinstance(made, Connection)]
        [4711]
    """
    waiting: dict[int, Connection | BaseException] = {}
    try:
        waiting.update(at_once(pids, connect))
        for pid in pids:
            made = waiting.pop(pid)
            if isinstance(made, NotServedError):
                made = _attempt(lambda pid: _attached(pid, borrows=borrows), pid)
            if isinstance(made, BaseException) and not isinstance(made, _REASONS):
                raise made
            yield pid, made
    finally:
        for left in waiting.values():
            if isinstance(left, Connection):
                left.close()


def _attempt(make: Callable[[int], Connection], pid: int) -> Connection | Exception:
    try:
        return make(pid)
    except Exception as error:
        return error


def _attached(pid: int, *, borrows: bool) -> Connection:
    """Attach to a process that serves no control socket, and connect to it."""
    from funcgraph.attach.serving import attach  # most processes serve one already

    was_needed = attach(pid)
    try:
        connection = connect(pid)
    except NotServedError:
        text = (
            f"process {pid} has closed its control socket again: it ends, executes another program, "
            f"or somebody has detached"
        )
        raise NotServedError(errno.ECONNREFUSED, text) from None
    if was_needed and borrows:
        connection.call("borrow")
    return connection
