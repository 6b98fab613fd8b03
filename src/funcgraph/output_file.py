"""Files that are written under a name that somebody gave: traces, exports, texts.

In a folder in which others may write (/tmp, another user's folder), they can put a link or a file of theirs
in our way. So, in each such folder, as the kernel with fs.protected_symlinks and fs.protected_regular:

- A symbolic link is followed if we or root made it. In a folder that only we or root can change, any is.
- A file of another user is neither replaced nor written to.

Names are looked up once, by resolve(). All else here takes its result, follows no link, and does its work in
one descriptor of the folder, so that nothing changes between a look and a write. output_folder.h does the
same in C.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, TextIO

__all__ = [
    "check_owner",
    "check_target",
    "create",
    "folder_of",
    "open_there",
    "replace",
    "resolve",
    "text_file",
    "unlink",
    "whole_file",
]

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_LINKS = 40  # as the kernel


def resolve(name: str | os.PathLike[str]) -> str:
    """Return the absolute path, without symbolic links, of a file to write, which need not exist.

    The links of /proc that stand for open files are left as they are if the path ends there.

    Raises:
        PermissionError: a link of another user, in a folder that others may write.
        FileNotFoundError, NotADirectoryError: its folder does not exist, or is not a folder.
        OSError: too many links; a folder that cannot be entered.
    """
    given = os.fspath(name)
    walk = _Walk(given)
    try:
        return walk.run()
    except OSError as error:
        if error.filename != given:
            raise OSError(error.errno, error.strerror, given) from None
        raise
    finally:
        walk.close()


class _Walk:
    """The way of a path through its folders, of which the latest is open."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._links = 0
        self._fd = -1
        self._place = ""
        self._enter("/" if path.startswith("/") else os.getcwd())

    def close(self) -> None:
        os.close(self._fd)

    def run(self) -> str:
        parts = _parts(self._path)
        while parts:
            part = parts.pop(0)
            target = self._target(part, is_last=not parts)
            if target is not None:
                if target.startswith("/"):
                    self._enter("/")
                parts[:0] = _parts(target)
            elif part == "..":
                self._enter("..", os.path.dirname(self._place))
            elif parts:
                self._descend(part, parts)
            else:
                return os.path.join(self._place, part)
        return self._place

    def _enter(self, name: str, place: str | None = None) -> None:
        fd = os.open(name, _FOLDER, dir_fd=self._fd if self._fd >= 0 else None)
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._place = fd, place or name

    def _descend(self, part: str, rest: list[str]) -> None:
        try:
            self._enter(part, os.path.join(self._place, part))
        except FileNotFoundError:
            folder = os.path.join(self._place, part, *rest[:-1])
            raise FileNotFoundError(errno.ENOENT, f"no folder {folder}", self._path) from None

    def _target(self, part: str, *, is_last: bool) -> str | None:
        """Return where a link leads; None: it is none."""
        try:
            link = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._fd)
        except FileNotFoundError:
            return None
        try:
            status = os.fstat(link)
            if not stat.S_ISLNK(status.st_mode) or (is_last and status.st_dev == _proc_device()):
                return None
            self._links += 1
            if self._links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), self._path)
            if status.st_uid not in (0, os.geteuid()) and _is_shared(self._fd):
                path = os.path.join(self._place, part)
                reason = f"{path} is a link of another user, in a folder that others may write"
                raise PermissionError(errno.EACCES, reason, self._path)
            return os.readlink("", dir_fd=link)
        finally:
            os.close(link)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _proc_device() -> int | None:
    try:
        return os.stat("/proc/self/fd").st_dev
    except OSError:
        return None


def _is_shared(folder: int) -> bool:
    """Return whether somebody else may add, replace and remove files in a folder."""
    status = os.fstat(folder)
    return status.st_uid not in (0, os.geteuid()) or bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def check_owner(folder: int, status: os.stat_result, path: str) -> None:
    """Raise PermissionError if a file of another user lies in a folder that others may write.

    Args:
        folder: its descriptor.
        status: of the file.
    """
    if status.st_uid != os.geteuid() and _is_shared(folder):
        reason = "is a file of another user, in a folder that others may write"
        raise PermissionError(errno.EACCES, reason, path)


# ---- of a path that resolve() returned


@contextmanager
def folder_of(path: str) -> Iterator[tuple[int, str]]:
    """Open a path's folder for the block; return its descriptor, for `dir_fd`, and the path's last part.

    Raises:
        OSError: one of the path's folders is not there, is a link by now, or cannot be entered.
    """
    *folders, name = path.split("/")
    fd = os.open("/" if path.startswith("/") else ".", _FOLDER)
    try:
        for part in filter(None, folders):
            inner = os.open(part, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd, name
    finally:
        os.close(fd)


def create(path: str) -> int:
    """Create a file; return its descriptor, for reading and writing.

    Raises:
        FileExistsError: there is something of that name.
    """
    with folder_of(path) as (folder, name):
        return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=folder)


