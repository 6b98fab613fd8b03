"""Several processes as one tree: each is a folder, named by its process id."""

from __future__ import annotations

import os
from collections.abc import Callable
from errno import EISDIR, ENOENT, EPERM

from funcgraph.tracefs.interface import Entry, OpenFile, Tree

__all__ = ["Processes"]

_FOLDER = Entry(True, 0o750)


class Processes:
    """A tree whose folders are the trees of processes. They come and go as the processes do.

    Args:
        running: returns the ids of the processes that are there now.
        open_tree: returns the tree of a process. It is called once for each.
    """

    def __init__(self, running: Callable[[], list[int]], open_tree: Callable[[int], Tree]) -> None:
        self._running, self._open_tree = running, open_tree
        self._trees: dict[int, Tree] = {}

    def stat(self, path: str) -> Entry:
        """As Tree.stat()."""
        if not path:
            return _FOLDER
        tree, rest = self._tree(path)
        return tree.stat(rest) if rest else _FOLDER

    def list(self, path: str) -> list[str]:
        """As Tree.list()."""
        if not path:
            return [str(pid) for pid in sorted(self._running())]
        tree, rest = self._tree(path)
        return tree.list(rest)

    def mkdir(self, path: str) -> None:
        """As Tree.mkdir()."""
        tree, rest = self._inside(path)
        tree.mkdir(rest)

    def rmdir(self, path: str) -> None:
        """As Tree.rmdir()."""
        tree, rest = self._inside(path)
        tree.rmdir(rest)

    def open(self, path: str, flags: int) -> OpenFile:
        """As Tree.open()."""
        if "/" not in path:
            self.stat(path)
            raise OSError(EISDIR, os.strerror(EISDIR), path)
        tree, rest = self._tree(path)
        return tree.open(rest, flags)

    def _inside(self, path: str) -> tuple[Tree, str]:
        """Return what _tree() does. EPERM: nobody can make or remove processes."""
        if "/" not in path:
            raise OSError(EPERM, os.strerror(EPERM), path)
        return self._tree(path)

    def _tree(self, path: str) -> tuple[Tree, str]:
        """Return the tree of the process, and the path in it. ENOENT: there is no such process."""
        name, _, rest = path.partition("/")
        running = self._running()
        for pid in set(self._trees) - set(running):
            self._trees.pop(pid, None)
        if not name.isdecimal() or int(name) not in running or name != str(int(name)):
            raise OSError(ENOENT, os.strerror(ENOENT), path)
        pid = int(name)
        tree = self._trees.get(pid)
        if tree is None:
            tree = self._trees.setdefault(pid, self._open_tree(pid))
        return tree, rest
