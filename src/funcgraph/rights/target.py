"""Giving up our rights for those of a process, for good: its root directory, its user, and nothing else."""

from __future__ import annotations

import errno
import os
import signal
from typing import NamedTuple

from funcgraph import _system
from funcgraph.rights.identity import ProcessIdentity
from funcgraph.rights.proc_facts import namespace, overflow_id

__all__ = ["Target"]

_ALL_IDS = ["0", "0", "4294967295"]  # uid_map and gid_map of the first user namespace


class Target(NamedTuple):
    """Whom a helper has to become.

    Its namespaces are not joined. In its root directory paths lead where they lead the process, and its user
    as we know it may do there what that user may do. So its root in a user namespace has no power over us,
    and we need no more capabilities than those to change the root directory and the user.

    Attributes:
        identity: the process.
        root_fd: its root directory; None: it is ours.
        has_own_users: whether it has another user namespace: its root there may mount file systems.
    """

    identity: ProcessIdentity
    root_fd: int | None
    has_own_users: bool

    @classmethod
    def of(cls, identity: ProcessIdentity) -> Target:
        """Return what a process is. Close it.

        Raises:
            OSError: it has ended or changed, we may not look, or we may have no number for its user.
        """
        identity.check()
        _require_number(identity)
        root_fd = None
        if not identity.has_our_files:
            root_fd = os.open(f"/proc/{identity.pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        target = cls(identity, root_fd, namespace(identity.pid, "user") != namespace("self", "user"))
        try:
            identity.check()  # again, after the look: it was at this process
        except BaseException:
            target.close()
            raise
        return target

    def close(self) -> None:
        """Let go of its root directory."""
        if self.root_fd is not None:
            os.close(self.root_fd)

    def become(self) -> None:
        """Give up our rights for those of the process.

        Raises:
            OSError: a step was refused. The calling process is good for nothing then.
        """
        user = os.geteuid()
        _system.set_dumpable(False)
        if user == 0:
            os.setgroups([])
        elif self.has_own_users:
            self._join_users()
        if self.root_fd is None:
            os.chdir("/")
        else:
            os.fchdir(self.root_fd)
            os.chroot(".")
        _system.drop_bounding_set()
        if user == 0 or user != self.identity.uid:  # who is no root keeps the groups of its own user
            os.setresgid(*[self.identity.gid] * 3)
            os.setresuid(*[self.identity.uid] * 3)
        _system.drop_capabilities()
        _system.no_new_privs()
        _system.set_dumpable(False)  # a change of user may have undone it
        _system.end_with_parent(signal.SIGKILL)
        os.umask(0o077)

    def _join_users(self) -> None:
        """Enter the user namespace of a container of our own: who is no root may change the root there.

        Outside, our user stays what it is.
        """
        if self.identity.pidfd is None:
            raise OSError(errno.ENOSYS, "joining a user namespace takes Linux 5.8")
        _system.setns(self.identity.pidfd, _system.CLONE_NEWUSER)


def _require_number(identity: ProcessIdentity) -> None:
    """Refuse a user or group for which /proc may have no number but that of unknown ones."""
    for kind, number in (("uid", identity.uid), ("gid", identity.gid)):
        if number == overflow_id(kind) and not _knows_all(kind):
            text = f"{kind} {number} of process {identity.pid} is not mapped in our user namespace"
            raise OSError(errno.EOVERFLOW, text)


def _knows_all(kind: str) -> bool:
    with open(f"/proc/self/{kind}_map", encoding="ascii") as file:
        return file.read().split() == _ALL_IDS