def open_there(path: str, flags: int) -> int:
    """Open a regular file that is there; return its descriptor.

    Raises:
        PermissionError: it is another user's, in a folder that others may write.
        OSError: EINVAL: it is not a regular file.
    """
    with folder_of(path) as (folder, name):
        fd = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "not a regular file", path)
            check_owner(folder, status, path)
        except BaseException:
            os.close(fd)
            raise
        return fd


def replace(old: str, new: str) -> None:
    """Rename a file, as os.replace() does."""
    with folder_of(old) as (old_folder, old_name), folder_of(new) as (new_folder, new_name):
        os.replace(old_name, new_name, src_dir_fd=old_folder, dst_dir_fd=new_folder)


def unlink(path: str) -> None:
    """Delete a file, as os.unlink() does."""
    with folder_of(path) as (folder, name):
        os.unlink(name, dir_fd=folder)


@contextmanager
def whole_file(name: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file for writing. At the end of the block it gets its name, and replaces a file that has it.

    If the block raises, or the process dies, nothing has changed under that name. new_file.h does the same in
    C.

    Args:
        name: the later name, of a regular file or of none; resolve() says which links are followed.

    Raises:
        OSError: no space, no permission, no such folder; a link or a file of another user, as resolve() and
            check_owner() say.
    """
    path = resolve(name)
    with folder_of(path) as (folder, last):
        check_target(folder, last, path)
        fd, temporary = _create_nameless(folder, last)
        try:
            with open(fd, "wb", buffering=1 << 20) as file:
                yield file
                file.flush()
                temporary = temporary or _link(file.fileno(), folder, last)
            check_target(folder, last, path)
            os.replace(temporary, last, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            if temporary:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
            raise


def check_target(folder: int, name: str, path: str) -> None:
    """Check what is there under the name of a file to write, if anything is.

    Args:
        folder: a descriptor of its directory.
        name: its name in the directory.
        path: for messages.

    Raises:
        IsADirectoryError: a directory.
        OSError: EINVAL: no regular file. ELOOP: a symbolic link. Otherwise as check_owner().
    """
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if stat.S_ISLNK(status.st_mode):  # it was none just now
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", path)
    check_owner(folder, status, path)


def _create_nameless(folder: int, name: str) -> tuple[int, str]:
    """Create a file without a name, or where the file system cannot do that, with a temporary one."""
    with suppress(OSError):
        fd = os.open(".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666, dir_fd=folder)
        if os.path.exists(f"/proc/self/fd/{fd}"):
            return fd, ""
        os.close(fd)
    return _create_temporary(folder, name)


def _create_temporary(folder: int, name: str) -> tuple[int, str]:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    for temporary in _temporary_names(name):
        with suppress(FileExistsError):
            return os.open(temporary, flags, 0o666, dir_fd=folder), temporary
    raise AssertionError("the names do not end")


def _link(fd: int, folder: int, name: str) -> str:
    """Give a nameless file a temporary name, which can replace another; a link cannot."""
    source = f"/proc/self/fd/{fd}"
    for temporary in _temporary_names(name):
        try:
            os.link(source, temporary, dst_dir_fd=folder, follow_symlinks=True)
            return temporary
        except FileExistsError:
            continue
        except OSError:  # a sandbox may forbid it
            break
    made, temporary = _create_temporary(folder, name)
    with open(source, "rb") as old, open(made, "wb") as new:
        while piece := old.read(1 << 20):
            new.write(piece)
    return temporary


def _temporary_names(name: str) -> Iterator[str]:
    """Yield NAME.PID.N.tmp: `funcgraph status --clean` knows these names."""
    number = 0
    while True:
        yield f"{name}.{os.getpid()}.{number}.tmp"
        number += 1


@contextmanager
def text_file(name: str) -> Iterator[TextIO]:
    """Open a file for a text: a regular file as whole_file() does, a device or a FIFO as it is."""
    path = resolve(name)
    with folder_of(path) as (folder, last):
        fd = _open_special(folder, last, path)
    if fd is not None:
        with open(fd, "w", encoding="utf-8") as file:
            yield file
        return
    with whole_file(path) as whole:
        text = io.TextIOWrapper(whole, encoding="utf-8")
        yield text
        text.detach()


def _open_special(folder: int, name: str, path: str) -> int | None:
    """Return a descriptor of what is no regular file; None: it is one, or nothing."""
    try:
        looked = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(looked.st_mode):
        return None
    is_own_file = stat.S_ISLNK(looked.st_mode) and looked.st_dev == _proc_device()  # /dev/stdout
    flags = os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC | (0 if is_own_file else os.O_NOFOLLOW)
    fd = os.open(name, flags, dir_fd=folder)
    try:
        opened = os.fstat(fd)
        if not is_own_file:
            check_owner(folder, opened, path)
            if not os.path.samestat(opened, looked):
                raise OSError(errno.EAGAIN, "is another file by now", path)
    except BaseException:
        os.close(fd)
        raise
    return fd
