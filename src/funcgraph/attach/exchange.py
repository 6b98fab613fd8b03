"""A folder through which code goes into a process and its outcome comes back.

It lies where the process sees it too, belongs to the process's user, and nobody else can look in:

    script      what a debugger's request names: it starts a thread that runs the code (CPython 3.14)
    source      the code; whoever in the process renames it to `run` runs it: it runs once
    run         the code, being run
    result      what came of it; appears when it is whole

It is locked (flock) while its owner is alive, so that another attacher can tell it from one that was left
behind. No symbolic link is followed on the way to it: a path in another root would lead outside.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import stat
from pathlib import Path
from typing import Self

from funcgraph.attach.errors import AttachError
from funcgraph.attach.process import Process

__all__ = ["Exchange", "folder_in", "is_owned", "remove_left"]

_NAME = "funcgraph-attach-"
_PATH = re.compile(rb"(?:/dev/shm|/tmp|/var/tmp|/run/user/\d+)/funcgraph-attach-(\d+)-[0-9a-f]{16}")
_FILES = ("script", "source", "run", "result", "result.part")
_MAX_RESULT = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Exchange:
    """A new folder in the file system that a process sees, to be used in a `with` statement.

    Args:
        process: the process.

    Attributes:
        path: of the folder, as the process sees it.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        while True:
            self._parent, self.path = _make(process)
            # Another attacher may take it for one that was left behind, until it is locked.
            with contextlib.suppress(FileNotFoundError):
                self._fd = os.open(os.path.basename(self.path), _FOLDER, dir_fd=self._parent)
                fcntl.flock(self._fd, fcntl.LOCK_EX)
                if os.fstat(self._fd).st_nlink:
                    break
                os.close(self._fd)
            os.close(self._parent)
        self._give(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        _remove(self._parent, self._fd, os.path.basename(self.path))
        _sweep(self._parent, self._process)
        os.close(self._fd)
        os.close(self._parent)

    def _give(self, fd: int) -> None:
        """Make the process's user the owner of a file of ours."""
        user, group = self._process.user
        if (user, group) != (os.geteuid(), os.getegid()):
            os.fchown(fd, user, group)

    def put(self, name: str, text: str) -> None:
        """Write a file of the folder."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(name, flags, 0o600, dir_fd=self._fd)
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            self._give(file.fileno())

    def is_claimed(self) -> bool:
        """Return whether the process has begun to run the code."""
        return not self._has("source")

    def withdraw(self) -> bool:
        """Take the code back. Return whether it had not begun: then it never will."""
        try:
            os.unlink("source", dir_fd=self._fd)
        except FileNotFoundError:
            return False
        return True

    def result(self) -> bytes | None:
        """Return what the process has written when it was done; None: it is not."""
        try:
            fd = os.open(
                "result", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._fd
            )
        except OSError:
            return None
        with open(fd, "rb") as file:
            return file.read(_MAX_RESULT) if stat.S_ISREG(os.fstat(fd).st_mode) else b""

    def _has(self, name: str) -> bool:
        try:
            os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except OSError:
            return False
        return True


def _make(process: Process) -> tuple[int, str]:
    """Make a folder; return its parent, opened, and its path in the process."""
    refused = []
    for place in ("/dev/shm", "/tmp", f"/run/user/{process.user[0]}", "/var/tmp"):
        name = f"{_NAME}{process.inner_pid}-{secrets.token_hex(8)}"
        try:
            parent = _open_place(process, place)
        except OSError as error:
            refused.append(f"{place}: {error.strerror}")
            continue
        try:
            os.mkdir(name, 0o700, dir_fd=parent)
            return parent, f"{place}/{name}"
        except OSError as error:
            os.close(parent)
            refused.append(f"{place}: {error.strerror}")
    reasons = "; ".join(refused)
    raise AttachError(process.pid, f"it has no folder for temporary files that can be written to: {reasons}")


def _open_place(process: Process, place: str) -> int:
    fd = os.open(f"/proc/{process.pid}/root", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in Path(place).parts[1:]:
        try:
            below = os.open(part, _FOLDER, dir_fd=fd)
        finally:
            os.close(fd)
        fd = below
    return fd


def _remove(parent: int, folder: int, name: str) -> None:
    for file in _FILES:
        with contextlib.suppress(OSError):
            os.unlink(file, dir_fd=folder)
    with contextlib.suppress(OSError):
        os.rmdir(name, dir_fd=parent)


def folder_in(text: bytes) -> str:
    """Return the path of such a folder that a text of ours names; "": it names none."""
    match = _PATH.search(text)
    return match[0].decode() if match else ""


def is_owned(process: Process, path: str) -> bool:
    """Return whether an attacher that is alive owns the folder `path` of a process."""
    return _with_left(process, path, remove=False)


def remove_left(process: Process, path: str) -> None:
    """Remove a folder whose owner was killed."""
    _with_left(process, path, remove=True)


def _with_left(process: Process, path: str, *, remove: bool) -> bool:
    place, _, name = path.rpartition("/")
    try:
        parent = _open_place(process, place)
    except OSError:
        return False
    try:
        return _is_locked(parent, name, process, remove=remove)
    finally:
        os.close(parent)


def _sweep(parent: int, process: Process) -> None:
    """Remove the folders that killed attachers have left for this process, and for processes that are gone.

    Another process may still be asked to run the script in its folder, and would miss it.
    """
    for name in os.listdir(parent):
        match = _PATH.fullmatch(f"/tmp/{name}".encode(errors="surrogateescape"))
        if match and (int(match[1]) == process.inner_pid or process.is_gone(int(match[1]))):
            _is_locked(parent, name, process, remove=True)


def _is_locked(parent: int, name: str, process: Process, *, remove: bool) -> bool:
    """Return whether an attacher that is alive owns a folder; with `remove`, remove it if none does."""
    try:
        folder = os.open(name, _FOLDER, dir_fd=parent)
    except OSError:
        return False
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if remove and os.fstat(folder).st_uid in (process.user[0], os.geteuid()):
            _remove(parent, folder, name)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(folder)
