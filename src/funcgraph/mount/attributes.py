"""What stat(2) says of the files of a mount. chmod and chown change it, and nothing in the process."""

from __future__ import annotations

import os
import stat
import time
from hashlib import blake2b

from funcgraph.tracefs.interface import Tree

__all__ = ["Attributes", "inode"]

_KEPT = -1  # of chown(2): leave it as it is


class Attributes:
    """The attributes of a tree's files, by their paths in the mount.

    Args:
        tree: has the files, and their modes in the beginning.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._mounted_ns = time.time_ns()
        self._modes: dict[str, int] = {}
        self._owners: dict[str, tuple[int, int]] = {}

    def of(self, path: str) -> dict[str, int]:
        """Return the fields of struct stat. As in tracefs the size is 0, whatever reading the file gives."""
        entry = self._tree.stat(path.strip("/"))
        uid, gid = self._owner(path)
        return {
            "st_mode": (stat.S_IFDIR if entry.is_folder else stat.S_IFREG)
            | self._modes.get(path, entry.mode),
            "st_ino": inode(path),
            "st_nlink": 1,  # of a folder: not counted
            "st_uid": uid,
            "st_gid": gid,
            "st_blksize": 4096,
            **dict.fromkeys(("st_atime", "st_mtime", "st_ctime"), self._mounted_ns),
        }

    def chmod(self, path: str, mode: int) -> None:
        """Change the permission bits. The kernel has checked that the caller may."""
        self._tree.stat(path.strip("/"))
        self._modes[path] = stat.S_IMODE(mode)

    def chown(self, path: str, uid: int, gid: int) -> None:
        """Change user and group; -1 keeps one."""
        self._tree.stat(path.strip("/"))
        old = self._owner(path)
        self._owners[path] = old[0] if uid == _KEPT else uid, old[1] if gid == _KEPT else gid

    def forget(self, folder: str) -> None:
        """Forget what was changed of a folder that is gone, and of what was in it."""
        for path in {*self._modes, *self._owners}:
            if f"{path}/".startswith(f"{folder}/"):
                self._modes.pop(path, None)
                self._owners.pop(path, None)

    def _owner(self, path: str) -> tuple[int, int]:
        return self._owners.get(path, (os.getuid(), os.getgid()))


def inode(path: str) -> int:
    """Return the inode number of a path: not 0, and always the same."""
    return int.from_bytes(blake2b(path.encode("utf-8", "surrogateescape"), digest_size=7).digest()) + 1
