"""One directory, by a descriptor that is kept of it: nothing is ever found by its path again.

A path that was right a moment ago may lead elsewhere now, if somebody else may change a part of it. A
descriptor stays what it is. Names are single components, and no link or mount is followed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import islice
from typing import Protocol

from funcgraph.rights.descriptors import component, open_beneath, regular

__all__ = ["MOST_NAMES", "Folder", "OwnFolder", "first_folder", "own_folders"]

#: A user may put any number of files into a folder of its own.
MOST_NAMES = 1 << 16
_ATTEMPTS = 100
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY


class Folder(Protocol):
    """A directory. Every method raises OSError when it fails, ValueError for a name with a '/'.

    Attributes:
        path: its path, as processes find it: for messages and the environment, never to be opened again.
    """

    @property
    def path(self) -> str: ...

    def names(self) -> list[str]:
        """Return what is in it, sorted. More than MOST_NAMES are OSError: EFBIG."""

    def has(self, name: str) -> bool:
        """Return whether it has a file, link or directory of that name."""

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Open a regular file; return the descriptor. Anything else is OSError: EINVAL, ELOOP or EXDEV."""

    def read(self, name: str, most: int) -> bytes:
        """Return what a file has, at most so many bytes of it."""

    def write(self, name: str, data: bytes) -> None:
        """Make a file, or replace it: whoever opens the name finds all of the data."""

    def rename(self, old: str, new: str) -> None:
        """Give a file another name. A file of the new name is replaced."""

    def unlink(self, name: str) -> None:
        """Remove a file or a link."""

    def remove(self, names: list[str]) -> None:
        """Remove the files of these names, and then the directory itself.

        Raises:
            OSError: ENOTEMPTY: it has other files; it stays.
        """

    def close(self) -> None:
        """Let go of the directory. May be called twice."""


def own_folders(base: str, prefix: str) -> Iterator[OwnFolder]:
    """Yield the folders in `base` that our user alone may use, and whose names begin so.

    Each is closed when the next one is taken.
    """
    with suppress(OSError), os.scandir(base) as entries:
        for entry in entries:
            if entry.name.startswith(prefix):
                with suppress(OSError), closing(OwnFolder.at(f"{base}/{entry.name}")) as folder:
                    yield folder


def first_folder(places: list[str], make: Callable[[str], OwnFolder]) -> OwnFolder:
    """Return what `make` makes in the first place where it can.

    Raises:
        OSError: ENOSPC: it cannot in any; the message names each with the reason.
    """
    refusals = []
    for place in places:
        try:
            return make(place)
        except OSError as error:
            refusals.append(f"{place}: {error.strerror}")
    raise OSError(errno.ENOSPC, f"no folder can be used ({'; '.join(refusals)})")


class OwnFolder:
    """A directory of our own user, which nobody else may use: a Folder.

    Args:
        path: its path.
        parent_fd, fd: descriptors of the directory that it is in, and of itself. They are the folder's now.

    Attributes:
        path: see Folder.
    """

    def __init__(self, path: str, parent_fd: int, fd: int) -> None:
        self.path = path
        self._parent_fd = parent_fd
        self._fd = fd

    @classmethod
    def create(cls, base: str, prefix: str) -> OwnFolder:
        """Make a directory in another one.

        Args:
            base: the directory that it is to be in.
            prefix: what its name begins with.

        Raises:
            OSError: it cannot be made there.
        """
        return cls._within(base, lambda parent_fd: _make_directory(parent_fd, prefix))

    @classmethod
    def make(cls, base: str, name: str) -> OwnFolder:
        """Make a directory of one name in another one.

        Raises:
            OSError: it cannot be made there. FileExistsError: there is something of that name.
        """

        def make_named(parent_fd: int) -> str:
            os.mkdir(component(name), 0o700, dir_fd=parent_fd)
            return name

        return cls._within(base, make_named)

    @classmethod
    def at(cls, path: str) -> OwnFolder:
        """Open a directory that is there.

        Raises:
            OSError: there is none. PermissionError: another user owns it, or others may use it.
        """
        base, name = os.path.split(os.path.abspath(path))
        return cls._within(base, lambda _: name)

    @classmethod
    def _within(cls, base: str, name_in: Callable[[int], str]) -> OwnFolder:
        """Open the directory in `base` whose name a function of the descriptor of `base` returns."""
        parent_fd = os.open(base, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            name = name_in(parent_fd)
            return cls(os.path.join(os.path.abspath(base), name), parent_fd, _open_own(parent_fd, name))
        except BaseException:
            os.close(parent_fd)
            raise

    def fileno(self) -> int:
        """Return the descriptor of the directory."""
        return self._fd

    def names(self) -> list[str]:
        with os.scandir(self._fd) as entries:
            names = [entry.name for entry in islice(entries, MOST_NAMES + 1)]
        if len(names) > MOST_NAMES:
            raise OSError(errno.EFBIG, f"more than {MOST_NAMES} files", self.path)
        return sorted(names)

    def has(self, name: str) -> bool:
        try:
            os.stat(component(name), dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        return regular(open_beneath(self._fd, name, flags, mode), name)

    def read(self, name: str, most: int) -> bytes:
        with open(self.open(name, os.O_RDONLY), "rb") as file:
            return file.read(most)

    def write(self, name: str, data: bytes) -> None:
        temporary = _temporary(name)
        with suppress(FileNotFoundError):
            self.unlink(temporary)  # of a writer that was killed
        try:
            with open(self.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
                file.write(data)
            self.rename(temporary, name)
        except BaseException:
            with suppress(OSError):
                self.unlink(temporary)
            raise

    def rename(self, old: str, new: str) -> None:
        os.rename(component(old), component(new), src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def unlink(self, name: str) -> None:
        os.unlink(component(name), dir_fd=self._fd)

    def remove(self, names: list[str]) -> None:
        for name in [*names, *map(_temporary, names)]:
            with suppress(OSError):  # rmdir() tells whether anything has stayed
                self.unlink(name)
        name = os.path.basename(self.path)
        with suppress(FileNotFoundError):
            there = os.stat(name, dir_fd=self._parent_fd, follow_symlinks=False)
            if not os.path.samestat(there, os.fstat(self._fd)):
                raise OSError(errno.ESTALE, "another directory has its name", self.path)
            os.rmdir(name, dir_fd=self._parent_fd)

    def close(self) -> None:
        for fd in (self._fd, self._parent_fd):
            if fd >= 0:
                os.close(fd)
        self._fd = self._parent_fd = -1


def _temporary(name: str) -> str:
    return f"{name}.new"


def _make_directory(parent_fd: int, prefix: str) -> str:
    """Make a directory with a name that nobody can foresee; return the name."""
    for _ in range(_ATTEMPTS):
        name = component(f"{prefix}{os.urandom(4).hex()}")
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent_fd)
            return name
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), prefix)


def _open_own(parent_fd: int, name: str) -> int:
    fd = open_beneath(parent_fd, name, _DIRECTORY)
    facts = os.fstat(fd)
    if facts.st_uid != os.geteuid():
        flaw = f"user {facts.st_uid} owns it"
    elif stat.S_IMODE(facts.st_mode) & 0o077:
        flaw = "other users may use it"
    else:
        return fd
    os.close(fd)
    raise PermissionError(errno.EPERM, flaw, name)
