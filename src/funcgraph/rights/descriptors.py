"""Descriptors: opening one name beneath a directory, and what a descriptor is before it is used."""

from __future__ import annotations

import errno
import fcntl
import os
import stat

from funcgraph import _system

__all__ = ["component", "is_memory", "open_beneath", "regular", "require_local"]

_BENEATH = (
    _system.RESOLVE_BENEATH
    | _system.RESOLVE_NO_SYMLINKS
    | _system.RESOLVE_NO_MAGICLINKS
    | _system.RESOLVE_NO_XDEV
)
_ALWAYS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
#: File systems that only the kernel serves, by the type that statfs(2) gives.
_LOCAL = {
    0x01021994: "tmpfs",
    0x0000EF53: "ext4",
    0x58465342: "xfs",
    0x9123683E: "btrfs",
    0xF2F52010: "f2fs",
    0x2FC12FC1: "zfs",
    0xCA451A4E: "bcachefs",
}
_OVERLAY = 0x794C7630
_NO_OPENAT2 = (errno.ENOSYS, errno.EPERM)  # an old kernel; a container's filter of system calls


def component(name: str) -> str:
    """Return a name if it is one component of a path.

    Raises:
        ValueError: it is not: it would lead out of the directory.
    """
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise ValueError(
            f"invalid file name {name!r}: must be non-empty, contain no '/', and not be '.' or '..'"
        )
    return name


def open_beneath(folder_fd: int, name: str, flags: int, mode: int = 0) -> int:
    """Open a name in a directory: no link, and nothing that is mounted there. It does not wait for a FIFO.

    Raises:
        OSError: ELOOP: it is a link. EXDEV: something is mounted there. Others: as open().
    """
    flags |= _ALWAYS
    mode = mode if flags & os.O_CREAT else 0
    try:
        return _system.openat2(component(name), flags, mode, _BENEATH, folder_fd)
    except OSError as error:
        if error.errno not in _NO_OPENAT2:
            raise
    return _open_without_openat2(folder_fd, name, flags, mode)


def _open_without_openat2(folder_fd: int, name: str, flags: int, mode: int) -> int:
    # One component, no link: all that openat2() would walk. Only a mount of the same device goes unseen.
    fd = os.open(name, flags, mode, dir_fd=folder_fd)
    if os.fstat(fd).st_dev != os.fstat(folder_fd).st_dev:
        os.close(fd)
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
    return fd


def regular(fd: int, name: str) -> int:
    """Return a descriptor if it is of a regular file, else close it.

    Raises:
        OSError: EINVAL: it is a FIFO, a device, a directory or a socket.
    """
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", name)
    return fd


def is_memory(fd: int) -> bool:
    """Return whether a descriptor is of a file in memory: a memfd, or a file in a tmpfs.

    Only the kernel answers for such a file. A user's own file system (FUSE) may let its reader wait for ever.
    """
    try:
        fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    except OSError:
        return False
    return True


def require_local(fd: int, has_own_mounts: bool) -> None:
    """Check that only the kernel serves the file system of a descriptor, and no process that may not answer.

    Whoever holds a descriptor in a user's own file system (FUSE) waits for that user, even to close it.

    Args:
        fd: the descriptor.
        has_own_mounts: whether that user may mount an overlay, which may have layers of any kind.

    Raises:
        OSError: EOPNOTSUPP: it is another one.
    """
    kind = _system.file_system(fd)
    if kind not in _LOCAL and (kind != _OVERLAY or has_own_mounts):
        raise OSError(errno.EOPNOTSUPP, f"its file system (type {kind:#x}) may keep us waiting")
