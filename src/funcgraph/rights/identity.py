"""Who a process is: looked at once, and compared before each step that is taken for it.

A process id is no identity: the process may end and another get its id, or it may execute a program that
gives it other rights. Neither gets what was meant for the process that was named.
"""

from __future__ import annotations

import errno
import os
import resource
import select

from funcgraph import _system
from funcgraph.rights.proc_facts import (
    credentials,
    inner_pid,
    namespace,
    read_status,
    sees_our_files,
    start_time,
)

__all__ = ["IdentityError", "ProcessIdentity", "pidfd_has_ended", "pidfd_or_none"]

# Descriptors that pidfds leave free, so that files still open while hundreds of processes are traced.
SPARE_DESCRIPTORS = 64


def pidfd_has_ended(pidfd: int, timeout_ms: int | None = 0) -> bool:
    """Return whether a pidfd's process has ended. A zombie has.

    Args:
        pidfd: the descriptor.
        timeout_ms: how long to wait for its end, in milliseconds; None: until it has ended.
    """
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(timeout_ms))


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


class IdentityError(OSError):
    """A process is no longer what it was when it was first looked at."""


class ProcessIdentity:
    """What a process was at the first look. Closed, or with its last reference, it lets its descriptor go.

    Attributes:
        pid: its id, here.
        pidfd: a descriptor of the process; None: there is none (pidfd_or_none), or it was closed.
        start: when it started: no later process of that id has the same.
        executable: device and inode of the program that it executes; None: we may not see it.
        uids, gids: its real, effective, saved and file-system ids, as we see them.
        inner_pid: its id in its own namespace of process ids.
        namespaces: its namespaces "user", "mnt" and "pid", by kind; "": we may not see it.
        has_our_files: whether it has our root directory in our mount namespace; True if it is not known.
    """

    __slots__ = (
        "executable", "gids", "has_our_files", "inner_pid", "namespaces", "pid", "pidfd", "start", "uids",
    )  # fmt: skip

    def __init__(
        self,
        pid: int,
        pidfd: int | None,
        start: str,
        executable: tuple[int, int] | None,
        uids: tuple[int, ...],
        gids: tuple[int, ...],
        inner_pid: int,
        namespaces: dict[str, str],
        has_our_files: bool,
    ) -> None:
        self.pid = pid
        self.pidfd = pidfd
        self.start = start
        self.executable = executable
        self.uids = uids
        self.gids = gids
        self.inner_pid = inner_pid
        self.namespaces = namespaces
        self.has_our_files = has_our_files

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity:
        """Look at a process.

        Raises:
            ProcessLookupError: there is none of that id, or it is a zombie.
        """
        pidfd = None
        try:
            pidfd = pidfd_or_none(pid)
            status = read_status(pid)
            identity = cls(
                pid,
                pidfd,
                start_time(pid) or "",
                _executable(pid),
                *credentials(pid),
                inner_pid(status),
                {kind: namespace(pid, kind) for kind in ("user", "mnt", "pid")},
                sees_our_files(pid),
            )
        except (OSError, KeyError, IndexError, ValueError):
            if pidfd is not None:
                os.close(pidfd)
            raise ProcessLookupError(errno.ESRCH, f"no process {pid}") from None
        if identity.has_ended():  # parts may be of a later process
            identity.close()
            raise ProcessLookupError(errno.ESRCH, f"no process {pid}")
        return identity

    @property
    def uid(self) -> int:
        """Its effective user id, as we see it."""
        return self.uids[1]

    @property
    def gid(self) -> int:
        """Its effective group id, as we see it."""
        return self.gids[1]

    @property
    def is_like_us(self) -> bool:
        """Whether it has our user and our files: what it can do to them we can do, and the reverse."""
        return self.has_our_files and self.uid == os.geteuid()

    def has_ended(self) -> bool:
        """Return whether it has. A zombie has."""
        if self.pidfd is not None and pidfd_has_ended(self.pidfd):
            return True
        return start_time(self.pid) != self.start or not self.start

    def check(self) -> None:
        """Compare the process with what it was.

        Raises:
            IdentityError: it has ended, executes another file, or has other users or groups.
        """
        try:
            executable, ids = _executable(self.pid), credentials(self.pid)
        except (OSError, KeyError, IndexError, ValueError):
            raise self._changed("has ended") from None
        if self.has_ended():  # after the look: what was seen was of this process
            raise self._changed("has ended")
        if ids != (self.uids, self.gids):
            raise self._changed("has changed its user or group")
        if executable != self.executable:
            raise self._changed("executes another program")

    def close(self) -> None:
        """Close the descriptor. May be called twice."""
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None

    __del__ = close

    def _changed(self, what: str) -> IdentityError:
        number = errno.ESRCH if what == "has ended" else errno.EPERM
        return IdentityError(number, f"process {self.pid} {what}")


def _executable(pid: int) -> tuple[int, int] | None:
    try:
        return _system.device_inode(f"/proc/{pid}/exe")
    except PermissionError:
        return None
