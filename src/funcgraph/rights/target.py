"""Giving up our rights for those of a process, for good: its namespaces, its root directory, its user."""

from __future__ import annotations

import errno
import os
import signal
from dataclasses import dataclass

from funcgraph import _system
from funcgraph.rights.identity import ProcessIdentity
from funcgraph.rights.proc_facts import namespace

__all__ = ["Target"]

_KINDS = {"user": _system.CLONE_NEWUSER, "mnt": _system.CLONE_NEWNS}


@dataclass(frozen=True, slots=True)
class Target:
    """What a helper has to join, and whom it has to become.

    Attributes:
        pidfd: of the process.
        kinds: the kinds of namespaces in which it differs from us (CLONE_NEW...).
        root_fd: its root directory; None: it is ours.
        uid, gid: its user and group, as its user namespace has them.
        is_our_user: whether it is our user, outside.
    """

    pidfd: int | None
    kinds: int
    root_fd: int | None
    uid: int
    gid: int
    is_our_user: bool

    @classmethod
    def of(cls, identity: ProcessIdentity) -> Target:
        """Return what a process is. Close it.

        Raises:
            OSError: it has ended or changed, we may not look, or its user namespace has no id for its user.
        """
        identity.check()
        kinds = sum(
            _KINDS[kind] for kind in _KINDS if namespace(identity.pid, kind) != namespace("self", kind)
        )
        root_fd = None
        if not identity.has_our_files:
            root_fd = os.open(f"/proc/{identity.pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        uid, gid = identity.uid, identity.gid
        try:
            if kinds & _system.CLONE_NEWUSER:
                uid, gid = _inner_id(identity.pid, "uid", uid), _inner_id(identity.pid, "gid", gid)
            identity.check()  # again, after the look: it was at this process
        except BaseException:
            if root_fd is not None:
                os.close(root_fd)
            raise
        return cls(identity.pidfd, kinds, root_fd, uid, gid, identity.uid == os.geteuid())

    def close(self) -> None:
        """Let go of its root directory."""
        if self.root_fd is not None:
            os.close(self.root_fd)

    @property
    def has_own_users(self) -> bool:
        """Whether its user namespace is another one: its root there may mount file systems."""
        return bool(self.kinds & _system.CLONE_NEWUSER)

    def become(self) -> None:
        """Give up our rights for those of the process.

        Whoever is the user of its namespace could look into us from the moment on in which we are there: so
        we stop to be dumpable first, and after each step that the kernel may answer with being it again.

        Raises:
            OSError: a step was refused. The calling process is good for nothing then.
        """
        _system.set_dumpable(False)
        self._drop_groups()
        if self.kinds:
            if self.pidfd is None:
                raise OSError(errno.ENOSYS, "joining another process's namespaces takes Linux 5.8")
            _system.setns(self.pidfd, self.kinds)
        if self.root_fd is None:
            os.chdir("/")
        else:
            os.fchdir(self.root_fd)
            os.chroot(".")
        _system.drop_bounding_set()
        os.setresgid(self.gid, self.gid, self.gid)
        os.setresuid(self.uid, self.uid, self.uid)
        _system.drop_capabilities()
        _system.no_new_privs()
        _system.set_dumpable(False)
        _system.end_with_parent(signal.SIGKILL)
        os.umask(0o077)

    def _drop_groups(self) -> None:
        """Before joining: a user namespace may forbid it. Who is no root keeps the groups of our own user."""
        try:
            os.setgroups([])
        except PermissionError:
            if not self.is_our_user:
                raise


def _inner_id(pid: int, kind: str, outer: int) -> int:
    """Return the id that a process's user namespace has for an id of ours."""
    with open(f"/proc/{pid}/{kind}_map", encoding="ascii") as file:
        for line in file:
            first, first_outer, count = map(int, line.split())
            if first_outer <= outer < first_outer + count:
                return first + outer - first_outer
    raise OSError(errno.EINVAL, f"{kind} {outer} of process {pid} is not mapped in its user namespace")
