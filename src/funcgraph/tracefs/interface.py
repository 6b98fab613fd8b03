"""What a tracefs looks like to whoever uses one: a tree of this process, or one behind a connection.

Paths are relative to the root and have no "/" at either end: "" is the root, "instances/x/trace" a file. All
errors are OSError with the kernel's number.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

__all__ = ["Entry", "OpenFile", "Tree", "Wait"]


class Entry(NamedTuple):
    """What stat() says of a path.

    Attributes:
        is_folder: it is a folder.
        mode: its permission bits: 0o440, 0o640 or 0o220, and 0o750 of a folder.
    """

    is_folder: bool
    mode: int


class Wait(Protocol):
    """A reader that waits until a file may have something.

    Attributes:
        place: what it waits for, in the process of the tree: the handle of an instance, and what the instance
            counted of its wakes when the file had nothing.
    """

    @property
    def place(self) -> tuple[int, int]: ...

    def over(self, timeout_s: float) -> bool:
        """Wait at most so many seconds; return whether to look at the file again, which may have nothing."""

    def is_quiet(self) -> bool:
        """Return whether over(0) would say no; it waits for nothing."""

    def close(self) -> None:
        """Wait no longer. May be called twice."""


class OpenFile(Protocol):
    """An open file. Any thread may use it; calls do not wait for records."""

    @property
    def ready(self) -> bool:
        """Whether read() has something, or an end, now: what poll() asks. Only of a pipe is it ever False."""

    def wait(self) -> Wait | None:
        """Begin to wait until the file is ready; None: it is."""

    def read(self, offset: int, size: int) -> bytes:
        """Return at most `size` bytes from `offset`; b"": the end.

        The text is made when the file is read from 0, and stays until it is read from 0 again. A pipe gives
        what comes next, whatever the offset.

        Raises:
            OSError: EBADF: it is not open for reading. BlockingIOError (EAGAIN): a pipe has nothing now.
                Others: as the kernel's file.
        """

    def write(self, offset: int, data: bytes) -> int:
        """Carry out one write(), and return how many bytes were taken.

        Raises:
            OSError: EBADF: it is not open for writing. EINVAL: the file does not take the text, or has no
                writing. Others: as the kernel's file. Nothing has changed then.
        """

    def close(self) -> None:
        """Let go of it. May be called twice."""


class Tree(Protocol):
    """A tracefs.

    Raises:
        OSError: ENOENT: there is no such path. ENOTDIR: part of it is a file.
    """

    def stat(self, path: str) -> Entry:
        """Return what the path is."""

    def list(self, path: str) -> list[str]:
        """Return the names in a folder.

        Raises:
            OSError: ENOTDIR: it is a file.
        """

    def mkdir(self, path: str) -> None:
        """Make an instance: instances/NAME.

        Raises:
            OSError: EEXIST: it is there already. EINVAL: no name of an instance. EPERM: in another folder.
        """

    def rmdir(self, path: str) -> None:
        """Remove an instance: instances/NAME.

        Raises:
            OSError: EBUSY: one of its files is open. EPERM: another folder.
        """

    def open(self, path: str, flags: int) -> OpenFile:
        """Open a file.

        Args:
            flags: of os.open(): O_RDONLY, O_WRONLY or O_RDWR, with O_APPEND, O_TRUNC and O_CREAT. Others are
                ignored.

        Raises:
            OSError: EISDIR: it is a folder. ENOENT, or EACCES with O_CREAT: there is no such file. EBUSY: a
                pipe has another reader; O_TRUNC of a list of events, of which one is in use.
        """
