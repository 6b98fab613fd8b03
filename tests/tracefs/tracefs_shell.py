"""What a shell does to files of a tracefs: cat, echo, ls."""

from __future__ import annotations

import os

from funcgraph.tracefs.interface import Tree

PIECE = 4096


class Shell:
    """Commands over a tree.

    Args:
        tree: the tree.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def cat_bytes(self, path: str) -> bytes:
        """Return what reading gives until the end, or until a pipe has nothing."""
        file = self.tree.open(path, os.O_RDONLY)
        data = b""
        try:
            while piece := file.read(len(data), PIECE):
                data += piece
        except BlockingIOError:
            pass
        finally:
            file.close()
        return data

    def cat(self, path: str) -> str:
        """Return cat_bytes() as a text."""
        return self.cat_bytes(path).decode()

    def echo(self, text: str, path: str, append: bool = False) -> None:
        """Do as `echo -n TEXT > PATH`, or `>>`."""
        self.write(path, text.encode(), os.O_APPEND if append else os.O_TRUNC)

    def write(self, path: str, data: bytes, flags: int = 0) -> int:
        """Open a file, write all data and close it; return what the first write() took."""
        file = self.tree.open(path, os.O_WRONLY | os.O_CREAT | flags)
        try:
            taken = first = file.write(0, data)
            while taken < len(data):
                taken += file.write(taken, data[taken:])
        finally:
            file.close()
        return first

    def walk(self, path: str = "") -> dict[str, str]:
        """Return path -> mode of all that is below a folder, as `ls -l` prints modes."""
        found = {}
        for name in self.tree.list(path):
            below = f"{path}/{name}" if path else name
            entry = self.tree.stat(below)
            letters = "".join(letter if entry.mode >> bit & 1 else "-" for bit, letter in _BITS)
            found[below] = ("d" if entry.is_folder else "-") + letters
            if entry.is_folder:
                found.update(self.walk(below))
        return found


_BITS = tuple(zip(range(8, -1, -1), "rwx" * 3, strict=True))
