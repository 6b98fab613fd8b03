"""Where a process that already runs sees files, under which process id, and as which user.

A recorder in another container than the process, or of another user (root), makes the session where the
process finds it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from funcgraph.rights.proc_facts import (
    effective_user,
    inner_pid,
    namespace,
    read_status,
    same_files,
    sees_our_files,
)

__all__ = ["Reach", "ReachError", "outer_pid"]


class ReachError(ValueError):
    """Processes cannot be recorded together, as no folder is every one's."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What a process and its recorder need to share a folder.

    Attributes:
        root: "" if the process sees the files that we see, else the path of its root directory for us.
        owner: user and group of the process, if they are not ours; None: they are.
    """

    root: str = ""
    owner: tuple[int, int] | None = None

    @classmethod
    def of(cls, pid: int) -> Reach:
        """Return that of a process."""
        return cls("" if sees_our_files(pid) else f"/proc/{pid}/root", _owner(pid))

    @classmethod
    def of_all(cls, pids: Iterable[int]) -> Reach:
        """Return that of several processes.

        Raises:
            ReachError: they are of several users or containers.
        """
        found = {pid: cls.of(pid) for pid in pids}
        first, reach = next(iter(found.items()), (0, cls()))
        for pid, other in found.items():
            if other.owner != reach.owner:
                raise ReachError(f"processes {first} and {pid} are of two users: record each on its own")
            if other.root != reach.root and not same_files(first, pid):
                raise ReachError(
                    f"processes {first} and {pid} see different files (containers, chroot): "
                    "record each on its own"
                )
        return reach

    def folders(self, ours: list[str]) -> list[str]:
        """Return the folders for a session, as we see them.

        Args:
            ours: those for a process of our own user that sees our files.
        """
        if not self.root and self.owner is None:
            return ours
        # XDG_RUNTIME_DIR is one user's, and TMPDIR may be.
        shared = [f"{self.root}{folder}" for folder in ("/dev/shm", "/tmp")]
        return [folder for folder in shared if os.path.isdir(folder)]

    def seen(self, path: str) -> str:
        """Return a path of ours as the process sees it."""
        return path.removeprefix(self.root)


def outer_pid(inner: int, beside: int) -> int:
    """Return the process id that we have for a process that has the id `inner` in its own namespace.

    Args:
        beside: a process of the same namespace, by the id that we have.

    Returns:
        `inner` itself if that namespace is ours, or no such process is left.
    """
    its = namespace(beside, "pid")
    if its == namespace("self", "pid"):
        return inner
    for name in os.listdir("/proc"):
        if name.isdecimal() and namespace(name, "pid") == its and _has_inner_pid(name, inner):
            return int(name)
    return inner


def _has_inner_pid(pid: str, inner: int) -> bool:
    try:
        return inner_pid(read_status(pid)) == inner
    except (OSError, KeyError):
        return False  # it has ended


def _owner(pid: int) -> tuple[int, int] | None:
    """Return the effective user and group of a process; None: they are ours, or it has ended."""
    try:
        user = effective_user(read_status(pid))
    except (OSError, KeyError):
        return None
    return None if user[0] == os.geteuid() else user
