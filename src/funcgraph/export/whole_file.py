"""A file that appears under its name when it is whole, or not at all (new_file.h does the same in C)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


@contextmanager
def whole_file(path: str) -> Iterator[BinaryIO]:
    """Open a new file for writing. At the end of the block it gets its name, and replaces a file that has it.

    If the block raises, or the process dies, nothing has changed under that name.

    Args:
        path: the later name, of a regular file or of none; a symbolic link is followed.

    Raises:
        OSError: no space, no permission, no such folder.
    """
    target = os.path.realpath(path)
    fd, temporary = _create(target)
    try:
        with open(fd, "wb", buffering=1 << 20) as file:
            yield file
            file.flush()
            temporary = temporary or _link(file.fileno(), target)
        os.replace(temporary, target)
    except BaseException:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)
        raise


def _create(target: str) -> tuple[int, str]:
    """Create a file without a name, or where the file system cannot do that, with a temporary one."""
    folder = os.path.dirname(target)
    with suppress(OSError):
        fd = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
        if os.path.exists(f"/proc/self/fd/{fd}"):
            return fd, ""
        os.close(fd)
    name = _free_name(target)
    return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), name


def _link(fd: int, target: str) -> str:
    """Give a nameless file a temporary name, which can replace another; a link cannot."""
    name = _free_name(target)
    source = f"/proc/self/fd/{fd}"
    try:
        os.link(source, name, follow_symlinks=True)
    except OSError:  # a sandbox may forbid it
        with open(source, "rb") as old, open(name, "xb") as new:
            while piece := old.read(1 << 20):
                new.write(piece)
    return name


def _free_name(target: str) -> str:
    """Return FILE.PID.N.tmp: `funcgraph status --clean` knows these names."""
    number = 0
    while os.path.lexists(name := f"{target}.{os.getpid()}.{number}.tmp"):
        number += 1
    return name
