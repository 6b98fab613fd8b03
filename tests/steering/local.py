"""The tracefs of this process as a client of another one sees it: Connection's methods, without a socket."""

from __future__ import annotations

import os
from typing import Any

from funcgraph.control.answer_limit import MOST_BYTES, AnswerLimit, Share
from funcgraph.control.procedures import procedure
from funcgraph.steering.folder import Process
from funcgraph.tracefs.tree import Tree

__all__ = ["LocalRemote", "this_process"]


class LocalRemote(Tree):
    """A Tree, with what Connection has besides.

    Attributes:
        written: (path, text, append) of each write, in order.
        refused: paths whose writes fail -> the number of the error.
    """

    def __init__(self) -> None:
        self.written: list[tuple[str, str, bool]] = []
        self.refused: dict[str, int] = {}

    def read_text(self, path: str) -> str:
        """Return what a file holds."""
        file = self.open(path, os.O_RDONLY)
        try:
            parts = []
            while part := file.read(sum(map(len, parts)), 1 << 16):
                parts.append(part)
            return b"".join(parts).decode()
        finally:
            file.close()

    def write_text(self, path: str, text: str, append: bool = False) -> None:
        """Write to a file, or fail if the test wants that."""
        if path in self.refused:
            raise OSError(self.refused[path], f"the test refuses {path}")
        self.written.append((path, text, append))
        file = self.open(path, os.O_WRONLY | (os.O_APPEND if append else os.O_TRUNC))
        try:
            if text:
                file.write(0, text.encode())
        finally:
            file.close()

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Have few procedures: nobody has borrowed the socket that there is not."""
        if name in ("unmatched", "functions_after"):
            return procedure(name)(**arguments)
        if name != "give_back":
            raise NotImplementedError(name)
        return False

    def answer_limit(self, what: str, most_bytes: int = MOST_BYTES) -> AnswerLimit:
        """Return the limit of one answer."""
        return AnswerLimit(what, most_bytes=most_bytes)

    def limit(self, share: Share | None) -> None:
        """Have no answers that take long."""

    def close(self) -> None:
        """Have nothing to close."""


def this_process() -> tuple[Process, LocalRemote]:
    """Return this process as one that can be steered, and what was written to it."""
    remote = LocalRemote()
    return Process(os.getpid(), remote), remote
