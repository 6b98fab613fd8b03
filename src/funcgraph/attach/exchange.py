"""A folder through which code goes into a process and its outcome comes back.

It lies where the process sees it too, belongs to the process's user, and nobody else can look in:

    lock        locked (flock) while the attacher lives: another one can tell a folder that was left behind
    script      what a debugger's request names: it starts a thread that runs the code (CPython 3.14)
    source      the code; whoever in the process renames it to `run` runs it: it runs once
    run         the code, being run
    result      what came of it; appears when it is whole

All that is done in it is done with the rights of the process's user. That user can lead any path of the
folder elsewhere, and gains nothing by it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
from collections.abc import Iterator
from typing import Self

from funcgraph.attach.access import Access
from funcgraph.attach.errors import AttachError
from funcgraph.attach.process import Process
from funcgraph.rights.folder import Folder

__all__ = ["Exchange", "folder_in"]

_NAME = "funcgraph-attach-"
_PATH = re.compile(rb"(/dev/shm|/tmp|/var/tmp|/run/user/\d+)/funcgraph-attach-(\d+)-[0-9a-f]{8,16}")
_LOCK = "lock"
_FILES = ["script", "source", "run", "result", "result.part", _LOCK]  # the lock goes last
_MAX_RESULT = 1 << 20
_ATTEMPTS = 100


class Exchange:
    """A new folder in the file system that a process sees, to be used in a `with` statement.

    Args:
        process: the process.
        access: to its folders.

    Attributes:
        path: of the folder, as the process sees it.

    Raises:
        AttachError: it cannot be made. So do all methods if the process's user does not let them work.
    """

    def __init__(self, process: Process, access: Access) -> None:
        self._process = process
        self._access = access
        self._folder, self._lock = self._make()
        self.path = self._folder.path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(OSError):
            self._folder.remove(_FILES)
        with contextlib.suppress(OSError):
            self._sweep()
        os.close(self._lock)
        self._folder.close()

    def put(self, name: str, text: str) -> None:
        """Write a file of the folder."""
        with self._errors():
            self._folder.write(name, text.encode())

    def is_claimed(self) -> bool:
        """Return whether the process has begun to run the code."""
        with self._errors():
            return not self._folder.has("source")

    def withdraw(self) -> bool:
        """Take the code back. Return whether it had not begun: then it never will."""
        with self._errors():
            try:
                self._folder.unlink("source")
            except FileNotFoundError:
                return False
        return True

    def result(self) -> bytes | None:
        """Return what the process has written when it was done; None: it is not."""
        with self._errors():
            try:
                return self._folder.read("result", _MAX_RESULT)
            except FileNotFoundError:
                return None

    # ---- folders that killed attachers have left

    def is_owned(self, path: str) -> bool:
        """Return whether an attacher that is alive owns the folder `path` of the process."""
        return self._with_left(path, remove=False)

    def remove_left(self, path: str) -> None:
        """Remove a folder whose owner was killed."""
        self._with_left(path, remove=True)

    def _with_left(self, path: str, *, remove: bool) -> bool:
        try:
            folder = self._access.open_folder(path)
        except OSError:  # gone, or another user's: no attacher of this process made it
            return False
        try:
            with contextlib.suppress(OSError):
                return _is_locked(folder, remove=remove)
            return False
        finally:
            folder.close()

    def _sweep(self) -> None:
        """Remove the folders that killed attachers have left for this process and for those that are gone.

        Another process may still be asked to run the script in its folder, and would miss it.
        """
        place = os.path.dirname(self.path)
        for name in self._access.names_in(place):
            match = _PATH.fullmatch(os.fsencode(f"{place}/{name}"))
            if match and (int(match[2]) == self._process.inner_pid or self._process.is_gone(int(match[2]))):
                self._with_left(f"{place}/{name}", remove=True)

    # ---- making it

    def _make(self) -> tuple[Folder, int]:
        """Return a new folder and its lock, locked.

        Another attacher may take it for one that was left behind, until it is locked. Then it is made again.
        """
        places = ["/dev/shm", "/tmp", f"/run/user/{self._process.user[0]}", "/var/tmp"]
        prefix = f"{_NAME}{self._process.inner_pid}-"
        for _ in range(_ATTEMPTS):
            try:
                folder = self._access.make_folder(places, prefix)
            except OSError as error:
                reason = "it has no folder for temporary files that can be written to"
                if error.errno != errno.ENOSPC:  # so makes an access none
                    reason = "its folders for temporary files cannot be used"
                raise AttachError(self._process.pid, f"{reason}: {error.strerror}") from None
            try:
                lock = folder.open(_LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if folder.has(_LOCK):
                    return folder, lock
                os.close(lock)
            except (FileNotFoundError, BlockingIOError):
                pass
            except OSError as error:
                raise self._error(folder.path, error) from None
            folder.close()
        raise AttachError(self._process.pid, "other processes remove its folders for temporary files")

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._error(self.path, error) from None

    def _error(self, path: str, error: OSError) -> AttachError:
        return AttachError(self._process.pid, f"its folder {path} cannot be used: {error.strerror}")


def folder_in(text: bytes) -> str:
    """Return the path of such a folder that a text of ours names; "": it names none."""
    match = _PATH.search(text)
    return match[0].decode() if match else ""


def _is_locked(folder: Folder, *, remove: bool) -> bool:
    """Return whether an attacher that is alive owns a folder; with `remove`, remove it if none does.

    One without a lock is being made, or is empty.
    """
    try:
        lock = folder.open(_LOCK, os.O_RDWR)
    except FileNotFoundError:
        if remove:
            folder.remove([])
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if remove:
            folder.remove(_FILES)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
