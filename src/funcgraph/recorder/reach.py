"""Whose the session of processes is that run already: who finds it where, and under which process ids.

Of processes that are like us it is ours. A recorder of another user (root), or in another container, has the
session made with the rights of one of them, where that one finds it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from funcgraph.rights.identity import ProcessIdentity
from funcgraph.rights.proc_facts import inner_pid, namespace, read_status, same_files
from funcgraph.session.places import ForeignPlaces, OwnPlaces, Places

__all__ = ["OUR_REACH", "Reach", "ReachError"]


class ReachError(ValueError):
    """Processes cannot be recorded together, as no folder is every one's."""


class Reach(NamedTuple):
    """What processes and their recorder need to share a folder.

    Attributes:
        process: one of the processes; None: they are started by us.
        is_own: they are our own user's, and see the files that we see.
    """

    process: ProcessIdentity | None = None
    is_own: bool = True

    @classmethod
    def of(cls, identity: ProcessIdentity) -> Reach:
        """Return that of a process."""
        return cls(identity, identity.is_like_us)

    @classmethod
    def of_all(cls, identities: Sequence[ProcessIdentity]) -> Reach:
        """Return that of several processes.

        Raises:
            ReachError: they are of several users or containers.
        """
        first, reach = identities[0], cls.of(identities[0])
        for other in identities[1:]:
            if other.uid != first.uid:
                raise ReachError(
                    f"processes {first.pid} and {other.pid} are of two users: record each on its own"
                )
            if not (reach.is_own and other.has_our_files) and not same_files(first.pid, other.pid):
                raise ReachError(
                    f"processes {first.pid} and {other.pid} see different files (containers, chroot): "
                    "record each on its own"
                )
        return reach

    def places(self) -> Places:
        """Return where their session may be made.

        Raises:
            OSError: we cannot have the rights of the process, or it is no longer what it was.
        """
        if self.is_own or self.process is None:
            return OwnPlaces()
        return ForeignPlaces(self.process)

    def outer_pid(self, inner: int) -> int:
        """Return the process id that we have for a process that has the id `inner` in their namespace.

        Returns:
            `inner` itself if that namespace is ours, or no such process is left.
        """
        its = self.process.namespaces["pid"] if self.process is not None else ""
        if not its or its == namespace("self", "pid"):
            return inner
        for name in os.listdir("/proc"):
            if name.isdecimal() and namespace(name, "pid") == its and _has_inner_pid(name, inner):
                return int(name)
        return inner


OUR_REACH = Reach()


def _has_inner_pid(pid: str, inner: int) -> bool:
    try:
        return inner_pid(read_status(pid)) == inner
    except (OSError, KeyError):
        return False  # it has ended
