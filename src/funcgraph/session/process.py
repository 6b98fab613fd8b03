"""Watches processes that are not our children, to notice their end."""

from __future__ import annotations

import os
import resource
import select

__all__ = ["ProcessWatch", "pidfd_or_none"]


# Descriptors that process watches leave free, so that files still open while hundreds of processes are
# traced.
SPARE_DESCRIPTORS = 64


def _start_time(pid: int) -> str | None:
    """Return the start time of a process, which no later process of that id has; None: it ended.

    A zombie has ended.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name, in parentheses, may contain anything. The state (field 3) and the rest follow it.
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else fields[19].decode()


def pidfd_or_none(pid: int) -> int | None:
    """Return a descriptor that becomes readable when the process ends.

    Returns None where the system call is not available, or where few descriptors are left.

    Raises:
        ProcessLookupError: no process has that id.
    """
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError:  # ENOSYS, EPERM from a container's system-call filter, EMFILE
        return None
    if fd >= resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_DESCRIPTORS:
        os.close(fd)
        return None
    return fd


class ProcessWatch:
    """Watches one process by a pidfd, or through /proc where pidfd_open is missing or forbidden.

    Args:
        pid: the process's id.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._gone = False
        self._fd: int | None = None
        self._started: str | None = None
        try:
            self._fd = pidfd_or_none(pid)
        except ProcessLookupError:
            self._gone = True
        if self._fd is None:
            self._started = _start_time(pid)

    def gone(self) -> bool:
        """Return whether the process has ended. A zombie has."""
        if self._gone:
            return True
        if self._fd is not None:
            poll = select.poll()
            poll.register(self._fd, select.POLLIN)
            self._gone = bool(poll.poll(0))
        else:
            self._gone = self._started is None or _start_time(self.pid) != self._started
        if self._gone:
            self.close()
        return self._gone

    def close(self) -> None:
        """Close the pidfd."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
