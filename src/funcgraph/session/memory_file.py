"""Files without a name, in memory if possible: a process that is killed leaves nothing behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["contents", "memory_file", "open_memory_file"]


@contextmanager
def memory_file(data: bytes = b"") -> Iterator[int]:
    """Make a file without a name, and close it at the end of the block.

    Args:
        data: its contents at first.

    Returns:
        A descriptor, for reading and writing.

    Raises:
        OSError: there is no room for it, in memory and in the folders for session files.
    """
    fd = open_memory_file()
    try:
        with open(fd, "r+b", closefd=False) as file:
            file.write(data)
        yield fd
    finally:
        os.close(fd)


def contents(fd: int) -> bytes:
    """Return all that a file has."""
    with open(fd, "rb", closefd=False) as file:
        file.seek(0)
        return file.read()


def open_memory_file() -> int:
    """Make a file without a name; return a descriptor, for reading and writing.

    Raises:
        OSError: there is no room for it, in memory and in the folders for session files.
    """
    try:
        return os.memfd_create("funcgraph", os.MFD_CLOEXEC)
    except (AttributeError, OSError) as error:  # an old C library; forbidden by a filter of system calls
        return _open_nameless(
            error if isinstance(error, OSError) else OSError("no folder for temporary files")
        )


def _open_nameless(refusal: OSError) -> int:
    """Make a file without a name in a folder; return a descriptor."""
    import tempfile  # which loads much, and is seldom needed in a traced process

    from funcgraph.session.places import folders

    for base in folders():
        try:
            # O_TMPFILE; where the file system does not know that, the name is removed at once.
            with tempfile.TemporaryFile(dir=base) as file:
                return os.dup(file.fileno())
        except OSError as error:
            refusal = error
    raise refusal
