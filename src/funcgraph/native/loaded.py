"""The objects that a process has loaded, opened with the rights of its own user.

The paths in its /proc/PID/maps lead where its user wants. If the process is like us, its user is we. For
other processes a helper with their rights opens the paths (rights/helper.py). What comes back is a descriptor
of a regular file in a file system that only the kernel serves.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from funcgraph.native.errors import PlanError
from funcgraph.rights.helper import Helper
from funcgraph.rights.identity import ProcessIdentity

__all__ = ["OpenObject", "loaded_objects"]

_MOST_BYTES = 1 << 26
_EXECUTABLE = re.compile(r"^[0-9a-f]+-[0-9a-f]+ ..x. [0-9a-f]+ \S+ [1-9]\d* +(/.*)$", re.MULTILINE)
_DELETED = " (deleted)"
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

#: Opens a path of the process; returns a descriptor.
OpenObject = Callable[[str], int]


@contextmanager
def loaded_objects(pid: int) -> Iterator[tuple[list[str], OpenObject, bool]]:
    """Find the objects that a process has mapped to run them.

    Returns:
        Their paths as the process sees them, in the order of its mappings; a function that opens one of them,
        and raises OSError or PlanError; whether the process has our files, so that root's are our root's.

    Raises:
        ProcessLookupError: there is no such process.
        OSError: we may not look into it, or no helper can have its rights.
    """
    identity = ProcessIdentity.of(pid)
    try:
        paths = _mapped_paths(identity)
        with _opener(identity) as open_path:

            def open_object(path: str) -> int:
                if path.endswith(_DELETED):
                    raise PlanError("was replaced or deleted after it was loaded")
                return open_path(path)

            yield paths, open_object, identity.has_our_files
    finally:
        identity.close()


def _mapped_paths(identity: ProcessIdentity) -> list[str]:
    with open(f"/proc/{identity.pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
        text = file.read(_MOST_BYTES)
    root = os.readlink(f"/proc/{identity.pid}/root")
    identity.check()  # after the look: it was at this process
    paths = (_below(root, match[1].replace("\\012", "\n")) for match in _EXECUTABLE.finditer(text))
    return list(dict.fromkeys(paths))


def _below(root: str, path: str) -> str:
    """Return a path as the process sees it. Those of a process with another root directory begin at ours."""
    return path[len(root) :] if root != "/" and path.startswith(f"{root}/") else path


def _opener(identity: ProcessIdentity) -> AbstractContextManager[OpenObject]:
    if identity.is_like_us:
        return nullcontext(_open_own)
    return _helper_opener(identity)


@contextmanager
def _helper_opener(identity: ProcessIdentity) -> Iterator[OpenObject]:
    with Helper.start(identity) as helper:
        yield helper.open_file


def _open_own(path: str) -> int:
    fd = os.open(path, _FLAGS)
    if not os.path.isfile(f"/proc/self/fd/{fd}"):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return fd
