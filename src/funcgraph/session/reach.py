"""Where a process that already runs sees files, under which process id, and as which user.

A recorder in another container than the process, or of another user (root), makes the session where the
process finds it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

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
        return cls("" if _sees_our_files(pid) else f"/proc/{pid}/root", _owner(pid))

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
            if other.root != reach.root and not _see_same_files(first, pid):
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
    namespace = _namespace(beside, "pid")
    if namespace == _namespace("self", "pid"):
        return inner
    for name in os.listdir("/proc"):
        if name.isdecimal() and _namespace(name, "pid") == namespace and _ids(name)[-1:] == [inner]:
            return int(name)
    return inner


def _namespace(pid: int | str, kind: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return ""  # it has ended, or is another user's


def _ids(pid: str) -> list[int]:
    """Return a process's ids, from our namespace to its own."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            words = next((line.split()[1:] for line in file if line.startswith("NSpid:")), [])
    except OSError:
        return []
    return [int(word) for word in words]


def _sees_our_files(pid: int) -> bool:
    try:
        here, there = os.stat("/proc/self/root"), os.stat(f"/proc/{pid}/root")
    except OSError:
        return True  # it may not be asked: the process says so when it does not find the folder
    same_root = (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
    return same_root and _namespace(pid, "mnt") == _namespace("self", "mnt")


def _see_same_files(first: int, second: int) -> bool:
    roots = [os.stat(f"/proc/{pid}/root") for pid in (first, second)]
    return _namespace(first, "mnt") == _namespace(second, "mnt") and roots[0].st_ino == roots[1].st_ino


def _owner(pid: int) -> tuple[int, int] | None:
    """Return the effective user and group of a process; None: they are ours, or it has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            facts = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        uid, gid = (int(facts[name].split()[1]) for name in ("Uid", "Gid"))
    except (OSError, KeyError, IndexError, ValueError):
        return None
    return None if uid == os.geteuid() else (uid, gid)
