"""Several processes as one tree: each is a folder, named by its process id."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from errno import EISDIR, ENOENT, EPERM
from types import MappingProxyType
from typing import Protocol

from funcgraph.tracefs.interface import Entry, OpenFile, Tree

__all__ = ["Processes", "ServedTree"]

_FOLDER = Entry(True, 0o750)


class ServedTree(Tree, Protocol):
    """The tree of a process: process.ProcessTree."""

    def is_served(self) -> bool:
        """Return whether the process is there, and answered the last question."""


class Processes:
    """A tree whose folders are the trees of processes. They come and go as the processes do.

    Args:
        running: returns the ids of the processes that are there now.
        open_tree: returns the tree of a process. ConnectionRefusedError, ProcessLookupError: it has none.
        trees: the trees of processes that are open already.
    """

    def __init__(
        self,
        running: Callable[[], list[int]],
        open_tree: Callable[[int], ServedTree],
        trees: Mapping[int, ServedTree] = MappingProxyType({}),
    ) -> None:
        self._running, self._open_tree = running, open_tree
        self._trees = dict(trees)

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
        if not name.isdecimal() or name != str(int(name)):
            raise OSError(ENOENT, os.strerror(ENOENT), path)
        return self._served(int(name), path), rest

    def _served(self, pid: int, path: str) -> Tree:
        tree = self._trees.get(pid)
        if tree is not None and tree.is_served():
            return tree
        self._trees.pop(pid, None)
        try:
            tree = self._open_tree(pid)
        except (ConnectionRefusedError, ProcessLookupError):
            raise OSError(ENOENT, os.strerror(ENOENT), path) from None
        return self._trees.setdefault(pid, tree)
