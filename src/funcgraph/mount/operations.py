"""The operations of the file system, as mfusepy passes them on, over any tree.

What the kernel's tracefs refuses is refused with its number; every other error is the tree's. Nothing is
cached: what another process changes is seen at once.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator
from errno import EACCES, EPERM
from typing import NoReturn, Protocol

from funcgraph.mount.attributes import Attributes, inode
from funcgraph.mount.handles import Handles
from funcgraph.mount.libfuse import FileInfo, PollEvents, Session
from funcgraph.mount.waiting import Polls, read_when_ready
from funcgraph.tracefs.interface import Tree

__all__ = ["Operations"]

_READABLE = select.POLLIN | select.POLLRDNORM
_WRITABLE = select.POLLOUT | select.POLLWRNORM


class _Refusal(Protocol):
    def __call__(self, operations: Operations, path: str, /, *arguments: object) -> NoReturn: ...


def _refuse(number: int) -> _Refusal:
    def refuse(self: Operations, path: str, *arguments: object) -> NoReturn:
        raise OSError(number, os.strerror(number), path)

    return refuse


class Operations:
    """What mfusepy calls for one mount: with its paths, which begin with "/", and `fuse_file_info` (raw_fi).

    Args:
        tree: what is mounted.
        session: libfuse's session.
        started: called once when the mount works.
    """

    use_ns = True  # times are whole nanoseconds

    def __init__(self, tree: Tree, session: Session, started: Callable[[], None]) -> None:
        self._tree, self._session, self._started = tree, session, started
        self._handles = Handles(tree)
        self._polls = Polls(session)
        self._attributes = Attributes(tree)

    # ---- the mount

    def init(self, path: str) -> None:
        """The kernel has accepted the mount."""
        self._session.begin()
        self._started()

    def destroy(self, path: str) -> None:
        """It is unmounted, and no other call comes."""
        self._polls.close()

    # ---- paths

    def getattr(self, path: str, info: FileInfo | None = None) -> dict[str, int]:
        """stat(2)."""
        self._handles.settle(_within(path))
        return self._attributes.of(path)

    def readdir(self, path: str, number: int) -> Iterator[str | tuple[str, dict[str, int], int]]:
        """Yield the names in a folder."""
        self._handles.settle()
        yield from (".", "..")
        for name in self._tree.list(_within(path)):
            yield name, {"st_ino": inode(f"{path.rstrip('/')}/{name}")}, 0

    def mkdir(self, path: str, mode: int) -> int:
        """Make an instance."""
        self._handles.settle()
        self._tree.mkdir(_within(path))
        return 0

    def rmdir(self, path: str) -> int:
        """Remove an instance."""
        self._handles.settle()
        self._handles.unless_busy(lambda: self._tree.rmdir(_within(path)))
        self._attributes.forget(path)
        return 0

    def chmod(self, path: str, mode: int) -> int:
        """chmod(2)."""
        self._attributes.chmod(path, mode)
        return 0

    def chown(self, path: str, uid: int, gid: int) -> int:
        """chown(2)."""
        self._attributes.chown(path, uid, gid)
        return 0

    def truncate(self, path: str, length: int) -> int:
        """truncate(2) and ftruncate(2): to 0 as O_TRUNC. Other lengths change nothing.

        The kernel's tracefs ignores the length 0, too: there, vim adds to a list that it was to replace.
        """
        self._handles.settle(_within(path))
        if length == 0:
            self._tree.open(_within(path), os.O_WRONLY | os.O_TRUNC).close()
        return 0

    def utimens(self, path: str, times: object = None) -> int:
        """`touch`: times are not kept."""
        return 0

    unlink = rename = link = symlink = mknod = _refuse(EPERM)
    create = _refuse(EACCES)

    # ---- open files

    def open(self, path: str, info: FileInfo) -> int:
        """open(2)."""
        self._handles.settle()
        info.fh = self._handles.open(_within(path), info.flags)
        info.direct_io = 1  # each read() and write() comes here as it was made, whatever the size of the file
        return 0

    def read(self, path: str, size: int, offset: int, info: FileInfo) -> bytes:
        """read(2). At a pipe without records it waits, or fails with EAGAIN if O_NONBLOCK is set."""
        file = self._handles.use(info.fh).file
        if info.flags & os.O_NONBLOCK:
            return file.read(offset, size)
        return read_when_ready(file, offset, size, self._session.stopped)

    def write(self, path: str, data: bytes, offset: int, info: FileInfo) -> int:
        """write(2)."""
        handle = self._handles.use(info.fh)
        return self._handles.unless_busy(lambda: handle.write(offset, data))

    def poll(self, path: str, info: FileInfo, waiter: int | None, events: PollEvents) -> int:
        """poll(2). `waiter`: libfuse's handle, to be woken once the file is ready."""
        handle = self._handles.use(info.fh)
        file, mode = handle.file, handle.flags & os.O_ACCMODE  # here libfuse leaves info.flags empty
        events[0] = (_READABLE if mode != os.O_WRONLY else 0) | (_WRITABLE if mode != os.O_RDONLY else 0)
        if mode != os.O_WRONLY and not file.ready:
            events[0] &= ~_READABLE
            if waiter:
                self._polls.add(info.fh, file, waiter)
        elif waiter:
            self._session.forget(waiter)
        return 0

    def flush(self, path: str, info: FileInfo) -> int:
        """close(2) of one descriptor."""
        self._handles.flush(info.fh)
        return 0

    def release(self, path: str, info: FileInfo) -> int:
        """close(2) of the last descriptor, a little later."""
        self._polls.remove(info.fh)
        self._handles.release(info.fh)
        return 0


def _within(path: str) -> str:
    """Return a path of the mount as one of the tree."""
    return path.strip("/")
