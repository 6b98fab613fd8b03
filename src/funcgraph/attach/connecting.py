"""Connecting to a process, or to many at once, whether or not they serve their control sockets yet."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress

from funcgraph.attach.deadline import Deadline
from funcgraph.attach.errors import AttachError
from funcgraph.attach.group import AttachGroup
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
        return _attached(pid, borrows=borrows, within=None)


def connect_all(
    pids: Sequence[int], *, borrows: bool, meanwhile: Callable[[], float] | None = None
) -> Generator[tuple[int, Connection | Exception], None, None]:
    """Connect to processes as connected() does, to all at the same time.

    So all together those that do not answer cost the time limit of one. Those that serve no socket are
    attached to, 16 at the same time: one that cannot be, or not soon, keeps no other one waiting.

    Args:
        pids: the processes, each once.
        borrows: as in connected(). Connections that the caller does not get are given back.
        meanwhile: is called again and again while a process is waited for, and returns the seconds to pause.

    Yields:
        Each process in the order of `pids`, with its connection, or with why there is none: an AttachError,
        OSError or ValueError.

    Example:
        >>> [pid for pid, made in connect_all([4711, 4712], borrows=False) if isinstance(made, Connection)]
        [4711]
    """
    with (
        closing(_Reach(borrows)) as reach,
        reach.group,
        closing(
            at_once(pids, reach.connect, meanwhile=meanwhile, abandon=lambda pid: reach.group.cancel())
        ) as outcomes,
    ):
        for pid, made in outcomes:
            if isinstance(made, BaseException) and not isinstance(made, _REASONS):
                raise made
            reach.hand_over(pid)
            yield pid, made


class _Reach:
    """The connections of connect_all() that its caller has not got yet.

    Attributes:
        group: the attaches.
    """

    def __init__(self, borrows: bool) -> None:
        self.group = AttachGroup()
        self._borrows = borrows
        self._lock = threading.Lock()
        self._kept: dict[int, tuple[Connection, bool]] | None = {}

    def connect(self, pid: int) -> Connection:
        """Connect to a process, in any thread; attach to it first if it serves no socket."""
        try:
            return self._keep(pid, connect(pid), False)
        except NotServedError:
            with self.group.turn(pid):
                made = _attached(pid, borrows=self._borrows, within=self.group.deadline)
                return self._keep(pid, made, self._borrows)

    def _keep(self, pid: int, connection: Connection, is_borrowed: bool) -> Connection:
        with self._lock:
            if self._kept is not None:
                self._kept[pid] = connection, is_borrowed
                return connection
        _leave(connection, is_borrowed)
        raise AttachError(pid, "interrupted")

    def hand_over(self, pid: int) -> None:
        """Leave the connection, if there is one, to the caller."""
        with self._lock:
            if self._kept is not None:
                self._kept.pop(pid, None)

    def close(self) -> None:
        """Leave the processes that nobody got the connections of. Raises nothing."""
        with self._lock:
            left, self._kept = list((self._kept or {}).values()), None
        for _ in at_once(left, lambda one: _leave(*one)):
            pass


def _leave(connection: Connection, is_borrowed: bool) -> None:
    with suppress(OSError, RuntimeError):  # it has ended, or does not answer: then it keeps an idle socket
        if is_borrowed:
            connection.call("give_back")
    connection.close()


def _attached(pid: int, *, borrows: bool, within: Deadline | None) -> Connection:
    """Attach to a process that serves no control socket, and connect to it."""
    from funcgraph.attach.serving import attach  # most processes serve one already

    was_needed = attach(pid, within=within)
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
