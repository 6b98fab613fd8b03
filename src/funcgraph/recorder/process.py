"""Watches processes that are not our children, to notice their end."""

from __future__ import annotations

import fcntl
import os
import struct
import time

from funcgraph.rights.identity import pidfd_has_ended, pidfd_or_none
from funcgraph.rights.proc_facts import start_time, stat_fields

__all__ = ["ProcessWatch"]

_LOOK_S = 0.2


# PIDFD_GET_INFO with PIDFD_INFO_EXIT, Linux 6.15 and later: linux/pidfd.h, the first 64 bytes of pidfd_info.
_INFO = struct.Struct("=QQ11Ii")
_GET_INFO = 3 << 30 | _INFO.size << 16 | 0xFF << 8 | 11
_INFO_EXIT = 1 << 3


def _reaped_status(pidfd: int) -> int | None:
    """Return the wait status of a process that its parent has waited for, None if the kernel does not say."""
    try:
        facts = _INFO.unpack(fcntl.ioctl(pidfd, _GET_INFO, _INFO.pack(_INFO_EXIT, *[0] * 13)))
    except OSError:
        return None
    status: int = facts[-1]
    return status if facts[0] & _INFO_EXIT else None


def _zombie_status(pid: int) -> int | None:
    """Return the wait status of a process that its parent has not waited for yet."""
    fields = stat_fields(pid)
    return int(fields[49]) if fields[:1] == [b"Z"] else None


class ProcessWatch:
    """Watches one process by a pidfd, or through /proc where pidfd_open is missing or forbidden.

    Args:
        pid: the process's id.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        # How the process ended, once it is gone: its exit status, or the negative number of a signal. None:
        # the kernel does not tell (before Linux 6.15, unless its parent waits for it late).
        self.status: int | None = None
        self._gone = False
        self._fd: int | None = None
        self._started: str | None = None
        try:
            self._fd = pidfd_or_none(pid)
        except ProcessLookupError:
            self._gone = True
        if self._fd is None:
            self._started = start_time(pid)

    def gone(self) -> bool:
        """Return whether the process has ended. A zombie has."""
        if self._gone:
            return True
        if self._fd is not None:
            self._gone = pidfd_has_ended(self._fd)
            if self._gone:
                self._take_status(self._fd)
        else:
            self._gone = self._started is None or start_time(self.pid) != self._started
        if self._gone:
            self.close()
        return self._gone

    def wait(self) -> None:
        """Wait until the process has ended. Only where there is no pidfd is it looked for again and again."""
        while not self.gone():
            if self._fd is None:
                time.sleep(_LOOK_S)
            else:
                pidfd_has_ended(self._fd, None)

    def _take_status(self, pidfd: int) -> None:
        status = _zombie_status(self.pid)
        if status is None:
            status = _reaped_status(pidfd)
        if status is not None:
            self.status = os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        """Close the pidfd."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
